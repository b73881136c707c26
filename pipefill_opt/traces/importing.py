"""One entry for each kind of trace: files in, complete steps of a pipeline out."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from dataclasses import replace
from pathlib import Path

from pipefill_opt.errors import InputError
from pipefill_opt.traces.intervals import read_intervals
from pipefill_opt.traces.json_events import Progress
from pipefill_opt.traces.kineto import read_kineto
from pipefill_opt.traces.labels import no_actions
from pipefill_opt.traces.measured import Measured
from pipefill_opt.traces.rank_runs import rank_runs
from pipefill_opt.traces.steps import measure
from pipefill_opt.traces.trace_events import TraceEvents

Paths = Sequence[Path | str]


def read_traces(kind: str, paths: Paths, progress: Progress | None = None) -> tuple[TraceEvents, ...]:
    """What profilers recorded, by rank as they come. kind: `kineto` or `nsys`. Raises InputError."""
    if kind == "nsys":
        from pipefill_opt.traces.nsys import read_nsys

        return read_nsys(paths, progress)
    return tuple(read_kineto(path, position=index, progress=progress) for index, path in enumerate(paths))


def measured_trace(kind: str, paths: Paths, *, label: str | None = None, progress: Progress | None = None) -> Measured:
    """The steps of one pipeline from the traces of its ranks. kind: `kineto` or `nsys`; `label`: the prefix of one's own labels.

    Raises InputError.
    """
    traces = read_traces(kind, paths, progress)
    measured = measure(rank_runs(traces, label))
    return replace(measured, notes=no_actions(traces, label) + measured.notes)


def measured_intervals(path: Path | str, *, unit: str = "ns") -> Measured:
    """The steps of one pipeline from a CSV of intervals, see `intervals`. Raises InputError."""
    ranks, notes = read_intervals(path, unit)
    measured = measure(ranks)
    return replace(measured, notes=notes + measured.notes)


def some_steps(measured: Measured, *, skip: int = 0, only: Collection[int] = ()) -> Measured:
    """The steps but for the first `skip`, and of these only those with the numbers in `only`, where there are any.

    Raises InputError where none is left, or one of `only` is not complete.
    """
    complete = [step.number for step in measured.steps]
    absent = [number for number in only if number not in complete]
    kept = tuple(step for step in measured.steps[skip:] if not only or step.number in only)
    if absent or not kept:
        value = f"step {absent[0]}" if absent else f"{skip} left out"
        expected = f"expected some of the complete steps, {', '.join(map(str, complete))}"
        raise InputError(expected, value=value)
    return replace(measured, steps=kept)
