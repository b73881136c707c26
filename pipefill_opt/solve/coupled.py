"""Tables over the positions of slots that couple, and T on them: loose for bounds, strict for plans.

Slots couple through carried bytes, transfers or rule 5. Both tables let each slot run one segment in a room, with its true transfers,
and stand only where rule 5 lets it. *Loose* loses no plan: whatever a slot does in a room is together one run, others carry the least
that they carry in the room at any time, and changes take the cheapest way. *Strict* allows only what is a plan: the slots run one after
the other, in some order.

With `repeat: false` a slot that has done nothing carries nothing; `fresh` tables take this for all slots that stand at 0, others that
they carry what they do after a lap there. So loose tables must be fresh, and what strict fresh ones find may break a rule (`runs_once`).
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from itertools import accumulate, pairwise, permutations
from math import factorial
from typing import Any, Final

import numpy as np

from pipefill_opt.kernels import compiled
from pipefill_opt.solve.climb_coupled import climb_coupled
from pipefill_opt.solve.device import Chain, DevicePlan, DeviceProblem, Room, Run, Visit
from pipefill_opt.solve.grid import Grid, Point, Table
from pipefill_opt.solve.monotone import Relaxed
from pipefill_opt.solve.runs import along

NEVER: Final = -(2**61)
"""Worth of standing where no plan may: no sum of values makes up for it."""


class Coupled(Grid):
    """`Grid` for a device as it is. relaxed: `relax(device)`; strict, fresh: see above."""

    def __init__(self, device: DeviceProblem, relaxed: Relaxed, *, strict: bool, fresh: bool = False) -> None:
        if fresh:
            device = replace(device, slots=tuple(_fresh(slot) for slot in device.slots))
        super().__init__(replace(relaxed, device=device))
        self.strict = strict
        slots = device.slots
        held = [
            [slot.resident + slot.carry[p - 1] for p in range(slot.length)] if slot.keep else [0] * slot.length
            for slot in slots
        ]
        self.allowed: Table = (self.table(held) <= device.resident_free).astype(np.int64)
        self._orders = _orders(device)
        self._kept = [int(slot.keep) for slot in slots]
        self._base = [device.kept_resident + (0 if slot.keep else slot.resident) for slot in slots]
        self._carry = [
            [slot.carry[k % slot.length - 1] for k in range(self.wide[s + self.pad])] for s, slot in enumerate(slots)
        ]
        most = max(wide - n for wide, n in zip(self.wide, self.length, strict=True))
        self._memory = [[[0, *accumulate(own, max)] for own in _onwards(slot.memory, most)] for slot in slots]
        self._little = [
            [list(accumulate(own, min)) for own in _onwards((slot.carry[-1], *slot.carry[:-1]), most + 1)]
            for slot in slots
        ]
        self._free = [room.free for room in self.limit]
        self._kernel: Any = compiled(climb_coupled)
        self._arguments = self._flattened()

    def _flattened(self) -> tuple[Any, ...]:
        """What `climb_coupled` takes, without the padding of `Grid`."""
        wide = self.wide[self.pad :]
        offset = np.cumsum([0, *wide])
        padding = self.pad  # its slots that cannot move have one entry each
        memory = np.zeros((int(offset[-1]), len(self._memory[0][0])), dtype=np.int64)
        little = np.zeros_like(memory)
        for s, begin in enumerate(offset[:-1]):
            memory[begin : begin + len(self._memory[s])] = self._memory[s]
            little[begin : begin + len(self._little[s])] = self._little[s]
        _, paid, since = self._fixed
        return (
            self.allowed.ravel(),
            offset,
            paid[padding:],
            since[padding:],
            np.ascontiguousarray(self._limits[:, padding:]),
            self._nets,
            _flat(self._free),
            _flat(self.path[:: 1 << padding]),
            self._orders,
            _flat(self._base),
            _flat(self._kept),
            _flat([number for own in self._carry for number in own]),
            memory,
            little,
            self.strict,
            NEVER,
            np.zeros((6, len(wide)), dtype=np.int64),
        )

    def _back(self, tables: Table, lap: Sequence[int], begin: int, end: int) -> None:
        steps = np.ascontiguousarray(self._steps[begin:end][::-1])
        length, wide = self.length[self.pad :], self.wide[self.pad :]
        rate = max(value / sum(slot.ticks) for slot, value in zip(self.device.slots, lap, strict=True)) * (1 + 1e-9)
        worth = [
            along([value * t // sum(slot.ticks) for t in accumulate(slot.ticks, initial=0)], more - 1, np.int64)
            for slot, value, more in zip(self.device.slots, lap, wide, strict=True)
        ]
        self._kernel(
            tables, steps, _flat(length), _flat(wide), _flat(lap), np.concatenate(worth), rate, *self._arguments
        )

    def where_allowed(self, core: Table) -> Table:
        """A table whose positions that rule 5 forbids are worth `NEVER`."""
        found: Table = np.where(self.allowed > 0, core, NEVER)
        return found

    def _step(self, room: Room, after: Table, at: Point) -> Point:
        """The best positions that the room leads to, every choice tried."""
        here = [position % n for position, n in zip(at, self.length, strict=True)]
        spans = [range(k, self.limit[room][s][k] + 1) for s, k in enumerate(here)]
        found = after[tuple(slice(span.start, span.stop) for span in spans)]
        order = np.argsort(-found, axis=None, kind="stable")
        for place in order.tolist():
            there = tuple(
                span.start + int(k) for span, k in zip(spans, np.unravel_index(place, found.shape), strict=True)
            )
            if self.order_of(room, here, there) is not None:
                return tuple(position + q - k for position, q, k in zip(at, there, here, strict=True))
        raise AssertionError("standing still is always possible")

    def order_of(self, room: Room, here: Sequence[int], there: Sequence[int]) -> tuple[int, ...] | None:
        """An order in which the slots may run from `here` to `there` (both padded), or None."""
        moved = [s for s in range(len(self._kept)) if there[s + self.pad] != here[s + self.pad]]
        ticks = sum(
            self.paid[s + self.pad][there[s + self.pad]] - self.since[s + self.pad][here[s + self.pad]] for s in moved
        )
        for row in self._orders[sum(1 << s for s in moved)].tolist():
            if row[-1] < 0:
                break
            order = tuple(row[: len(moved)])
            if ticks + row[-1] <= self.net(room) and self._remembers(room, here, there, order):
                return order
        return None if moved else ()

    def _remembers(self, room: Room, here: Sequence[int], there: Sequence[int], order: Sequence[int]) -> bool:
        """Rule 4 for slots that run in this order."""
        at = list(here)
        for s in order:
            k, q = here[s + self.pad], there[s + self.pad]
            others = sum(self._carry[o][at[o + self.pad]] for o, kept in enumerate(self._kept) if kept and o != s)
            if self._base[s] + self._memory[s][k][q - k] + others > room.free:
                return False
            at[s + self.pad] = q
        return True

    def plan(self, way: Sequence[Point]) -> DevicePlan:
        """The plan that passes these positions, one segment a slot in each room."""
        visits = []
        for step, (here, there) in enumerate(pairwise(way)):
            from_here = [position % n for position, n in zip(here, self.length, strict=True)]
            to_there = [k + q - p for k, p, q in zip(from_here, here, there, strict=True)]
            order = self.order_of(self.rooms[step], from_here, to_there)
            assert order is not None
            runs = tuple(Run(s, from_here[s + self.pad], there[s + self.pad] - here[s + self.pad]) for s in order)
            if runs:
                visits.append(Visit(*divmod(step, len(self.device.rooms)), runs))
        first = tuple(position % n for position, n in zip(way[0], self.length, strict=True))
        return DevicePlan(first[self.pad :], tuple(visits))


def runs_once(device: DeviceProblem, plan: DevicePlan) -> bool:
    """Whether a plan of one segment a slot in each room keeps rules 1, 4 and 5 where slots begin fresh."""
    done = [0] * len(device.slots)

    def carried(others: Sequence[int]) -> int:
        return sum(device.slots[s].carried(done[s]) for s in others if device.slots[s].keep)

    everyone = range(len(device.slots))
    for visit in plan.visits:
        room = device.rooms[visit.bubble]
        ticks = device.enter + device.leave + sum(device.between[a.slot][b.slot] for a, b in pairwise(visit.runs))
        for run in visit.runs:
            slot = device.slots[run.slot]
            operators = [(run.first + k) % slot.length for k in range(run.count)]
            most = max(slot.memory[k] for k in operators) + (0 if slot.keep else slot.resident)
            if device.kept_resident + most + carried([s for s in everyone if s != run.slot]) > room.free:
                return False
            ticks += slot.move_in[run.first] if done[run.slot] else slot.move_in_fresh
            done[run.slot] += run.count
            ticks += sum(slot.ticks[k] for k in operators) + slot.move_out[done[run.slot] % slot.length]
        if ticks > room.usable or device.kept_resident + carried(everyone) > device.resident_free:
            return False
    return True


def _fresh(slot: Chain) -> Chain:
    """A slot that carries nothing wherever it may have done nothing yet."""
    into = min(slot.move_in[0], slot.move_in_fresh)
    return replace(slot, carry=(*slot.carry[:-1], 0), move_in=(into, *slot.move_in[1:]))


def _onwards(values: Sequence[int], number: int) -> list[list[int]]:
    """By position: so many values from there on, cyclically."""
    n = len(values)
    return [[values[(k + j) % n] for j in range(number)] for k in range(n)]


def _orders(device: DeviceProblem) -> Table:
    """By set of slots: every order of them with its ticks of `between`, cheapest first; see `climb_coupled`."""
    slots = len(device.slots)
    found = np.full((1 << slots, factorial(slots) + 1, slots + 1), -1, dtype=np.int64)
    for chosen in range(1 << slots):
        members = [s for s in range(slots) if chosen >> s & 1]
        ways = sorted((sum(device.between[a][b] for a, b in pairwise(way)), way) for way in permutations(members))
        for number, (ticks, way) in enumerate(ways):
            found[chosen, number, : len(way)] = way
            found[chosen, number, slots] = ticks
    return found


def _flat(numbers: Any) -> Table:
    return np.array(numbers, dtype=np.int64)
