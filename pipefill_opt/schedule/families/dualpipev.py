"""DualPipeV: two chunks in a V; the forward of one micro-batch overlaps with the backward of another."""

from __future__ import annotations

import numpy as np

from pipefill_opt.schedule.actions import Kind
from pipefill_opt.schedule.families.family import Family, Size, StageCosts, vee
from pipefill_opt.schedule.families.rows import Row, join, overlap, run, weave


def _domain(size: Size) -> str:
    stages = 2 * size.devices
    return "" if size.microbatches >= stages else f"at least {stages} micro-batches, one for each stage"


def _row(size: Size, rank: int) -> Row:
    """Forwards ahead, the paired part, and an end in which the backward is split so that weight gradients fill the gaps."""
    p, m = size.devices, size.microbatches
    below = p - 1 - rank  # devices further down
    microbatches = np.arange(m)
    f0, b0, i0, w0 = (run(kind, rank, microbatches) for kind in (Kind.F, Kind.B, Kind.I, Kind.W))
    f1, b1, i1, w1 = (run(kind, 2 * p - 1 - rank, microbatches) for kind in (Kind.F, Kind.B, Kind.I, Kind.W))
    ahead = 2 * below + rank + 1  # forwards of the first chunk before the paired part
    done_0, done_1 = m - p, m - 1 - rank  # backwards before the ending, by chunk
    whole_0, whole_1 = done_0 + (rank + 1) // 2, done_1 + rank // 2 + 1  # the backwards from here on are split
    middle_0 = done_0 + rank + 1
    return join(
        f0[: 2 * below],
        weave((f0[2 * below : ahead], 0), (f1[: rank + 1], 0)),
        weave((i1[:below], 0), (w1[:below], 0), (f1[rank + 1 : p], 0)),
        _paired(f0[ahead:], b1[below : done_1 - below], f1[p : m - below], b0[: done_0 - below], alone=below == 0),
        _backward_and_pair(b1[done_1 - below : done_1], f1[m - below :], b0[done_0 - below : done_0]),
        weave((join(b1[done_1:whole_1], i1[whole_1:]), 0), (join(b0[done_0:whole_0], i0[whole_0:middle_0]), 0)),
        weave(
            (join(weave((w1[whole_1:], whole_1 - done_1), (w0[whole_0:middle_0], whole_0 - done_0)), w0[middle_0:]), 0),
            (i0[middle_0:], 0),
        ),
    )


def _paired(f0: Row, b1: Row, f1: Row, b0: Row, *, alone: bool) -> Row:
    """Pairs (F of chunk 0; B of chunk 1) and (F of chunk 1; B of chunk 0) in turn.

    On the last device (`alone`) the first backward needs the forward just before it, so those two are no pair.
    """
    pairs_0, pairs_1 = overlap(f0, b1), overlap(f1, b0)
    if alone:
        pairs_0[0, 3] = 0
    return weave((pairs_0[::2], 0), (pairs_0[1::2], 0), (pairs_1[::2], 0), (pairs_1[1::2], 0))


def _backward_and_pair(b1: Row, f1: Row, b0: Row) -> Row:
    """A backward of chunk 1 alone, then a pair (F of chunk 1; B of chunk 0), in turn."""
    pairs = overlap(f1, b0)
    return weave((b1, 0), (pairs[::2], 0), (pairs[1::2], 0))


def _makespan(size: Size, costs: StageCosts) -> int | None:
    return (6 * size.microbatches + size.devices - 1) * costs.forward if costs.equal else None


DUALPIPEV = Family(
    name="dualpipev",
    summary="two chunks a device in a V, forward of one micro-batch overlapped with backward of another",
    source="DeepSeek, DualPipe (V-shaped half); order of torch.distributed.pipelining ScheduleDualPipeV",
    closed_form="makespan (6m+p-1)F where F = I = W and pairs run one after the other, for m >= 2p",
    in_flight="2p + 1",
    makespan=_makespan,
    row=_row,
    placement=vee,
    domain=_domain,
    chunks=2,
)
