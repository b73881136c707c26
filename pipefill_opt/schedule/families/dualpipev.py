"""DualPipeV: two chunks in a V; the forward of one micro-batch overlaps with the backward of another."""

from __future__ import annotations

from pipefill_opt.schedule.families.dual import dual_row
from pipefill_opt.schedule.families.family import Expected, Family, Size, StageCosts, by_rank, vee
from pipefill_opt.schedule.families.rows import Row


def _domain(size: Size) -> Expected | None:
    stages = 2 * size.devices
    if size.microbatches >= stages:
        return None
    return Expected("microbatches", f"at least {stages} micro-batches, one for each stage")


def _row(size: Size, rank: int) -> Row:
    return dual_row(size.devices, size.microbatches, rank, near=rank, far=2 * size.devices - 1 - rank)


def _makespan(size: Size, costs: StageCosts) -> int | None:
    return (6 * size.microbatches + size.devices - 1) * costs.forward if costs.equal else None


DUALPIPEV = Family(
    name="dualpipev",
    summary="two chunks a device in a V, forward of one micro-batch overlapped with backward of another",
    source="DeepSeek, DualPipe (V-shaped half); order of torch.distributed.pipelining ScheduleDualPipeV",
    closed_form="makespan (6m+p-1)F where F = I = W and pairs run one after the other, for m >= 2p",
    in_flight="2p + 1",
    makespan=_makespan,
    rows=by_rank(_row),
    placement=vee,
    domain=_domain,
    chunks=2,
)
