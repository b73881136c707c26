"""Value iteration over position tuples: plan and bound for a monotone device (see `monotone`), also a large one.

Positions count operators from the beginning, and a function of positions grows by the value of a lap when a slot is a lap further, so
that it is known from one value a state. T is the backward sweep over the H iterations of a plan: (T V)(p) is the most of V at what p
reaches. A sweep of a V that does not fall when positions rise is fast (`climb`), and its result is such a function again.

- Bound. A plan that repeats goes from s to s + l laps, so (T V)(s) >= V(s + l laps) = V(s) + its value: no plan of H iterations from s
  is worth more than (T V - V)(s), for any V. A plan is worth a sum of laps, so only the points l that stay below the bound count
  (`LapPoints`); and the same with other values of a lap rules out more of them: no plan has laps l if their weighted sum passes
  the bound for these weights.
- Plan. Let V_s(p) be the value of the laps that p has completed since s. Then (T V_s)(s) is the best plan from s: who reaches s + l laps
  or more can stop there exactly, and the cycle is closed after H iterations.
- Search. Starts are searched in boxes, best bound first: every box ends empty, or as a single start that is solved exactly, so that the
  search is exact. Where tables are small the *front* from the box's highest corner bounds the box (`front`); else the sweep of V_s from
  its lowest corner s bounds every start r, and well those with r >= s that are near.

`repeat: false` is one sweep of V(p) = the value of all operators before p.
"""

from __future__ import annotations

from fractions import Fraction
from itertools import accumulate
from math import prod
from typing import Final

import numpy as np

from pipefill_opt.solve.bounds import simple_bound
from pipefill_opt.solve.boxes import Boxes
from pipefill_opt.solve.cuts import Cut, Cuts
from pipefill_opt.solve.device import Chain, DevicePlan, DeviceProblem, DeviceResult
from pipefill_opt.solve.front import Front, fits_front
from pipefill_opt.solve.grid import AXES, Grid, Point, Table
from pipefill_opt.solve.laps import LapPoints
from pipefill_opt.solve.monotone import Relaxed
from pipefill_opt.solve.result import Limits, Reason
from pipefill_opt.solve.watch import Watch

ORIGIN: Final = "value iteration"
POTENTIALS: Final = 2
"""Sweeps of one potential; more hardly help."""
RELAXED_CUTS: Final = 8
"""Work that cuts of a device that is not monotone may take, in sweeps; those of a monotone one take turns with the search of starts."""


def solve_value_iteration(
    device: DeviceProblem, relaxed: Relaxed, limits: Limits, *, hint: DevicePlan | None = None
) -> DeviceResult:
    """The optimum of a monotone device, proved unless a limit ends the search; of another device a bound, with the plan `hint`.

    relaxed: `relax(device)`. The device must pass `fits_grid`. `limits.work` counts states x rooms.
    """
    search = Starts(device, relaxed, Watch(limits), hint)
    done = search.closed() if device.repeat else search.once()
    if relaxed.exact and done:
        return DeviceResult(search.value, search.value, search.plan, ORIGIN)
    reason = search.ended() or Reason.WORK_LIMIT
    return DeviceResult(search.value, max(search.value, search.bound), search.plan, ORIGIN, reason)


