"""1F1B: device r runs p-r-1 forwards ahead, then one forward and one backward in turn."""

from __future__ import annotations

import numpy as np

from pipefill_opt.schedule.actions import Kind
from pipefill_opt.schedule.families.family import Family, Size, StageCosts, by_rank
from pipefill_opt.schedule.families.rows import Row, run, weave


def _row(size: Size, rank: int) -> Row:
    microbatches = np.arange(size.microbatches)
    warm_up = min(size.microbatches, size.devices - rank - 1)
    return weave((run(Kind.F, rank, microbatches), 0), (run(Kind.B, rank, microbatches), warm_up))


def _makespan(size: Size, costs: StageCosts) -> int:
    return (size.microbatches + size.devices - 1) * costs.round_trip


ONE_F_ONE_B = Family(
    name="1f1b",
    summary="one forward, one backward in turn after a warm-up",
    source="Narayanan et al., PipeDream-Flush; the order that torch.distributed.pipelining Schedule1F1B runs",
    closed_form="makespan (m+p-1)(F+B), bubble ratio (p-1)/(m+p-1), for all p and m",
    in_flight="min(m, p-r)",
    makespan=_makespan,
    rows=by_rank(_row),
)
