"""One entry for each kind of trace: files in, complete steps of a pipeline out."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

from pipefill_opt.errors import InputError
from pipefill_opt.traces.intervals import read_intervals
from pipefill_opt.traces.json_events import Progress
from pipefill_opt.traces.kineto import read_kineto
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


def measured_trace(
    kind: str, paths: Paths, *, label: str | None = None, skip: int = 0, progress: Progress | None = None
) -> Measured:
    """The steps of one pipeline from the traces of its ranks. kind: `kineto` or `nsys`; `label`: the prefix of one's own labels.

    skip: leave out so many of the first steps. Raises InputError.
    """
    return without_first(measure(rank_runs(read_traces(kind, paths, progress), label)), skip)


def measured_intervals(path: Path | str, *, unit: str = "ns", skip: int = 0) -> Measured:
    """The steps of one pipeline from a CSV of intervals, see `intervals`. Raises InputError."""
    ranks, notes = read_intervals(path, unit)
    measured = measure(ranks)
    return without_first(replace(measured, notes=notes + measured.notes), skip)


def without_first(measured: Measured, skip: int) -> Measured:
    """The steps but for the first `skip`. Raises InputError where none is left."""
    if skip >= len(measured.steps):
        raise InputError(
            "expected a step that is not left out", value=f"{len(measured.steps)} complete, {skip} left out"
        )
    return replace(measured, steps=measured.steps[skip:])
