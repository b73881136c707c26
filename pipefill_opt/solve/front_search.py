"""The starts of a monotone device, in boxes, best bound first, each bounded by the front from its highest corner."""

from __future__ import annotations

from dataclasses import dataclass
from math import prod
from typing import Final

import numpy as np

from pipefill_opt.solve.boxes import Boxes
from pipefill_opt.solve.front import Front
from pipefill_opt.solve.grid import Grid, Point, Table
from pipefill_opt.solve.laps import LapPoints
from pipefill_opt.solve.monotone import Relaxed
from pipefill_opt.solve.potential import Potential

STATE: Final = 6
"""To go on from a state takes about as long as to sweep so many positions."""


BOXES: Final = 4
"""Starts are searched one by one where that costs no more than so many boxes: halves of a box often say no more than it does."""
BATCH: Final = 256
"""Starts searched at once."""


@dataclass(frozen=True, slots=True)
class Closed:
    """A plan that repeats: the positions that it passes, one axis a slot, and the laps that it does."""

    way: list[Point]
    laps: list[int]


class FrontSearch:
    """For plans that do one of `points`, in the weights of a potential. points.low: what is known, in these weights.

    limit: by start, weighted laps of any plan begun there at its best, lowered as the search goes on.
    """

    def __init__(self, relaxed: Relaxed, grid: Grid, found: Potential, hopes: Table, points: LapPoints) -> None:
        self.points = points
        self.limit = found.limit.copy()
        self.states = 0
        self._pad = grid.pad
        self._boxes = Boxes(grid.length)
        self._alone: list[Point] = []
        self._cost = 0, 0
        shape = grid.length[grid.pad :]
        self._front = Front(
            relaxed, points.most(), found.weights, found.worth.reshape(shape), hopes.reshape(-1, *shape)
        )

    def spent(self) -> int:
        """Work since this was asked last, in positions swept."""
        spent, self.states = STATE * self.states, 0
        return spent

    @property
    def high(self) -> int:
        """No plan has more weighted laps."""
        return int(self.points.floor(self.limit).max())

    def step(self) -> Closed | None:
        """Search the best box, or a start of it; a plan that is better than what is known, if it turns up. `high` tells when none is left.

        Starts are searched one by one where that costs less than another box, by what both cost so far.
        """
        while self._alone:
            if self._one_point():
                return self._batch()
            start = self._alone.pop()
            if self.points.floor(self.limit[start]) > self.points.low:
                return self._single(start)
        box = self._boxes.next(self.limit, self.points)
        if box is None:
            np.minimum(self.limit, self.points.low, out=self.limit)
            return None
        inside = np.argwhere(self.points.floor(self.limit[_slices(*box)]) > self.points.low) + np.array(box[0])
        one, several = self._cost
        if not one:
            start = tuple(int(k) for k in np.unravel_index(int(self.limit.argmax()), self.limit.shape))
            self._alone = [start]
            return self._single(start)
        if len(inside) * one <= BOXES * several or len(inside) == 1:
            self._alone = [tuple(int(k) for k in start) for start in inside]
            return self.step()
        return self._box(*box)

    def _one_point(self) -> bool:
        """Whether there is one point left, the one that the front's tables end at: then many starts are searched at once."""
        assert self.points.points is not None
        return len(self.points.points) == 1 and self.points.points[0].tolist() == self._front.laps

    def _batch(self) -> Closed | None:
        starts, self._alone = self._alone[-BATCH:], self._alone[:-BATCH]
        own = [start[self._pad :] for start in starts]
        bases = [int(self._front.worth[start]) for start in own]
        none, states = self._front.first_to_do_all(own, bases, self.points.least)
        self.states += states
        self._cost = states // len(starts) + 1, self._cost[1]
        for start in starts[:none]:
            self.limit[start] = min(self.limit[start], self.points.low)
        if none == len(starts):
            return None
        laps = self._front.laps
        return Closed(self._front.way(own[none], bases[none], self.points.least, laps), list(laps))

    def _single(self, start: Point) -> Closed | None:
        return self._box(start, tuple(k + 1 for k in start))

    def _box(self, low: Point, beyond: Point) -> Closed | None:
        """The front from the highest start of a box: the best plan from there, and a bound on the whole box."""
        points = self.points
        assert points.points is not None
        laps = points.most()
        if 2 * prod(most + 1 for most in laps) <= prod(most + 1 for most in self._front.laps):
            self._front = self._front.smaller(laps)
        first, top = low[self._pad :], tuple(k - 1 for k in beyond[self._pad :])
        worth = points.points @ points.worth
        base, least = int(self._front.worth[first]), points.least
        table, states = self._front.run(top, base, least)
        self.states += states
        self._cost = (states + 1, self._cost[1]) if first == top else (self._cost[0], states + 1)
        best = int(worth[self._front.passes(table, top, first, points.points)].max(initial=points.low))
        box = _slices(low, beyond)
        self.limit[box] = np.minimum(self.limit[box], best)
        fine = np.flatnonzero(self._front.passes(table, top, top, points.points))
        if not len(fine):
            return None
        done: list[int] = points.points[fine[int(worth[fine].argmax())]].tolist()
        return Closed(self._front.way(top, base, least, done), done)


def _slices(low: Point, beyond: Point) -> tuple[slice, ...]:
    return tuple(slice(a, b) for a, b in zip(low, beyond, strict=True))
