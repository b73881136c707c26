"""YAML and JSON, read exactly.

Numbers come out as int or Decimal, never as binary floats. YAML is read by its 1.2 core rules, so that `1e12` is a
number, and `0F0` and `on` are text. A doubled key, NaN or infinity is an error, and so is a number of more than 1000 digits.
"""

from __future__ import annotations

import json
import re
from decimal import Decimal
from functools import cache
from typing import TYPE_CHECKING, Any, Final, NoReturn

from pipefill_opt.errors import InputError

if TYPE_CHECKING:
    import yaml

MAX_DIGITS: Final = 1000
MAX_VALUES: Final = 1_000_000
"""Most values of a YAML document that uses aliases, all of them written out."""

_INTEGER: Final = r"[-+]?[0-9]+"
_FINITE: Final = r"[-+]?(?:[0-9]+(?:\.[0-9]*)?|\.[0-9]+)(?:[eE][-+]?[0-9]+)?"
_TRUE: Final = ("true", "True", "TRUE")
_FALSE: Final = ("false", "False", "FALSE")


def parse_json(text: str, *, file: str = "") -> Any:
    """Exact JSON: Decimal for fractions, no NaN, no doubled keys."""

    def no_constant(name: str) -> NoReturn:
        raise InputError("expected a finite number", value=name)

    def unique(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
        table = dict(pairs)
        if len(table) != len(pairs):
            keys = [key for key, _ in pairs]
            raise InputError("expected each key once", value=next(k for k in keys if keys.count(k) > 1))
        return table

    try:
        return json.loads(
            text, parse_int=_whole, parse_float=_decimal, parse_constant=no_constant, object_pairs_hook=unique
        )
    except json.JSONDecodeError as error:
        place = f"line {error.lineno}, column {error.colno}"
        raise InputError(f"expected JSON ({error.msg})", where=place, file=file) from None
    except RecursionError:
        raise InputError("expected JSON that nests less deeply", file=file) from None
    except InputError as error:
        raise error.located(file=file) from None


def parse_yaml(text: str, *, file: str = "") -> Any:
    """Exact YAML by the 1.2 core rules, no doubled keys, no aliases that grow, no NaN, no tags but those of the core."""
    import yaml

    try:
        document = yaml.load(text, Loader=_loader())
        if "&" in text:
            _refuse_growth(document)
        return document
    except yaml.MarkedYAMLError as error:
        mark = error.problem_mark or error.context_mark
        place = f"line {mark.line + 1}, column {mark.column + 1}" if mark else ""
        problem = " ".join(str(error.problem or error.context or "").split())
        raise InputError(f"expected YAML ({problem})", where=place, file=file) from None
    except yaml.YAMLError as error:
        raise InputError(f"expected YAML ({' '.join(str(error).split())})", file=file) from None
    except RecursionError:
        raise InputError("expected YAML that nests less deeply", file=file) from None
    except InputError as error:
        raise error.located(file=file) from None


def _refuse_growth(document: Any) -> None:
    """InputError for aliases that contain themselves, or that write out to more than MAX_VALUES values."""
    waiting, values = [document], 0
    while waiting:
        values += 1
        if values > MAX_VALUES:
            raise InputError(f"expected aliases that write out to at most {MAX_VALUES} values, none inside itself")
        value = waiting.pop()
        if isinstance(value, dict):
            waiting += value.values()
        elif isinstance(value, list):
            waiting += value


def _whole(text: str) -> int:
    if len(text) > MAX_DIGITS:
        raise InputError(f"expected a number of at most {MAX_DIGITS} digits", value=text)
    return int(text)


def _decimal(text: str) -> Decimal:
    number = Decimal(text) if len(text) <= MAX_DIGITS else Decimal("Infinity")
    if not number.is_finite() or abs(number.adjusted()) > MAX_DIGITS:
        raise InputError(f"expected a number of at most {MAX_DIGITS} digits", value=text)
    return number


@cache
def _loader() -> Any:
    import yaml

    base: Any = getattr(yaml, "CSafeLoader", yaml.SafeLoader)

    class ExactLoader(base):  # type: ignore[misc]
        """Resolves and constructs the core tags only."""

        yaml_implicit_resolvers: dict[str, list[Any]] = {}  # noqa: RUF012  (PyYAML's own protocol)
        yaml_constructors: dict[str | None, Any] = {}  # noqa: RUF012

    core = "tag:yaml.org,2002:"
    for name, pattern, first in (
        ("bool", "|".join(_TRUE + _FALSE), "tTfF"),
        ("null", r"~|null|Null|NULL|", ["~", "n", "N", ""]),
        ("int", _INTEGER, "-+0123456789"),
        ("float", rf"{_FINITE}|[-+]?\.(?:inf|Inf|INF)|\.(?:nan|NaN|NAN)", "-+0123456789."),
        ("merge", r"<<", "<"),
    ):
        ExactLoader.add_implicit_resolver(core + name, re.compile(f"^(?:{pattern})$"), list(first))
    for name, construct in (
        ("str", base.construct_yaml_str),
        ("seq", base.construct_yaml_seq),
        ("null", base.construct_yaml_null),
        ("bool", _bool),
        ("int", _int),
        ("float", _float),
        ("map", _map),
    ):
        ExactLoader.add_constructor(core + name, construct)
    ExactLoader.add_constructor(None, base.construct_undefined)
    return ExactLoader


def _place(node: yaml.Node) -> str:
    return f"line {node.start_mark.line + 1}, column {node.start_mark.column + 1}"


def _bool(loader: Any, node: Any) -> bool:
    text = loader.construct_scalar(node)
    if text not in _TRUE + _FALSE:
        raise InputError("expected true or false", value=text, where=_place(node))
    return text in _TRUE


def _int(loader: Any, node: Any) -> int:
    text = loader.construct_scalar(node)
    if not re.fullmatch(_INTEGER, text):
        raise InputError("expected a whole number", value=text, where=_place(node))
    try:
        return _whole(text)
    except InputError as error:
        raise error.located(where=_place(node)) from None


def _float(loader: Any, node: Any) -> Decimal:
    text = loader.construct_scalar(node)
    if not re.fullmatch(_FINITE, text):
        raise InputError("expected a finite number", value=text, where=_place(node))
    try:
        return _decimal(text)
    except InputError as error:
        raise error.located(where=_place(node)) from None


def _map(loader: Any, node: Any) -> dict[str, Any]:
    loader.flatten_mapping(node)
    table: dict[str, Any] = {}
    for key_node, value_node in node.value:
        key = key_node.value  # as written: `1:` and `0F0:` are both text
        if not isinstance(key, str):
            raise InputError("expected a key that is text", where=_place(key_node))
        if key in table:
            raise InputError("expected each key once", value=key, where=_place(key_node))
        table[key] = loader.construct_object(value_node, deep=True)
    return table
