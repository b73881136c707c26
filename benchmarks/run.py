"""Run the benchmarks: `python -m benchmarks.run [SUITE ...] [--save]`. Exit code 1 if a target is missed.

All figures are ratios, gaps or sizes, measured in one run, so that they say the same on a slow machine and on a fast one.
"""

from __future__ import annotations

import argparse
import datetime
import json
import os
import platform
import sys
from collections.abc import Sequence
from importlib import import_module
from importlib.metadata import version
from pathlib import Path

from benchmarks.line import Line

SUITES = ("timeline", "solvers", "newcomer", "traces", "cluster", "life")
"""Modules of this package; each has `lines() -> Iterator[Line]`."""
RESULTS = Path(__file__).parent / "results"
LIBRARIES = ("pipefill_opt", "numpy", "numba", "networkx", "ortools", "highspy", "pulp")


def main(arguments: Sequence[str] | None = None) -> int:
    """Run suites, print a table, and with `--save` keep it under benchmarks/results."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks.run", description="Speed and memory, as ratios.")
    parser.add_argument("suites", nargs="*", metavar="SUITE", help=f"default: {' '.join(SUITES)}")
    parser.add_argument("--save", action="store_true", help="keep the figures in benchmarks/results/DATE.json")
    options = parser.parse_args(arguments)
    unknown = sorted(set(options.suites) - set(SUITES))
    if unknown:
        parser.error(f"unknown suite {unknown[0]}, expected one of {', '.join(SUITES)}")
    found: dict[str, list[Line]] = {}
    saved = None
    for suite in options.suites or SUITES:
        print(f"{suite}", flush=True)
        found[suite] = []
        for line in import_module(f"benchmarks.{suite}").lines():
            found[suite].append(line)
            print(text_of(line), flush=True)
            if options.save:
                saved = save(found)  # at once: a run that is ended loses nothing
    missed = sum(not line.holds for suite in found.values() for line in suite)
    print(f"{missed} target(s) missed" if missed else "all targets met")
    if saved is not None:
        print(f"saved {saved}")
    return 1 if missed else 0


def text_of(line: Line) -> str:
    """One line of the table: verdict, figure, target, name, note."""
    verdict = "ok    " if line.holds else "MISSED"
    relation = ">=" if line.at_least else "<="
    unit = f" {line.unit}" if line.unit else ""
    note = f"  ({line.note})" if line.note else ""
    return f"  {verdict} {line.value:9.3f} {relation} {line.target:g}{unit:4}  {line.name}{note}"


def save(found: dict[str, list[Line]]) -> Path:
    """Write the figures with date and machine, beside those of other suites of that day, and return where."""
    today = datetime.date.today().isoformat()
    path = RESULTS / f"{today}.json"
    before = json.loads(path.read_text(encoding="utf-8"))["suites"] if path.exists() else {}
    document = {
        "date": today,
        "machine": machine(),
        "suites": before
        | {
            suite: [
                {
                    "name": line.name,
                    "value": round(line.value, 4),
                    "target": line.target,
                    "sense": "at least" if line.at_least else "at most",
                    "unit": line.unit,
                    "holds": line.holds,
                    "note": line.note,
                }
                for line in lines
            ]
            for suite, lines in found.items()
        },
    }
    RESULTS.mkdir(exist_ok=True)
    path.write_text(json.dumps(document, indent=2) + "\n", encoding="utf-8")
    return path.relative_to(RESULTS.parent.parent)


def machine() -> dict[str, object]:
    """What the figures were measured on, without names."""
    pages, page = os.sysconf("SC_PHYS_PAGES"), os.sysconf("SC_PAGE_SIZE")
    return {
        "system": platform.system(),
        "architecture": platform.machine(),
        "cores": os.cpu_count(),
        "memory_gib": round(pages * page / 2**30, 1),
        "python": platform.python_version(),
        "libraries": {name: version(name) for name in LIBRARIES},
    }


if __name__ == "__main__":
    sys.exit(main())