class Starts:
    """The search over starts. `bound` holds at any time; `value` and `plan` are the best found so far.

    limit: by start, an upper bound on every plan from there, lowered as the search goes on. points: set by `closed`.
    """

    def __init__(self, device: DeviceProblem, relaxed: Relaxed, watch: Watch, hint: DevicePlan | None) -> None:
        self.device = device
        self.relaxed = relaxed
        self.exact = relaxed.exact
        self.grid = Grid(relaxed)
        self.watch = watch
        self.bound = simple_bound(device)
        self.plan = hint if hint is not None else DevicePlan((0,) * len(device.slots), ()) if relaxed.exact else None
        self.value = 0 if hint is None else hint.value(device)
        self.lap = tuple(sum(slot.value) for slot in device.slots)
        self.laps: Table = np.zeros(len(device.slots), dtype=np.int64)
        self.worth: Table = self.grid.table([])
        self.limit: Table = self.worth
        self.front: Front | None = None
        self.points: LapPoints | None = None

    def ended(self) -> Reason | None:
        """Why to stop now, if so: a limit, or the gap."""
        if self.value < self.bound <= self.value * (1 + self.watch.limits.gap):
            return Reason.GAP_LIMIT
        return self.watch.ended()

    def stopped(self) -> bool:
        """Counts the work of a block of rooms of the whole grid; whether a limit was reached."""
        return self.counted(self.grid)

    def counted(self, grid: Grid) -> bool:
        """Counts the work of a block of rooms; whether a limit was reached."""
        self.watch.spend(prod(grid.length) * grid.block)
        return self.watch.ended() is not None

    def once(self) -> bool:
        """`repeat: false`: one sweep, from the value of all that is done. False if a limit came first."""
        worth = self.grid.table([list(accumulate(slot.value, initial=0))[:-1] for slot in self.device.slots])
        kept: dict[int, Table] = {}
        swept = self.grid.sweep(worth, self.lap, self.stopped, kept)
        if swept is None:
            return False
        start = (0,) * AXES
        self.bound = min(self.bound, int(swept[start]))
        if not self.exact or self.bound <= self.value:
            return True
        way = self.grid.walk(kept, self.lap, start, self.stopped)
        if way is None:
            return False
        self.value, self.plan = self.bound, self.grid.plan(way)
        return True

    def closed(self) -> bool:
        """`repeat: true`: the best start. False if a limit or the gap came first."""
        first = self.potentials(self.grid, self.lap)
        if first is None:
            return False
        self.limit, self.worth = first
        points = LapPoints(self.device, self.value, min(self.bound, int(self.limit.max())))
        self.points = points
        self.bound = points.high
        cuts = Cuts(self.lap, tuple(sum(slot.ticks) for slot in self.device.slots))
        boxes = Boxes(self.grid.length)
        cutting, stepping = 0.0, 0.0 if self.exact else RELAXED_CUTS * prod(self.grid.length) * len(self.grid.rooms)
        ready = self.bound <= self.value or not self.exact or self.make_front(points)
        while ready and self.bound > self.value:
            self.watch.report(Fraction(self.value), Fraction(self.bound))
            if self.ended():
                return False
            begun = self.watch.work
            cut = cuts.next(points.best(), self.laps) if cutting <= stepping else None
            if cut is not None:
                ready = self.cut(points, cut)
                cutting += self.watch.work - begun
            elif self.exact:
                ready = self.step(boxes, points)
                stepping += self.watch.work - begun
            else:
                return True
            self.bound = max(self.value, min(points.high, int(points.floor(self.limit).max())))
        return ready

    def cut(self, points: LapPoints, cut: Cut) -> bool:
        """Rule out points whose laps, weighted, pass a bound. False if a limit came first."""
        some = self.relaxed.only(cut.slots)
        found = self.potentials(Grid(some), cut.weights)
        if found is None:
            return False
        points.cut(cut.spread(len(self.lap)), int(found[0].max()))
        return True

    def potentials(self, grid: Grid, lap: tuple[int, ...]) -> tuple[Table, Table] | None:
        """(an upper bound, for each start, on the laps x `lap` of any plan from there; the worth V of the last sweep). None at a limit.

        From values spread over each lap in proportion to time.
        """
        values = grid.table([smooth_values(slot, worth) for slot, worth in zip(grid.device.slots, lap, strict=True)])
        swept = grid.sweep(values, lap, lambda: self.counted(grid))
        if swept is None:
            return None
        limit = swept - values
        for _ in range(POTENTIALS - 1):
            values, swept = swept, grid.sweep(swept, lap, lambda: self.counted(grid))
            if swept is None:
                return None
            limit = np.minimum(limit, swept - values)
        return limit, values

    def make_front(self, points: LapPoints) -> bool:
        """Prepare the search by fronts, if it pays, and try a first start. False if a limit came first."""
        if points.points is None or not len(points.points) or not fits_front(self.relaxed, points.most()):
            return True
        hopes = self.grid.before_each_room(self.worth, self.lap, self.stopped)
        if hopes is None:
            return False
        shape = self.grid.length[self.grid.pad :]
        self.front = Front(self.relaxed, points.most(), self.worth.reshape(shape), hopes.reshape(-1, *shape))
        self.by_front((0,) * AXES, (1,) * AXES, points)
        return True

    def step(self, boxes: Boxes, points: LapPoints) -> bool:
        """Search the best box of starts. False if a limit came first."""
        box = boxes.next(self.limit, points)
        if box is None:
            return True
        if self.front is not None:
            self.by_front(*box, points)
        elif boxes.fresh(box[0]) and not self.by_sweep(box[0]):
            return False
        points.raise_low(self.value)
        return True

    def by_front(self, low: Point, beyond: Point, points: LapPoints) -> None:
        """The front from the highest start of a box: the best plan from there, and a bound on the whole box."""
        assert self.front is not None
        assert points.points is not None
        laps = points.most()
        if 2 * prod(most + 1 for most in laps) <= prod(most + 1 for most in self.front.laps):
            self.front = self.front.smaller(laps)
        first, top = low[self.grid.pad :], tuple(k - 1 for k in beyond[self.grid.pad :])
        worth = points.points @ points.worth
        table, states = self.front.run(top, int(self.front.worth[first]) + points.least)
        self.watch.spend(states)
        best = int(worth[self.front.passes(table, top, first, points.points)].max(initial=points.low))
        box = tuple(slice(a, b) for a, b in zip(low, beyond, strict=True))
        self.limit[box] = np.minimum(self.limit[box], best)
        fine = np.flatnonzero(self.front.passes(table, top, top, points.points))
        if len(fine):
            self.keep(top, points.points[fine[int(worth[fine].argmax())]])
            points.raise_low(self.value)

    def keep(self, start: Point, laps: Table) -> None:
        """The plan from a start that does these laps, if it is better than what is known."""
        assert self.front is not None
        value = int(laps @ np.array(self.lap, dtype=np.int64))
        if value > self.value:
            way = self.front.way(start, int(self.front.worth[start]) + value, laps.tolist())
            padding = (0,) * self.grid.pad
            self.value, self.plan = value, self.grid.plan([(*padding, *point) for point in way])
            self.laps = laps

    def by_sweep(self, start: Point) -> bool:
        """The best plan from one start, and what that says of all starts. False if a limit came first."""
        laps = self.grid.table(
            [
                [-lap if k < start[s + self.grid.pad] else 0 for k in range(slot.length)]
                for s, (slot, lap) in enumerate(zip(self.device.slots, self.lap, strict=True))
            ]
        )
        kept: dict[int, Table] = {}
        swept = self.grid.sweep(laps, self.lap, self.stopped, kept)
        if swept is None:
            return False
        np.minimum(self.limit, swept - laps, out=self.limit)
        if int(swept[start]) > self.value:
            way = self.grid.walk(kept, self.lap, start, self.stopped)
            if way is None:
                return False
            turns = [(last - first) // n for first, last, n in zip(way[0], way[-1], self.grid.length, strict=True)]
            ends = [first + n * laps for first, n, laps in zip(start, self.grid.length, turns, strict=True)]
            closed = [tuple(min(k, end) for k, end in zip(point, ends, strict=True)) for point in way]
            self.value, self.plan = int(swept[start]), self.grid.plan(closed)
            self.laps = np.array(turns[self.grid.pad :], dtype=np.int64)
        return True


def smooth_values(slot: Chain, lap: int) -> list[int]:
    """By position: the value `lap` of a lap in proportion to the time before it, rounded down."""
    total = sum(slot.ticks)
    return [lap * elapsed // total for elapsed in accumulate(slot.ticks[:-1], initial=0)]
