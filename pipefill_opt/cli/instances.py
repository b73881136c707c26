"""The command `instances`: list the suite, check it, run solvers over it."""

from __future__ import annotations

import argparse
import sys
from collections.abc import Callable, Sequence
from pathlib import Path
from threading import Event
from typing import TYPE_CHECKING, Any

from pipefill_opt.cli.options import add_common, output_path, seconds, seed
from pipefill_opt.errors import CertificateError, InputError, LimitError

if TYPE_CHECKING:
    from pipefill_opt.fill.suite import Entry
    from pipefill_opt.solve.suite import Run

FORMATS = ("text", "json", "csv")
LAST = "bench.csv"
"""The last committed table, in the suite's folder."""
WORSE = 1


def register(commands: Any) -> None:
    """Add the command to the parser."""
    instances = commands.add_parser("instances", help="the instance suite: list it, check it, run solvers over it")
    actions = instances.add_subparsers(title="actions", metavar="list|check|bench", required=True)

    listing = actions.add_parser(
        "list", help="best values, bounds, who proved them, and the counts that the suite is made for"
    )
    add_common(listing, FORMATS)
    listing.set_defaults(run=run_list)

    check = actions.add_parser("check", help="certify every stored plan again; exit code 4 if one does not hold")
    add_common(check, FORMATS)
    check.set_defaults(run=run_check)

    bench = actions.add_parser(
        "bench",
        help="run solvers over the suite; exit code 1 if a value is worse than in the last table, or cannot be",
    )
    bench.add_argument(
        "--solvers", type=_names, default=("greedy", "auto"), help="names with commas (default: greedy,auto)"
    )
    bench.add_argument("--families", type=_names, default=(), help="names with commas (default: all)")
    bench.add_argument("--time-limit", type=seconds, default=10.0, help="seconds for each run (default: 10)")
    bench.add_argument("--seed", type=seed, default=0)
    bench.add_argument(
        "-o",
        "--output",
        type=output_path,
        help="the table as CSV, and as markdown beside it; runs that it has are not repeated",
    )
    bench.add_argument("--against", metavar="CSV", help=f"the table to compare with (default: the suite's {LAST})")
    add_common(bench, ("text", "csv"))
    bench.set_defaults(run=run_bench)


def _names(text: str) -> tuple[str, ...]:
    return tuple(name for name in text.split(",") if name)


def run_list(arguments: argparse.Namespace) -> int:
    """`pipefill instances list`."""
    from pipefill_opt.fill.suite import read_suite
    from pipefill_opt.report import suite

    show = {"text": suite.suite_table, "json": suite.suite_json, "csv": suite.suite_csv}
    sys.stdout.write(show[arguments.format](read_suite()))
    return 0


def run_check(arguments: argparse.Namespace) -> int:
    """`pipefill instances check`: exit code 4 if a stored plan or value does not hold."""
    from pipefill_opt.cli.search import Counter, watched
    from pipefill_opt.files import data_folder
    from pipefill_opt.fill.suite import check_suite, instance_files
    from pipefill_opt.report import suite

    counter, stop = Counter(), Event()
    every = len(instance_files(data_folder("instances")))

    def check() -> list[tuple[str, tuple[str, ...]]]:
        checked: list[tuple[str, tuple[str, ...]]] = []
        for result in check_suite():
            counter.note(len(checked), every, result[0])
            checked.append(result)
            if stop.is_set():
                raise LimitError(f"interrupted after {len(checked)} instances")
        return checked

    checked = watched(check, counter, stop)
    tell = {"text": suite.check_text, "json": suite.check_json, "csv": suite.check_csv}
    sys.stdout.write(tell[arguments.format](checked))
    return CertificateError.exit_code if any(faults for _, faults in checked) else 0


def run_bench(arguments: argparse.Namespace) -> int:
    """`pipefill instances bench`: exit code 1 if a value got worse or cannot be, 3 if a signal ended it."""
    from pipefill_opt.fill.suite import read_suite
    from pipefill_opt.report import suite_bench

    suite = read_suite()
    families = sorted({entry.family for entry in suite})
    for name in arguments.families:
        if name not in families:
            raise InputError(f"expected one of {', '.join(families)}", value=name, where="--families")
    entries = [entry for entry in suite if entry.family in (arguments.families or families)]
    before = _read(_against(arguments.against))
    known = _read(arguments.output) if arguments.output is not None and arguments.output.exists() else ()
    runs, whole = _runs(arguments, entries, known)
    found = suite_bench.compare(runs, before, entries)
    show = {"text": suite_bench.bench_markdown, "csv": suite_bench.bench_csv}
    sys.stdout.write(show[arguments.format](runs))
    print(suite_bench.comparison_text(found), file=sys.stderr, end="")
    if arguments.output is not None:
        from pipefill_opt.files import write_text

        write_text(arguments.output.with_suffix(".md"), suite_bench.bench_markdown(runs))
    return WORSE if found.bad else 0 if whole else LimitError.exit_code


def _against(path: str | None) -> Path | None:
    from pipefill_opt.files import data_folder

    if path is not None:
        return Path(path)
    last = data_folder("instances") / LAST
    return last if last.exists() else None


def _read(path: Path | None) -> tuple[Run, ...]:
    from pipefill_opt.files import read_text
    from pipefill_opt.report.suite_bench import read_bench

    return () if path is None else read_bench(read_text(path), file=str(path))


def _runs(arguments: argparse.Namespace, entries: Sequence[Entry], known: Sequence[Run]) -> tuple[list[Run], bool]:
    """All runs, old and new, and whether none is missing. Each new one is written at once, beside what was there."""
    from pipefill_opt.cli.search import Counter, watched
    from pipefill_opt.files import data_folder
    from pipefill_opt.solve.result import Limits
    from pipefill_opt.solve.suite import run_suite

    counter, stop = Counter(), Event()
    limits = Limits(time=arguments.time_limit, seed=arguments.seed, stop=stop)
    table = {run.key: run for run in known}
    keep = _keeper(arguments.output)

    def run() -> list[Run]:
        runs = []
        for one in run_suite(entries, data_folder("instances"), arguments.solvers, limits, dict(table), counter.note):
            runs.append(one)
            if one.key not in table:
                table[one.key] = one
                keep(list(table.values()))
        return runs

    runs = watched(run, counter, stop)
    return runs, len(runs) == len(entries) * len(arguments.solvers)


def _keeper(path: Path | None) -> Callable[[Sequence[Run]], None]:
    """Writes the table, whole, each time."""
    from pipefill_opt.files import write_text
    from pipefill_opt.report.suite_bench import bench_csv

    return lambda runs: None if path is None else write_text(path, bench_csv(runs))
