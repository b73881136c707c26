"""The fluid bound: a device's time as a liquid that copies share, at prices for the copies.

For any prices p, one a job, no plan costs less than the sum of copies x price - the sum over devices of the most that one device can
gain: the price of what it does less what that costs. Of a device's unit of time at t each copy takes a part, and the unit gains
no more than the best *stream* at t, the gain of a copy spread over its share (`shares`): (p x factor - cost - slope x t) / share.
So the bound needs no plan and no integers: it holds for every plan, with copies side by side, preempted or moved.

A unit's gain is that at its middle. Gains are lines in t, so their upper envelope is convex between two edges of windows: the mean of its
first and last unit is an upper bound of the mean of all.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction
from math import lcm
from typing import Any, Final

import numpy as np
from numpy.typing import NDArray

SHIFT: Final = 20
"""Exact gains are rounded up to one part in 2**20 of the unit of prices."""
Floats = NDArray[np.float64]


@dataclass(frozen=True, slots=True)
class Stream:
    """One way to use a device's time: within [begin, end) a unit at t gains (price of `job` x factor - cost - slope x t) / share.

    factor / share copies (or whatever is priced) are done in a unit of time.
    """

    job: int
    begin: int
    end: int
    share: Fraction
    cost: Fraction
    slope: Fraction
    factor: Fraction = Fraction(1)


class Fluid:
    """The streams of one class. `best` is quick, in floats, for the search; `certain` is exact, and never too small."""

    def __init__(self, streams: Sequence[Stream], edges: Sequence[int], jobs: int) -> None:
        self.jobs = jobs
        ends = {edge for stream in streams for edge in (stream.begin, stream.end)}
        marks = sorted({*edges, *ends})
        self.edges = np.array(marks, dtype=np.int64)
        self.length = np.diff(self.edges)
        self.streams = tuple(streams)
        begin = np.array([stream.begin for stream in streams], dtype=np.int64)
        end = np.array([stream.end for stream in streams], dtype=np.int64)
        self.open = (begin[:, None] <= self.edges[:-1]) & (end[:, None] >= self.edges[1:])
        self.of = np.array([stream.job for stream in streams], dtype=np.int64)
        self.per = np.array([float(stream.factor / stream.share) for stream in streams])
        self.base = np.array([float(stream.cost / stream.share) for stream in streams])
        self.slope = np.array([float(stream.slope / stream.share) for stream in streams])

    def best(self, prices: Floats) -> tuple[float, Floats, float]:
        """(gain of one device, what it does by job, what that costs)."""
        usage = np.zeros(self.jobs)
        if not self.streams or not len(self.length):
            return 0.0, usage, 0.0
        height = (prices[self.of] * self.per - self.base)[:, None] - self.slope[:, None] * self.edges
        middle = np.where(self.open, (height[:, :-1] + height[:, 1:]) / 2, -1.0)
        top = middle.argmax(axis=0)
        used = middle[top, np.arange(len(self.length))] > 0
        top, length = top[used], self.length[used]
        np.add.at(usage, self.of[top], length * self.per[top])
        gain = float((middle[top, np.flatnonzero(used)] * length).sum())
        return gain, usage, float(prices @ usage) - gain

    def certain(self, prices: Sequence[int]) -> Fraction:
        """An upper bound on the gain of one device, in the prices' unit."""
        if not self.streams or not len(self.length):
            return Fraction(0)
        rows: list[list[Any]] = []
        for stream in self.streams:
            scale = lcm(stream.share.denominator, stream.cost.denominator, stream.slope.denominator)
            scale = lcm(scale, stream.factor.denominator)
            height_of = int((prices[stream.job] * stream.factor - stream.cost) * scale)
            rows.append([height_of << SHIFT, int(stream.slope * scale) << SHIFT, int(stream.share * scale)])
        level, slope, share = (np.array([row[k] for row in rows], dtype=object)[:, None] for k in range(3))
        begin, end = 2 * self.edges[:-1].astype(object) + 1, 2 * self.edges[1:].astype(object) - 1
        left = np.where(self.open, -((slope * begin - 2 * level) // (2 * share)), 0).max(axis=0)
        right = np.where(self.open, -((slope * end - 2 * level) // (2 * share)), 0).max(axis=0)
        total = sum(
            int(n) * (max(0, int(a)) + max(0, int(b))) for n, a, b in zip(self.length, left, right, strict=True)
        )
        return Fraction(total, 2 << SHIFT)
