"""Profiler traces: `import kineto|nsys|intervals` and `idle`."""

from __future__ import annotations

import argparse
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any, Final

from pipefill_opt.cli.options import add_common, output_path
from pipefill_opt.cli.search import ProgressLine

if TYPE_CHECKING:
    from pipefill_opt.traces.measured import Measured

FORMATS: Final = ("text", "json", "csv")
BAR: Final = 30


def register_imports(kinds: Any) -> None:
    """Add the kinds of `import` that read traces."""
    kineto = kinds.add_parser("kineto", help="PyTorch profiler traces (Chrome JSON, gzip too), one file a rank")
    kineto.add_argument("files", metavar="FILE", nargs="+")
    nsys = kinds.add_parser("nsys", help="SQLite exports of Nsight Systems")
    nsys.add_argument("files", metavar="FILE", nargs="+")
    for parser in (kineto, nsys):
        parser.add_argument("--label", metavar="PREFIX", help="of labels such as PREFIX3F7; default: found by itself")
    intervals = kinds.add_parser("intervals", help="a CSV of rank, action, start, end")
    intervals.add_argument("files", metavar="FILE", nargs=1)
    intervals.add_argument("--unit", choices=("ns", "us", "ms", "s"), default="ns", help="of bare numbers; default: ns")
    for kind, parser in (("kineto", kineto), ("nsys", nsys), ("intervals", intervals)):
        parser.add_argument(
            "-o", "--output", type=output_path, metavar="MAIN", help="default: stdout, the report on stderr"
        )
        parser.add_argument("--skip", type=_count, default=0, metavar="N", help="leave out the first N steps")
        parser.add_argument(
            "--only", type=_numbers, default=(), metavar="N,M", help="only these steps, numbered as the report shows"
        )
        parser.add_argument(
            "--count-gaps", action="store_true",
            help="add to each action the time behind it in which its device neither works nor waits for a message",
        )  # fmt: skip
        parser.add_argument("--capacity", metavar="SIZE", help="memory of a device; default: as the trace tells")
        parser.add_argument("--used", metavar="SIZE", help="with --capacity: the most that the main job holds of it")
        add_common(parser, FORMATS)
        parser.set_defaults(run=run_import, kind=kind)


def register(commands: Any) -> None:
    """Add `idle` to the parser."""
    idle = commands.add_parser(
        "idle", help="busy and idle time of a device's streams, from a profiler trace without labels"
    )
    idle.add_argument("kind", choices=("kineto", "nsys"))
    idle.add_argument("files", metavar="FILE", nargs="+")
    idle.add_argument(
        "--union", type=_numbers, action="append", default=[], metavar="A,B", help="also these streams together"
    )
    add_common(idle, FORMATS)
    idle.set_defaults(run=run_idle)


def run_import(arguments: argparse.Namespace) -> int:
    """`pipefill import kineto|nsys|intervals FILE... -o MAIN`: with -o the report goes to stdout."""
    import json

    from pipefill_opt.report import measured as report
    from pipefill_opt.traces.importing import some_steps
    from pipefill_opt.traces.main_document import main_document
    from pipefill_opt.traces.prediction import predict_steps
    from pipefill_opt.workload.main_file import main_from_document

    _check_memory(arguments)
    measured = some_steps(_measured(arguments), skip=arguments.skip, only=arguments.only)
    memory = _memory(arguments, measured)
    document = main_document(measured, count_gaps=arguments.count_gaps, memory=memory)
    main_from_document(document, file=", ".join(arguments.files))
    predictions = predict_steps(measured)
    render: dict[str, Callable[[], str]] = {
        "text": lambda: report.measured_text(measured, predictions),
        "json": lambda: report.measured_json(measured, predictions),
        "csv": lambda: report.measured_csv(measured),
    }
    for note in measured.notes:
        print(f"note: {note}", file=sys.stderr)
    if memory is None:
        print("note: MAIN has no memory, which `solve` needs: --capacity and --used state it", file=sys.stderr)
    text = json.dumps(document) + "\n"
    if arguments.output is None:
        sys.stdout.write(text)
        sys.stderr.write(render[arguments.format]())
        return 0
    from pipefill_opt.files import write_text

    write_text(arguments.output, text)
    sys.stdout.write(render[arguments.format]())
    return 0


