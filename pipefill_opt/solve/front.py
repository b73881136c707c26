"""What a monotone device reaches from one start, exactly, and what that says of a whole box of starts.

Who is further along is never worse off, so that of all that is reached only the front counts: how far the last slot gets, by where
the others are (`spread`). A start s does laps l if its front passes s + l laps; no start of a box from `low` to `high` does them if
the front from `high` does not pass low + l laps. States whose hope is too small are dropped on the way: hopes[t] is the backward sweep
of some worth V over the rooms of a main iteration from t on, so what passes p before room t has V = hopes[t](p) at its end at the most
(`potential` says what it needs).
"""

from __future__ import annotations

from collections.abc import Sequence
from itertools import accumulate
from math import prod
from typing import Any, Final

import numpy as np
from numpy.typing import NDArray

from pipefill_opt.kernels import compiled
from pipefill_opt.solve.device import Chain
from pipefill_opt.solve.grid import AXES, Point, Table
from pipefill_opt.solve.monotone import Relaxed
from pipefill_opt.solve.potential import thresholds
from pipefill_opt.solve.reach import reach_alone
from pipefill_opt.solve.spread import spread

MOST_HOPES: Final = 48_000_000
MOST_STATES: Final = 30_000_000
"""Entries of the hopes, and of the tables of all rooms: what is kept at once."""


def fits_front(relaxed: Relaxed, laps: Sequence[int]) -> bool:
    """Whether a `Front` for so many laps can be made and run."""
    device = relaxed.device
    rooms = len(device.rooms) * device.iterations + 1
    positions = sorted(slot.length * most + 1 for slot, most in zip(device.slots, laps, strict=True))
    states = prod(positions[:-1])
    hopes = (len(device.rooms) + 1) * prod(slot.length for slot in device.slots)
    return rooms * states <= MOST_STATES and hopes <= MOST_HOPES


