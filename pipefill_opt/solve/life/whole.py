"""What a device gains at most at prices of copies, if each turn holds whole laps: the fluid (`fluid`), but for what closes no lap.

With one H and `repeat: true` the laps of a turn have shares of its net ticks (`Share.kinds`) that sum up to at most 1. So the turn in which
a lap of job j counts v(j) gains no more than the best whole numbers of laps do: a knapsack, whose parts are rounded down to a grid.
A lap in turn u counts (p - w tail - w (u + 1/2)) / wanted; a turn of a copy that never works beside another one, the same over its
turns. The best sum falls with u and is convex: the mean of the first and last turn of an interval bounds the mean of all.
"""

from __future__ import annotations

from fractions import Fraction
from itertools import pairwise
from typing import Any, Final

import numpy as np

from pipefill_opt.fill.problem import Objective
from pipefill_opt.kernels import kernel
from pipefill_opt.solve.life.bounds import Bounds, Floats
from pipefill_opt.solve.watch import Watch

GRID: Final = 4096
PARTS: Final = 128
BITS: Final = 40
"""Values of laps are rounded up to one part in 2**40 of the largest; a turn of up to 2**12 laps then sums up below 2**60."""
ORIGIN: Final = "whole laps in every turn, prices checked exactly"


def fullest(best: Any, size: Any, value: Any) -> None:
    """best[s]: the most that whole numbers of laps of total size s are worth at most; size above 0, value at least 0."""
    for s in range(1, len(best)):
        top = best[s - 1]
        for i in range(len(size)):
            if size[i] <= s and best[s - size[i]] + value[i] > top:
                top = best[s - size[i]] + value[i]
        best[s] = top


def usable(bounds: Bounds) -> bool:
    """Whether turns hold whole laps, and all shares are those of laps, from the beginning on."""
    problem = bounds.problem
    return (
        problem.objective is Objective.COMPLETION
        and problem.repeat
        and not problem.migrate
        and problem.iterations is not None
        and bounds.shares.unit == problem.period * problem.iterations
        and not any(bounds.release)
        and all(
            all(int(part * GRID) >= 1 for _, part, _ in share.kinds)
            if share.share == share.lap * (problem.jobs[j].iterations or 0)
            else share.share == share.alone
            for c in range(len(bounds.counts))
            for j, share in bounds.jobs_of(c).items()
        )
    )


def whole_bound(bounds: Bounds, prices: Floats, watch: Watch) -> Fraction | None:
    """No plan costs less, in the unit of `Bounds.certain`: exact. None where a limit was reached before that."""
    whole = bounds.whole_prices(prices)
    total = Fraction(sum(int(n) * price for n, price in zip(bounds.copies, whole.whole, strict=True)))
    parts = min(PARTS, max(1, bounds.horizon))
    edges = [bounds.horizon * k // parts for k in range(parts + 1)]
    for c, count in enumerate(bounds.counts):
        if watch.ended() is not None:
            return None
        gain = Fraction(0)
        for a, b in pairwise(edges):
            gain += Fraction(b - a, 2) * (
                _turn(bounds, c, whole.whole, whole.scale, a) + _turn(bounds, c, whole.whole, whole.scale, b - 1)
            )
        total -= count * gain
    return total * bounds.unit / whole.scale


def _turn(bounds: Bounds, c: int, prices: tuple[int, ...], scale: int, turn: int) -> Fraction:
    """The most that turn number `turn` of a device of class c gains."""
    worth: list[Fraction] = []
    sizes: list[int] = []
    for j, share in bounds.jobs_of(c).items():
        wanted = bounds.problem.jobs[j].iterations or 1
        value = prices[j] - bounds.weight[j] * scale * (share.tail + turn + Fraction(1, 2))
        if value <= 0:
            continue
        if share.share == share.lap * wanted:
            worth += [value / wanted] * len(share.kinds)
            sizes += [int(part * GRID) for _, part, _ in share.kinds]
        else:  # a turn for itself
            worth.append(value / share.alone)
            sizes.append(GRID)
    if not worth:
        return Fraction(0)
    unit = max(worth) / (1 << BITS)
    values = np.array([-int(-(value / unit) // 1) for value in worth], dtype=np.int64)
    best = np.zeros(GRID + 1, dtype=np.int64)
    kernel(fullest, GRID * len(sizes))(best, np.array(sizes, dtype=np.int64), values)
    return int(best[GRID]) * unit
