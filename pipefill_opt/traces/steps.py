"""From runs on ranks to complete steps of one pipeline."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import replace

from pipefill_opt.errors import InputError
from pipefill_opt.schedule.actions import Kind
from pipefill_opt.traces.clocks import align_clocks
from pipefill_opt.traces.measured import STEP, Entry, Interval, Measured, RankRuns, Run, Step, covered, members

Rows = tuple[tuple[Run, ...], ...]
Order = tuple[tuple[Entry, ...], ...]


def measure(ranks: Sequence[RankRuns]) -> Measured:
    """The complete steps of a pipeline, on one clock. A step that lacks an action, or has another order, is left out and noted.

    Raises InputError where no step is complete, where two ranks run the same action, and for clocks that nothing can put together.
    """
    numbered = [_numbered(_merged(rank)) for rank in ranks]
    _refuse_copies(numbered)
    rows = _rows(numbered)
    order, notes = _order(rows)
    dropped = [number for number in rows if _order_of(rows[number]) != order]
    if dropped:
        notes += (f"left out, with another order or without some actions: step {', '.join(map(str, dropped))}",)
    kept = [number for number in rows if number not in dropped]
    aligned, moved = align_clocks([_only(rank, kept) for rank in numbered])
    rows = _rows(aligned)
    steps = tuple(_step(aligned, number, rows[number]) for number in kept)
    memory = tuple((rank.capacity, rank.reserved) for rank in ranks if rank.capacity and rank.reserved)
    known = memory if len(memory) == len(ranks) else ()
    return Measured(tuple(rank.rank for rank in ranks), steps, notes + moved, known)


def _merged(rank: RankRuns) -> RankRuns:
    """Optimizer steps one after the other (one for each chunk of the model) as one."""
    runs: list[Run] = []
    for run in rank.runs:
        if runs and run.action == runs[-1].action == STEP and run.step == runs[-1].step:
            runs[-1] = replace(runs[-1], end=max(run.end, runs[-1].end))
        else:
            runs.append(run)
    return replace(rank, runs=tuple(runs))


def _numbered(rank: RankRuns) -> RankRuns:
    """Every run in a numbered step: the one that the trace marks, else a new one at each action that comes again."""
    if rank.windows or any(run.step is not None for run in rank.runs):
        return replace(rank, runs=tuple(run for run in rank.runs if run.step is not None))
    step, seen, backward = 0, set[Entry](), False
    runs = []
    for run in rank.runs:
        kinds = {action.kind for action in members(run.action)}
        opens = backward and any(a.kind is Kind.F and a.microbatch == 0 for a in members(run.action))
        if run.action in seen or opens:
            step, seen, backward = step + 1, set(), False
        seen.add(run.action)
        backward = backward or bool(kinds & {Kind.B, Kind.I})
        runs.append(replace(run, step=step))
    return replace(rank, runs=tuple(runs))


def _refuse_copies(ranks: Sequence[RankRuns]) -> None:
    """InputError where an action runs on two ranks, or twice in a step."""
    place: dict[tuple[int | None, Entry], RankRuns] = {}
    for rank in ranks:
        for run in rank.runs:
            if run.action == STEP:
                continue
            other = place.setdefault((run.step, run.action), rank)
            if other is not rank:
                expected = "expected one pipeline, each action on one rank (give the ranks of one data-parallel copy)"
                raise InputError(expected, value=f"{run.action} on ranks {other.rank} and {rank.rank}")
        twice = [key for key, times in Counter((run.step, run.action) for run in rank.runs).items() if times > 1]
        if twice:
            step, action = twice[0]
            expected = "expected each action once in a step"
            raise InputError(expected, value=f"{action}, rank {rank.rank}, step {step}", file=rank.source)


def _rows(ranks: Sequence[RankRuns]) -> dict[int, Rows]:
    """The rows of every step that any rank has."""
    numbers = sorted({run.step for rank in ranks for run in rank.runs if run.step is not None})
    rows: dict[int, list[list[Run]]] = {number: [[] for _ in ranks] for number in numbers}
    for index, rank in enumerate(ranks):
        for run in rank.runs:
            if run.step is not None:
                rows[run.step][index].append(run)
    return {number: tuple(map(tuple, rows[number])) for number in numbers}


def _order_of(rows: Rows) -> Order:
    return tuple(tuple(run.action for run in row) for row in rows)


def _order(rows: dict[int, Rows]) -> tuple[Order, tuple[str, ...]]:
    """The order of most of the steps that hold every action that any step has."""
    if not rows:
        raise InputError("expected runs of actions in the steps that the trace marks", value="none")
    everything = [
        {run.action for step in rows.values() for run in step[index]} for index in range(len(next(iter(rows.values()))))
    ]
    whole = [
        _order_of(step)
        for step in rows.values()
        if all({run.action for run in row} == every for row, every in zip(step, everything, strict=True))
    ]
    if not whole:
        number = next(iter(rows))
        lacks = [
            f"{sorted(map(str, every - {run.action for run in row}))[0]} on rank position {index}"
            for index, (row, every) in enumerate(zip(rows[number], everything, strict=True))
            if every - {run.action for run in row}
        ]
        raise InputError("expected a step in which every action runs", value=f"step {number} lacks {lacks[0]}")
    return Counter(whole).most_common(1)[0][0], ()


def _only(rank: RankRuns, kept: Sequence[int]) -> RankRuns:
    return replace(rank, runs=tuple(run for run in rank.runs if run.step in kept))


def _step(ranks: Sequence[RankRuns], number: int, rows: Rows) -> Step:
    """The window on each rank: as the trace marks it, else from the first start to the last end on any rank."""
    whole = min(row[0].start for row in rows), max(run.end for row in rows for run in row)
    windows = tuple(rank.windows.get(number, whole) for rank in ranks)
    if not any(rank.communication for rank in ranks):
        return Step(number, rows, windows)
    shares = tuple(_within(rank.communication, window) for rank, window in zip(ranks, windows, strict=True))
    return Step(number, rows, windows, shares)


def _within(intervals: Sequence[Interval], window: Interval) -> int:
    """How much of the window the intervals cover."""
    start, end = window
    return covered(
        sorted((max(first, start), min(last, end)) for first, last in intervals if first < end and last > start)
    )
