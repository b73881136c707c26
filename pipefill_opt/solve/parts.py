"""Many slots by few: a plan leaves out a slot, or does a lap of each.

Plans that leave out a slot are plans of the other slots, whose tables are smaller by a chain's length. What these prove (the value of any
choice of slots, in laps of any plan) is also a bound on the laps of a plan of all slots. Few laps of many slots fit where chains are long
for the bubbles that there are, so that little or nothing is left for the table of all slots.
"""

from __future__ import annotations

from dataclasses import replace
from fractions import Fraction
from itertools import combinations
from math import prod
from typing import Final

import numpy as np

from pipefill_opt.solve.bounds import simple_bound
from pipefill_opt.solve.device import DevicePlan, DeviceProblem, DeviceResult, Run
from pipefill_opt.solve.grid import AXES, fits_digits, fits_grid
from pipefill_opt.solve.laps import LapPoints, lap_points
from pipefill_opt.solve.monotone import Relaxed
from pipefill_opt.solve.result import Limits, Reason
from pipefill_opt.solve.value_iteration import ORIGIN, Starts
from pipefill_opt.solve.watch import Watch

AT_ONCE: Final = 2
"""So many slots are searched together without a look at fewer."""
SMALL: Final = 2_000
"""Devices of fewer states are searched at once."""
SHORTEST_SHARE: Final = 0.5
"""Seconds that a set of slots gets at the least, of a limited time."""

Slots = tuple[int, ...]


def takes_parts(device: DeviceProblem, relaxed: Relaxed) -> bool:
    """Whether a device is for this: monotone, plans that repeat, more slots than are searched at once, but not too many."""
    states = prod(slot.length for slot in device.slots)
    several = AT_ONCE < len(device.slots) <= AXES
    return several and relaxed.exact and device.repeat and states >= SMALL and fits_digits(device)


def solve_parts(
    device: DeviceProblem, relaxed: Relaxed, limits: Limits, *, hint: DevicePlan | None = None
) -> DeviceResult:
    """The optimum of a device that `takes_parts`, proved unless a limit ends the search or tables of all slots are too large."""
    search = _Parts(device, relaxed, Watch(limits), hint)
    every = tuple(range(len(device.slots)))
    bound = max(search.value, search.bound_of(every))
    proved = bound == search.value
    reason = Reason.PROVED if proved else search.ended(bound) or Reason.WORK_LIMIT
    return DeviceResult(search.value, bound, search.plan, ORIGIN, reason)


class _Parts:
    """value, plan: the best found so far, of any slots."""

    def __init__(self, device: DeviceProblem, relaxed: Relaxed, watch: Watch, hint: DevicePlan | None) -> None:
        self.relaxed = relaxed
        self.watch = watch
        self.plan = DevicePlan((0,) * len(device.slots), ()) if hint is None else hint
        self.value = self.plan.value(device)
        self._bounds: dict[Slots, int] = {}
        self._left = _sets(len(device.slots))
        self._simple = simple_bound(device)

    def ended(self, bound: int) -> Reason | None:
        """Why to stop now, if so: a limit, or the gap."""
        if self.value < bound <= self.value * (1 + self.watch.limits.gap):
            return Reason.GAP_LIMIT
        return self.watch.ended()

    def bound_of(self, slots: Slots) -> int:
        """No plan of these slots is worth more, or more than `value` where that is more."""
        if slots not in self._bounds:
            parts = [] if len(slots) <= AT_ONCE else [*combinations(slots, len(slots) - 1)]
            fewer = max((self.bound_of(part) for part in parts), default=0)
            self._bounds[slots] = max(fewer, self._all_of(slots, parts))
            self._left -= 1
            self.watch.report(Fraction(self.value), Fraction(max(self.value, self._simple)))
        return self._bounds[slots]

    def _all_of(self, slots: Slots, parts: list[Slots]) -> int:
        """The same of plans that do a lap of each of these slots, or, without parts, of any of them."""
        some = self.relaxed.only(slots)
        points = lap_points(some.device, self.value, simple_bound(some.device))
        if parts:
            points.at_least_one()
            for part in parts:
                inside = [s in part for s in slots]
                points.cut(np.where(inside, points.worth, 0), max(self.value, self._bounds[part]))
        if points.high <= self.value or self.ended(points.high) or not fits_grid(some.device):
            return points.high
        return self._searched(slots, some, points)

    def _searched(self, slots: Slots, some: Relaxed, points: LapPoints) -> int:
        limits = replace(self.watch.left(gap=self.watch.limits.gap))
        if limits.time is not None:
            limits = replace(limits, time=min(limits.time, max(SHORTEST_SHARE, limits.time / max(1, self._left))))
        part = Watch(limits)
        search = Starts(some.device, some, part, None, points)
        done = search.closed()
        self.watch.spend(part.work)
        if search.value > self.value and search.plan is not None:
            self.value, self.plan = search.value, _lifted(search.plan, slots, len(self.relaxed.device.slots))
        return self.value if done else max(self.value, search.bound)


def _sets(slots: int) -> int:
    """Sets of at least `AT_ONCE` slots."""
    return sum(1 for size in range(AT_ONCE, slots + 1) for _ in combinations(range(slots), size))


def _lifted(plan: DevicePlan, slots: Slots, number: int) -> DevicePlan:
    """The plan of some slots as one of all; the others stand at their first operators."""
    first = [0] * number
    for s, position in zip(slots, plan.first, strict=True):
        first[s] = position
    visits = tuple(
        replace(visit, runs=tuple(Run(slots[run.slot], run.first, run.count) for run in visit.runs))
        for visit in plan.visits
    )
    return DevicePlan(tuple(first), visits)
