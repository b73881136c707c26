"""Integers inside: times are ticks of one nanosecond, memory is bytes. Units are parsed and printed here only."""

from __future__ import annotations

import re
from decimal import Decimal
from fractions import Fraction
from typing import Final

from pipefill_opt.errors import InputError

MAX_TICKS: Final = 2**58
"""Longest time that is accepted (about nine years); sums of a few such still fit 64 bits."""
MAX_BYTES: Final = 2**58
MAX_NUMBER: Final = 10**30
"""Largest plain number (FLOPs, values, weights, counts) that is accepted."""

TIME_UNITS: Final = {"ns": 1, "us": 10**3, "ms": 10**6, "s": 10**9, "min": 60 * 10**9, "h": 3600 * 10**9}
BYTE_UNITS: Final = {"B": 1}
BYTE_UNITS.update({f"{p}B": 1000**k for k, p in enumerate("kMGTP", start=1)})
BYTE_UNITS.update({f"{p}iB": 1024**k for k, p in enumerate("KMGTP", start=1)})
BYTE_UNITS["KB"] = 1000

_NUMBER = r"[+-]?(?:[0-9]+(?:\.[0-9]*)?|\.[0-9]+)(?:[eE][+-]?[0-9]{1,3})?"
_QUANTITY = re.compile(rf"^({_NUMBER})\s*([A-Za-zµμ]+)?(/s)?$")  # micro sign, and the Greek letter


def exact(value: object, *, what: str = "a number") -> Fraction:
    """The exact value of an int, Decimal, Fraction or numeric text. Raises InputError for anything else, NaN included."""
    if isinstance(value, bool):
        raise InputError(f"expected {what}", value=value)
    if isinstance(value, int | Fraction):
        number = Fraction(value)
    elif isinstance(value, Decimal):
        if not value.is_finite() or abs(value.adjusted()) > 300:
            raise InputError(f"expected {what}, finite", value=value)
        number = Fraction(value)
    elif isinstance(value, str) and re.fullmatch(_NUMBER, value.strip()):
        number = Fraction(value.strip())
    elif isinstance(value, float):
        number = Fraction(repr(value)) if value == value and abs(value) != float("inf") else Fraction(MAX_NUMBER + 1)
    else:
        raise InputError(f"expected {what}", value=value)
    if abs(number) > MAX_NUMBER:
        raise InputError(f"expected {what} of at most 1e30", value=value)
    return number


def _scaled(value: object, units: dict[str, int], unit: str | None, what: str, example: str) -> Fraction:
    expected = f"expected {what} with its unit, such as {example}"
    if isinstance(value, str):
        match = _QUANTITY.match(value.strip())
        if not match or match.group(3):
            raise InputError(expected, value=value)
        number = exact(match.group(1), what=what)
        name = match.group(2)
        if name is not None:
            name = name.replace("µ", "u").replace("μ", "u")
            if name not in units:
                raise InputError(f"{expected} (unknown unit {name!r}; known: {', '.join(units)})", value=value)
            return number * units[name]
    else:
        number = exact(value, what=f"{what} with its unit, such as {example}")
    if unit is not None:
        return number * units[unit]
    if number == 0:
        return number
    raise InputError(f"{expected} (only 0 may stand without a unit)", value=value)


def _whole(number: Fraction, value: object, limit: int, what: str, tick: str) -> int:
    if number < 0:
        raise InputError(f"expected {what} of 0 or more", value=value)
    if number.denominator != 1:
        raise InputError(f"expected {what} that is a whole number of {tick}", value=value)
    if number > limit:
        raise InputError(f"expected {what} of at most {limit} {tick}", value=value)
    return int(number)


def parse_time(value: object, unit: str | None = None) -> int:
    """Ticks of "3.2ms", or of a bare number in `unit`. Only 0 may stand without any unit."""
    return _whole(_scaled(value, TIME_UNITS, unit, "a time", "3.2ms"), value, MAX_TICKS, "a time", "ns")


def parse_bytes(value: object, unit: str | None = None) -> int:
    """Bytes of "40GiB", or of a bare number in `unit`. Only 0 may stand without any unit."""
    return _whole(_scaled(value, BYTE_UNITS, unit, "a size", "40GiB"), value, MAX_BYTES, "a size", "B")


def parse_bandwidth(value: object) -> Fraction:
    """Bytes per second of "12GB/s", exact and positive."""
    expected = "expected a bandwidth above 0, such as 12GB/s"
    match = _QUANTITY.match(value.strip()) if isinstance(value, str) else None
    if not match or not match.group(3) or match.group(2) not in BYTE_UNITS:
        raise InputError(expected, value=value)
    rate = exact(match.group(1)) * BYTE_UNITS[match.group(2)]
    if rate <= 0:
        raise InputError(expected, value=value)
    return rate


def transfer_ticks(size: int, bandwidth: Fraction) -> int:
    """ceil(size / bandwidth): ticks for `size` bytes at `bandwidth` bytes per second."""
    return -((-size * 10**9 * bandwidth.denominator) // bandwidth.numerator)


def scaled_ticks(duration: int, speed: Fraction) -> int:
    """ceil(duration / speed): an operator's duration on a device of relative speed `speed`."""
    return -((-duration * speed.denominator) // speed.numerator)


def format_time(ticks: int | Fraction) -> str:
    """A time for people: three to four digits and a unit."""
    value = float(ticks)
    for name, factor in (("s", 1e9), ("ms", 1e6), ("us", 1e3)):
        if abs(value) >= factor:
            return f"{value / factor:.4g} {name}" if abs(value) < 1e4 * factor else f"{value / factor:.0f} {name}"
    return f"{value:.4g} ns"


def format_bytes(size: int) -> str:
    """A size for people, in binary units."""
    value = float(size)
    for name, factor in (("TiB", 2.0**40), ("GiB", 2.0**30), ("MiB", 2.0**20), ("KiB", 2.0**10)):
        if abs(value) >= factor:
            return f"{value / factor:.4g} {name}"
    return f"{size} B"
