"""What a plan that repeats can be worth at all: sums of laps x value of a lap. A window of such points above the best plan known."""

from __future__ import annotations

from math import prod
from typing import Final

import numpy as np
from numpy.typing import NDArray

from pipefill_opt.solve.bounds import capacity, most_laps
from pipefill_opt.solve.device import DeviceProblem

Table = NDArray[np.int64]
MOST_POINTS: Final = 2_000_000


def lap_points(device: DeviceProblem, low: int, high: int) -> LapPoints:
    """All points that are worth more than `low` and at most `high` and fit the net ticks of all rooms."""
    worth = np.array([sum(slot.value) for slot in device.slots], dtype=np.int64)
    most = [most_laps(device, slot) if sum(slot.value) else 0 for slot in device.slots]
    points = LapPoints(worth, _window(worth, most, low, max(low, high)), low, high)
    ticks = [sum(slot.ticks) for slot in device.slots]
    if sum(laps * lap for laps, lap in zip(most, ticks, strict=True)) < 2**62:
        points.cut(np.array(ticks, dtype=np.int64), min(capacity(device), 2**62))
    return points


class LapPoints:
    """Vectors of laps (one number a slot) that are worth more than `low` and at most `high`, as far as they are not ruled out.

    worth: of a lap, by slot. Values must fit 61 bits. Where the points are too many to list, nothing is known but `high`.
    """

    def __init__(self, worth: Table, points: Table | None, low: int, high: int) -> None:
        self.low = low
        self.high = max(low, high)
        self.worth = worth
        self.points = points
        self._count()

    def _count(self) -> None:
        """Sort out the values of the points that are left."""
        if self.points is not None:
            self._values = np.unique(self.points @ self.worth)
            self.high = int(self._values[-1]) if len(self._values) else self.low

    @property
    def least(self) -> int:
        """The least value above `low` that is not ruled out; `low` + 1 where the points are not known."""
        return int(self._values[0]) if self.points is not None and len(self._values) else self.low + 1

    def most(self) -> list[int]:
        """By slot, the most laps of any point that is left (the points must be known, and some be left)."""
        assert self.points is not None
        found: list[int] = self.points.max(axis=0).tolist()
        return found

    def best(self) -> Table | None:
        """A point of the highest value, or None if none is left or known."""
        if self.points is None or not len(self.points):
            return None
        best: Table = self.points[int((self.points @ self.worth).argmax())]
        return best

    def raise_low(self, value: int) -> None:
        """A plan of that value is known."""
        self.low = max(self.low, value)
        self.high = max(self.low, self.high)
        if self.points is not None:
            self.points = self.points[self.points @ self.worth > self.low]
            self._count()

    def cut(self, weights: Table, bound: int) -> None:
        """No plan has a weighted sum of laps above `bound`."""
        if self.points is not None:
            self.points = self.points[self.points @ weights <= bound]
            self._count()

    def at_least_one(self) -> None:
        """Leave only points with a lap of each slot."""
        if self.points is not None:
            self.points = self.points[(self.points > 0).all(axis=1)]
            self._count()

    def rule_out(self, point: Table) -> None:
        """No plan has these laps."""
        if self.points is not None:
            self.points = self.points[(self.points != point).any(axis=1)]
            self._count()

    def floor(self, bounds: Table) -> Table:
        """Each bound, rounded down to a value that a plan can have, `low` at the least."""
        if self.points is None:
            return np.clip(bounds, self.low, self.high)
        levels = np.array([self.low, *self._values], dtype=np.int64)
        place = np.maximum(np.searchsorted(levels, bounds, side="right") - 1, 0)
        rounded: Table = levels[place]
        return rounded


def _window(worth: Table, most: list[int], low: int, high: int) -> Table | None:
    """The points of value above low and at most high; None if they are too many."""
    if prod(limit + 1 for limit in most[:-1]) > MOST_POINTS:
        return None
    if not most:
        return np.zeros((0, 0), dtype=np.int64)
    axes = np.meshgrid(*(np.arange(limit + 1) for limit in most[:-1]), indexing="ij")
    others = np.stack([axis.ravel() for axis in axes], axis=1) if axes else np.zeros((1, 0), dtype=np.int64)
    rest = others @ worth[:-1] if axes else np.zeros(1, dtype=np.int64)
    if worth[-1]:
        last = np.minimum((high - rest) // worth[-1], most[-1])
    else:
        last = np.where(rest <= high, 0, -1)
    parts: list[Table] = []
    found = 0
    while True:
        fine = (last >= 0) & (rest + last * worth[-1] > low)
        if not fine.any():
            return np.concatenate(parts) if parts else np.zeros((0, len(most)), dtype=np.int64)
        found += int(fine.sum())
        if found > MOST_POINTS:
            return None
        parts.append(np.column_stack([others[fine], last[fine]]))
        last = last - 1
