"""Flags as they are written: in a command line, in a shell script, or in a TOML file; and what of them was used."""

from __future__ import annotations

import re
import shlex
import tomllib
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any

from pipefill_opt.errors import InputError

ASSIGNMENT = re.compile(
    r"^\s*(?:export\s+)?([A-Za-z_][A-Za-z0-9_]*)=([^\s$`(\"']+|\"[^\"$`]*\"|'[^']*')\s*(?:#.*)?$", re.MULTILINE
)
VARIABLE = re.compile(r"\$(?:\{([A-Za-z_][A-Za-z0-9_]*)\}|([A-Za-z_][A-Za-z0-9_]*))")
COMMENT = re.compile(r"(?:^|(?<=\s))#.*$", re.MULTILINE)
SIGNS = "(){}[]\\;,"
"""What a shell array or a continued line leaves around a word."""


@dataclass(slots=True)
class Flags:
    """Values by name, as text, without dashes; `_` and `-` are the same. A flag without value is "true". used: names asked for."""

    values: Mapping[str, str]
    used: set[str] = field(default_factory=set)

    def text(self, *names: str) -> str | None:
        """The value of the first of these names that is there; names are one flag's old and new ones. Raises InputError if they differ."""
        found = [(name, self.values[name]) for name in names if name in self.values]
        self.used.update(name for name, _ in found)
        for name, value in found[1:]:
            if value != found[0][1]:
                raise InputError(f"expected the same as {found[0][0]}, {found[0][1]}", value=value, where=f"--{name}")
        return found[0][1] if found else None

    def number(self, *names: str, least: int = 1) -> int | None:
        """A whole number."""
        text = self.text(*names)
        if text is None:
            return None
        if not re.fullmatch(r"-?[0-9]{1,15}", text) or int(text) < least:
            raise InputError(f"expected a whole number from {least} on", value=text, where=f"--{names[0]}")
        return int(text)

    def needed(self, *names: str) -> int:
        """A whole number that must be there."""
        number = self.number(*names)
        if number is None:
            raise InputError(f"missing --{names[0]}")
        return number

    def is_set(self, *names: str) -> bool:
        """Whether a flag without value is there, or one that is true."""
        text = self.text(*names)
        if text not in (None, "true", "false"):
            raise InputError("expected no value", value=text, where=f"--{names[0]}")
        return text == "true"

    def ignored(self) -> tuple[str, ...]:
        """What nobody asked for, in order."""
        return tuple(name for name in self.values if name not in self.used)


def read_flags(text: str) -> Flags:
    """Flags of a command line or a shell script; variables that the script sets to plain words are put in. Raises InputError."""
    script = {name: value.strip("\"'") for name, value in ASSIGNMENT.findall(text)}
    plain = COMMENT.sub("", text).replace("\\\n", " ").replace("\n", " ; ")
    filled = VARIABLE.sub(lambda match: script.get(match[1] or match[2], match[0]), plain)
    try:
        words = shlex.split(filled)
    except ValueError as error:
        raise InputError(f"expected flags ({error})") from None
    pieces = [
        piece for word in words for piece in (word.split() if " --" in f" {word}" else [word])
    ]  # quoted lists too
    return Flags(_once(_pairs([piece.strip(SIGNS) for piece in pieces])))


def _pairs(words: list[str]) -> Iterator[tuple[str, str]]:
    """Names and values, which stand on one line; whatever stands before the first flag, or as a further value, is not a flag's."""
    index = 0
    while index < len(words):
        word = words[index]
        index += 1
        if not word.startswith("--") or len(word) < 3:
            continue
        name, equals, value = word[2:].partition("=")
        if not equals:
            value = "true"
            if index < len(words) and words[index] and not words[index].startswith("--"):
                value = words[index]
        yield _canonical(name), value


def _once(pairs: Iterator[tuple[str, str]]) -> dict[str, str]:
    values: dict[str, str] = {}
    for name, value in pairs:
        if values.setdefault(name, value) != value:
            raise InputError(f"expected one value, but it is also {values[name]}", value=value, where=f"--{name}")
    return values


def read_toml(text: str) -> Flags:
    """Flags of a TOML file: `key` of `[section]` is `section.key`. Raises InputError."""
    try:
        document = tomllib.loads(text)
    except tomllib.TOMLDecodeError as error:
        raise InputError(f"expected TOML ({error})") from None
    return Flags(_once(_flat(document, "")))


def _flat(document: Mapping[str, Any], prefix: str) -> Iterator[tuple[str, str]]:
    for key, value in document.items():
        name = f"{prefix}{_canonical(key)}"
        if isinstance(value, Mapping):
            yield from _flat(value, f"{name}.")
        else:
            yield name, str(value).lower() if isinstance(value, bool) else str(value)


def _canonical(name: str) -> str:
    return name.replace("_", "-")
