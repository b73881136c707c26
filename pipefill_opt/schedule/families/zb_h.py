"""ZB-H1 and ZB-H2: 1F1B with split backward, where weight gradients fill the bubble."""

from __future__ import annotations

import numpy as np

from pipefill_opt.schedule.actions import Kind
from pipefill_opt.schedule.families.family import Family, Size, StageCosts, by_rank
from pipefill_opt.schedule.families.rows import Row, run, weave


def _row(size: Size, rank: int, *, ahead: int, held: int) -> Row:
    """One step does a forward, the input gradient `ahead` forwards back, and the weight gradient `held` - 1 forwards back."""
    microbatches = np.arange(size.microbatches)
    forward, inputs, weights = (run(kind, rank, microbatches) for kind in (Kind.F, Kind.I, Kind.W))
    ahead, last = (min(size.microbatches, delay) for delay in (ahead, held - 1))
    return weave((forward, 0), (inputs, ahead), (weights, last))


def _row_h1(size: Size, rank: int) -> Row:
    return _row(size, rank, ahead=size.devices - 1 - rank, held=size.devices)


def _row_h2(size: Size, rank: int) -> Row:
    return _row(size, rank, ahead=2 * (size.devices - 1 - rank), held=2 * size.devices - 1)


def _makespan_h1(size: Size, costs: StageCosts) -> int | None:
    p, m, _ = size
    forward, inputs, weights = costs
    if m < p or weights > min(forward, inputs):
        return None
    return m * costs.round_trip + (p - 1) * (forward + inputs - weights)


def _makespan_h2(size: Size, costs: StageCosts) -> int | None:
    p, m, _ = size
    return (3 * m + p - 1) * costs.forward if m >= 2 * p - 1 and costs.equal else None


ZB_H1 = Family(
    name="zb-h1",
    summary="1F1B with split backward: weight gradients fill the bubble, within the memory of 1F1B",
    source="Qi et al., Zero Bubble Pipeline Parallelism, handcrafted schedule 1",
    closed_form="makespan m(F+I+W) + (p-1)(F+I-W) where W <= min(F, I), for m >= p",
    in_flight="min(m, p)",
    makespan=_makespan_h1,
    rows=by_rank(_row_h1),
)

ZB_H2 = Family(
    name="zb-h2",
    summary="twice the forwards ahead of ZB-H1 and twice its memory: no bubble between first and last action of a device",
    source="Qi et al., Zero Bubble Pipeline Parallelism, handcrafted schedule 2",
    closed_form="makespan (3m+p-1)F and span 3mF where F = I = W, for m >= 2p-1",
    in_flight="min(m, 2p-1)",
    makespan=_makespan_h2,
    rows=by_rank(_row_h2),
)
