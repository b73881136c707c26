"""A bound on the slowest device of any split: what whole layers can add up to."""

from __future__ import annotations

from typing import Final

from pipefill_opt.workload.model.split_problem import SplitProblem

KINDS: Final = 3
"""Most different inner layers for which the bound looks at sums of them."""
MULTIPLES: Final = 5_000
"""Most numbers of layers of two kinds that it goes through for one device."""


def lower_bound(problem: SplitProblem) -> int:
    """No split has a faster slowest device: one of them has its share of the layers, or more; each needs a load that whole layers add
    up to; and together they need all.
    """
    total, devices = problem.sums()[-1], problem.devices
    share = sum(sorted(problem.times)[: -(-problem.layers // devices)])
    low, high = max(-(-total // devices), share, *problem.times), total
    ends = [0] * devices
    ends[problem.placement[0]] += problem.times[0]
    if problem.layers > 1:
        ends[problem.placement[-1]] += problem.times[-1]
    inner = sorted(set(problem.times[1:-1]))
    low = max(low, *ends)
    if len(inner) > KINDS or 0 in inner:
        return low
    while low < high:
        middle = (low + high) // 2
        if sum(end + _largest(inner, middle - end) for end in ends) >= total:
            high = middle
        else:
            low = middle + 1
    return low


def _largest(kinds: list[int], room: int) -> int:
    """The largest sum of any numbers of these that is within the room, or the room itself where that would take long to tell."""
    if not kinds:
        return 0
    *few, each = kinds
    if len(few) == 0:
        return room // each * each
    choices = room // few[0] + 1 if len(few) == 1 else (room // few[0] + 1) * (room // few[1] + 1)
    if choices > MULTIPLES:
        return room
    best = 0
    for count in range(room // few[0] + 1):
        rest = room - count * few[0]
        best = max(best, count * few[0] + _largest([*few[1:], each], rest))
    return best
