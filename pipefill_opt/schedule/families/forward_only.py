"""Forward-only inference, breadth-first where a device holds several stages."""

from __future__ import annotations

from pipefill_opt.schedule.actions import Kind
from pipefill_opt.schedule.families.family import Family, Size, StageCosts, by_rank
from pipefill_opt.schedule.families.looped_bfs import breadth_first, breadth_first_slots
from pipefill_opt.schedule.families.rows import Row


def _row(size: Size, rank: int) -> Row:
    return breadth_first(Kind.F, size, rank)


def _makespan(size: Size, costs: StageCosts) -> int:
    return breadth_first_slots(size) * costs.forward


FORWARD_ONLY = Family(
    name="forward-only",
    summary="inference: forwards only, in the order of the micro-batches",
    source="our own rule; with one chunk the only order that keeps micro-batches in line",
    closed_form="makespan (mv+p-1)F for m >= p, ((v-1)p+m+p-1)F for m < p, F per chunk",
    in_flight="none is kept",
    makespan=_makespan,
    rows=by_rank(_row),
    fixed_chunks=False,
)
