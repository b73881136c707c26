"""How late copies complete that share turns: prices of laps by their number in a turn.

Of a copy of W laps let x(u) be those in turn u and n(i) the number of turns with at least i laps. Counted from its completion C backwards,
the middle of turn number d lies d + 1/2 before C; so C - (mean time of its laps) is least where fuller turns come later, and

    C - mean time >= sum over i of n(i)^2 / (2 W),        the sum of all n(i) being W:

laps number i of n(i) turns are, in the best order, 1/2, 3/2, ... before C. So few laps in many turns cost time. For any numbers z(i)
n^2 / 2 >= n z - z^2 / 2, and the completion is bounded by a sum over turns,

    C >= mean time + (sum over turns u and i <= x(u) of z(i) - k) / W,   k: the most that the sum of n(i) z(i) - n(i)^2 / 2 can be.

With prices p of copies no plan costs less than sum of copies x p - what all turns gain at most (`bounds`), where x laps in turn u gain

    sum over i <= x of (p - w (u + 1/2 + z(i) - k / W)) / W.

The best z are the numbers n of the best relaxed plan, in which copies of a job on a class are alike. It minimises a convex function, of the
number of turns in which device classes have which mix of laps, with a price for the copies that are missing; block after block (a
part of the time of a class) moves towards the mix that gains most, as far as Newton's step says (Frank and Wolfe's method by blocks:
Lacoste-Julien et al., ICML 2013), and prices follow the copies that are missing (augmented Lagrangian). All in floats: any z and p bound.
"""

from __future__ import annotations

import logging
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import pairwise
from math import ceil
from typing import Any, Final

import numpy as np
from numpy.typing import NDArray

from pipefill_opt.kernels import kernel
from pipefill_opt.solve.life.mixes import Mixes
from pipefill_opt.solve.watch import Watch

Floats = NDArray[np.float64]
PARTS: Final = 128
"""Most parts of the time that a sweep tells apart."""
LATER: Final = 1.3
"""The time ends so much later than where the first prices leave no gain."""
SWEEPS: Final = 800
CHECK: Final = 5
"""Sweeps between two looks at the bound."""
PATIENCE: Final = 10
"""Looks without a better bound before the end."""
BETTER: Final = 1e-5
NEAR: Final = 5e-5
"""Gap between bound and relaxed plan at which the search ends."""
STIFF: Final = 0.2
"""A copy is worth more by this part of its price if all copies of its job are missing."""
_log = logging.getLogger(__name__)


@dataclass(frozen=True, slots=True, eq=False)
class Duals:
    """Prices of copies, and the numbers z by class and row of its mixes. bound: what they prove, in floats."""

    prices: Floats
    levels: tuple[Floats, ...]
    bound: float


def sweep(
    moves: bool,
    entries: Any,
    wanted: Any,
    pairs: Any,
    parts: Any,
    count: Any,
    middle: Any,
    length: Any,
    job: Any,
    price: Any,
    level: Any,
    amount: Any,
    block: Any,
    value: Any,
    best_of: Any,
    step: Any,
) -> float:
    """What all devices gain at most; if `moves`, each block moves on, and levels and prices with it.

    entries[e]: job, first row, end of rows. parts[c]: first entry and pair of class c, with one more at the end. job[j]: copies, weight,
    price when none is missing, its rise if all are, most, copies done. amount[r]: device-turns with so many laps, in all; block[t, r]: in
    one part. value, best_of, step: scratch by row.
    """
    total = 0.0
    for c in range(len(count)):
        first, end = parts[c, 0], parts[c + 1, 0]
        for t in range(len(middle) if end > first else 0):
            size = length[t] * count[c]
            for e in range(first, end):
                j, a, b = entries[e, 0], entries[e, 1], entries[e, 2]
                weight = job[j, 1] / wanted[e]
                squares = 0.0
                for r in range(a, b):
                    squares += level[r] * level[r]
                base = price[j] / wanted[e] + weight * (squares / (2 * wanted[e]) - middle[t])
                sum_of, best, laps = 0.0, 0.0, 0
                for r in range(a, b):
                    step[r] = base - weight * level[r]
                    sum_of += step[r]
                    if sum_of > best:
                        best, laps = sum_of, r - a + 1
                    value[r], best_of[r] = best, laps
            top, chosen = 0.0, -1
            for k in range(parts[c, 1], parts[c + 1, 1]):
                gain = value[pairs[k, 0]]
                if pairs[k, 1] >= 0:
                    gain += value[pairs[k, 1]]
                if gain > top:
                    top, chosen = gain, k
            total += top * size
            if not moves:
                continue
            slope = top * size
            for r in range(entries[first, 1], entries[end - 1, 2]):
                slope -= block[t, r] * step[r]
                step[r] = -block[t, r]
            for side in range(2 if chosen >= 0 else 0):
                row = pairs[chosen, side]
                if row >= 0:
                    e = first
                    while entries[e, 2] <= row:
                        e += 1
                    for r in range(entries[e, 1], entries[e, 1] + best_of[row]):
                        step[r] += size
            bend = 0.0
            for e in range(first, end):
                j = entries[e, 0]
                whole, square, along, mixed, change = 0.0, 0.0, 0.0, 0.0, 0.0
                for r in range(entries[e, 1], entries[e, 2]):
                    whole += amount[r]
                    square += amount[r] * amount[r]
                    along += step[r]
                    mixed += amount[r] * step[r]
                    change += step[r] * step[r]
                if whole > 1e-6 * count[c]:
                    rate = along / whole
                    bend += job[j, 1] * (change - 2 * mixed * rate + square * rate * rate) / whole
                bend += job[j, 3] * (along / wanted[e]) ** 2
            part = min(1.0, slope / bend) if bend > 0 else 1.0
            if part <= 0:
                continue
            for e in range(first, end):
                j, a, b = entries[e, 0], entries[e, 1], entries[e, 2]
                whole, along = 0.0, 0.0
                for r in range(a, b):
                    if step[r] != 0:
                        amount[r] = max(0.0, amount[r] + part * step[r])
                        block[t, r] = max(0.0, block[t, r] + part * step[r])
                        along += step[r]
                    whole += amount[r]
                if along != 0:
                    job[j, 5] += part * along / wanted[e]
                    price[j] = min(max(job[j, 2] + job[j, 3] * (job[j, 0] - job[j, 5]), 0.0), job[j, 4])
                if whole > 1e-6 * count[c]:
                    for r in range(a, b):
                        level[r] = amount[r] * wanted[e] / whole
    return total


