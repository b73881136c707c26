"""ZBV: two chunks in a V, zero bubble, activation memory of 1F1B."""

from __future__ import annotations

import numpy as np

from pipefill_opt.schedule.actions import Kind
from pipefill_opt.schedule.families.family import Family, Size, StageCosts, by_rank, vee
from pipefill_opt.schedule.families.rows import Row, join, run, weave


def _row(size: Size, rank: int) -> Row:
    """The rule wants 2p-1 micro-batches; with fewer, the surplus ones are left out of its order."""
    p = size.devices
    m = max(2 * p - 1, size.microbatches)
    all_microbatches = np.arange(m)
    down, up = rank, 2 * p - 1 - rank
    f0, i0, w0 = (run(kind, down, all_microbatches) for kind in (Kind.F, Kind.I, Kind.W))
    f1, i1, w1 = (run(kind, up, all_microbatches) for kind in (Kind.F, Kind.I, Kind.W))
    first, ahead = (
        2 * (p - rank) - 1,
        2 * p - 1 - rank,
    )  # forwards of the first chunk: alone, and before the steady part
    row = join(
        f0[:first],
        weave((f1[:rank], 0), (f0[first:ahead], 0)),
        weave((f1[rank:p], 0), (i1[: p - rank], 0), (w1[: p - rank], 0)),
        weave(
            (f0[ahead:], 0),
            (i0[: m - p], 0),
            (w0[: m - p], 0),
            (f1[p:], 0),
            (i1[p - rank : m - rank], 0),
            (w1[p - rank : m - rank], 0),
        ),
        weave((i0[m - p : m - p + rank], 0), (i1[m - rank :], 0)),
        weave((i0[m - p + rank :], 0), (w0[m - p : m - rank], 0)),
        w1[m - rank :],
        w0[m - rank :],
    )
    return row[row[:, 2] < size.microbatches]


def _makespan(size: Size, costs: StageCosts) -> int | None:
    p, m, _ = size
    if not costs.equal:
        return None
    if m >= 2 * p - 1:
        return (6 * m + p - 1) * costs.forward
    return (6 * m + 2 * (p - 1)) * costs.forward if m == p else None


ZBV = Family(
    name="zbv",
    summary="zero bubble over two chunks a device in a V",
    source="Qi et al., Pipeline Parallelism with Controllable Memory; order of torch.distributed.pipelining ScheduleZBVZeroBubble",
    closed_form="makespan (6m+p-1)F for m >= 2p-1, (6m+2(p-1))F for m = p, where F = I = W",
    in_flight="2p for m >= 2p-1",
    makespan=_makespan,
    rows=by_rank(_row),
    placement=vee,
    chunks=2,
)