def _measured(arguments: argparse.Namespace) -> Measured:
    from pipefill_opt.traces.importing import measured_intervals, measured_trace

    if arguments.kind == "intervals":
        return measured_intervals(arguments.files[0], unit=arguments.unit)
    with _progress(arguments.files) as progress:
        return measured_trace(arguments.kind, arguments.files, label=arguments.label, progress=progress)


def run_idle(arguments: argparse.Namespace) -> int:
    """`pipefill idle kineto|nsys FILE...`."""
    from pipefill_opt.errors import InputError
    from pipefill_opt.report import idle
    from pipefill_opt.traces.importing import read_traces
    from pipefill_opt.traces.streams import device_times

    with _progress(arguments.files) as progress:
        traces = read_traces(arguments.kind, arguments.files, progress)
    devices = [device for events in traces for device in device_times(events, arguments.union)]
    if not devices:
        raise InputError("expected work of a device (kernels)", value="none", file=", ".join(arguments.files))
    known = sorted({stream for device in devices for times in device.streams for stream in times.streams})
    for stream in (stream for union in arguments.union for stream in union if stream not in known):
        raise InputError(f"expected streams among {', '.join(map(str, known))}", value=stream, where="--union")
    render = {"text": idle.idle_text, "json": idle.idle_json, "csv": idle.idle_csv}
    sys.stdout.writelines(render[arguments.format](devices))
    return 0


def _check_memory(arguments: argparse.Namespace) -> None:
    """InputError for --capacity or --used alone: the other one is not known, and 0 would be wrong."""
    from pipefill_opt.errors import InputError

    for one, other in (("capacity", "used"), ("used", "capacity")):
        value = getattr(arguments, one)
        if value is not None and getattr(arguments, other) is None:
            raise InputError(f"expected --{other} with it", value=value, where=f"--{one}")


def _memory(arguments: argparse.Namespace, measured: Measured) -> dict[str, Any] | None:
    """As stated, else as recorded."""
    if arguments.capacity is not None:
        return {"capacity": arguments.capacity, "static": arguments.used}
    if not measured.memory:
        return None
    capacity, reserved = zip(*measured.memory, strict=True)
    return {"unit": "B", "capacity": list(capacity), "static": list(reserved)}


class Bar(ProgressLine):
    """How much of a file is read."""

    def __init__(self, files: int) -> None:
        super().__init__()
        self._files, self._at, self._share = files, 0, 0.0

    def note(self, read: int, size: int) -> None:
        """Take news from a reader."""
        share = read / size if size else 1.0
        self._at += share < self._share
        self._share = share
        self.tick()

    def text(self, elapsed: float) -> str:
        """A bar, the share and the number of the file."""
        full = round(BAR * self._share)
        of = f" of file {self._at + 1} of {self._files}" if self._files > 1 else ""
        return f"reading [{'#' * full}{'.' * (BAR - full)}] {100 * self._share:3.0f} %{of}, {elapsed:.1f} s"


@contextmanager
def _progress(files: list[str]) -> Iterator[Callable[[int, int], None]]:
    bar = Bar(len(files))
    try:
        yield bar.note
    finally:
        bar.close()


def _count(text: str) -> int:
    if not (text.isascii() and text.isdecimal()) or len(text) > 9:
        raise argparse.ArgumentTypeError(f"{text}: expected a whole number")
    return int(text)


def _numbers(text: str) -> tuple[int, ...]:
    return tuple(_count(part) for part in text.split(","))
