"""All that some residents can do together in one turn: the laps of each slot, by where the slots stand. Exact; plans that repeat only.

A walk through the rooms of the turn goes from state to state (`transitions`); of all walks to a state with the same laps of the other
slots only the most laps of the last one are kept. Those that come back to where they began are the points.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import replace
from fractions import Fraction
from math import prod
from typing import Any, Final

import numpy as np
from numpy.typing import NDArray

from pipefill_opt.kernels import kernel
from pipefill_opt.solve.device import DevicePlan, DeviceProblem, Room, Visit
from pipefill_opt.solve.transitions import Rooms, list_states

Ints = NDArray[np.int64]
Vector = tuple[int, ...]
MOST_CELLS: Final = 4_000_000
"""Most (state, laps of the other slots) that a search keeps."""


class Points:
    """most: no closed plan has more laps of each slot; the last slot should be the one with the most."""

    def __init__(self, device: DeviceProblem, most: Sequence[int]) -> None:
        self.device = device
        self.most = tuple(most)
        self.lengths = [slot.length for slot in device.slots]
        longest = max((room.usable for room in device.rooms), default=0)
        caps = [longest // sum(slot.ticks) + 2 for slot in device.slots]
        self.radix = [prod(caps[:s]) for s in range(len(caps) + 1)]
        slots = tuple(
            replace(slot, value=(base,) + (0,) * (slot.length - 1))
            for slot, base in zip(device.slots, self.radix, strict=False)
        )
        self.states = list_states(replace(device, slots=slots, unit=Fraction(1)))
        self.rooms = Rooms(self.states)
        self.stride = [prod(n + 1 for n in self.most[:s]) for s in range(len(self.most))]
        self.cells = self.stride[-1]
        self._steps: dict[Room, tuple[Ints, Ints, Ints, Ints, Ints]] = {}
        self.of: dict[Vector, tuple[Vector, ...]] = {}
        """By position of each slot: the points, none below another one."""

    def find(self) -> None:
        """All points from all positions; slots of the same kind stand in order."""
        for start in np.flatnonzero(self.states.allowed).tolist():
            digits = self.states.digits(start)
            same = zip(self.device.residents, self.device.residents[1:], digits, digits[1:], strict=False)
            if any(a == b and p > q for a, b, p, q in same):
                continue
            best = self._last(start)[start]
            points = [(*self._laps(cell), int(best[cell])) for cell in np.flatnonzero(best > 0).tolist()]
            found = maximal(point for point in points if all(point))
            if found:
                self.of[tuple(digits)] = found

    def plan(self, start: Vector, laps: Vector) -> DevicePlan:
        """A plan from these positions with at least these laps, which a point has."""
        point = next(point for point in self.of[start] if all(a >= b for a, b in zip(point, laps, strict=True)))
        source = sum(p * stride for p, stride in zip(start, self.states.stride, strict=True))
        layers = list(self._layers(source))
        cell = sum(n * stride for n, stride in zip(point[:-1], self.stride, strict=False))
        state, value = source, point[-1]
        visits: list[Visit] = []
        rooms = self.device.rooms * self.device.iterations
        for number in range(len(rooms) - 1, -1, -1):
            before = layers[number]
            origin, target, others, last, worth = self._step(rooms[number])
            into = np.flatnonzero((target == state) & (others <= cell))
            own = cell - others[into]
            fits = before[origin[into], own] == value - last[into]
            k = into[fits & (before[origin[into], own] >= 0) & self._no_borrow(cell, others[into])][0]
            runs = self.rooms.runs(rooms[number], int(origin[k]), state, int(worth[k]))
            if runs:
                iteration, bubble = divmod(number, len(self.device.rooms))
                visits.append(Visit(iteration, bubble, runs))
            state, cell, value = int(origin[k]), int(cell - others[k]), int(value - last[k])
        return DevicePlan(start, tuple(reversed(visits)))

    def _laps(self, cell: int) -> Vector:
        """The laps of all slots but the last one."""
        return tuple(cell // stride % (n + 1) for stride, n in zip(self.stride, self.most[:-1], strict=False))

    def _no_borrow(self, cell: int, others: Ints) -> NDArray[np.bool_]:
        """Whether the laps of each slot are at most those of the cell."""
        fine = np.ones(len(others), dtype=np.bool_)
        for stride, n in zip(self.stride, self.most[:-1], strict=False):
            fine &= others // stride % (n + 1) <= cell // stride % (n + 1)
        return fine

    def _layers(self, start: int) -> Iterator[Ints]:
        """The most laps of the last slot, by state and laps of the others: at first, and after each room; -1 where there is no walk."""
        now = np.full((self.states.count, self.cells), -1, dtype=np.int64)
        now[start, 0] = 0
        yield now
        sizes = np.array([n + 1 for n in self.most[:-1]], dtype=np.int64)
        for room in self.device.rooms * self.device.iterations:
            after = np.full_like(now, -1)
            origin, target, others, last, _ = self._step(room)
            kernel(spread, len(origin) * self.cells)(now, after, origin, target, others, last, sizes)
            now = after
            yield now

    def _last(self, start: int) -> Ints:
        *_, last = self._layers(start)
        return last

    def _step(self, room: Room) -> tuple[Ints, Ints, Ints, Ints, Ints]:
        """(source, target, laps of the other slots as a cell, laps of the last slot, value) of each transition of a room."""
        if room not in self._steps:
            self.rooms.find(room, lambda: False)
            found = self.rooms.of(room)
            origin = np.repeat(found.sources, np.diff(found.first))
            left = found.value - self._within(found.target) + self._within(origin)
            others = np.zeros(len(origin), dtype=np.int64)
            fine = np.ones(len(origin), dtype=np.bool_)
            laps: Any = None
            for s, n in enumerate(self.most):
                laps = left // self.radix[s] % (self.radix[s + 1] // self.radix[s])
                fine &= laps <= n
                if s + 1 < len(self.most):
                    others += laps * self.stride[s]
            self._steps[room] = (origin[fine], found.target[fine], others[fine], laps[fine], found.value[fine])
        return self._steps[room]

    def _within(self, states: Ints) -> Ints:
        """What standing there is worth of a lap begun, as `Rooms` counts it."""
        total = np.zeros(len(states), dtype=np.int64)
        for s, slot in enumerate(self.device.slots):
            ticks = np.cumsum((0, *slot.ticks[:-1]))
            digits = states // self.states.stride[s] % self.states.radix[s]
            total += (self.radix[s] * ticks // sum(slot.ticks))[digits]
        return total


def spread(now: Any, after: Any, origin: Any, target: Any, others: Any, last: Any, sizes: Any) -> None:
    """One room: every transition from every cell that a walk has reached."""
    cells = now.shape[1]
    for k in range(len(origin)):
        for cell in range(cells):
            have = now[origin[k], cell]
            if have < 0:
                continue
            left, right, fine = cell, others[k], True
            for size in sizes:
                if left % size + right % size >= size:
                    fine = False
                    break
                left //= size
                right //= size
            if fine and have + last[k] > after[target[k], cell + others[k]]:
                after[target[k], cell + others[k]] = have + last[k]


def maximal(points: Iterable[Vector]) -> tuple[Vector, ...]:
    """Those below no other one, the largest in the first place first."""
    left = np.array(sorted(set(points), reverse=True), dtype=np.int64)
    found: list[Vector] = []
    while len(left):
        first = left[0]
        found.append(tuple(first.tolist()))
        left = left[(left > first).any(axis=1)]
    return tuple(found)
