"""Value iteration for slots that couple: bounds from loose tables, plans from strict ones (see `coupled`).

First come the bounds of the monotone relaxation. Then starts are searched in boxes, best bound first: a plan from a start of a box ends
in the box again, whole laps later; so one loose sweep from the box, all else forbidden, bounds all its starts. The strict sweep from the
best start of the box is a plan. Boxes are halved until nothing is left; a single start whose loose value is more than any plan stays open,
so that the answer need not be proved.
"""

from __future__ import annotations

from fractions import Fraction
from itertools import accumulate
from math import prod
from typing import Final

import numpy as np

from pipefill_opt.solve.boxes import Boxes
from pipefill_opt.solve.coupled import NEVER, Coupled, runs_once
from pipefill_opt.solve.device import DevicePlan, DeviceProblem, DeviceResult
from pipefill_opt.solve.grid import AXES, Point, Table
from pipefill_opt.solve.laps import LapPoints
from pipefill_opt.solve.monotone import Relaxed
from pipefill_opt.solve.potential import smooth_values
from pipefill_opt.solve.reach import reach_alone
from pipefill_opt.solve.result import Limits, Reason
from pipefill_opt.solve.value_iteration import Starts
from pipefill_opt.solve.watch import Watch

ORIGIN: Final = "value iteration with carried bytes"
POTENTIALS: Final = 2
MOST_CHOICES: Final = 3 * 10**9
"""Choices of one sweep; that many take about half a minute."""


def choices(device: DeviceProblem) -> int:
    """What a sweep of coupled tables looks at, at most."""
    found = {
        room: prod(sum(own) + len(own) for own in (reach_alone(device, slot, room) for slot in device.slots))
        for room in set(device.rooms)
    }
    return sum(found[room] for room in device.rooms) * device.iterations


def fits_coupled(device: DeviceProblem) -> bool:
    """Whether coupled tables can be swept, for a device that passes `fits_grid`."""
    return 1 <= len(device.slots) <= AXES and choices(device) <= MOST_CHOICES


def solve_coupled(
    device: DeviceProblem, relaxed: Relaxed, limits: Limits, *, hint: DevicePlan | None = None
) -> DeviceResult:
    """A plan and a bound for any device that passes `fits_grid` and `fits_coupled`; proved where they meet.

    relaxed: `relax(device)`. `limits.work` counts states x rooms.
    """
    search = _CoupledStarts(device, relaxed, Watch(limits), hint)
    search.run()
    bound = max(search.value, search.bound)
    reason = Reason.PROVED if search.value == bound else search.starts.ended() or Reason.WORK_LIMIT
    return DeviceResult(search.value, bound, search.plan, search.origin, reason)


class _CoupledStarts:
    """The search. `bound` holds at any time; `value` and `plan` are the best found so far."""

    def __init__(self, device: DeviceProblem, relaxed: Relaxed, watch: Watch, hint: DevicePlan | None) -> None:
        self.device = device
        self.watch = watch
        self.starts = Starts(device, relaxed, watch, hint)
        self.value, self.plan = self.starts.value, hint
        self.bound, self.origin = self.starts.bound, "capacity"
        self.relaxed = relaxed
        self.loose = Coupled(device, relaxed, strict=False, fresh=not device.repeat)
        self.strict = Coupled(device, relaxed, strict=True)
        self.lap = self.starts.lap

    def stopped(self) -> bool:
        """As that of `Starts`."""
        return self.starts.stopped()

    def ended(self) -> bool:
        """Whether a limit or the gap ends the search now."""
        self.starts.value, self.starts.bound = self.value, self.bound
        return self.starts.ended() is not None

    def run(self) -> bool:
        """False if a limit or the gap came before the end."""
        return self.closed() if self.device.repeat else self.once()

    def once(self) -> bool:
        """`repeat: false`: one sweep of each kind."""
        worth = self.loose.table([list(accumulate(slot.value, initial=0))[:-1] for slot in self.device.slots])
        start = (0,) * AXES
        swept = self.loose.sweep(self.loose.where_allowed(worth), self.lap, self.stopped)
        if swept is None:
            return False
        self.lower(max(0, int(swept[start])))
        fresh = Coupled(self.device, self.relaxed, strict=True, fresh=True)
        return all(self.keep(table, table.where_allowed(worth), start) for table in (fresh, self.strict))

    def closed(self) -> bool:
        """`repeat: true`: False if a limit or the gap came first."""
        if not self.starts.closed():
            self.bound, self.origin = self.starts.bound, "value iteration"
            return False
        self.bound, self.origin = self.starts.bound, "value iteration"
        points, limit = self.starts.points, self.starts.limit
        assert points is not None
        limit = np.where(self.loose.allowed > 0, limit, 0)
        values = self.loose.where_allowed(
            self.loose.table([smooth_values(slot, lap) for slot, lap in zip(self.device.slots, self.lap, strict=True)])
        )
        for _ in range(POTENTIALS):
            swept = self.loose.sweep(values, self.lap, self.stopped)
            if swept is None:
                return False
            limit = np.minimum(limit, np.where(self.loose.allowed > 0, swept - values, 0))
            values = self.loose.where_allowed(swept)
        return self.boxes(points, limit)

    def boxes(self, points: LapPoints, limit: Table) -> bool:
        """Search the starts; False if a limit or the gap came first."""
        boxes = Boxes(self.loose.length)
        first = tuple(int(k) for k in np.unravel_index(int(limit.argmax()), limit.shape))
        if not self.try_start(first, boxes):
            return False
        while True:
            points.raise_low(self.value)
            self.lower(max(self.value, min(points.high, int(points.floor(limit).max()))))
            self.watch.report(Fraction(self.value), Fraction(self.bound))
            if self.value >= self.bound:
                return True
            if self.ended():
                return False
            box = boxes.next(limit, points)
            if box is None:
                return True
            place = tuple(slice(a, b) for a, b in zip(*box, strict=True))
            core = np.full(self.loose.length, NEVER, dtype=np.int64)
            core[place] = np.where(self.loose.allowed[place] > 0, 0, NEVER)
            swept = self.loose.sweep(core, self.lap, self.stopped)
            if swept is None:
                return False
            limit[place] = np.minimum(limit[place], np.maximum(swept[place], 0))
            best = np.unravel_index(int(limit[place].argmax()), limit[place].shape)
            start = tuple(int(a + k) for a, k in zip(box[0], best, strict=True))
            if limit[start] > self.value and not self.try_start(start, boxes):
                return False

    def try_start(self, start: Point, boxes: Boxes) -> bool:
        """The best strict plan from a start, once. False if a limit came first."""
        if not boxes.fresh(start):
            return True
        core = np.full(self.loose.length, NEVER, dtype=np.int64)
        core[start] = 0
        return self.keep(self.strict, core, start)

    def keep(self, table: Coupled, core: Table, start: Point) -> bool:
        """The best plan of a strict table from a start for the worth `core` of its end. False if a limit came first."""
        kept: dict[int, Table] = {}
        swept = table.sweep(core, self.lap, self.stopped, kept)
        if swept is None:
            return False
        value = int(swept[start])
        if value > self.value:
            way = table.walk(kept, self.lap, start, self.stopped)
            if way is None:
                return False
            plan = table.plan(way)
            if self.device.repeat or runs_once(self.device, plan):
                self.value, self.plan = value, plan
        return True

    def lower(self, bound: int) -> None:
        """A bound that is known now."""
        if bound < self.bound:
            self.bound, self.origin = bound, ORIGIN
