"""The exact split of layers onto stages: the longest stage, or the slowest device, as short as can be.

Longest stage, any placement: bisection over the bottleneck; for each, which layers the first k stages can end with. Slowest device: the
same with one stage a device; with two stages a device nested in each other (V), split_nested.py; otherwise split_search.py. Of
equally good splits by stage, one with the least sum of squares of stage times.
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import numpy.typing as npt

from pipefill_opt.errors import InfeasibleError
from pipefill_opt.units import format_bytes
from pipefill_opt.workload.model.split_nested import is_nested, nested
from pipefill_opt.workload.model.split_problem import Objective, Split, SplitProblem
from pipefill_opt.workload.model.split_search import search


def split_layers(problem: SplitProblem, objective: Objective = Objective.DEVICE) -> Split:
    """The best split; `proved` unless the search of a general placement ended early. Raises InfeasibleError where memory allows none."""
    bottleneck = least(max(problem.times), problem.sums()[-1], lambda ticks: reached(problem, ticks)[-1][-1])
    if bottleneck is None:
        raise InfeasibleError(_why(problem))
    counts = even_within(problem, bottleneck)
    if objective is Objective.STAGE or problem.stages == problem.devices:
        return Split(problem, counts, objective, bottleneck, bottleneck)
    if is_nested(problem):
        return nested(problem, counts)
    return search(problem, counts)


def least(low: int, high: int, enough: Callable[[int], bool]) -> int | None:
    """The least number from low to high that is enough, None if there is none. What is enough stays so for larger numbers."""
    if not enough(high):
        return None
    while low < high:
        middle = (low + high) // 2
        if enough(middle):
            high = middle
        else:
            low = middle + 1
    return low


def reached(problem: SplitProblem, bottleneck: int) -> list[npt.NDArray[np.bool_]]:
    """For each k, with how many layers the first k stages can end, each within the bottleneck and its memory, and leaving a layer
    for each stage behind: bool[stages + 1][layers + 1].
    """
    layers = problem.layers
    sums = np.array(problem.sums(), dtype=np.int64)
    ends = np.arange(layers + 1)
    earliest = np.searchsorted(sums, sums - bottleneck, side="left")
    can = np.zeros(layers + 1, dtype=np.bool_)
    can[0] = True
    found = [can]
    for stage in range(problem.stages):
        sizes = np.array(problem.size_sums(stage), dtype=np.int64)
        begin = np.maximum(earliest, np.searchsorted(sizes, sizes - problem.room(stage), side="left"))
        until = np.append(0, np.cumsum(found[-1]))  # how many of the places before each one are reached
        can = until[ends] > until[np.minimum(begin, ends)]
        can[layers - (problem.stages - 1 - stage) + 1 :] = False
        found.append(can)
    return found


def even_within(problem: SplitProblem, bottleneck: int) -> tuple[int, ...]:
    """Of all splits whose stages are within the bottleneck, one with the least sum of squares: a dynamic program over stages and ends.

    Of equal ones, one that puts more on early stages: they keep more micro-batches in flight, which hides messages.
    """
    sums, layers = problem.sums(), problem.layers
    best: list[dict[int, tuple[int, int]]] = [{0: (0, 0)}]
    for stage in range(problem.stages):
        sizes, room = problem.size_sums(stage), problem.room(stage)
        found: dict[int, tuple[int, int]] = {}
        for begin, (squares, _) in best[-1].items():
            if sums[-1] - sums[begin] > (problem.stages - stage) * bottleneck:
                continue  # too much would be left
            for end in range(begin + 1, layers - (problem.stages - 1 - stage) + 1):
                ticks = sums[end] - sums[begin]
                if ticks > bottleneck or sizes[end] - sizes[begin] > room:
                    break
                total = (squares + ticks * ticks, -begin)
                if end not in found or total < found[end]:
                    found[end] = total
        best.append(found)
    counts, end = [], layers
    for stage in range(problem.stages, 0, -1):
        begin = -best[stage][end][1]
        counts.append(end - begin)
        end = begin
    return tuple(reversed(counts))


def _why(problem: SplitProblem) -> str:
    """The first stage that no run of layers fits after the stages before it, or the bytes that the last stage lacks."""
    places = [np.flatnonzero(can).tolist() for can in reached(problem, problem.sums()[-1])]
    stage = next((stage for stage in range(problem.stages) if not places[stage + 1]), problem.stages - 1)
    sizes, room, last = problem.size_sums(stage), problem.room(stage), stage == problem.stages - 1
    size, begin = min((sizes[problem.layers if last else begin + 1] - sizes[begin], begin) for begin in places[stage])
    what = f"layers from {begin} on take" if last else f"layer {begin} takes"
    room_text, size_text, more = (format_bytes(count) for count in (room, size, size - room))
    return f"no split fits: stage {stage} has room for {room_text}, {what} {size_text} there, {more} too much"