class Relaxed:
    """The relaxed plan of all classes and its prices. copies, weights, most: by job, the most that a copy may be worth."""

    def __init__(
        self,
        mixes: Sequence[Mixes],
        counts: Sequence[int],
        copies: Floats,
        weights: Floats,
        prices: Floats,
        most: Floats,
    ) -> None:
        rows = np.cumsum([0, *(int(own.most.sum()) for own in mixes)])
        ends = [np.stack([own.jobs, own.first, own.first + own.most], axis=1) for own in mixes]
        self.entries = np.concatenate(
            [own + np.array([0, base, base]) for own, base in zip(ends, rows, strict=False)]
        ).astype(np.int64)
        self.wanted = np.concatenate([own.wanted for own in mixes]).astype(np.float64)
        self.pairs = np.concatenate(
            [np.where(own.pairs < 0, -1, own.pairs + base) for own, base in zip(mixes, rows, strict=False)]
        )
        self.parts = np.cumsum([[0, 0], *([len(own.jobs), len(own.pairs)] for own in mixes)], axis=0).astype(np.int64)
        self.count = np.array(counts, dtype=np.float64)
        self.rows = rows
        last = ceil(LATER * float((prices / np.maximum(weights, 1e-300)).max(initial=1.0)))
        edges = np.linspace(0.0, last, min(PARTS, last) + 1)
        self.middle, self.length = (edges[1:] + edges[:-1]) / 2, np.diff(edges)
        stiff = STIFF * np.maximum(prices, 1e-6 * float(prices.max(initial=1.0))) / copies
        self.job = np.stack([copies, weights, prices, stiff, most, np.zeros(len(copies))], axis=1)
        self.price = np.minimum(prices + stiff * copies, most)
        number = self.entries[:, 2] - self.entries[:, 1]
        self.level = np.repeat(self.wanted / number, number)
        self.amount = np.zeros(rows[-1])
        self.block = np.zeros((len(self.middle), rows[-1]))
        self.scratch = np.zeros(rows[-1]), np.zeros(rows[-1], dtype=np.int64), np.zeros(rows[-1])

    def sweep(self, *, moves: bool) -> float:
        """See `sweep`."""
        return self.gains(self.price, self.level, moves=moves)

    def gains(self, price: Floats, level: Floats, *, moves: bool = False) -> float:
        steps = len(self.middle) * len(self.pairs)
        total: float = kernel(sweep, steps)(
            moves,
            self.entries,
            self.wanted,
            self.pairs,
            self.parts,
            self.count,
            self.middle,
            self.length,
            self.job,
            price,
            level,
            self.amount,
            self.block,
            *self.scratch,
        )
        return total

    def bound(self, price: Floats, level: Floats) -> float:
        """No plan costs less, up to rounding."""
        return float(self.job[:, 0] @ price) - self.gains(price, level)

    def improve(self, watch: Watch) -> Duals:
        """Sweeps until bound and relaxed plan are close, or nothing comes of it any more, or a limit is reached."""
        best = Duals(self.price, (), -np.inf)
        price, level = self.price.copy(), self.level.copy()
        stale = 0
        for number in range(1, SWEEPS + 1):
            if watch.ended() is not None or stale >= PATIENCE:
                break
            self.sweep(moves=True)
            self.job[:, 2] = np.clip(
                self.job[:, 2] + self.job[:, 3] * (self.job[:, 0] - self.job[:, 5]), 0.0, self.job[:, 4]
            )
            if number % CHECK:
                continue
            price, level = (price + self.job[:, 2]) / 2, (level + self.level) / 2
            stale += 1
            for p, z in ((self.job[:, 2].copy(), self.level.copy()), (price, level)):
                bound = self.bound(p, z)
                if bound > best.bound:
                    if bound - best.bound > BETTER * abs(bound):
                        stale = 0
                    best = Duals(p, tuple(z[a:b] for a, b in pairwise(self.rows)), bound)
            _log.info("sweep %d: bound %.6g of %.6g", number, best.bound, self.cost())
            if self.cost() - best.bound < NEAR * abs(best.bound):
                break
        return best

    def cost(self) -> float:
        """What the relaxed plan costs, with its missing copies at their prices."""
        copies, weights, prices, done = (self.job[:, k] for k in (0, 1, 2, 5))
        total = float(prices @ (copies - done))
        late = (self.block * self.middle[:, None]).sum(axis=0)
        for (j, a, b), wanted in zip(self.entries, self.wanted, strict=True):
            own = self.amount[a:b]
            laps = float(own.sum())
            if laps > 0:
                total += weights[j] * (float(late[a:b].sum()) / wanted + float(own @ own) / (2 * laps))
        return total
