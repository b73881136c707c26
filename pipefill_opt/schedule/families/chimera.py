"""Chimera: two 1F1B-like pipes, down and up, whose actions fall into each other's gaps."""

from __future__ import annotations

import numpy as np

from pipefill_opt.schedule.actions import Kind
from pipefill_opt.schedule.families.family import Expected, Family, Size, StageCosts, by_rank, two_pipes, vee
from pipefill_opt.schedule.families.rows import Row, run


def _domain(size: Size) -> Expected | None:
    if size.devices % 2:
        return Expected("devices", "an even number of devices")
    return None if size.microbatches > 1 else Expected("microbatches", "at least 2 micro-batches, one for each pipe")


def _row(size: Size, rank: int) -> Row:
    """In slots of one forward or one backward, which the two pipes never want at the same time.

    A unit is p micro-batches, half of them in each pipe: one enters a pipe every second slot. The next unit enters 2p slots later,
    just as this one leaves.
    """
    p, m = size.devices, size.microbatches
    actions, slots = [], []
    for stage, place, count in ((rank, rank, (m + 1) // 2), (2 * p - 1 - rank, p - 1 - rank, m // 2)):
        microbatches = np.arange(count)
        enters = 2 * microbatches + p * (microbatches // (p // 2))
        actions += [run(Kind.F, stage, microbatches), run(Kind.B, stage, microbatches)]
        slots += [enters + place, enters + 2 * p - 1 - place]
    return np.concatenate(actions)[np.argsort(np.concatenate(slots))]


def _makespan(size: Size, costs: StageCosts) -> int | None:
    p, m, _ = size
    equal = costs.forward == costs.input_gradient + costs.weight_gradient
    return (2 * m + p - 2) * costs.forward if m % p == 0 and equal else None


CHIMERA = Family(
    name="chimera",
    summary="two pipes, down and up, each device holds a stage of both; 1F1B in both at once",
    source="Li and Hoefler, Chimera; units of p micro-batches one after the other (direct concatenation)",
    closed_form="makespan (2m+p-2)F where F = B and p divides m, for even p",
    in_flight="at most p",
    makespan=_makespan,
    rows=by_rank(_row),
    placement=vee,
    pipes=two_pipes,
    domain=_domain,
    chunks=2,
)
