"""The slowest device as fast as can be where each device has one stage from the front and its mirror from the back (V placement).

With the first d devices filled, a prefix and a suffix of the layers are taken. For a given bottleneck these pairs are all found, device
by device: few, since what is left must fit on the devices that are left. Bisection over the bottleneck, from the bound on: exact.
"""

from __future__ import annotations

from bisect import bisect_right
from typing import Final

from pipefill_opt.workload.model.split_bound import lower_bound
from pipefill_opt.workload.model.split_problem import Objective, Split, SplitProblem

STEPS: Final = 8
"""The first steps are so many halvings of the gap between bound and start."""
Pair = tuple[int, int]
"""Where the prefix ends and where the suffix begins."""


def is_nested(problem: SplitProblem) -> bool:
    """Whether stage k and the k-th from the end are one device's, and each device has just two."""
    half = problem.placement[: problem.devices]
    return (
        problem.stages == 2 * problem.devices
        and len(set(half)) == problem.devices
        and problem.placement[problem.devices :] == half[::-1]
    )


def nested(problem: SplitProblem, start: tuple[int, ...]) -> Split:
    """The best split; `start`: any split that fits."""
    low, high, counts = lower_bound(problem), max(problem.device_times(start)), start
    step = 0
    while low < high:
        middle = min(low + step, (low + high) // 2)  # tight bottlenecks leave few pairs, so that they come first
        found = _within(problem, middle)
        if found is None:
            low, step = middle + 1, max(2 * step, (high - low) >> STEPS)
        else:
            counts, high, step = found, max(problem.device_times(found)), high
    return Split(problem, counts, Objective.DEVICE, high, high)


def _within(problem: SplitProblem, bottleneck: int) -> tuple[int, ...] | None:
    """A split whose devices are within the bottleneck, or None: there is none."""
    history: list[dict[Pair, Pair]] = []
    pairs = [(0, problem.layers)]
    for device in range(problem.devices):
        history.append(_extended(problem, pairs, device, bottleneck))
        pairs = list(history[-1])
    whole = next((pair for pair in pairs if pair[0] == pair[1]), None)
    if whole is None:
        return None
    front, back = [], []
    for origins in reversed(history):
        before = origins[whole]
        front.append(whole[0] - before[0])
        back.append(before[1] - whole[1])
        whole = before
    return (*reversed(front), *back)


def _extended(problem: SplitProblem, pairs: list[Pair], device: int, bottleneck: int) -> dict[Pair, Pair]:
    """All pairs with one device more, and one that each comes from."""
    sums, mirror = problem.sums(), problem.stages - 1 - device
    behind = problem.devices - 1 - device
    near, far, far_room = problem.size_sums(device), problem.size_sums(mirror), problem.room(mirror)
    by_prefix: dict[int, int] = {}
    for prefix, suffix in pairs:
        by_prefix[prefix] = by_prefix.get(prefix, 0) | 1 << suffix
    found: dict[Pair, Pair] = {}
    for begin, suffixes in by_prefix.items():
        last = bisect_right(near, near[begin] + problem.room(device)) - 1
        for end in range(begin + 1, min(last, problem.layers) + 1):
            spare = bottleneck - (sums[end] - sums[begin])
            if spare < 0:
                break
            latest = bisect_right(sums, sums[end] + behind * bottleneck) - 1
            for suffix in range(end + 2 * behind, min(latest, suffixes.bit_length() - 2) + 1):
                if (end, suffix) in found:
                    continue
                until = bisect_right(sums, sums[suffix] + spare) - 1
                until = min(until, bisect_right(far, far[suffix] + far_room) - 1)
                reachable = (suffixes >> (suffix + 1)) & ((1 << max(0, until - suffix)) - 1)
                if reachable:
                    found[end, suffix] = (begin, suffix + (reachable & -reachable).bit_length())
    return found
