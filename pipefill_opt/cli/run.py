"""Parse the command line, run one command, turn errors into one line and an exit code."""

from __future__ import annotations

import logging
import os
import sys
from collections.abc import Iterator, Sequence
from contextlib import contextmanager, suppress
from io import TextIOWrapper

from pipefill_opt import __version__
from pipefill_opt.cli import (
    data,
    demo,
    fill,
    harness,
    imports,
    instances,
    layers,
    main_job,
    profile,
    rank,
    roofline,
    traces,
)
from pipefill_opt.cli.options import Parser, refuse_overlap
from pipefill_opt.errors import InputError, PipefillError

INTERRUPTED = 130
BUG = 70

DESCRIPTION = "Exact pipeline bubbles, and certified, provably good plans for filling them."
EPILOG = (
    "Data goes to stdout, talk to stderr. Exit codes: 0 done, 1 infeasible, 2 bad input or usage, "
    "3 limit reached without a plan, 4 certificate failed."
)


def parser() -> Parser:
    """The parser of all commands; each sets `run`, a function of the parsed arguments that returns the exit code."""
    root = Parser(prog="pipefill", description=DESCRIPTION, epilog=EPILOG)
    root.add_argument("--version", action="version", version=f"pipefill {__version__}")
    commands = root.add_subparsers(title="commands", metavar="COMMAND", required=True)
    for group in (main_job, layers, imports, traces, profile, rank, roofline, fill, harness, instances, data, demo):
        group.register(commands)
    return root


def main(argv: Sequence[str] | None = None) -> int:
    """Run one command line; the exit code. Never raises, whatever the input."""
    words = list(sys.argv[1:] if argv is None else argv)
    _prepare_streams()
    debug = "--debug" in words
    try:
        arguments = parser().parse_args(words)
        refuse_overlap(arguments)
        with _log_on_stderr(logging.DEBUG if debug else logging.INFO if arguments.verbose else logging.WARNING):
            code: int = arguments.run(arguments)
        sys.stdout.flush()
    except SystemExit as end:  # --help and --version
        return int(end.code or 0)
    except PipefillError as error:
        _say(f"error: {error}")
        return error.exit_code
    except BrokenPipeError:  # the reader has gone: nothing more to say, and nothing to flush at exit
        _forget_stdout()
        return 0
    except OSError as error:  # files report their own: this is stdout
        _say(f"error: stdout: expected a writable place ({error.strerror or error})")
        _forget_stdout()
        return InputError.exit_code
    except KeyboardInterrupt:
        _say("interrupted")
        return INTERRUPTED
    except Exception as error:
        if debug:
            raise
        words_of_error = " ".join(str(error).split())
        _say(f"error: internal: {type(error).__name__}: {words_of_error} (a bug: run with --debug for the traceback)")
        return BUG
    return code


def _prepare_streams() -> None:
    """Names that the terminal cannot spell are written with escapes; a closed stream swallows what it is given."""
    if sys.stdout is None:
        sys.stdout = open(os.devnull, "w", encoding="utf-8")  # noqa: SIM115  (open for the life of the process)
    if sys.stderr is None:
        sys.stderr = open(os.devnull, "w", encoding="utf-8")  # noqa: SIM115
    for stream in (sys.stdout, sys.stderr):
        if isinstance(stream, TextIOWrapper):
            stream.reconfigure(errors="backslashreplace")


def _forget_stdout() -> None:
    """Nothing is left to be flushed at exit."""
    os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())


def _say(line: str) -> None:
    with suppress(OSError):  # nobody can be told that stderr is full
        print(line, file=sys.stderr, flush=True)


class _Line(logging.Formatter):
    def format(self, record: logging.LogRecord) -> str:
        return f"{record.levelname.lower()}: {record.getMessage()}"


@contextmanager
def _log_on_stderr(level: int) -> Iterator[None]:
    handler = logging.StreamHandler(sys.stderr)
    handler.setFormatter(_Line())
    logger = logging.getLogger("pipefill_opt")
    before = logger.level
    logger.setLevel(level)
    logger.addHandler(handler)
    try:
        yield
    finally:
        logger.removeHandler(handler)
        logger.setLevel(before)
