"""Tables over the positions of up to five slots of a monotone device, and T: the backward sweep over a plan's rooms."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from itertools import accumulate, chain, pairwise
from math import isqrt, prod
from typing import Any, Final

import numpy as np
from numpy.typing import NDArray

from pipefill_opt.kernels import compiled
from pipefill_opt.solve.bounds import capacity, simple_bound
from pipefill_opt.solve.climb import climb
from pipefill_opt.solve.device import Chain, DevicePlan, DeviceProblem, Room, Run, Visit
from pipefill_opt.solve.monotone import Relaxed
from pipefill_opt.solve.reach import reach_alone

Table = NDArray[np.int64]
Reach = dict[Room, list[tuple[int, ...]]]
"""By room and slot: how far the slot gets alone, by position."""
Point = tuple[int, ...]
AXES: Final = 5
MOST_ENTRIES: Final = 8_000_000
MOST_STEPS: Final = 10**10
"""A sweep of so many steps takes about half a minute."""
UNREACHED: Final = -(2**62)


def fits_grid(device: DeviceProblem) -> bool:
    """Whether a `Grid` can be made and swept: not too many slots, entries, steps and digits."""
    if len(device.slots) > AXES:
        return False
    entries, steps = grid_size(device)
    return entries <= MOST_ENTRIES and steps <= MOST_STEPS and fits_digits(device)


def fits_digits(device: DeviceProblem) -> bool:
    """Whether no value and no time of a plan, with a lap of each slot more, overflows."""
    most = 2**61 // 8 - sum(sum(slot.value) for slot in device.slots)
    if any(sum(slot.ticks) >= 2**58 for slot in device.slots):
        return False
    densest = max((v // t + 1 for slot in device.slots for v, t in zip(slot.value, slot.ticks, strict=True)), default=0)
    return densest * capacity(device) < most or simple_bound(device) < most


def reaches(relaxed: Relaxed) -> Reach:
    """How far each slot gets in each room where it fits."""
    device = relaxed.device
    return {
        room: [
            reach_alone(device, slot, room, never)
            for slot, never in zip(device.slots, relaxed.never[room], strict=True)
        ]
        for room in relaxed.never
    }


def grid_size(device: DeviceProblem, reach: Reach | None = None) -> tuple[int, int]:
    """(entries of a table, steps of a sweep): what a `Grid` costs."""
    if reach is None:
        reach = {room: [reach_alone(device, slot, room) for slot in device.slots] for room in set(device.rooms)}
    furthest = [max((max(own[s]) for own in reach.values()), default=0) for s in range(len(device.slots))]
    entries = prod(slot.length + more for slot, more in zip(device.slots, furthest, strict=True))
    moves = {room: [sum(counts) + len(counts) for counts in own] for room, own in reach.items()}
    last = device.slots[-1].length if device.slots else 1
    steps = sum(prod(moves[room][:-1]) * last for room in device.rooms) * device.iterations
    return entries, steps + entries * len(device.rooms) * device.iterations


class Grid:
    """A table has one axis a slot, the last ones if there are fewer than five; entry p is a value at positions p.

    Beyond a slot's length a table goes on by the value of a lap for each lap. core: the part below the lengths.
    """

    def __init__(self, relaxed: Relaxed, reach: Reach | None = None) -> None:
        device = relaxed.device
        self.device = device
        self.order = relaxed.order
        self.pad = AXES - len(device.slots)
        reach = reaches(relaxed) if reach is None else reach
        furthest = [max(max(counts[s]) for counts in reach.values()) for s in range(len(device.slots))] if reach else []
        self.length: Point = (*(1,) * self.pad, *(slot.length for slot in device.slots))
        self.wide: Point = tuple(n + more for n, more in zip(self.length, [*[0] * self.pad, *furthest], strict=True))
        self.core = tuple(slice(n) for n in self.length)
        self.paid = [[0]] * self.pad + [self._along(s, self._paid) for s in range(len(device.slots))]
        self.since = [[0]] * self.pad + [self._along(s, self._since) for s in range(len(device.slots))]
        self.path = [relaxed.path[chosen >> self.pad] for chosen in range(1 << AXES)]
        self.limit = {
            room: [[0]] * self.pad + [[k + count for k, count in enumerate(own)] for own in counts]
            for room, counts in reach.items()
        }
        self._fixed = (
            _flat([0, *accumulate(self.wide)]),
            _flat(list(chain.from_iterable(self.paid))),
            _flat(list(chain.from_iterable(self.since))),
        )
        self._limits = _flat(
            [
                [k for own, wide in zip(limit, self.wide, strict=True) for k in own + [0] * (wide - len(own))]
                for limit in self.limit.values()
            ]
        )
        self._nets = _flat([self.net(room) for room in self.limit])
        number = {room: k for k, room in enumerate(self.limit)}
        self.rooms = list(device.rooms) * device.iterations
        self._steps = _flat([number[room] for room in self.rooms])
        self.block = isqrt(len(self.rooms)) + 1
        self._climb: Callable[..., None] = compiled(climb)

    def _along(self, s: int, entry: Callable[[Chain, list[int], int], int]) -> list[int]:
        slot = self.device.slots[s]
        elapsed = list(accumulate(slot.ticks, initial=0))
        return [entry(slot, elapsed, k) for k in range(self.wide[s + self.pad])]

    @staticmethod
    def _paid(slot: Chain, elapsed: list[int], k: int) -> int:
        laps, rest = divmod(k, slot.length)
        return laps * elapsed[-1] + elapsed[rest] + slot.move_out[rest]

    @staticmethod
    def _since(slot: Chain, elapsed: list[int], k: int) -> int:
        laps, rest = divmod(k, slot.length)
        return laps * elapsed[-1] + elapsed[rest] - slot.move_in[rest]

    def net(self, room: Room) -> int:
        """Usable ticks without enter and leave."""
        return room.usable - self.device.enter - self.device.leave

    def table(self, along: Sequence[Sequence[int]]) -> Table:
        """The core of the table that is the sum of along[s][k] over the slots s at their positions k."""
        total: Table = np.zeros(self.length, dtype=np.int64)
        for s, entries in enumerate(along):
            shape = [1] * AXES
            shape[s + self.pad] = len(entries)
            total = total + np.array(entries, dtype=np.int64).reshape(shape)
        return total

    def extended(self, core: Table, lap: Sequence[int]) -> Table:
        """The whole table of a core; lap: by slot, what a lap adds."""
        laps = (*(0,) * self.pad, *lap)
        for axis, (n, wide, more) in enumerate(zip(self.length, self.wide, laps, strict=True)):
            k = np.arange(wide)
            shape = [1] * AXES
            shape[axis] = wide
            core = np.take(core, k % n, axis=axis) + (k // n * more).reshape(shape)
        return np.ascontiguousarray(core)

    def _back(self, tables: Table, lap: Sequence[int], begin: int, end: int) -> None:
        """T of the rooms end - 1 down to begin, from tables[0] on; see `climb`."""
        steps = np.ascontiguousarray(self._steps[begin:end][::-1])
        laps = _flat([*[0] * self.pad, *lap])
        self._climb(
            tables,
            steps,
            _flat(self.length),
            _flat(self.wide),
            laps,
            *self._fixed,
            self._limits,
            _flat(self.path),
            self._nets,
        )

    def sweep(
        self, core: Table, lap: Sequence[int], stopped: Callable[[], bool], kept: dict[int, Table] | None = None
    ) -> Table | None:
        """T of the whole plan; None if `stopped` says so before its end.

        lap: by slot, what a lap adds to a table. kept: gets the table after some of the rooms, for `walk`.
        """
        tables = np.empty((2, prod(self.wide)), dtype=np.int64)
        tables[0] = self.extended(core, lap).ravel()
        for begin in range((len(self.rooms) - 1) // self.block * self.block, -1, -self.block):
            if stopped():
                return None
            end = min(begin + self.block, len(self.rooms))
            if kept is not None:
                kept[end] = tables[0].copy()
            self._back(tables, lap, begin, end)
            tables[0] = tables[(end - begin) % 2]
        swept: Table = tables[0].reshape(self.wide)[self.core].copy()
        return swept

    def before_each_room(self, core: Table, lap: Sequence[int], stopped: Callable[[], bool]) -> Table | None:
        """T of the rooms from each room on, along a first axis of rooms + 1; None if `stopped` says so before its end."""
        kept: dict[int, Table] = {}
        first = self.sweep(core, lap, stopped, kept)
        if first is None:
            return None
        found = np.empty((len(self.rooms) + 1, *self.length), dtype=np.int64)
        found[0] = first
        for end in sorted(kept):
            begin = (end - 1) // self.block * self.block
            tables = np.empty((end - begin, prod(self.wide)), dtype=np.int64)
            tables[0] = kept[end]
            self._back(tables, lap, begin + 1, end)
            for step in range(begin + 1, end + 1):
                found[step] = tables[end - step].reshape(self.wide)[self.core]
        return found

    def walk(
        self, kept: dict[int, Table], lap: Sequence[int], start: Point, stopped: Callable[[], bool]
    ) -> list[Point] | None:
        """Positions before each room and at the end (laps counted on) of the best plan from `start` for a sweep that left `kept`.

        The tables that were not kept are computed again. None if `stopped` says so before its end.
        """
        way = [start]
        for end in sorted(kept):
            if stopped():
                return None
            begin = len(way) - 1
            tables = np.empty((end - begin, prod(self.wide)), dtype=np.int64)
            tables[0] = kept[end]
            self._back(tables, lap, begin + 1, end)
            for step in range(begin, end):
                way.append(self._step(self.rooms[step], tables[end - 1 - step].reshape(self.wide), way[-1]))
        return way

    def _step(self, room: Room, after: Table, at: Point) -> Point:
        """The best positions that the room leads to, by a whole table."""
        spans = self._spans(room, at)
        return self._best(room, spans, after[tuple(slice(span.start, span.stop) for span in spans)], at)

    def onwards(self, room: Room, core: Table, lap: Sequence[int], at: Point) -> Point:
        """The best positions that the room leads to, by the core of a table; lap: as of `sweep`."""
        spans = self._spans(room, at)
        found = core[
            np.ix_(*(np.arange(span.start, span.stop) % n for span, n in zip(spans, self.length, strict=True)))
        ]
        laps = [0] * self.pad + list(lap)
        for axis, (span, n, more) in enumerate(zip(spans, self.length, laps, strict=True)):
            shape = [-1 if axis == other else 1 for other in range(AXES)]
            found = found + (np.arange(span.start, span.stop) // n * more).reshape(shape)
        return self._best(room, spans, found, at)

    def _spans(self, room: Room, at: Point) -> list[range]:
        """By slot, the positions that the room leads to alone, on the first lap."""
        here = [position % n for position, n in zip(at, self.length, strict=True)]
        return [range(k, self.limit[room][s][k] + 1) for s, k in enumerate(here)]

    def _best(self, room: Room, spans: list[range], found: Table, at: Point) -> Point:
        """From the definition: every choice that fits, tried. found: the table there."""
        shape = tuple(len(span) for span in spans)
        ticks = np.zeros(shape, dtype=np.int64)
        chosen = np.zeros(shape, dtype=np.int64)
        for s, span in enumerate(spans):
            own = [0, *(self.paid[s][q] - self.since[s][span.start] for q in span[1:])]
            axis = tuple(-1 if other == s else 1 for other in range(AXES))
            ticks += np.array(own, dtype=np.int64).reshape(axis)
            chosen |= np.array([0, *(1 << s,) * (len(span) - 1)], dtype=np.int64).reshape(axis)
        ticks += np.array(self.path, dtype=np.int64)[chosen]
        fits = (ticks <= self.net(room)) | (chosen == 0)
        best = np.unravel_index(int(np.where(fits, found, UNREACHED).argmax()), shape)
        return tuple(position + int(moved) for position, moved in zip(at, best, strict=True))

    def plan(self, way: Sequence[Point]) -> DevicePlan:
        """The plan that passes these positions, one segment a slot in each room."""
        visits = []
        for step, (here, there) in enumerate(pairwise(way)):
            moved = [s for s in range(len(self.device.slots)) if there[s + self.pad] > here[s + self.pad]]
            runs = []
            for s in self.order[sum(1 << s for s in moved)]:
                position = here[s + self.pad]
                runs.append(Run(s, position % self.device.slots[s].length, there[s + self.pad] - position))
            if runs:
                visits.append(Visit(*divmod(step, len(self.device.rooms)), tuple(runs)))
        first = tuple(position % n for position, n in zip(way[0], self.length, strict=True))
        return DevicePlan(first[self.pad :], tuple(visits))


def _flat(numbers: Any) -> Table:
    return np.array(numbers, dtype=np.int64)
