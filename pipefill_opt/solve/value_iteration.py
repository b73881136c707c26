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
- Search. The same sweep of V_s bounds every other start r, and well those with r >= s that are near. So starts are searched in
  boxes, best bound first: sweep from a box's lowest corner, drop what that bounds, and halve what is left. Every box ends empty
  or as a single start, which is then solved: the search is exact.

`repeat: false` is one sweep of V(p) = the value of all operators before p.
"""

from __future__ import annotations

from fractions import Fraction
from heapq import heappop, heappush
from itertools import accumulate
from typing import Final

import numpy as np

from pipefill_opt.solve.bounds import simple_bound
from pipefill_opt.solve.device import Chain, DevicePlan, DeviceProblem, DeviceResult
from pipefill_opt.solve.grid import AXES, Grid, Point, Table
from pipefill_opt.solve.laps import LapPoints
from pipefill_opt.solve.monotone import Relaxed
from pipefill_opt.solve.result import Limits, Reason
from pipefill_opt.solve.watch import Watch

ORIGIN: Final = "value iteration"
POTENTIALS: Final = 2
"""Sweeps of one potential; more hardly help."""
TILTS: Final = (20, 10, 5, 2)
"""By one part in so many are laps weighted up or down to rule out points."""


def solve_value_iteration(
    device: DeviceProblem, relaxed: Relaxed, limits: Limits, *, hint: DevicePlan | None = None
) -> DeviceResult:
    """The optimum of a monotone device, proved unless a limit ends the search; of another device a bound, with the plan `hint`.

    relaxed: `relax(device)`. The device must pass `fits_grid`. `limits.work` counts states x rooms.
    """
    search = _Starts(device, relaxed, Watch(limits), hint)
    done = search.closed() if device.repeat else search.once()
    if relaxed.exact and done:
        return DeviceResult(search.value, search.value, search.plan, ORIGIN)
    reason = search.ended() or Reason.WORK_LIMIT
    return DeviceResult(search.value, max(search.value, search.bound), search.plan, ORIGIN, reason)


class _Starts:
    """The search over starts. `bound` holds at any time; `value` and `plan` are the best found so far."""

    def __init__(self, device: DeviceProblem, relaxed: Relaxed, watch: Watch, hint: DevicePlan | None) -> None:
        self.device = device
        self.exact = relaxed.exact
        self.grid = Grid(relaxed)
        self.watch = watch
        self.bound = simple_bound(device)
        self.plan = hint if hint is not None else DevicePlan((0,) * len(device.slots), ()) if relaxed.exact else None
        self.value = 0 if hint is None else hint.value(device)
        self.lap = tuple(sum(slot.value) for slot in device.slots)
        self.laps: Table = np.zeros(len(device.slots), dtype=np.int64)
        self.states = self.grid.table([]).size

    def ended(self) -> Reason | None:
        """Why to stop now, if so: a limit, or the gap."""
        if self.value < self.bound <= self.value * (1 + self.watch.limits.gap):
            return Reason.GAP_LIMIT
        return self.watch.ended()

    def stopped(self) -> bool:
        """Counts the work of a block of rooms; whether a limit was reached."""
        self.watch.spend(self.states * self.grid.block)
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
        limit = self.potentials(self.lap)
        if limit is None:
            return False
        points = LapPoints(self.device, self.value, min(self.bound, int(limit.max())))
        self.bound = points.high
        boxes = _Boxes(self.grid.length, limit)
        tried: set[tuple[int, ...]] = set()
        while self.bound > self.value:
            self.watch.report(Fraction(self.value), Fraction(self.bound))
            if self.ended():
                return False
            weights = self.weights(points, tried)
            if weights is not None:
                tried.add(weights)
                cut = self.potentials(weights)
                if cut is None:
                    return False
                points.cut(np.array(weights), int(cut.max()))
            elif not self.exact:
                return True
            if self.exact and points.high > self.value:
                start = boxes.next(points)
                if start is not None and not self.solve_start(start, limit):
                    return False
                points.raise_low(self.value)
            self.bound = max(self.value, min(points.high, int(points.floor(limit).max())))
        return True

    def weights(self, points: LapPoints, tried: set[tuple[int, ...]]) -> tuple[int, ...] | None:
        """Values of laps, other than the true ones, that may rule out the best point: more for the slots of which it has more laps."""
        target = points.best()
        if target is None:
            return None
        signs = np.sign(target - self.laps).tolist()
        if min(signs) >= 0:
            return None
        for part in TILTS:
            weights = tuple(lap + sign * lap // part for lap, sign in zip(self.lap, signs, strict=True))
            if weights not in tried:
                return weights
        return None

    def potentials(self, lap: tuple[int, ...]) -> Table | None:
        """An upper bound, for each start, on the laps x `lap` of any plan from there. None at a limit.

        From values spread over each lap in proportion to time.
        """
        values = self.grid.table([_smooth(slot, worth) for slot, worth in zip(self.device.slots, lap, strict=True)])
        limit: Table | None = None
        for _ in range(POTENTIALS):
            swept = self.grid.sweep(values, lap, self.stopped)
            if swept is None:
                return None
            limit = swept - values if limit is None else np.minimum(limit, swept - values)
            values = swept
        return limit

    def solve_start(self, start: Point, limit: Table) -> bool:
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
        np.minimum(limit, swept - laps, out=limit)
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


class _Boxes:
    """Starts that are still to search, in boxes. limit: an upper bound for each start, lowered by whoever owns it."""

    def __init__(self, length: Point, limit: Table) -> None:
        self.limit = limit
        self.solved: set[Point] = set()
        self.heap: list[tuple[int, int, Point, Point]] = [(-(2**62), 0, (0,) * len(length), length)]

    def next(self, points: LapPoints) -> Point | None:
        """The lowest corner of the box with the best bound; its halves go back. None if no start can be worth more than `points.low`."""
        while self.heap:
            top, _, low, high = heappop(self.heap)
            part = points.floor(self.limit[tuple(slice(a, b) for a, b in zip(low, high, strict=True))])
            inside = np.argwhere(part > points.low)
            if not len(inside):
                continue
            best = int(part.max())
            corner = tuple(int(a + k) for a, k in zip(low, inside.min(axis=0), strict=True))
            beyond = tuple(int(a + k + 1) for a, k in zip(low, inside.max(axis=0), strict=True))
            if best < -top:
                heappush(self.heap, (-best, -int((part == best).sum()), corner, beyond))
                continue
            for half in _halves(corner, beyond):
                heappush(self.heap, (-best, -int((part == best).sum()), *half))
            if corner not in self.solved:
                self.solved.add(corner)
                return corner
        return None


def _smooth(slot: Chain, lap: int) -> list[int]:
    """By position: the value `lap` of a lap in proportion to the time before it, rounded down."""
    total = sum(slot.ticks)
    return [lap * elapsed // total for elapsed in accumulate(slot.ticks[:-1], initial=0)]


def _halves(low: Point, high: Point) -> list[tuple[Point, Point]]:
    """The two halves of a box along its longest side; nothing for a single point."""
    sizes = [b - a for a, b in zip(low, high, strict=True)]
    axis = sizes.index(max(sizes))
    if sizes[axis] == 1:
        return []
    middle = low[axis] + sizes[axis] // 2
    return [
        (low, (*high[:axis], middle, *high[axis + 1 :])),
        ((*low[:axis], middle, *low[axis + 1 :]), high),
    ]
