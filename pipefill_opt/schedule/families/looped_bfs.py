"""Looped breadth-first: chunk after chunk, all micro-batches forward; then the same order backwards in time."""

from __future__ import annotations

import numpy as np

from pipefill_opt.schedule.actions import Kind
from pipefill_opt.schedule.families.family import Family, Size, StageCosts, by_rank
from pipefill_opt.schedule.families.rows import Row, join, run


def breadth_first(kind: Kind, size: Size, rank: int) -> Row:
    """All micro-batches through a device's first stage, then through its next one."""
    chunk, microbatch = np.divmod(np.arange(size.chunks * size.microbatches), size.microbatches)
    return run(kind, chunk * size.devices + rank, microbatch)


def breadth_first_slots(size: Size) -> int:
    """Stage times from the first to the last action of such a pass: a chunk waits for the one before where m < p."""
    p, m, v = size
    return (v - 1) * max(m, p) + m + p - 1


def _row(size: Size, rank: int) -> Row:
    return join(breadth_first(Kind.F, size, rank), breadth_first(Kind.B, size, rank)[::-1])


def _makespan(size: Size, costs: StageCosts) -> int:
    return breadth_first_slots(size) * costs.round_trip


LOOPED_BFS = Family(
    name="looped-bfs",
    summary="looped breadth-first: each chunk runs all micro-batches before the next one",
    source="Lamy-Poirier, Breadth-First Pipeline Parallelism; order of torch.distributed.pipelining ScheduleLoopedBFS",
    closed_form="makespan (mv+p-1)(F+B) for m >= p, ((v-1)p+m+p-1)(F+B) for m < p, F and B per chunk",
    in_flight="mv",
    makespan=_makespan,
    rows=by_rank(_row),
    chunks=2,
    fixed_chunks=False,
)
