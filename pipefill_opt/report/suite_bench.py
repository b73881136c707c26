"""The table of a run of solvers over the instance suite: CSV to keep, markdown to read, and what changed since the last one."""

from __future__ import annotations

import csv
import io
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, fields
from fractions import Fraction

from pipefill_opt.errors import InputError
from pipefill_opt.fill.suite import Entry, fraction
from pipefill_opt.report.tables import csv_text, exact_number, percent
from pipefill_opt.solve.suite import Run, faults

COLUMNS = tuple(field.name for field in fields(Run))
NUMBERS = ("value", "bound")


def bench_csv(runs: Sequence[Run]) -> str:
    """One row a run; exact numbers as text."""
    return csv_text(COLUMNS, [[_cell(getattr(run, name)) for name in COLUMNS] for run in runs])


def _cell(value: str | float | Fraction | None) -> str | None:
    return exact_number(value) if isinstance(value, Fraction) else None if value is None else str(value)


def read_bench(text: str, *, file: str) -> tuple[Run, ...]:
    """The runs of a table written by `bench_csv`. Raises InputError."""
    reader = csv.DictReader(io.StringIO(text))
    if tuple(reader.fieldnames or ()) != COLUMNS:
        raise InputError(f"expected a table with the columns {', '.join(COLUMNS)}", file=file)
    return tuple(_run(row, f"row {number}", file) for number, row in enumerate(reader, 2))


def _run(row: dict[str, str], where: str, file: str) -> Run:
    try:
        numbers = {name: fraction(row[name]) if row[name] else None for name in NUMBERS}
        return Run(**{**row, **numbers, "cpu": float(row["cpu"])})  # type: ignore[arg-type]
    except InputError as error:
        raise error.located(where=where, file=file) from None
    except (TypeError, ValueError):
        raise InputError("expected a row of this table", where=where, file=file) from None


@dataclass(frozen=True, slots=True)
class Comparison:
    """Lines about runs that are better, worse, new, or cannot be (`broken`)."""

    better: tuple[str, ...]
    worse: tuple[str, ...]
    broken: tuple[str, ...]
    same: int

    @property
    def bad(self) -> bool:
        """Whether anything got worse or cannot be."""
        return bool(self.worse or self.broken)


def compare(runs: Sequence[Run], before: Sequence[Run], entries: Sequence[Entry]) -> Comparison:
    """Each run against the last one of the same solver on the same instance, by certified value.

    A run with less time than the last one had is not called worse.
    """
    last = {(run.file, run.instance, run.solver): run for run in before}
    known = {entry.file: entry for entry in entries}
    better: list[str] = []
    worse: list[str] = []
    same = 0
    for run in runs:
        old = last.get((run.file, run.instance, run.solver))
        if old is None or old.value is None:
            continue
        sign = -1 if run.sense == "min" else 1
        change = None if run.value is None else sign * (run.value - old.value)
        line = f"{run.file} {run.solver}: {_short(run.value)}, was {_short(old.value)}"
        if change is not None and change > 0:
            better.append(line)
        elif (change is None or change < 0) and float(run.limit) >= float(old.limit):
            worse.append(line)
        else:
            same += 1
    broken = [f"{run.file} {fault}" for run in runs if run.file in known for fault in faults(run, known[run.file])]
    return Comparison(tuple(better), tuple(worse), tuple(broken), same)


def comparison_text(found: Comparison) -> str:
    """What got better and worse, for people."""
    lines = [f"better: {line}" for line in found.better] + [f"worse: {line}" for line in found.worse]
    lines += [f"broken: {line}" for line in found.broken]
    total = f"{len(found.better)} better, {len(found.worse)} worse, {found.same} as before, {len(found.broken)} broken"
    return "\n".join([*lines, total]) + "\n"


def bench_markdown(runs: Sequence[Run]) -> str:
    """A summary by family and solver, then one row a run."""
    lines = [
        "| family | solver | instances | proved | mean gap | largest gap | CPU s |",
        "|---|---|---|---|---|---|---|",
    ]
    lines += _summary(runs)
    lines += [
        "",
        "| instance | solver | limit s | status | value | bound | gap | CPU s |",
        "|---|---|---|---|---|---|---|---|",
    ]
    for run in runs:
        gap = "" if run.gap is None else percent(run.gap, 3)
        cells = (
            run.file,
            run.solver,
            run.limit,
            run.status,
            _short(run.value),
            _short(run.bound),
            gap,
            f"{run.cpu:.2f}",
        )
        lines.append(f"| {' | '.join(cells)} |")
    return "\n".join(lines) + "\n"


def _summary(runs: Sequence[Run]) -> Iterator[str]:
    groups: dict[tuple[str, str], list[Run]] = {}
    for run in runs:
        if run.value is not None:
            groups.setdefault((run.file.split("/")[0], run.solver), []).append(run)
    for (family, solver), group in sorted(groups.items()):
        gaps = [run.gap for run in group if run.gap is not None]
        mean = percent(sum(gaps) / len(gaps), 3) if gaps else ""
        most = percent(max(gaps), 3) if gaps else ""
        proved = sum(run.gap == 0 for run in group)
        cpu = sum(run.cpu for run in group)
        yield f"| {family} | {solver} | {len(group)} | {proved} | {mean} | {most} | {cpu:.1f} |"


def _short(value: Fraction | None) -> str:
    return "" if value is None else f"{float(value):.9g}"
