"""The slowest device as fast as can be for any placement, such as interleaved stages: bound, construction, improvement, then search.

The bound: a device's load is a sum of whole layers, and all loads add up to the total. Construction: inner layers that are all equal go
one by one to the device that then takes least, which is optimal. Otherwise cuts are moved while that helps; what then is not proved by
the bound, a depth-first search over stages settles if it ends within its limit. It may not: then `Split.bound` is below its value.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field
from itertools import pairwise
from typing import Final

from pipefill_opt.workload.model.split_bound import lower_bound
from pipefill_opt.workload.model.split_problem import Objective, Split, SplitProblem

NODES: Final = 50_000
"""Most nodes of the depth-first search."""
MOVES: Final = 20_000
"""Most splits that the improvement looks at."""
DEEPEST: Final = 500
"""Most stages that are searched depth first."""


def search(problem: SplitProblem, start: tuple[int, ...]) -> Split:
    """The best split found, and the bound. start: any split that fits."""
    bound = lower_bound(problem)
    candidates = [start, *_one_by_one(problem)]
    best = min(candidates, key=lambda counts: max(problem.device_times(counts)))
    if max(problem.device_times(best)) > bound:
        best = _improved(problem, best)
    value = max(problem.device_times(best))
    if value > bound and problem.stages <= DEEPEST:
        found = _Search(problem, value, bound)
        found.run(0, 0, [0] * problem.devices, [])
        best, value = found.best or best, found.value
        bound = value if found.nodes < NODES else bound
    return Split(problem, best, Objective.DEVICE, value, bound)


def _one_by_one(problem: SplitProblem) -> Iterator[tuple[int, ...]]:
    """Where all layers but the first and the last are equal: each next one to the device that then takes least, on its shortest stage."""
    if len(set(problem.times[1:-1])) != 1 or problem.stages < 2:
        return
    each = problem.times[1]
    counts = [1] * problem.stages
    ends = {0: problem.times[0], problem.stages - 1: problem.times[-1]}
    ticks = [ends.get(stage, each) for stage in range(problem.stages)]
    loads = [0] * problem.devices
    for stage, device in enumerate(problem.placement):
        loads[device] += ticks[stage]
    room = [_most(problem, stage) for stage in range(problem.stages)]
    for _ in range(problem.layers - problem.stages):
        open_stages = [stage for stage in range(problem.stages) if counts[stage] < room[stage]]
        if not open_stages:
            return
        stage = min(open_stages, key=lambda s: (loads[problem.placement[s]], ticks[s], s))
        counts[stage] += 1
        ticks[stage] += each
        loads[problem.placement[stage]] += each
    if problem.fits(counts):
        yield tuple(counts)


def _most(problem: SplitProblem, stage: int) -> int:
    """How many layers a stage has memory for, its own ends counted."""
    if problem.memory is None:
        return problem.layers
    sizes, room = problem.size_sums(stage), problem.room(stage)
    steps = [b - a for a, b in pairwise(sizes)]
    fixed = steps[0] if stage == 0 else steps[-1] if stage == problem.stages - 1 else steps[1]
    return max(1, 1 + (room - fixed) // steps[1]) if steps[1] else problem.layers


def _improved(problem: SplitProblem, counts: tuple[int, ...]) -> tuple[int, ...]:
    """Moves a layer from one stage towards another, shifting those between, while the loads, slowest first, get better."""
    best, key, looked = counts, _key(problem, counts), 0
    while looked < MOVES:
        moves = (_moved(best, giver, taker) for giver in range(len(best)) for taker in range(len(best)))
        for moved in moves:
            if moved is None or not problem.fits(moved):
                continue
            looked += 1
            if looked == MOVES:
                return best
            loads = _key(problem, moved)
            if loads < key:
                best, key = moved, loads
                break
        else:
            break
    return best


def _key(problem: SplitProblem, counts: tuple[int, ...]) -> tuple[int, ...]:
    return tuple(sorted(problem.device_times(counts), reverse=True))


def _moved(counts: tuple[int, ...], giver: int, taker: int) -> tuple[int, ...] | None:
    if giver == taker or counts[giver] == 1:
        return None
    moved = list(counts)
    moved[giver] -= 1
    moved[taker] += 1
    return tuple(moved)


@dataclass(slots=True)
class _Search:
    """Depth first over stages; a branch ends where a device is no better than the best, or the rest does not fit on the others."""

    problem: SplitProblem
    value: int
    bound: int
    best: tuple[int, ...] | None = None
    nodes: int = 0
    _seen: dict[tuple[int, int, tuple[int, ...]], int] = field(default_factory=dict)

    def run(self, stage: int, begin: int, loads: list[int], counts: list[int]) -> None:
        """From a stage and its first layer on."""
        problem = self.problem
        if stage == problem.stages:
            if begin == problem.layers:
                self.best, self.value = tuple(counts), max(loads)
            return
        self.nodes += 1
        if self._ends_here(stage, begin, loads):
            return
        device, sums, sizes = problem.placement[stage], problem.sums(), problem.size_sums(stage)
        last = problem.layers - (problem.stages - 1 - stage)
        longest = begin
        for end in range(begin + 1, last + 1):
            if loads[device] + sums[end] - sums[begin] >= self.value:
                break
            if sizes[end] - sizes[begin] > problem.room(stage):
                break
            longest = end
        for end in range(longest, begin, -1):
            ticks = sums[end] - sums[begin]
            if loads[device] + ticks >= self.value:
                continue
            loads[device] += ticks
            counts.append(end - begin)
            self.run(stage + 1, end, loads, counts)
            counts.pop()
            loads[device] -= ticks

    def _ends_here(self, stage: int, begin: int, loads: list[int]) -> bool:
        problem = self.problem
        if self.nodes >= NODES or self.value <= self.bound:
            return True
        behind = set(problem.placement[stage:])
        room = sum(self.value - 1 - loads[device] for device in behind)
        if problem.sums()[-1] - problem.sums()[begin] > room:
            return True
        key = (stage, begin, tuple(loads[device] for device in sorted(behind)))
        done = max((load for device, load in enumerate(loads) if device not in behind), default=0)
        if key in self._seen and self._seen[key] <= done:  # the same rest, behind devices that were no slower
            return True
        self._seen[key] = done
        return False
