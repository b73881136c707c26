"""A second track on a device: fillers that use what a host leaves of each bubble, turn by turn, whoever the host is.

A host runs its closed plan as if it were alone. What is left of each bubble is a smaller bubble for a filler, which closes its cycle in
every turn from one operator that is the same for all hosts of the class. So both tracks change copies when they like.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Final

import numpy as np
from numpy.typing import NDArray

from pipefill_opt.fill.problem import Objective
from pipefill_opt.solve.device import DevicePlan, DeviceProblem, Room, Run, Visit
from pipefill_opt.solve.life.alone import closed_plan, furthest
from pipefill_opt.solve.life.modes import Mode
from pipefill_opt.solve.life.shop import Shop

Ints = NDArray[np.int64]
Floats = NDArray[np.float64]
NEVER: Final = 1 << 40


@dataclass(frozen=True, slots=True)
class Fill:
    """A filler copy on the second track: its number among the class's fillers, and the turns in which it is there, to its completion."""

    filler: int
    begin: int
    end: int


class Layers:
    """The fillers of a class: laps a turn beside each host, and alone."""

    def __init__(self, shop: Shop, c: int) -> None:
        self.shop = shop
        self.c = c
        self.hosts = [mode for mode in shop.modes[c] if mode.walk is None and len(mode.laps) == 1]
        self.kinds = [mode.residents[0] for mode in self.hosts if shop.wanted[mode.residents[0][0]] is not None]
        self.devices = [shop.compiled.device(c, (kind,), shop.iterations) for kind in self.kinds]
        self.simple = [
            d.slots[0].keep and d.slots[0].resident + max(d.slots[0].carry) <= d.resident_free for d in self.devices
        ]
        self.number = {host: h for h, host in enumerate(self.hosts)}
        self.left = [self._left(host) for host in self.hosts]
        tables = [[self._laps(h, b) for b in range(len(self.kinds))] for h in range(len(self.hosts) + 1)]
        self.start = [self._start([row[b] for row in tables]) for b in range(len(self.kinds))]
        self.rates = np.array(
            [[0 if table is None else int(table[self.start[b]]) for b, table in enumerate(row)] for row in tables],
            dtype=np.int64,
        ).reshape(len(self.hosts) + 1, len(self.kinds))
        """[host, or last: nobody][filler]"""

    def _left(self, host: Mode) -> tuple[DevicePlan, dict[tuple[int, int], int], int, int]:
        """(its plan, ticks that it leaves where it is, most bytes that it carries at a stop, bytes free beside it while it runs)."""
        device, plan = host.device, host.written()
        slot = device.slots[0]
        left: dict[tuple[int, int], int] = {}
        carried = slot.carry[plan.first[0] - 1] if plan.first else 0
        beside = NEVER
        for visit in plan.visits:
            ticks = device.enter + device.leave
            room = device.rooms[visit.bubble]
            for run in visit.runs:
                laps, rest = divmod(run.count, slot.length)
                ticks += laps * sum(slot.ticks) + sum(slot.ticks[(run.first + i) % slot.length] for i in range(rest))
                places = range(run.first, run.first + (slot.length if laps else rest))
                beside = min(beside, room.free - slot.resident - max(slot.memory[p % slot.length] for p in places))
                end = (run.first + run.count) % slot.length
                carried = max(carried, slot.carry[end - 1])
                if not slot.keep:
                    ticks += slot.move_in[run.first] + slot.move_out[end]
            left[visit.iteration, visit.bubble] = room.usable - ticks
        return plan, left, carried, beside

    def residual(self, host: Mode | None, filler: int) -> DeviceProblem | None:
        """What the filler has beside the host: a device of one iteration with a room for each occurrence; None if both do not fit."""
        device = self.devices[filler]
        if not self.simple[filler]:
            return None
        if host is None:
            return replace(device, rooms=device.rooms * device.iterations, iterations=1)
        _, left, carried, beside = self.left[self.number[host]]
        other, own = host.device.slots[0], device.slots[0]
        holds = other.resident + carried if other.keep else 0
        if own.resident + max(own.carry) > min(beside, device.resident_free - holds):
            return None
        between = self.shop.compiled.problem.switch.between
        change = between if isinstance(between, int) else between[other.job_name][own.job_name]
        rooms = []
        for iteration in range(device.iterations):
            for bubble, room in enumerate(device.rooms):
                rest = left.get((iteration, bubble))
                usable = room.usable if rest is None else rest - change + device.enter + device.leave
                rooms.append(Room(max(0, usable), room.free - holds))
        return replace(device, rooms=tuple(rooms), iterations=1, resident_free=device.resident_free - holds)

    def _laps(self, host: int, filler: int) -> Ints | None:
        """By start: laps a turn."""
        device = self.residual(self.hosts[host] if host < len(self.hosts) else None, filler)
        if device is None:
            return None
        laps: Ints = furthest(device) // device.slots[0].length
        return laps

    def _start(self, tables: list[Ints | None]) -> int:
        """The start with the most laps over all hosts."""
        known = [table for table in tables if table is not None]
        return int(sum(known[1:], known[0]).argmax()) if known else 0

    def plan(self, host: Mode | None, filler: int) -> tuple[tuple[int, ...], tuple[Visit, ...]]:
        """Where both begin and what both do in a turn: the host as slot 0, the filler behind it."""
        device = self.residual(host, filler)
        assert device is not None
        bubbles = len(self.devices[filler].rooms)
        own = closed_plan(device, self.start[filler])
        runs = {divmod(visit.bubble, bubbles): visit.runs for visit in own.visits}
        first: tuple[int, ...] = ()
        if host is None:
            return (self.start[filler],), tuple(Visit(*place, work) for place, work in sorted(runs.items()))
        plan = self.left[self.number[host]][0]
        both: dict[tuple[int, int], tuple[Run, ...]] = {(v.iteration, v.bubble): v.runs for v in plan.visits}
        for place, work in runs.items():
            both[place] = both.get(place, ()) + tuple(Run(1, run.first, run.count) for run in work)
        first = (*plan.first, self.start[filler])
        return first, tuple(Visit(*place, work) for place, work in sorted(both.items()))

    def track(self, hosts: Ints, prices: Floats, weights: Floats) -> tuple[float, list[Fill]]:
        """(what it gains, the best sequence of fillers) beside hosts given turn by turn (their numbers; the last: nobody; -1: no room).

        Per filler: the price of a copy and, for completion, the weight of a turn.
        """
        horizon, size = len(hosts), len(self.kinds)
        if not size or not horizon:
            return 0.0, []
        rates = np.where(hosts[:, None] >= 0, self.rates[hosts], 0)
        done = np.vstack([np.zeros((1, size), dtype=np.int64), np.cumsum(rates, axis=0)])
        end = np.full((size, horizon), NEVER, dtype=np.int64)
        for b, (job, _) in enumerate(self.kinds):
            wanted = self.shop.wanted[job]
            assert wanted is not None
            if prices[b] <= 0 or done[-1, b] < wanted:
                continue
            place = np.searchsorted(done[:, b], done[:-1, b] + wanted)
            place = np.where(place <= horizon, place, NEVER)
            place[: self.shop.release[job]] = NEVER
            deadline = self.shop.deadline[job]
            if self.shop.objective is Objective.ON_TIME and deadline is not None:
                place = np.where(place <= deadline, place, NEVER)
            end[b] = place
        value = np.zeros(horizon + 1)
        way: list[tuple[int, int] | None] = [None] * (horizon + 1)
        busy = np.flatnonzero((end < NEVER).any(axis=1))
        for t in range(horizon):
            if t and value[t - 1] > value[t]:
                value[t], way[t] = value[t - 1], None
            for b in busy.tolist():
                stop = int(end[b, t])
                if stop < NEVER:
                    gain = value[t] + prices[b] - weights[b] * stop
                    if gain > value[stop]:
                        value[stop], way[stop] = gain, (b, t)
        return self._back(value, way)

    def _back(self, value: Floats, way: list[tuple[int, int] | None]) -> tuple[float, list[Fill]]:
        best = int(value.argmax())
        fills = []
        t = best
        while t > 0:
            step = way[t]
            if step is None:
                t -= 1
            else:
                fills.append(Fill(step[0], step[1], t))
                t = step[1]
        fills.reverse()
        return float(value[best]), fills
