"""Read a Chrome JSON trace event by event, plain or gzip, in bounded memory.

The file is an object with a list `traceEvents`, or that list alone. Only one chunk of text and one event are held at a time.
Numbers with a fraction come out as their text, so that nothing is rounded before `json_ticks` makes whole nanoseconds of them.
"""

from __future__ import annotations

import codecs
import gzip
import json
import re
import zlib
from collections.abc import Callable, Iterator
from decimal import Decimal, InvalidOperation
from pathlib import Path
from typing import IO, Any, Final

from pipefill_opt.errors import InputError

CHUNK: Final = 2**20
MAX_EVENT: Final = 2**26
"""Characters of one event (or of one other value of the file) at most: a longer one is no trace."""

LONGEST_WORD: Final = 6
"""Characters that the file's end may cut: `false`, or an escape."""

Progress = Callable[[int, int], None]
"""Called with the bytes of the file that are read, and its size."""

_GAP: Final = re.compile(r"[ \t\n\r,]*")
_SPACE: Final = re.compile(r"[ \t\n\r]*")
_NUMBER: Final = re.compile(r"-?[0-9][-+0-9.eE]*")
_DECIMAL: Final = re.compile(r"(-?)([0-9]+)\.([0-9]{1,3})")


def json_ticks(value: object) -> int:
    """Whole nanoseconds of a time in microseconds as this reader gives it, exact to the nearest. Raises ValueError."""
    if type(value) is int:
        return value * 1000
    if isinstance(value, str):
        plain = _DECIMAL.fullmatch(value)
        if plain:
            sign, whole, part = plain.groups()
            ticks = int(whole) * 1000 + int(part.ljust(3, "0"))
            return -ticks if sign else ticks
        try:
            number = Decimal(value) * 1000
            if number.is_finite() and abs(number) < 10**20:
                return int(number.to_integral_value())
        except InvalidOperation:
            pass
    raise ValueError(f"{value!r} is no time")


def read_events(path: Path | str, header: dict[str, Any], progress: Progress | None = None) -> Iterator[dict[str, Any]]:
    """The trace's events in the order of the file; all else that stands at the top of it goes into `header` meanwhile.

    Raises InputError for what cannot be read: no such file, no JSON, no trace, a file that ends in the middle.
    """
    try:
        with open(path, "rb") as raw:
            size = raw.seek(0, 2)
            raw.seek(0)
            packed = raw.read(2) == b"\x1f\x8b"
            raw.seek(0)
            if not packed:
                yield from _document(_Text(raw, raw, size, str(path), progress), header)
                return
            with gzip.GzipFile(fileobj=raw) as stream:
                yield from _document(_Text(stream, raw, size, str(path), progress), header)
    except OSError as error:
        raise InputError(f"expected a readable file ({error.strerror or error})", file=str(path)) from None


class _Text:
    """The text of a file, a window of it at a time: `text[at:]` is what is read and not yet used."""

    def __init__(
        self, stream: IO[bytes] | gzip.GzipFile, raw: IO[bytes], size: int, file: str, progress: Progress | None
    ) -> None:
        self._stream, self._raw, self._size, self._progress = stream, raw, size, progress
        self._decode = codecs.getincrementaldecoder("utf-8-sig")(errors="replace").decode
        self._whole = json.JSONDecoder(parse_float=str).raw_decode
        self.file = file
        self.text = ""
        self.at = 0
        self.used = 0
        self.ended = False

    def more(self) -> bool:
        """Read another chunk; false at the end of the file."""
        if self.ended:
            return False
        try:
            data = self._stream.read(CHUNK)
        except (EOFError, zlib.error, gzip.BadGzipFile) as error:
            raise InputError(f"expected a whole gzip file ({error})", file=self.file) from None
        self.ended = not data
        self.used += self.at
        self.text = self.text[self.at :] + self._decode(data, final=self.ended)
        self.at = 0
        if self._progress is not None:
            self._progress(self._raw.tell(), self._size)
        return not self.ended

    def next(self, gap: re.Pattern[str] = _SPACE) -> str:
        """The next character behind `gap`, not yet used; empty at the end of the file."""
        while True:
            match = gap.match(self.text, self.at)
            assert match is not None
            self.at = match.end()
            if self.at < len(self.text):
                return self.text[self.at]
            if not self.more():
                return ""

    def value(self) -> Any:
        """The next JSON value."""
        while True:
            number = _NUMBER.match(self.text, self.at)
            if self.ended or not number or number.end() < len(self.text):  # a number at the window's end may go on
                try:
                    value, end = self._whole(self.text, self.at)
                    if number and end < number.end():
                        raise self._failed("a number without an end", number.end())
                    self.at = end
                    return value
                except RecursionError:
                    raise self.wrong("expected JSON that nests less deeply") from None
                except json.JSONDecodeError as error:
                    problem, place = error.msg, error.pos
                except ValueError as error:
                    problem, place = str(error), self.at
                if self.ended or len(self.text) - self.at > MAX_EVENT:
                    raise self._failed(problem, place)
            self.more()

    def _failed(self, problem: str, place: int) -> InputError:
        """The error for a value that is none: one that the file's end cuts off, or a wrong one."""
        if self.ended and (len(self.text.rstrip()) - place <= LONGEST_WORD or problem.startswith("Unterminated")):
            return self.cut_off(problem)
        self.at = place
        return self.wrong(f"expected JSON ({problem})")

    def expect(self, wanted: str, what: str) -> None:
        """Use the next character, which must be `wanted`."""
        found = self.next()
        if not found:
            raise self.cut_off(f"{what} is missing")
        if found != wanted:
            raise self.wrong(f"expected {what}", found)
        self.at += 1

    def wrong(self, expected: str, value: object = None) -> InputError:
        """An error at this place."""
        return InputError(expected, value=value, where=f"character {self.used + self.at}", file=self.file)

    def cut_off(self, problem: str) -> InputError:
        """The error for a file that ends too early."""
        return self.wrong(f"expected a whole trace, and the file ends in the middle ({problem})")


def _document(text: _Text, header: dict[str, Any]) -> Iterator[dict[str, Any]]:
    first = text.next()
    if not first:
        raise InputError("expected a trace, and the file is empty", file=text.file)
    if first == "[":
        yield from _events(text)
    elif first == "{":
        yield from _members(text, header)
    else:
        raise text.wrong("expected a Chrome JSON trace, which begins with { or [", first)
    if text.next():
        raise text.wrong("expected the end of the file", text.text[text.at])


def _members(text: _Text, header: dict[str, Any]) -> Iterator[dict[str, Any]]:
    """Events of an object; its other members go into `header`."""
    text.at += 1
    found = False
    while (character := text.next(_GAP)) != "}":
        if not character:
            raise text.cut_off("} is missing")
        if character != '"':
            raise text.wrong("expected a name in quotes", character)
        name = text.value()
        text.expect(":", "a colon")
        character = text.next()
        if name == "traceEvents" and character == "[":
            found = True
            yield from _events(text)
        else:
            header[name] = text.value()
    text.at += 1
    if not found:
        raise InputError("expected a Chrome JSON trace, with a list traceEvents", file=text.file)


def _events(text: _Text) -> Iterator[dict[str, Any]]:
    """The events of the list that begins here."""
    text.at += 1
    while (character := text.next(_GAP)) != "]":
        if not character:
            raise text.cut_off("] is missing")
        if character != "{":
            raise text.wrong("expected an event", character)
        yield text.value()
    text.at += 1
