"""Starts that are still to search, in boxes, best bound first."""

from __future__ import annotations

from heapq import heappop, heappush

import numpy as np

from pipefill_opt.solve.grid import Point, Table
from pipefill_opt.solve.laps import LapPoints


class Boxes:
    """A box is all points from `low` up to, not with, `beyond`. To begin with there is one, from 0 to `length`."""

    def __init__(self, length: Point) -> None:
        self._solved: set[Point] = set()
        self._heap: list[tuple[int, int, Point, Point]] = [(-(2**62), 0, (0,) * len(length), length)]

    def fresh(self, start: Point) -> bool:
        """True the first time that this start is named."""
        fresh = start not in self._solved
        self._solved.add(start)
        return fresh

    def next(self, limit: Table, points: LapPoints) -> tuple[Point, Point] | None:
        """The box with the best bound, as narrow as `limit` (an upper bound for each start) allows; its halves go back. None if no
        start can be worth more than `points.low`."""
        while self._heap:
            top, _, low, high = heappop(self._heap)
            part = points.floor(limit[tuple(slice(a, b) for a, b in zip(low, high, strict=True))])
            inside = np.argwhere(part > points.low)
            if not len(inside):
                continue
            best = int(part.max())
            corner = tuple(int(a + k) for a, k in zip(low, inside.min(axis=0), strict=True))
            beyond = tuple(int(a + k + 1) for a, k in zip(low, inside.max(axis=0), strict=True))
            if best < -top:
                heappush(self._heap, (-best, -int((part == best).sum()), corner, beyond))
                continue
            for half in _halves(corner, beyond):
                heappush(self._heap, (-best, -int((part == best).sum()), *half))
            return corner, beyond
        return None


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
