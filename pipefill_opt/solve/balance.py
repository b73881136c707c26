"""The position-balance bound of one device whose plan repeats: patterns of all bubbles at once, balanced at every position.

A plan that repeats leaves each position of each slot as often as it comes to it. The linear program over how often each bubble runs
each pattern (a run or none of every slot), with that balance and without the order of bubbles, bounds every plan of every H. Its dual is
a worth U of standing at a position, with U(p + lap) = U(p) + value of a lap: *any* such U proves the bound
    sum over bubbles of the most that a pattern gains, a run from p to q gaining U(q) - U(p),
for the gains of a plan add up to its value. The program (cutting planes, each a pattern) only looks for a good U in floating point; U is
rounded, and the bound counted again in integers. U in proportion to time gives the per-bubble pattern bound of these residents.

Relaxed as `monotone` says: cheapest ways between slots, least carried bytes, least transfers, rule 5 for resident bytes only.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from fractions import Fraction
from itertools import accumulate, combinations, pairwise
from math import inf
from typing import Final

import numpy as np

from pipefill_opt.solve.bounds import simple_bound
from pipefill_opt.solve.device import Room
from pipefill_opt.solve.linear import LinearProgram, LinearStatus, minimize
from pipefill_opt.solve.monotone import Relaxed
from pipefill_opt.solve.reach import reach_alone
from pipefill_opt.solve.runs import Runs, along, runs_of
from pipefill_opt.solve.stairs import Index, Stairs, best_pairs, joined, stairs, thinned

ORIGIN: Final = "position balance"
MOST_SLOTS: Final = 4
THICK: Final = 2_000
BUCKETS: Final = 40
"""Cuts a round at most: bubbles of like size share one."""
FINE: Final = 256
"""A worth is counted in such parts of a unit, where numbers allow."""
ROUNDS: Final = 60
LITTLE: Final = 1e-5
"""A smaller part that the planes promise ends the search."""

Worth = list[Index]
"""By slot: U of positions 0 to the last one that a run comes to."""
Pattern = list[tuple[int, int, int]]
"""(slot, first position, last position) of each run."""


@dataclass(frozen=True, slots=True)
class _Group:
    """Bubbles that close the same operators: their net ticks, ascending, how many of each; runs by slot."""

    nets: Index
    number: Index
    runs: tuple[Runs, ...]


class Patterns:
    """What the bubbles of a device are worth at most for a worth of positions. All in integers."""

    def __init__(self, relaxed: Relaxed) -> None:
        device = self.device = relaxed.device
        self.path = relaxed.path
        by_walls: dict[tuple[tuple[bool, ...], ...], dict[int, list[Room]]] = defaultdict(lambda: defaultdict(list))
        for room in device.rooms:
            net = room.usable - device.enter - device.leave
            if net > 0:
                by_walls[relaxed.never[room]][net].append(room)
        self.groups = []
        for never, by_net in by_walls.items():
            nets = sorted(by_net)
            widest = by_net[nets[-1]][0]
            runs = tuple(
                runs_of(slot, reach_alone(device, slot, widest, walls), nets[-1], repeat=device.repeat)
                for slot, walls in zip(device.slots, never, strict=True)
            )
            number = np.array([len(by_net[net]) for net in nets], dtype=np.int64)
            self.groups.append(_Group(np.array(nets, dtype=np.int64), number, runs))
        self.last = [
            max((int(group.runs[s].last.max(initial=0)) for group in self.groups), default=0)
            for s in range(len(device.slots))
        ]

    def smooth(self, scale: int) -> Worth:
        """The worth in proportion to the time before a position, rounded down, in units of 1 / scale, for one lap and one more position."""
        found = []
        for slot in self.device.slots:
            lap, total = scale * sum(slot.value), sum(slot.ticks)
            found.append(np.array([lap * t // total for t in accumulate(slot.ticks, initial=0)], dtype=np.int64))
        return found

    def best(self, worth: Worth) -> Iterator[tuple[int, int, Pattern]]:
        """(number of such bubbles, most gained in one, the pattern that gains it) for each different bubble. worth: for one lap."""
        for group in self.groups:
            steps = []
            for s, runs in enumerate(group.runs):
                whole = along(worth[s].tolist(), max(self.last[s], len(worth[s]) - 1), np.int64)
                steps.append(stairs(runs.ticks, whole[runs.last] - whole[runs.first]))
            lists = _lists(steps, int(group.nets[-1]))
            for k, (gain, chosen) in enumerate(_best(group.nets, lists, self.path)):
                yield int(group.number[k]), gain, [run for own in chosen for run in _runs(group, lists, *own)]

    def total(self, worth: Worth) -> int:
        """The bound that a worth proves, per main iteration, in its units."""
        return sum(number * gain for number, gain, _ in self.best(worth))


@dataclass(frozen=True, slots=True)
class _List:
    """What some slots (none, one or two) gain together; width: length of the second one's own list."""

    steps: Stairs
    width: int = 1


Lists = dict[tuple[int, ...], _List]
Chosen = tuple[tuple[tuple[int, ...], int], ...]
"""Two lists by their slots, a step of each."""


def _lists(steps: Sequence[Stairs], most: int) -> Lists:
    """The lists of single slots and of pairs."""
    nothing = np.zeros(0, dtype=np.int64)
    lists: Lists = {(): _List(stairs(nothing, nothing))}
    for s, own in enumerate(steps):
        lists[s,] = _List(thinned(own, most, THICK))
    if len(steps) > 2:
        for a, b in combinations(range(len(steps)), 2):
            left, right = lists[a,].steps, lists[b,].steps
            lists[a, b] = _List(joined(left, right, 0, most, THICK), len(right.ticks))
    return lists


