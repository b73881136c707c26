"""The parser class, the options that commands share, and the types of their values."""

from __future__ import annotations

import argparse
import os
from collections.abc import Sequence
from fractions import Fraction
from pathlib import Path
from typing import NoReturn

from pipefill_opt.errors import InputError

PICTURES = (".svg", ".png")


class Parser(argparse.ArgumentParser):
    """argparse, with one line for a usage error: InputError, which gets exit code 2."""

    def error(self, message: str) -> NoReturn:
        raise InputError(f"{message} (see `{self.prog} --help`)")


def add_common(parser: argparse.ArgumentParser, formats: Sequence[str] = ()) -> None:
    """The options of every command; `formats`: what `--format` may be, the first one is the default."""
    if formats:
        parser.add_argument("--format", choices=formats, default=formats[0], help=f"default: {formats[0]}")
    parser.add_argument("-v", "--verbose", action="store_true", help="more talk on stderr")
    parser.add_argument("--debug", action="store_true", help="show the traceback of an internal error")


def output_path(text: str) -> Path:
    """A file that can be written, as far as that can be told before the work begins."""
    path = Path(text)
    if path.is_dir():
        raise argparse.ArgumentTypeError(f"{text}: expected a file to write, not a folder")
    folder = path.absolute().parent
    while not folder.exists():
        folder = folder.parent
    if not folder.is_dir() or not os.access(folder, os.W_OK):
        raise argparse.ArgumentTypeError(f"{text}: expected a writable place")
    return path


def folder_path(text: str) -> Path:
    """A folder that exists or can be made, as far as that can be told before the work begins."""
    output_path(os.path.join(text, "file"))
    return Path(text)


def refuse_overlap(arguments: argparse.Namespace) -> None:
    """InputError where a file to write is a file to read, or is to be written twice. Outputs are `Path`, inputs text."""
    words = [value if isinstance(value, list) else [value] for value in vars(arguments).values()]
    used = {os.path.realpath(word): word for value in words for word in value if isinstance(word, str)}
    for name, value in vars(arguments).items():
        if not isinstance(value, Path) or (value.exists() and not value.is_file()):
            continue
        if os.path.realpath(value) in used:
            raise InputError(
                "expected a file that this command does not read or write already", value=value, where=name
            )
        used[os.path.realpath(value)] = str(value)


def picture_path(text: str) -> Path:
    """A picture to write: SVG or PNG by its name."""
    path = output_path(text)
    if path.suffix.lower() not in PICTURES:
        raise argparse.ArgumentTypeError(f"{text}: expected a name that ends in {' or '.join(PICTURES)}")
    return path


def seconds(text: str) -> float:
    """A positive number of seconds."""
    try:
        value = float(text)
    except ValueError:
        value = 0.0
    if not 0 < value < 1e9:
        raise argparse.ArgumentTypeError(f"{text}: expected a number of seconds above 0")
    return value


def share(text: str) -> Fraction:
    """An exact number of 0 or more, such as 0.01."""
    from pipefill_opt.units import exact

    try:
        value = exact(text)
    except InputError:
        value = Fraction(-1)
    if value < 0:
        raise argparse.ArgumentTypeError(f"{text}: expected a number of 0 or more, such as 0.01")
    return value


def seed(text: str) -> int:
    """A seed that every solver takes: a whole number from 0 to 2^31 - 1."""
    if not text.isdecimal() or int(text) >= 2**31:
        raise argparse.ArgumentTypeError(f"{text}: expected a whole number from 0 to 2147483647")
    return int(text)
