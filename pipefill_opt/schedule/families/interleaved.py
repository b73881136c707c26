"""Interleaved 1F1B and interleaved zero bubble: rounds of micro-batches go through a device's chunks in turn."""

from __future__ import annotations

import numpy as np

from pipefill_opt.schedule.actions import Kind
from pipefill_opt.schedule.families.family import Expected, Family, Size, StageCosts, by_rank
from pipefill_opt.schedule.families.rows import Row, run, weave


def _rounds(size: Size) -> int:
    return max(1, size.microbatches // size.devices)


def rounds_are_equal(size: Size) -> Expected | None:
    """The domain of interleaved rules."""
    rounds = _rounds(size)
    if size.microbatches % rounds == 0:
        return None
    return Expected("microbatches", f"micro-batches that make {rounds} equal rounds")


def in_turn(kind: Kind, size: Size, rank: int, *, last_chunk_first: bool) -> Row:
    """One round through one chunk, then through the next chunk; after the last chunk comes the next round."""
    in_round = size.microbatches // _rounds(size)
    turn, place = np.divmod(np.arange(size.chunks * size.microbatches), in_round)
    round_, chunk = np.divmod(turn, size.chunks)
    if last_chunk_first:
        chunk = size.chunks - 1 - chunk
    return run(kind, chunk * size.devices + rank, round_ * in_round + place)


def warm_up(size: Size, rank: int, per_hop: int) -> int:
    """Forwards before the first step of one forward and one backward; `per_hop` more for each device further on."""
    in_round = size.microbatches // _rounds(size)
    ahead = (size.chunks - 1) * in_round + per_hop * (size.devices - 1 - rank)
    return min(ahead, size.chunks * size.microbatches)


def _one_f_one_b_row(size: Size, rank: int) -> Row:
    forward = in_turn(Kind.F, size, rank, last_chunk_first=False)
    backward = in_turn(Kind.B, size, rank, last_chunk_first=True)
    return weave((forward, 0), (backward, warm_up(size, rank, per_hop=2)))


def _zero_bubble_row(size: Size, rank: int) -> Row:
    """The weight gradient of a step comes `rank` steps after its input gradient; the later devices have more to wait for."""
    forward = in_turn(Kind.F, size, rank, last_chunk_first=False)
    inputs = in_turn(Kind.I, size, rank, last_chunk_first=True)
    weights = in_turn(Kind.W, size, rank, last_chunk_first=True)
    ahead = warm_up(size, rank, per_hop=1)
    return weave((forward, 0), (inputs, ahead), (weights, ahead + rank))


def _one_f_one_b_makespan(size: Size, costs: StageCosts) -> int | None:
    p, m, v = size
    return (m * v + p - 1) * costs.round_trip if m % p == 0 else None


def _zero_bubble_makespan(size: Size, costs: StageCosts) -> int | None:
    p, m, v = size
    return (3 * m * v + p - 1) * costs.forward if m % p == 0 and costs.equal else None


INTERLEAVED_1F1B = Family(
    name="interleaved-1f1b",
    summary="1F1B over several chunks a device, in rounds of about p micro-batches",
    source="Narayanan et al., Megatron-LM; order of torch.distributed.pipelining ScheduleInterleaved1F1B",
    closed_form="makespan (mv+p-1)(F+B) where p divides m, F and B per chunk",
    in_flight="min(mv, (v-1)g + 2(p-1-r) + 1), g micro-batches a round (p where p divides m)",
    makespan=_one_f_one_b_makespan,
    rows=by_rank(_one_f_one_b_row),
    domain=rounds_are_equal,
    chunks=2,
    fixed_chunks=False,
)

INTERLEAVED_ZERO_BUBBLE = Family(
    name="interleaved-zero-bubble",
    summary="interleaved 1F1B with split backward: weight gradients come later and fill bubbles",
    source="Qi et al., Zero Bubble; order of torch.distributed.pipelining ScheduleInterleavedZeroBubble",
    closed_form="makespan (3mv+p-1)F where p divides m and F = I = W",
    in_flight="min(mv, (v-1)g + p), g micro-batches a round (p where p divides m)",
    makespan=_zero_bubble_makespan,
    rows=by_rank(_zero_bubble_row),
    domain=rounds_are_equal,
    chunks=2,
    fixed_chunks=False,
)