class Front:
    """The rooms of a device for plans of at most laps[s] laps of slot s.

    worth, hopes: V, and its sweep before each room of a main iteration and at the end, one axis a slot; weights: what V gains by a lap of
    each.
    """

    def __init__(
        self, relaxed: Relaxed, laps: Sequence[int], weights: Sequence[int], worth: Table, hopes: Table
    ) -> None:
        device = relaxed.device
        self.laps = list(laps)
        self._relaxed = relaxed
        self._by_slot = hopes
        self.slots = device.slots
        spans = [most * slot.length for most, slot in zip(laps, self.slots, strict=True)]
        self.order = sorted(range(len(self.slots)), key=lambda s: (spans[s], s))
        self.pad = AXES - len(self.slots)
        self.worth = worth
        self.weights = list(weights)
        self.sizes = self._ordered([span + 1 for span in spans], 1)
        self.length = self._ordered([slot.length for slot in self.slots], 1)
        wide = [slot.length + span + 1 for slot, span in zip(self.slots, spans, strict=True)]
        self._offset = _flat([0, *accumulate(self._ordered(wide, 1))])
        self._paid = self._along(wide, _paid)
        self._since = self._along(wide, _since)
        rooms = list(dict.fromkeys(device.rooms))
        self._limits = _flat([self._limit(relaxed, room, wide) for room in rooms]).reshape(len(rooms), -1)
        self._nets = _flat([room.usable - device.enter - device.leave for room in rooms])
        number = {room: k for k, room in enumerate(rooms)}
        self._steps = _flat([number[room] for room in device.rooms * device.iterations])
        self._path = _flat([relaxed.path[self._chosen(bits)] for bits in range(1 << AXES)])
        self._hopes = hopes.transpose(0, *(1 + s for s in self.order)).reshape(len(hopes), -1)
        self._spread: Any = compiled(spread)

    def smaller(self, laps: Sequence[int]) -> Front:
        """The same for fewer laps."""
        return Front(self._relaxed, laps, self.weights, self.worth, self._by_slot)

    @property
    def states(self) -> int:
        """Entries of a table."""
        return prod(self.sizes[:-1])

    def _ordered(self, numbers: Sequence[int], padding: int) -> list[int]:
        return [padding] * self.pad + [numbers[s] for s in self.order]

    def _chosen(self, bits: int) -> int:
        """A set of axes as a set of slots."""
        return sum(1 << s for axis, s in enumerate(self.order) if bits >> (axis + self.pad) & 1)

    def _along(self, wide: Sequence[int], entry: Any) -> Table:
        own = [[0]] * self.pad + [[entry(self.slots[s], k) for k in range(wide[s])] for s in self.order]
        return _flat([number for numbers in own for number in numbers])

    def _limit(self, relaxed: Relaxed, room: Any, wide: Sequence[int]) -> list[int]:
        found = [0] * self.pad
        for s in self.order:
            slot = self.slots[s]
            counts = reach_alone(relaxed.device, slot, room, relaxed.never[room][s])
            found += [k + counts[k % slot.length] for k in range(wide[s])]
        return found

    def run(self, start: Point, base: int, least: int, *, keep: bool = False) -> tuple[Table, int]:
        """(tables, states gone on from): all tables with `keep`, else the last one only.

        States are dropped that no plan of `least` weighted laps passes, from V = `base` on, begun at its best iteration.
        """
        tables = np.full((len(self._steps) + 1 if keep else 2, self.states), -1, dtype=np.int64)
        _, states = self._run(tables, [start], [base], least)
        return (tables if keep else tables[len(self._steps) % 2]), states

    def first_to_do_all(self, starts: Sequence[Point], bases: Sequence[int], least: int) -> tuple[int, int]:
        """(starts before the first one from which a plan does `laps`, states gone on from); bases, least: as of `run`."""
        return self._run(np.full((2, self.states), -1, dtype=np.int64), starts, bases, least)

    def _run(self, tables: Table, starts: Sequence[Point], bases: Sequence[int], least: int) -> tuple[int, int]:
        device = self._relaxed.device
        needed = _flat(thresholds(least, device.iterations, len(device.rooms)))
        number, states = self._spread(
            tables, _flat(self.sizes), _flat([self._ordered(start, 0) for start in starts]), _flat(bases), self._steps, self._nets,
            self._path, self._offset, self._paid, self._since, self._limits, self._hopes, _flat(self.length),
            _flat(self._ordered(self.weights, 0)), needed, np.zeros((len(tables), AXES - 1, 2), dtype=np.int64),
        )  # fmt: skip
        return int(number), int(states)

    def passes(self, table: Table, start: Point, low: Point, points: Table) -> NDArray[np.bool_]:
        """For each vector of laps: whether the front from `start` passes low + these laps."""
        best = table.reshape(self.sizes[:-1])
        for axis in range(AXES - 1):
            best = np.flip(np.maximum.accumulate(np.flip(best, axis), axis=axis), axis)
        wanted = [np.zeros(len(points), dtype=np.int64)] * self.pad
        for s in self.order:
            wanted.append(np.maximum(0, points[:, s] * self.slots[s].length + low[s] - start[s]))
        inside = np.all([w < size for w, size in zip(wanted, self.sizes, strict=True)], axis=0)
        clipped = [np.minimum(w, size - 1) for w, size in zip(wanted, self.sizes, strict=True)]
        found: NDArray[np.bool_] = inside & (best[tuple(clipped[:-1])] >= clipped[-1])
        return found

    def way(self, start: Point, base: int, least: int, laps: Sequence[int]) -> list[Point]:
        """Positions (by slot, laps counted on) before each room and at the end of a plan from `start` that does these laps,
        which its front must pass."""
        tables, _ = self.run(start, base, least, keep=True)
        goal = [0] * self.pad + [laps[s] * self.slots[s].length for s in self.order]
        at = self._ahead(tables[-1], goal)
        way = [goal]
        for t in range(len(self._steps) - 1, -1, -1):
            at = self._back(tables[t], int(self._steps[t]), start, at)
            way.append([min(own, end) for own, end in zip(at, goal, strict=True)])
        way.reverse()
        axis = {s: k + self.pad for k, s in enumerate(self.order)}
        return [tuple(start[s] + done[axis[s]] for s in range(len(self.slots))) for done in way]

    def _ahead(self, table: Table, goal: Sequence[int]) -> list[int]:
        """A state of a table that passes `goal`."""
        shaped = table.reshape(self.sizes[:-1])[tuple(slice(g, None) for g in goal[:-1])]
        found = np.argwhere(shaped >= goal[-1])[0]
        place = [int(g + k) for g, k in zip(goal, found, strict=False)]
        return [*place, int(table.reshape(self.sizes[:-1])[tuple(place)])]

    def _back(self, table: Table, room: int, start: Point, goal: Sequence[int]) -> list[int]:
        """A state of a table from which the room leads to one that passes `goal`, and gets there by no more runs than that needs."""
        shaped = table.reshape(self.sizes[:-1])[tuple(slice(0, g + 1) for g in goal[:-1])]
        first = self._ordered(start, 0)
        own = [np.arange(g + 1) for g in goal[:-1]]
        ticks = np.zeros(shaped.shape, dtype=np.int64)
        chosen = np.zeros(shaped.shape, dtype=np.int64)
        fits = shaped >= 0
        for axis in range(AXES):
            if axis < AXES - 1:
                done = own[axis].reshape([-1 if k == axis else 1 for k in range(AXES - 1)])
            else:
                done = np.clip(shaped, 0, goal[-1])
            place = self._offset[axis] + first[axis]
            moved = done < goal[axis]
            ticks = ticks + np.where(moved, self._paid[place + goal[axis]] - self._since[place + done], 0)
            chosen = chosen + (moved << axis)
            fits = fits & (~moved | (first[axis] + goal[axis] <= self._limits[room][place + done]))
        fits &= (chosen == 0) | (ticks + self._path[chosen] <= self._nets[room])
        at = [int(k) for k in np.argwhere(fits)[0]]
        return [*at, min(int(shaped[tuple(at)]), goal[-1])]


def _paid(slot: Chain, k: int) -> int:
    laps, rest = divmod(k, slot.length)
    return laps * sum(slot.ticks) + sum(slot.ticks[:rest]) + slot.move_out[rest]


def _since(slot: Chain, k: int) -> int:
    laps, rest = divmod(k, slot.length)
    return laps * sum(slot.ticks) + sum(slot.ticks[:rest]) - slot.move_in[rest]


def _flat(numbers: Any) -> Table:
    return np.array(numbers, dtype=np.int64)
