"""What a device of a class gains at most at given prices, by pieces of work one after the other: whole numbers, exact for their data.

A *step* is a piece as the walk sees it. Made of what is proved (`Share.alone`) and on a class where no two copies ever work in the same
turn, the walk's gain is a bound: see `searches.walks_bound`. Made of pieces it is a life.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction
from math import lcm
from typing import Final

import numpy as np
from numpy.typing import NDArray

from pipefill_opt.kernels import kernel
from pipefill_opt.solve.life.walk import best_cut_life, best_life

Ints = NDArray[np.int64]
BITS: Final = 60
"""Sums of gains stay below 2**60."""
MOST_STEPS: Final = 1 << 14
"""Longest horizon of a walk; longer ones are walked in coarser steps of time."""
FOREVER: Final = 1 << 60


@dataclass(frozen=True, slots=True)
class Step:
    """A piece of `turns` that begins at `first` or later and ends at `last` or sooner. jobs: (job, copies). In whole units: late, the sum
    over copies of weight x (end - turns); slope, the sum of weights; rate, what a turn is worth where it may be cut short; full, all."""

    turns: int
    first: int
    last: int
    jobs: tuple[tuple[int, int], ...]
    late: int = 0
    slope: int = 0
    rate: int = 0
    full: int = 0


@dataclass(frozen=True, slots=True)
class Whole:
    """Numbers as whole multiples of `unit`: exact, or rounded (down, or up) to at most `bits` bits."""

    numbers: tuple[int, ...]
    unit: Fraction
    exact: bool


def whole_numbers(values: Sequence[Fraction], bits: int, *, up: bool = False) -> Whole:
    """The values in one unit. Rounding is down, or up."""
    top = max(values, default=Fraction(0))
    scale = lcm(*(value.denominator for value in values)) if values else 1
    if top * scale < 1 << bits:
        return Whole(tuple(int(value * scale) for value in values), Fraction(1, scale), True)
    unit = top / ((1 << bits) - 1)
    parts = [value / unit for value in values]
    return Whole(tuple(-(-part.numerator // part.denominator) if up else int(part) for part in parts), unit, False)


class Walks:
    """The walks of one class over a horizon, in steps of `grid` turns. up: durations and starts are rounded up to steps (for plans with a
    horizon), else down (for bounds: what follows each other still does)."""

    def __init__(self, steps: Sequence[Step], horizon: int, jobs: int, *, cut: bool = False, up: bool = False) -> None:
        least = [1 if cut else step.turns for step in steps]
        self.kept = [i for i, s in enumerate(steps) if s.first + least[i] <= min(s.last, horizon)]
        self.steps = [steps[i] for i in self.kept]
        self.grid = max(1, -(-horizon // MOST_STEPS))
        self.jobs = jobs
        self.cut = cut
        self.horizon = horizon // self.grid
        scale = self.grid
        turns = np.array([step.turns for step in self.steps], dtype=np.int64)
        first = np.array([step.first for step in self.steps], dtype=np.int64)
        last = np.array([min(step.last, horizon) for step in self.steps], dtype=np.int64)
        self.duration = -(-turns // scale) if up else turns // scale
        self.first = -(-first // scale) if up else first // scale
        self.last = last // scale if up else -(-last // scale)
        self.sound = up or bool((self.duration > 0).all())
        self.duration = np.maximum(self.duration, 1)
        self.late = np.array([step.late for step in self.steps], dtype=np.int64)
        self.slope = np.array([step.slope for step in self.steps], dtype=np.int64)
        self.late += self.slope * (turns - self.duration * scale)
        self.rate = np.array([step.rate for step in self.steps], dtype=np.int64) * scale
        self.full = np.array([step.full for step in self.steps], dtype=np.int64)
        self.used = np.zeros((len(self.steps), jobs), dtype=np.int64)
        for i, step in enumerate(self.steps):
            for job, number in step.jobs:
                self.used[i, job] += number

    def best(self, prices: Ints, scale: int) -> tuple[int, list[tuple[int, int, int]]]:
        """(the most a device gains, [(start, index in `steps`, turns), ...]) at prices in 1 / scale of the unit. The end of the horizon
        is cut off where nothing gains any more."""
        if not self.steps:
            return 0, []
        worth = self.used @ prices
        size = self.horizon
        if not self.cut:
            sloped = self.slope > 0
            if sloped.all():
                reach = int(((worth - self.late * scale) // (self.slope * scale * self.grid)).max())
                size = max(0, min(size, reach))
        value = np.zeros(size + 1, dtype=np.int64)
        choice = np.full(size + 1, -1, dtype=np.int64)
        length = np.zeros(size + 1, dtype=np.int64)
        work = size * len(self.steps)
        if self.cut:
            window = np.zeros((len(self.steps), size + 3), dtype=np.int64)
            kernel(best_cut_life, work)(
                value,
                choice,
                length,
                self.duration,
                self.rate * scale,
                self.full * scale,
                -worth,
                self.first,
                self.last,
                window,
            )
        else:
            gain = worth - self.late * scale
            kernel(best_life, work)(
                value, choice, self.duration, gain, self.slope * scale * self.grid, self.first, self.last
            )
        return int(value[size]), self._way(choice, length)

    def _way(self, choice: Ints, length: Ints) -> list[tuple[int, int, int]]:
        """Back from the end."""
        way = []
        t = len(choice) - 1
        while t > 0:
            i = int(choice[t])
            if i < 0:
                t -= 1
                continue
            turns = int(length[t]) if self.cut else int(self.duration[i])
            t -= turns
            way.append((t * self.grid, i, turns * self.grid))
        way.reverse()
        return way
