"""The row that DualPipe and DualPipeV share: forward of one micro-batch overlapped with backward of another, both ways."""

from __future__ import annotations

import numpy as np

from pipefill_opt.schedule.actions import Kind
from pipefill_opt.schedule.families.rows import Row, join, overlap, run, weave


def dual_row(depth: int, microbatches: int, place: int, near: int, far: int) -> Row:
    """Forwards ahead, the paired part, and an end in which the backward is split so that weight gradients fill the gaps.

    The device is the `place`-th of `depth` on the way from the entry to the bend. Each of `microbatches` passes stage `near`
    on its way there and stage `far` on its way back; or, with two pipes, one that comes from the other side passes `far`.
    """
    p, m, rank = depth, microbatches, place
    below = p - 1 - rank  # devices further down
    f0, b0, i0, w0 = (run(kind, near, np.arange(m)) for kind in (Kind.F, Kind.B, Kind.I, Kind.W))
    f1, b1, i1, w1 = (run(kind, far, np.arange(m)) for kind in (Kind.F, Kind.B, Kind.I, Kind.W))
    ahead = 2 * below + rank + 1  # forwards of stage `near` before the paired part
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
    """Pairs (F of `near`; B of `far`) and (F of `far`; B of `near`) in turn.

    On the device at the bend (`alone`) the first backward needs the forward just before it, so those two are no pair.
    """
    pairs_0, pairs_1 = overlap(f0, b1), overlap(f1, b0)
    if alone:
        pairs_0[0, 3] = 0
    return weave((pairs_0[::2], 0), (pairs_0[1::2], 0), (pairs_1[::2], 0), (pairs_1[1::2], 0))


def _backward_and_pair(b1: Row, f1: Row, b0: Row) -> Row:
    """A backward of `far` alone, then a pair (F of `far`; B of `near`), in turn."""
    pairs = overlap(f1, b0)
    return weave((b1, 0), (pairs[::2], 0), (pairs[1::2], 0))
