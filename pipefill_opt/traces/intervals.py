"""One's own timers as a CSV: rank, action, start, end, and step where they know it.

A first row names the columns, in any order: `rank,action,start,end` and, if wanted, `step`; others are ignored. Times are
numbers in one unit, or carry theirs (`3.2ms`), on one clock or on a clock a rank. An action is torch's text (`3F7`); a row
with another text marks a step if it is `step`, and is ignored with a note otherwise.
"""

from __future__ import annotations

import csv
from collections import Counter
from collections.abc import Mapping
from pathlib import Path
from typing import Final

from pipefill_opt.errors import InputError, ScheduleError
from pipefill_opt.files import read_text
from pipefill_opt.schedule.actions import parse_action
from pipefill_opt.traces.measured import Interval, RankRuns, Run, step_at
from pipefill_opt.units import TIME_UNITS, exact, parse_time

COLUMNS: Final = ("rank", "action", "start", "end")
MARK: Final = "step"
"""The text of a row that marks a whole step of its rank."""


def read_intervals(path: Path | str, unit: str = "ns") -> tuple[tuple[RankRuns, ...], tuple[str, ...]]:
    """The runs of every rank in order of rank, and what was ignored, in sentences. `unit`: of bare numbers.

    Raises InputError with row and column.
    """
    file = str(path)
    reader = csv.DictReader(read_text(path).splitlines())
    header = [name.strip() for name in reader.fieldnames or ()]
    reader.fieldnames = header
    missing = [name for name in COLUMNS if name not in header]
    if missing:
        raise InputError(
            f"expected a first row with the columns {', '.join(COLUMNS)}", value=",".join(header), file=file
        )
    runs: dict[int, list[Run]] = {}
    windows: dict[int, dict[int, Interval]] = {}
    ignored: Counter[str] = Counter()
    for number, row in enumerate(reader, start=2):
        try:
            rank, step, start, end = _row(row, unit)
            text = (row["action"] or "").strip()
            if text == MARK:
                windows.setdefault(rank, {})[len(windows.get(rank, {})) if step is None else step] = (start, end)
                continue
            try:
                action = parse_action(text)
            except ScheduleError:
                ignored[text] += 1
                continue
            runs.setdefault(rank, []).append(Run(action, start, end, step))
        except InputError as error:
            raise error.located(where=f"row {number}", file=file) from None
    if not runs:
        raise InputError("expected rows with actions such as 0F0", value="none", file=file)
    notes = tuple(
        f"{file}: {times} rows of {text!r} are no actions and were ignored" for text, times in ignored.items()
    )
    return tuple(_rank(rank, file, runs[rank], windows.get(rank, {})) for rank in sorted(runs)), notes


def _rank(rank: int, file: str, runs: list[Run], windows: Mapping[int, Interval]) -> RankRuns:
    ordered = sorted(runs, key=lambda run: (run.start, run.end))
    if windows and all(run.step is None for run in ordered):
        ordered = [Run(run.action, run.start, run.end, step_at(run.start, windows)) for run in ordered]
    return RankRuns(rank, file, tuple(ordered), windows)


def _row(row: Mapping[str | None, str | None], unit: str) -> tuple[int, int | None, int, int]:
    """rank, step, start, end."""
    rank = _whole(row.get("rank"), "rank")
    step = _whole(row["step"], "step") if (row.get("step") or "").strip() else None
    start, end = (_time(row.get(name), unit, name) for name in ("start", "end"))
    if end < start:
        raise InputError("expected an end at or after the start", value=row.get("end"), where="end")
    return rank, step, start, end


def _whole(text: str | None, name: str) -> int:
    text = (text or "").strip()
    if not (text.isascii() and text.isdecimal()) or len(text) > 9:
        raise InputError("expected a whole number", value=text, where=name)
    return int(text)


def _time(text: str | None, unit: str, name: str) -> int:
    """Whole ns; a fraction of one is rounded to the nearest."""
    text = (text or "").strip()
    try:
        ticks = exact(text) * TIME_UNITS[unit]
    except InputError:
        try:
            return parse_time(text)
        except InputError as error:
            raise error.located(where=name) from None
    if abs(ticks) >= 2**62:
        raise InputError("expected a time of less than 146 years", value=text, where=name)
    return round(ticks)
