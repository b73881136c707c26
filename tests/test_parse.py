"""YAML and JSON come in exactly, or with one line that says where not."""

from __future__ import annotations

from decimal import Decimal

import pytest

from pipefill_opt.errors import InputError
from pipefill_opt.parse import parse_json, parse_yaml


def test_yaml_numbers_are_exact_and_core_rules_hold() -> None:
    document = parse_yaml("{a: 1e12, b: 0.29, c: {0F0: 12, 1: 3}, d: on, e: 010, f: ~, g: true, h: !!str 12, i: 3:20}")
    assert document == {
        "a": Decimal("1e12"),
        "b": Decimal("0.29"),
        "c": {"0F0": 12, "1": 3},
        "d": "on",
        "e": 10,
        "f": None,
        "g": True,
        "h": "12",
        "i": "3:20",
    }
    assert isinstance(document["b"], Decimal)


def test_json_numbers_are_exact() -> None:
    assert parse_json('{"a": 0.1, "b": 3, "c": 1E2}') == {"a": Decimal("0.1"), "b": 3, "c": Decimal("1E2")}


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("a: .nan", ("line 1, column 4", "finite")),
        ("a: -.inf", ("line 1, column 4", "finite")),
        ("a: 1\nb: 2\na: 3", ("line 3, column 1", "a", "each key once")),
        ("a: !!float x", ("line 1, column 4", "finite")),
        ("a: !!int x", ("line 1, column 4", "whole number")),
        ("a: !!bool x", ("line 1, column 4", "true or false")),
        ("a: !!timestamp zz", ("line 1, column 4", "YAML")),
        ("a: !!python/name:os.system", ("line 1, column 4", "YAML")),
        ("a: 1e400000", ("line 1, column 4", "1000 digits")),
        ("a: " + "9" * 5000, ("line 1, column 4", "1000 digits")),
        ("[a: 1]: 2", ("line 1, column 1", "text")),
        ("a: [1, 2", ("line", "YAML")),
        ("[" * 100_000, ("YAML",)),
        ("&a [*a]", ("inside itself",)),
    ],
)
def test_bad_yaml_is_one_line(text: str, words: tuple[str, ...]) -> None:
    with pytest.raises(InputError) as caught:
        parse_yaml(text, file="some.yaml")
    line = str(caught.value)
    assert line.startswith("some.yaml: ")
    assert "\n" not in line
    assert len(line) < 400
    for word in words:
        assert word in line


@pytest.mark.parametrize(
    ("text", "word"),
    [
        ('{"a": NaN}', "finite"),
        ('{"a": -Infinity}', "finite"),
        ('{"a": 1, "a": 2}', "each key once"),
        ('{"a": 1e400000}', "1000 digits"),
        ('{"a": ' + "9" * 5000 + "}", "1000 digits"),
        ('{"a": 1', "line 1, column 8"),
        ("[" * 100_000, "nests"),
    ],
)
def test_bad_json_is_one_line(text: str, word: str) -> None:
    with pytest.raises(InputError) as caught:
        parse_json(text, file="some.json")
    line = str(caught.value)
    assert line.startswith("some.json: ")
    assert word in line
    assert len(line) < 400


def test_an_error_stays_on_one_short_line() -> None:
    error = InputError("expected\n" + "y" * 5000, value="x" * 10_000, where="a\nb", file="odd\nname.yaml")
    assert "\n" not in str(error)
    assert len(str(error)) < 1500
    assert str(error).startswith("odd name.yaml: a b: xxx")