def _best(nets: Index, lists: Lists, path: Sequence[int]) -> Iterator[tuple[int, Chosen]]:
    """By net ticks: the most gained, over every set of slots that run something, and by which steps."""
    slots = len(path).bit_length() - 1
    gain = np.zeros(len(nets), dtype=np.int64)
    found: list[Chosen] = [()] * len(nets)
    for size in range(1, slots + 1):
        for members in combinations(range(slots), size):
            a, b = members[: (size + 1) // 2], members[(size + 1) // 2 :]
            left_nets = nets - path[sum(1 << s for s in members)]
            value, left, right = best_pairs(lists[a].steps, lists[b].steps, left_nets)
            for k in np.flatnonzero(value > gain).tolist():
                gain[k] = value[k]
                found[k] = ((a, int(left[k])), (b, int(right[k])))
    yield from zip(gain.tolist(), found, strict=True)


def _runs(group: _Group, lists: Lists, slots: tuple[int, ...], step: int) -> Pattern:
    """What a step of a list stands for."""
    source = int(lists[slots].steps.source[step])
    if source < 0:
        return []
    if len(slots) == 2:
        both = zip(slots, divmod(source, lists[slots].width), strict=True)
        return [run for s, own in both for run in _runs(group, lists, (s,), own)]
    (s,) = slots
    runs = group.runs[s]
    return [(s, int(runs.first[source]), int(runs.last[source]))]


def balance_bound(relaxed: Relaxed, stopped: Callable[[], bool] = lambda: False) -> Fraction | None:
    """An upper bound per main iteration for every H, or None for a device that does not repeat, has too many slots or too large values."""
    device = relaxed.device
    scale = FINE
    largest = scale * (simple_bound(replace(device, iterations=1)) + sum(sum(slot.value) for slot in device.slots))
    if (
        not device.repeat
        or not 1 <= len(device.slots) <= MOST_SLOTS
        or 64 * largest * max(1, len(device.rooms)) >= 2**61
    ):
        return None
    search = _Planes(Patterns(relaxed), scale)
    for _ in range(ROUNDS):
        if stopped() or not search.step():
            break
    return Fraction(search.bound, scale)


class _Planes:
    """Cutting planes around the best worth known, within a box that shrinks where they promise too much.

    bound: what `worth` proves, in its units.
    """

    def __init__(self, patterns: Patterns, scale: int) -> None:
        self._patterns = patterns
        self.worth = patterns.smooth(scale)
        self._lap = [int(own[-1]) for own in self.worth]
        self._begin = list(accumulate((len(own) - 1 for own in self.worth), initial=0))
        self._rows: list[tuple[int, dict[int, int], int]] = []
        self._buckets = 0
        self._radius = max(self._lap) / 20
        self.bound = self._add(self.worth)

    def _add(self, worth: Worth) -> int:
        """The bound of a worth; its patterns become planes: (bucket, coefficients by variable, constant)."""
        found = list(self._patterns.best(worth))
        each = max(1, -(-len(found) // BUCKETS))
        self._buckets = -(-len(found) // each)
        for bucket in range(self._buckets):
            terms: defaultdict[int, int] = defaultdict(int)
            constant = 0
            for number, _, pattern in found[bucket * each : (bucket + 1) * each]:
                for s, first, last in pattern:
                    laps, rest = divmod(last, len(worth[s]) - 1)
                    constant += number * laps * self._lap[s]
                    terms[self._begin[s] + rest] += number
                    terms[self._begin[s] + first] -= number
            self._rows.append((bucket, terms, constant))
        return sum(number * gain for number, gain, _ in found)

    def step(self) -> bool:
        """One round; False if no worth is better by much."""
        answer = minimize(self._program())
        if answer.status is not LinearStatus.OPTIMAL:
            return False
        promised = self.bound - answer.value
        if promised <= self.bound * LITTLE:
            return False
        point = np.rint(answer.primal[: self._begin[-1]]).astype(np.int64)
        worth = [np.append(point[a:b], lap) for (a, b), lap in zip(pairwise(self._begin), self._lap, strict=True)]
        bound = self._add(worth)
        if bound < self.bound:
            if self.bound - bound > promised / 2:
                self._radius *= 2
            self.bound, self.worth = bound, worth
        else:
            self._radius /= 2
        return True

    def _program(self) -> LinearProgram:
        """The least sum of what buckets gain, each at least each of its planes, for worths within the radius; positions 0 are worth 0."""
        variables = self._begin[-1]
        center = np.concatenate([own[:-1] for own in self.worth]).astype(float)
        far = 4.0 * max(self._lap)  # so that no sum leaves 64 bits
        lower, upper = np.maximum(center - self._radius, -far), np.minimum(center + self._radius, far)
        lower[self._begin[:-1]] = upper[self._begin[:-1]] = 0.0
        entries = [
            (k, variable, float(-number))
            for k, (_, terms, _) in enumerate(self._rows)
            for variable, number in terms.items()
        ] + [(k, variables + bucket, 1.0) for k, (bucket, _, _) in enumerate(self._rows)]
        rows, columns, values = zip(*entries, strict=True) if entries else ((), (), ())
        return LinearProgram(
            cost=np.concatenate([np.zeros(variables), np.ones(self._buckets)]),
            rows=rows,
            columns=columns,
            values=values,
            row_lower=[float(constant) for _, _, constant in self._rows],
            row_upper=[inf] * len(self._rows),
            lower=np.concatenate([lower, np.zeros(self._buckets)]),
            upper=np.concatenate([upper, np.full(self._buckets, inf)]),
        )
