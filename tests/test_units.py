"""Units: exact at the edge, or one line."""

from __future__ import annotations

from fractions import Fraction

import pytest

from pipefill_opt.errors import InputError
from pipefill_opt.units import parse_bandwidth, parse_bytes, parse_time, scaled_ticks, transfer_ticks


@pytest.mark.parametrize(
    ("text", "ticks"),
    [("3.2ms", 3_200_000), ("1e-3 s", 1_000_000), ("5\u00b5s", 5000), ("0", 0), (0, 0), ("2h", 72 * 10**11)],
)
def test_times_are_whole_ticks(text: object, ticks: int) -> None:
    assert parse_time(text) == ticks


@pytest.mark.parametrize(
    "text", ["3.2", "0.5ns", "-1ms", "1 parsec", "\u0661ms", "1GB/s", "", "1e400s", "300000h00", True]
)
def test_what_is_no_time_is_refused(text: object) -> None:
    with pytest.raises(InputError, match="expected a"):
        parse_time(text)


def test_bytes_and_bandwidths() -> None:
    assert (parse_bytes("4.5GiB"), parse_bytes("3GB")) == (4_831_838_208, 3 * 10**9)
    assert parse_bandwidth("16GiB/s") == 16 * 2**30
    for text in ("0GB/s", "12GB", "-1GB/s"):
        with pytest.raises(InputError, match="bandwidth above 0"):
            parse_bandwidth(text)


def test_what_does_not_divide_is_rounded_up() -> None:
    assert [scaled_ticks(ticks, Fraction(7, 10)) for ticks in (7, 8, 20_000_000)] == [10, 12, 28_571_429]
    assert [transfer_ticks(size, Fraction(3 * 10**9)) for size in (0, 1, 3, 4)] == [0, 1, 1, 2]


@pytest.mark.parametrize("text", ["3us", "3 us", "3\N{MICRO SIGN}s", "3\N{GREEK SMALL LETTER MU}s"])
def test_microseconds_however_their_letter_is_typed(text: str) -> None:
    assert parse_time(text) == 3000
