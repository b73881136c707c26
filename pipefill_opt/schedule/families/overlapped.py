"""1F1B and interleaved 1F1B with overlapped pairs: one forward more ahead, so that F and B of a step never wait for each other."""

from __future__ import annotations

from pipefill_opt.schedule.actions import Kind
from pipefill_opt.schedule.families.family import Family, Size, StageCosts, by_rank
from pipefill_opt.schedule.families.interleaved import in_turn, rounds_are_equal, warm_up
from pipefill_opt.schedule.families.rows import Row, join, overlap


def _row(size: Size, rank: int) -> Row:
    """Two forwards ahead for each device further on, as a pair takes a hop in each direction; one more, as in a pair neither waits."""
    forward = in_turn(Kind.F, size, rank, last_chunk_first=False)
    backward = in_turn(Kind.B, size, rank, last_chunk_first=True)
    ahead = min(warm_up(size, rank, per_hop=2) + 1, len(forward))
    paired = len(forward) - ahead
    return join(forward[:ahead], overlap(forward[ahead:], backward[:paired]), backward[paired:])


def _makespan(size: Size, costs: StageCosts) -> int | None:
    p, m, v = size
    return (m * v + p - 1) * costs.round_trip if v == 1 or m % p == 0 else None


ONE_F_ONE_B_OVERLAP = Family(
    name="1f1b-overlap",
    summary="1F1B whose steady part overlaps the forward of one micro-batch with the backward of another",
    source="our own rule",
    closed_form="makespan (m+p-1)(F+B) where pairs run one after the other, (m-1)L + p(F+B) where they are blocks of length L",
    in_flight="min(m, 2(p-r))",
    makespan=_makespan,
    rows=by_rank(_row),
)

INTERLEAVED_OVERLAP = Family(
    name="interleaved-overlap",
    summary="interleaved 1F1B whose steady part overlaps the forward of one micro-batch with the backward of another",
    source="our own rule, after the overlapped interleaved schedule of Megatron-LM",
    closed_form="makespan (mv+p-1)(F+B) where pairs run one after the other and p divides m, F and B per chunk",
    in_flight="min(mv, (v-1)g + 2(p-r)), g micro-batches a round (p where p divides m)",
    makespan=_makespan,
    rows=by_rank(_row),
    domain=rounds_are_equal,
    chunks=2,
    fixed_chunks=False,
)
