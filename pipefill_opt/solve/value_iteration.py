"""Value iteration over position tuples: plan and bound for a monotone device (see `monotone`), also a large one.

Positions count operators from the beginning, and a function of positions grows by the value of a lap when a slot is a lap further, so
that it is known from one value a state. T is the backward sweep over the H iterations of a plan: (T V)(p) is the most of V at what p
reaches. A sweep of a V that does not fall when positions rise is fast (`climb`), and its result is such a function again.

- Bound. A plan that repeats goes from s to s + l laps, so (T V)(s) >= V(s + l laps) = V(s) + its value: no plan of H iterations from s
  is worth more than (T V - V)(s), for any V (`potential` makes more of it). A plan is worth a sum of laps, so only the points l that stay
  below the bound count (`LapPoints`).
- Points. The same with other values of a lap rules out more of them: no plan has laps l if their weighted sum passes the bound for
  these weights. Few slots are tried first (`cuts`), then the best point that is left, with weights aimed at it (`aim`): it is ruled out, or
  done, in the end.
- Plan. Let V_s(p) be the value of the laps that p has completed since s. Then (T V_s)(s) is the best plan from s: who reaches s + l laps
  or more can stop there exactly, and the cycle is closed after H iterations.
- Starts. Meanwhile starts are searched in boxes, best bound first: every box ends empty, or as a single start that is solved exactly, so
  that this search is exact too. Where tables are small the *front* from the box's highest corner bounds the box (`front`); else the sweep
  of V_s from its lowest corner s bounds every start r, and well those with r >= s that are near.

`repeat: false` is one sweep of V(p) = the value of all operators before p.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from fractions import Fraction
from itertools import accumulate
from math import prod
from typing import Final

import numpy as np

from pipefill_opt.solve.aim import Aim, Known
from pipefill_opt.solve.bounds import simple_bound
from pipefill_opt.solve.boxes import Boxes
from pipefill_opt.solve.cuts import Cuts
from pipefill_opt.solve.device import DevicePlan, DeviceProblem, DeviceResult
from pipefill_opt.solve.front import fits_front
from pipefill_opt.solve.front_search import Closed, FrontSearch
from pipefill_opt.solve.grid import AXES, Grid, Point, Table
from pipefill_opt.solve.laps import LapPoints, lap_points
from pipefill_opt.solve.monotone import Relaxed
from pipefill_opt.solve.potential import Potential, one_turn, potential
from pipefill_opt.solve.result import Limits, Reason
from pipefill_opt.solve.watch import Watch

ORIGIN: Final = "value iteration"
AIMED: Final = 5
"""So much more work goes to the best laps left than to the best starts left; of two slots so much less, as all their starts are few."""
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

    limit: by start, an upper bound on every plan begun there at its best (`potential`), lowered as the search goes on. points:
    if given, only plans with such laps are looked for (else `closed` lists them), and `value` is their `low`, which no plan here need have.
    """

    def __init__(
        self,
        device: DeviceProblem,
        relaxed: Relaxed,
        watch: Watch,
        hint: DevicePlan | None,
        points: LapPoints | None = None,
    ) -> None:
        self.device = device
        self.relaxed = relaxed
        self.exact = relaxed.exact
        self.grid = Grid(relaxed)
        self.turn = Grid(one_turn(relaxed))
        self.watch = watch
        self.bound = simple_bound(device)
        self.plan = hint if hint is not None else DevicePlan((0,) * len(device.slots), ()) if relaxed.exact else None
        self.value = 0 if hint is None else hint.value(device)
        self.lap = tuple(sum(slot.value) for slot in device.slots)
        self.limit: Table = self.grid.table([])
        self.points = points
        if points is not None:
            self.value, self.bound = points.low, min(self.bound, points.high)
        self.fronts: FrontSearch | None = None
        self.cuts = Cuts(self.lap, tuple(sum(slot.ticks) for slot in device.slots))
        self.aim: Aim | None = None
        self.first: Potential | None = None
        self.known: dict[tuple[int, ...], Known] = {}

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
        """`repeat: true`: the best plan. False if a limit or the gap came first."""
        first = self.potential(self.turn, self.lap)
        if first is None:
            return False
        self.limit, self.first = first.limit, first
        if self.points is None:
            self.points = lap_points(self.device, self.value, min(self.bound, first.bound))
        points = self.points
        points.cut(points.worth, first.bound)
        self.bound = points.high
        aiming, stepping = 0.0, 0.0 if self.exact else RELAXED_CUTS * prod(self.grid.length) * len(self.grid.rooms)
        if self.bound > self.value and self.exact:
            self.by_sweep(tuple(int(k) for k in np.unravel_index(int(self.limit.argmax()), self.limit.shape)))
            points.raise_low(self.value)
            if not self.make_fronts(first, points):
                return False
        boxes = Boxes(self.grid.length)
        share = AIMED if len(self.lap) > 2 else 1 / AIMED
        while self.bound > self.value:
            self.watch.report(Fraction(self.value), Fraction(self.bound))
            if self.ended():
                return False
            begun = self.watch.work
            if aiming <= stepping * share and self.aimed(points):
                aiming += self.watch.work - begun
            elif self.exact:
                self.step(boxes, points)
                stepping += self.watch.work - begun
            else:
                return True
            self.bound = max(self.value, min(points.high, int(points.floor(self.limit).max())))
        return True

    def potential(self, grid: Grid, weights: tuple[int, ...]) -> Potential | None:
        """Of the whole device or some slots, for a first look. None at a limit."""
        return potential(
            grid, self.device.iterations, weights, lambda: self.counted(grid), sweeps=self.device.iterations
        )

    def aimed(self, points: LapPoints) -> bool:
        """Rule out points by weights of laps, or search the best of them; False if that has nothing left to do."""
        target = points.best()
        if target is None:
            return False
        cut = self.cuts.next(target)
        if cut is not None:
            found = self.potential(Grid(one_turn(self.relaxed.only(cut.slots))), cut.weights)
            if found is not None:
                points.cut(cut.spread(len(self.lap)), found.bound)
            return True
        if self.aim is None or (self.aim.point != target).any():
            self.aim = Aim(self.relaxed, target, self.known, self.first)
        aim = self.aim
        if aim.stuck:
            return False
        found_cut = aim.step(self.counted, fronts=self.exact)
        if found_cut is not None:
            points.cut(found_cut.spread(len(self.lap)), aim.bound)
        self.watch.spend(aim.spent())
        if aim.closed is not None:
            self.keep(aim.closed, aim.slots)
            points.raise_low(self.value)
        elif aim.ruled_out:
            points.rule_out(target)
        return True

    def make_fronts(self, found: Potential, points: LapPoints) -> bool:
        """Prepare the search by fronts, if it pays. False if a limit came first."""
        if points.points is None or not len(points.points) or not fits_front(self.relaxed, points.most()):
            return True
        hopes = self.turn.before_each_room(found.worth, self.lap, lambda: self.counted(self.turn))
        if hopes is None:
            return False
        self.fronts = FrontSearch(self.relaxed, self.turn, replace(found, limit=self.limit), hopes, points)
        self.limit = self.fronts.limit
        return True

    def step(self, boxes: Boxes, points: LapPoints) -> None:
        """Search the best box of starts."""
        if self.fronts is not None:
            self.taken(self.fronts.step(), points)
            return
        box = boxes.next(self.limit, points)
        if box is None:
            np.minimum(self.limit, points.low, out=self.limit)
        elif boxes.fresh(box[0]):
            self.by_sweep(box[0])
            points.raise_low(self.value)

    def taken(self, closed: Closed | None, points: LapPoints) -> None:
        """What a front found, if anything."""
        assert self.fronts is not None
        self.watch.spend(self.fronts.spent())
        if closed is not None:
            self.keep(closed, range(len(self.lap)))
            points.raise_low(self.value)

    def keep(self, closed: Closed, slots: Sequence[int]) -> None:
        """A plan of some slots, if it is better than what is known. The others stand still."""
        value = sum(laps * self.lap[s] for laps, s in zip(closed.laps, slots, strict=True))
        if value > self.value:
            place = {s: k for k, s in enumerate(slots)}
            every = range(len(self.lap))
            way = [tuple(point[place[s]] if s in place else 0 for s in every) for point in closed.way]
            padding = (0,) * self.grid.pad
            self.value, self.plan = value, self.grid.plan([(*padding, *point) for point in way])

    def by_sweep(self, start: Point) -> None:
        """The best plan from one start, and what that says of all starts; nothing at a limit."""
        laps = self.grid.table(
            [
                [-lap if k < start[s + self.grid.pad] else 0 for k in range(slot.length)]
                for s, (slot, lap) in enumerate(zip(self.device.slots, self.lap, strict=True))
            ]
        )
        kept: dict[int, Table] = {}
        swept = self.grid.sweep(laps, self.lap, self.stopped, kept)
        if swept is None:
            return
        np.minimum(self.limit, swept - laps, out=self.limit)
        if int(swept[start]) > self.value:
            way = self.grid.walk(kept, self.lap, start, self.stopped)
            if way is None:
                return
            turns = [(last - first) // n for first, last, n in zip(way[0], way[-1], self.grid.length, strict=True)]
            ends = [first + n * laps for first, n, laps in zip(start, self.grid.length, turns, strict=True)]
            closed = [tuple(min(k, end) for k, end in zip(point, ends, strict=True)) for point in way]
            self.value, self.plan = int(swept[start]), self.grid.plan(closed)
