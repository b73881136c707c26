"""The best turn of a device of a class when laps have prices: which residents, and how many laps of each. Plans that repeat only.

Every set of residents that fits in memory has the points (laps of each slot) that its net ticks allow. A search of its device at some
prices proves a cut, laps x prices <= bound, that rules points out, and its plan shows one that is there. Sets are searched best
bound first, until the best point left is one that is there: then the turn is the best of all; before, it is bounded.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from fractions import Fraction
from functools import cached_property
from math import prod
from typing import Final

import numpy as np
from numpy.typing import NDArray

from pipefill_opt.solve.device import Compiled, DevicePlan, Residents
from pipefill_opt.solve.exact import solve_exact
from pipefill_opt.solve.life.modes import Mode
from pipefill_opt.solve.life.shares import can_work_together, kinds_of, rooms_of
from pipefill_opt.solve.watch import Watch

Ints = NDArray[np.int64]
MOST_SETS: Final = 20_000
MOST_POINTS: Final = 30_000
MOST_SLOTS: Final = 2
PRICE: Final = 1 << 20
"""Largest price that a search of a device is given."""
WORK: Final = 2_000_000


@dataclass(slots=True)
class _Set:
    """One set of residents: room in net ticks; points left and whether each is there, once opened."""

    slots: tuple[int, ...]
    room: int
    points: Ints | None = None
    modes: dict[tuple[int, ...], Mode] = field(default_factory=dict)
    hard: bool = False


class Turns:
    """All sets of residents of a class for one H. complete: no larger set, and none that is not listed, could matter."""

    def __init__(self, compiled: Compiled, c: int, length: int, watch: Watch) -> None:
        self.compiled = compiled
        self.c = c
        self.length = length
        self.watch = watch
        self.kinds = kinds_of(compiled, c, range(length, length + 1))
        self.empty = compiled.device(c, (), length)
        self.jobs = np.array([kind.job for kind in self.kinds], dtype=np.int64)
        self.lap = np.array([kind.lap for kind in self.kinds], dtype=np.int64)
        self.most = np.array([kind.most[0] for kind in self.kinds], dtype=np.int64)
        self.room_of_all = self._room(range(len(self.kinds))) if self.kinds else 0
        self.searches = 0

    @property
    def sets(self) -> list[_Set]:
        """The sets, listed once they are asked for."""
        return self._listed[0]

    @property
    def complete(self) -> bool:
        """Whether these are all."""
        return self._listed[1]

    @cached_property
    def slots(self) -> Ints:
        """By set: its kinds, filled up with -1."""
        slots = np.full((len(self.sets), MOST_SLOTS), -1, dtype=np.int64)
        for row, entry in enumerate(self.sets):
            slots[row, : len(entry.slots)] = entry.slots
        return slots

    @cached_property
    def rooms(self) -> Ints:
        """By set: its room."""
        return np.array([entry.room for entry in self.sets], dtype=np.int64)

    @cached_property
    def _listed(self) -> tuple[list[_Set], bool]:
        """Sets of up to MOST_SLOTS slots that fit in memory; whether that is all."""
        found: list[_Set] = []
        level: list[tuple[int, ...]] = [()]
        for _ in range(MOST_SLOTS + 1):
            level = [
                grown
                for slots in level
                for kind in range(slots[-1] if slots else 0, len(self.kinds))
                if self._fits(grown := (*slots, kind))
            ]
            if not level:
                return found, True
            if len(level[0]) > MOST_SLOTS or len(found) + len(level) > MOST_SETS:
                return found, False
            found += [_Set(slots, self._room(slots)) for slots in level]
        return found, False

    def _fits(self, slots: Sequence[int]) -> bool:
        return can_work_together(self.compiled, self.empty, [self.kinds[s] for s in slots])

    def _room(self, slots: Sequence[int]) -> int:
        return sum(rooms_of(self.empty, [self.kinds[s] for s in slots]))

    def best(self, worth: Ints, searches: int) -> tuple[Fraction, list[Mode]]:
        """(no turn gains more, modes that are there, best first), a lap of each kind being worth a whole number; after so many searches."""
        rough = self._rough(worth)
        for row, entry in enumerate(self.sets):
            if entry.points is not None:
                rough[row] = self._value(row, worth)
        while len(rough):
            row = int(rough.argmax())
            if rough[row] <= 0:
                break
            entry = self.sets[row]
            if entry.points is None:
                self._open(row)
            elif entry.hard or tuple(self._top(row, worth)) in entry.modes or searches <= 0:
                break
            else:
                self._search(row, worth)
                searches -= 1
            rough[row] = self._value(row, worth)
        top = int(rough.max(initial=0))
        bound = Fraction(top)
        if not self.complete and len(self.kinds):
            bound = max(bound, self._of_all(worth))
        return bound, self._found(worth)

    def _rough(self, worth: Ints) -> Ints:
        """By set: the best fractional laps in its room, rounded up."""
        if not len(self.sets):
            return np.zeros(0, dtype=np.int64)
        padded = np.append(worth, 0).astype(np.float64)
        lap = np.append(self.lap, 1).astype(np.float64)
        most = np.append(self.most, 0).astype(np.float64)
        value, ticks, number = padded[self.slots], lap[self.slots], most[self.slots]
        order = np.argsort(-value / ticks, axis=1, kind="stable")
        value, ticks, number = (np.take_along_axis(a, order, axis=1) for a in (value, ticks, number))
        left = self.rooms.astype(np.float64)
        total = np.zeros(len(self.sets))
        for s in range(MOST_SLOTS):
            laps = np.minimum(number[:, s], left / ticks[:, s])
            total += laps * value[:, s]
            left = left - laps * ticks[:, s]
        rounded: Ints = np.ceil(total * (1 + 1e-9)).astype(np.int64) + 1
        return rounded

    def _of_all(self, worth: Ints) -> Fraction:
        """The best use of the room by any residents."""
        return max(Fraction(int(v) * self.room_of_all, int(t)) for v, t in zip(worth, self.lap, strict=True))

    def _open(self, row: int) -> None:
        """All points of a set that its room and each slot alone allow."""
        entry = self.sets[row]
        slots = list(entry.slots)
        if prod(int(self.most[s]) + 1 for s in slots) > MOST_POINTS:
            entry.hard = True
            entry.points = np.zeros((0, len(slots)), dtype=np.int64)
            return
        axes = np.meshgrid(*(np.arange(self.most[s] + 1) for s in slots), indexing="ij")
        points = np.stack([axis.ravel() for axis in axes], axis=1)
        points = points[points @ self.lap[slots] <= entry.room]
        entry.points = points[(points > 0).all(axis=1)]  # who does nothing need not be there

    def _top(self, row: int, worth: Ints) -> list[int]:
        entry = self.sets[row]
        assert entry.points is not None
        best: list[int] = entry.points[int((entry.points @ worth[list(entry.slots)]).argmax())].tolist()
        return best

    def _value(self, row: int, worth: Ints) -> int:
        """The most that a point that is left is worth."""
        entry = self.sets[row]
        assert entry.points is not None
        if entry.hard:
            return int(self._rough(worth)[row])
        values = entry.points @ worth[list(entry.slots)]
        return int(values.max(initial=0))

    def _search(self, row: int, worth: Ints) -> None:
        """Search a set's device at these prices: a cut, and a plan."""
        entry = self.sets[row]
        assert entry.points is not None
        own = worth[list(entry.slots)]
        shift = max(0, int(own.max()).bit_length() - PRICE.bit_length())
        value = [max(1, int(v) >> shift) for v in own]
        residents: Residents = tuple((self.kinds[s].job, self.kinds[s].device.residents[0][1]) for s in entry.slots)
        device = self.compiled.device(self.c, residents, self.length)
        slots = tuple(
            replace(slot, value=(v,) + (0,) * (slot.length - 1)) for slot, v in zip(device.slots, value, strict=True)
        )
        result = solve_exact(replace(device, slots=slots, unit=Fraction(1)), replace(self.watch.left(), work=WORK))
        self.searches += 1
        if result.plan is not None and result.value:
            laps = laps_of(result.plan, [slot.length for slot in device.slots])
            if all(laps):
                entry.modes[laps] = Mode(self.c, device, laps, plan=result.plan)
        before = len(entry.points)
        entry.points = entry.points[entry.points @ np.array(value, dtype=np.int64) <= result.bound]
        top = tuple(self._top(row, worth)) if len(entry.points) else ()
        if top not in entry.modes and len(entry.points) == before:
            entry.hard = True  # the search was cut short: no more to be had

    def _found(self, worth: Ints) -> list[Mode]:
        """Modes that are there, best first."""
        modes = [
            (int(np.array(laps) @ worth[list(entry.slots)]), number, mode)
            for number, entry in enumerate(self.sets)
            for laps, mode in entry.modes.items()
        ]
        modes.sort(key=lambda found: (-found[0], found[1]))
        return [mode for _, _, mode in modes]


def laps_of(plan: DevicePlan, lengths: Sequence[int]) -> tuple[int, ...]:
    """Laps of each slot in a closed plan."""
    done = [0] * len(lengths)
    for visit in plan.visits:
        for run in visit.runs:
            done[run.slot] += run.count
    return tuple(number // length for number, length in zip(done, lengths, strict=True))
