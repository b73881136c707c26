"""DualPipe: micro-batches enter at both ends; each device holds a stage of the way down and one of the way up."""

from __future__ import annotations

from pipefill_opt.schedule.families.dual import dual_row
from pipefill_opt.schedule.families.family import Expected, Family, Size, StageCosts, by_rank, two_pipes, vee
from pipefill_opt.schedule.families.rows import Row


def _domain(size: Size) -> Expected | None:
    if size.devices % 2:
        return Expected("devices", "an even number of devices")
    if size.microbatches % 2 or size.microbatches < 2 * size.devices:
        return Expected(
            "microbatches", f"an even number of at least {2 * size.devices} micro-batches, half of them each way"
        )
    return None


def _row(size: Size, rank: int) -> Row:
    p = size.devices
    down, up = rank, 2 * p - 1 - rank
    near, far = (down, up) if rank < p // 2 else (up, down)
    return dual_row(p // 2, size.microbatches // 2, min(rank, p - 1 - rank), near, far)


def _makespan(size: Size, costs: StageCosts) -> int | None:
    return (3 * size.microbatches + size.devices // 2 - 1) * costs.forward if costs.equal else None


DUALPIPE = Family(
    name="dualpipe",
    summary="two pipes, down and up, forward of one micro-batch overlapped with backward of another",
    source="DeepSeek-V3 technical report, DualPipe; order of deepseek-ai/DualPipe",
    closed_form="makespan (3m+p/2-1)F where F = I = W and pairs run one after the other, for even m >= 2p",
    in_flight="p + 1",
    makespan=_makespan,
    rows=by_rank(_row),
    placement=vee,
    pipes=two_pipes,
    domain=_domain,
    chunks=2,
)
