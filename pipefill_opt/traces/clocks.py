"""Put the clocks of ranks together: no message arrives before it is sent.

Whoever needs a message cannot begin before its producer has ended. Where the clocks say otherwise they are moved against the
first rank's: to the middle of what all messages allow, but by no more than twice what is needed. A clock that is far off could
be anywhere in that range; one that is hardly off is near its edge.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from fractions import Fraction
from math import floor
from typing import Final

from pipefill_opt.errors import InputError
from pipefill_opt.schedule.actions import Action
from pipefill_opt.traces.measured import RankRuns, Run, members, producer
from pipefill_opt.units import format_time

SUSPECT: Final = 10**9
"""A clock that is wrong by more, in ns, is worth a question."""

Bounds = Mapping[tuple[int, int], int]
"""(i, j) -> how much later rank i's clock may be put against rank j's, at most, in ns."""


def clock_bounds(ranks: Sequence[RankRuns]) -> dict[tuple[int, int], int]:
    """For ranks i that send to j: the least time from a producer's end to its consumer's start, by their own clocks.

    Runs are paired within their step. Negative where the clocks contradict the message.
    """
    last = max(action.stage for rank in ranks for run in rank.runs for action in members(run.action))
    place: dict[tuple[int | None, Action], tuple[int, Run]] = {
        (run.step, action): (index, run)
        for index, rank in enumerate(ranks)
        for run in rank.runs
        for action in members(run.action)
    }
    bounds: dict[tuple[int, int], int] = {}
    for (step, action), (receiver, run) in place.items():
        made = producer(action, last)
        sender, source = place.get((step, made), (receiver, run)) if made is not None else (receiver, run)
        if sender != receiver:
            room = run.start - source.end
            bounds[sender, receiver] = min(room, bounds.get((sender, receiver), room))
    return bounds


def clock_offsets(bounds: Bounds, count: int) -> list[int]:
    """ns to add to each clock: all 0 where the bounds allow it. Raises ValueError where none keep all bounds."""
    if all(room >= 0 for room in bounds.values()):
        return [0] * count
    highest = _furthest(bounds, count)
    lowest = [-offset for offset in _furthest({(j, i): room for (i, j), room in bounds.items()}, count)]
    middle = [(high + low) // 2 for high, low in zip(highest, lowest, strict=True)]
    needed = max(Fraction(room, middle[i] - middle[j]) for (i, j), room in bounds.items() if room < 0)
    share = min(Fraction(1), 2 * needed)
    return [floor(offset * share) for offset in middle]


def _furthest(bounds: Bounds, count: int) -> list[int]:
    """The most that each clock may be put later, the first one staying (Bellman and Ford); one without bounds stays too."""
    far = 2**62
    offset = [0] + [far] * (count - 1)
    for _ in range(count):
        changed = False
        for (i, j), room in bounds.items():  # offset[i] <= offset[j] + room
            if offset[j] < far and offset[j] + room < offset[i]:
                offset[i] = offset[j] + room
                changed = True
        if not changed:
            return [value if value < far else 0 for value in offset]
    raise ValueError("the clocks contradict each other")


def align_clocks(ranks: Sequence[RankRuns]) -> tuple[tuple[RankRuns, ...], tuple[str, ...]]:
    """The ranks on the first one's clock, and what was moved, in sentences. Raises InputError if no clocks make the messages possible."""
    try:
        offsets = clock_offsets(clock_bounds(ranks), len(ranks))
    except ValueError:
        raise InputError(
            "expected ranks of one run: whatever their clocks, some message would arrive before it is sent",
            value=", ".join(rank.source for rank in ranks),
        ) from None
    notes = tuple(
        f"rank {rank.rank}: clock moved by {format_time(offset)}, since messages came before they were sent"
        + (" (are all files of one run?)" if abs(offset) >= SUSPECT else "")
        for rank, offset in zip(ranks, offsets, strict=True)
        if offset
    )
    return tuple(_moved(rank, offset) for rank, offset in zip(ranks, offsets, strict=True)), notes


def _moved(rank: RankRuns, offset: int) -> RankRuns:
    if not offset:
        return rank
    return replace(
        rank,
        runs=tuple(replace(run, start=run.start + offset, end=run.end + offset) for run in rank.runs),
        windows={number: (start + offset, end + offset) for number, (start, end) in rank.windows.items()},
        communication=tuple((start + offset, end + offset) for start, end in rank.communication),
    )
