"""The turns that devices of a class can have: every set of residents with its points (`points`). Plans that repeat only.

Sets too large to search have the laps that their subsets and their net ticks allow: then a choice may not be there, but none is missing.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import combinations, permutations
from math import prod
from typing import Final

import numpy as np

from pipefill_opt.solve.device import Compiled, Residents
from pipefill_opt.solve.life.points import MOST_CELLS, Ints, Points, Vector, maximal
from pipefill_opt.solve.life.shares import Kind, can_work_together, kinds_of, rooms_of
from pipefill_opt.solve.transitions import state_count, transition_count
from pipefill_opt.solve.watch import Watch

MOST_SETS: Final = 200
"""Most sets of residents of one size."""
MOST_WORK: Final = 2_000_000_000
"""Most transitions x starts x cells of a set that is searched."""
MOST_VECTORS: Final = 500_000


@dataclass(frozen=True, slots=True, eq=False)
class Choice:
    """One turn: laps of each slot. kinds: of the slots, indices into `Menu.kinds`. points: None where it is not known to be there."""

    kinds: Vector
    residents: Residents
    jobs: Vector
    laps: Vector
    points: Points | None


class Menu:
    """All choices of a class, none below another one of the same residents. whole: the lists did not get too long, so none is missing."""

    def __init__(self, compiled: Compiled, c: int, length: int, watch: Watch) -> None:
        self.compiled = compiled
        self.c = c
        self.length = length
        self.kinds: list[Kind] = kinds_of(compiled, c, range(length, length + 1))
        self.empty = compiled.device(c, (), length)
        self.most = [kind.most[0] for kind in self.kinds]
        self.alike = isinstance(compiled.problem.switch.between, int)
        self.vectors: dict[Vector, tuple[Vector, ...]] = {(): ((),)}
        self.choices: list[Choice] = []
        self.whole = self._list(watch)

    def _list(self, watch: Watch) -> bool:
        level: list[Vector] = [()]
        while level:
            level = [grown for slots in level for grown in self._grown(slots)]
            if len(level) > MOST_SETS:
                return False
            for slots in level:
                if watch.ended() is not None or not self._open(slots):
                    return False
            level = [slots for slots in level if self.vectors[slots] or not self.alike]
        return True

    def _grown(self, slots: Vector) -> Iterator[Vector]:
        """The set with one more slot, where all may be there in one turn."""
        for kind in range(slots[-1] if slots else 0, len(self.kinds)):
            grown = (*slots, kind)
            if not can_work_together(self.compiled, self.empty, [self.kinds[k] for k in grown]):
                continue
            if not self.alike or all(self.vectors.get(part) for part in _parts(grown)):
                yield grown

    def _open(self, slots: Vector) -> bool:
        """Find the choices of a set; False if there are too many to list."""
        order = tuple(sorted(slots, key=lambda s: (self.most[s], s)))
        residents = tuple((self.kinds[s].job, self.kinds[s].configuration) for s in order)
        device = self.compiled.device(self.c, residents, self.length)
        most = [self.most[s] for s in order]
        cells = state_count(device) * prod(n + 1 for n in most[:-1])
        points = None
        work = transition_count(device) * state_count(device) * prod(n + 1 for n in most[:-1])
        if cells <= MOST_CELLS and work <= MOST_WORK:
            points = Points(device, most)
            points.find()
            found = {laps for own in points.of.values() for point in own for laps in _alike(order, point)}
        elif prod(most[:-1]) > MOST_VECTORS:
            return False
        else:
            found = set(self._loose(order))
        vectors = maximal(found)
        self.vectors[slots] = tuple(vectors) if order == slots else tuple(_moved(v, order, slots) for v in vectors)
        jobs = tuple(self.kinds[s].job for s in order)
        self.choices += [Choice(order, residents, jobs, laps, points) for laps in vectors]
        return True

    def _loose(self, order: Vector) -> Iterator[Vector]:
        """Laps that the net ticks and all subsets of the residents allow: the most of the last slot, for any of the others."""
        room = sum(rooms_of(self.empty, [self.kinds[s] for s in order]))
        ticks = [self.kinds[s].lap for s in order]
        parts = []
        for left in range(len(order)) if self.alike and len(order) > 1 else ():
            rest = order[:left] + order[left + 1 :]
            own = tuple(sorted(rest))
            parts.append((left, [_moved(v, own, rest) for v in self.vectors[own]]))
        first = np.ones((1, 0), dtype=np.int64)
        for s in order[:-1]:
            numbers = np.arange(1, self.most[s] + 1)
            first = np.column_stack((np.repeat(first, len(numbers), axis=0), np.tile(numbers, len(first))))
            first = first[first @ np.array(ticks[: first.shape[1]]) < room]
        for left, vectors in parts:
            if left == len(order) - 1:
                first = first[_limits(first, [(*v, 1) for v in vectors]) > 0]
        last = np.minimum(self.most[order[-1]], (room - first @ np.array(ticks[:-1], dtype=np.int64)) // ticks[-1])
        for left, vectors in parts:
            if left < len(order) - 1:
                last = np.minimum(last, _limits(np.delete(first, left, axis=1), vectors))
        for laps, most in zip(first[last > 0].tolist(), last[last > 0].tolist(), strict=True):
            yield (*laps, most)


def _limits(first: Ints, vectors: Sequence[Vector]) -> Ints:
    """The largest last number of a vector whose other ones are no less; 0 if there is none."""
    most = np.zeros(len(first), dtype=np.int64)
    for vector in vectors:
        fits = (first <= np.array(vector[:-1], dtype=np.int64)).all(axis=1)
        most[fits] = np.maximum(most[fits], vector[-1])
    return most


def below(laps: Vector, other: Vector) -> bool:
    """Whether no slot has more laps."""
    return all(a <= b for a, b in zip(laps, other, strict=True))


def _parts(slots: Vector) -> set[Vector]:
    """The set without one of its slots, all ways."""
    return set(combinations(slots, len(slots) - 1))


def _moved(laps: Vector, order: Vector, wanted: Vector) -> Vector:
    """Laps in another order of the slots."""
    left = list(zip(order, laps, strict=True))
    found = []
    for s in wanted:
        entry = next(entry for entry in left if entry[0] == s)
        left.remove(entry)
        found.append(entry[1])
    return tuple(found)


def _alike(order: Sequence[int], laps: Vector) -> set[Vector]:
    """The laps with those of slots of one kind exchanged, all ways."""
    places = range(len(order))
    if len(set(order)) == len(order):
        return {laps}
    return {
        tuple(laps[i] for i in moved)
        for moved in permutations(places)
        if all(order[i] == order[k] for i, k in zip(moved, places, strict=True))
    }
