"""GPipe: all forwards, then all backwards, both in the order of the micro-batches."""

from __future__ import annotations

import numpy as np

from pipefill_opt.schedule.actions import Kind
from pipefill_opt.schedule.families.family import Family, Size, StageCosts, by_rank
from pipefill_opt.schedule.families.rows import Row, join, run


def _row(size: Size, rank: int) -> Row:
    microbatches = np.arange(size.microbatches)
    return join(run(Kind.F, rank, microbatches), run(Kind.B, rank, microbatches))


def _makespan(size: Size, costs: StageCosts) -> int:
    return (size.microbatches + size.devices - 1) * costs.round_trip


GPIPE = Family(
    name="gpipe",
    summary="all forwards, then all backwards",
    source="Huang et al., GPipe; order of torch.distributed.pipelining ScheduleGPipe",
    closed_form="makespan (m+p-1)(F+B), bubble ratio (p-1)/(m+p-1), for all p and m",
    in_flight="m",
    makespan=_makespan,
    rows=by_rank(_row),
)
