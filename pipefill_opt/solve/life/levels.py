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
from typing import Any, Final

import numpy as np
from numpy.typing import NDArray

from pipefill_opt.kernels import kernel
from pipefill_opt.solve.life.mixes import Mixes
from pipefill_opt.solve.watch import Watch

Floats = NDArray[np.float64]
PARTS: Final = 320
MOST_CELLS: Final = 6_000_000
"""Most parts of the time that a sweep tells apart, and most (row, part)."""
SWEEPS: Final = 800
CHECK: Final = 10
"""Sweeps between two looks at the bound."""
PATIENCE: Final = 6
"""Looks without a better bound before the end."""
FEW: Final = 3000
"""Up to so many pairs, all are looked through in each sweep."""
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
    live: Any,
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
    busy: Any,
    value: Any,
    best_of: Any,
    step: Any,
    seen: Any,
) -> float:
    """What all devices gain at most; if `moves`, each block moves on, and levels and prices with it.

    entries[e]: job, first row, end of rows; live[e]: whether pairs have it. parts[c]: first entry and pair of class c, with one more at the
    end. job[j]: copies, weight, price when none is missing, its rise if all are, most, copies done. amount[r]: device-turns with so
    many laps, in all; block[t, r]: in one part, where busy[t, e]. value, best_of, step: scratch by row. seen[k]: set for pairs that
    are best somewhere.
    """
    total = 0.0
    spare = np.zeros(len(entries))
    for e in range(len(entries)):
        for r in range(entries[e, 1], entries[e, 2]):
            spare[e] += level[r] * level[r] / (2 * wanted[e])
    for c in range(len(count)):
        first, end = parts[c, 0], parts[c + 1, 0]
        for t in range(len(middle)):
            size = length[t] * count[c]
            for e in range(first, end):
                if not live[e]:
                    continue
                j, a = entries[e, 0], entries[e, 1]
                weight = job[j, 1] / wanted[e]
                base = price[j] / wanted[e] + weight * (spare[e] - middle[t])
                sum_of, best, laps = 0.0, 0.0, 0
                for r in range(a, entries[e, 2]):
                    sum_of += base - weight * level[r]
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
            if chosen >= 0:
                seen[chosen] = True
            if not moves:
                continue
            slope, bend = top * size, 0.0
            for e in range(first, end):
                a, b = entries[e, 1], entries[e, 2]
                here = chosen >= 0 and (a <= pairs[chosen, 0] < b or a <= pairs[chosen, 1] < b)
                if not here and not busy[t, e]:
                    continue
                busy[t, e] = True
                j = entries[e, 0]
                weight = job[j, 1] / wanted[e]
                base = price[j] / wanted[e] + weight * (spare[e] - middle[t])
                whole, square, along, mixed, change = 0.0, 0.0, 0.0, 0.0, 0.0
                for r in range(a, b):
                    slope -= block[t, r] * (base - weight * level[r])
                    step[r] = -block[t, r]
                for side in range(2 if here else 0):
                    row = pairs[chosen, side]
                    if a <= row < b:
                        for r in range(a, a + best_of[row]):
                            step[r] += size
                for r in range(a, b):
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
                if not busy[t, e]:
                    continue
                j, a, b = entries[e, 0], entries[e, 1], entries[e, 2]
                whole, left, along, squares = 0.0, 0.0, 0.0, 0.0
                for r in range(a, b):
                    amount[r] = max(0.0, amount[r] + part * step[r])
                    block[t, r] = max(0.0, block[t, r] + part * step[r])
                    along += part * step[r]
                    left += block[t, r]
                    whole += amount[r]
                busy[t, e] = left > 1e-9 * size
                if whole > 1e-6 * count[c]:
                    for r in range(a, b):
                        level[r] = amount[r] * wanted[e] / whole
                        squares += level[r] * level[r]
                    spare[e] = squares / (2 * wanted[e])
                job[j, 5] += along / wanted[e]
                price[j] = min(max(job[j, 2] + job[j, 3] * (job[j, 0] - job[j, 5]), 0.0), job[j, 4])
    return total


class Relaxed:
    """The relaxed plan of all classes and its prices, by copies and weights of jobs and first prices. Nothing is worth more than what
    a copy costs that completes at `horizon`.

    Blocks move among pairs that were best somewhere, and copies alone; all pairs are looked through for each bound.
    """

    def __init__(
        self,
        mixes: Sequence[Mixes],
        counts: Sequence[int],
        copies: Floats,
        weights: Floats,
        prices: Floats,
        horizon: int,
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
        self.seen = (self.pairs[:, 1] < 0) | (len(self.pairs) <= FEW)
        self.count = np.array(counts, dtype=np.float64)
        self.rows = rows
        prices = np.clip(prices, 0.0, weights * horizon)
        parts = max(1, min(PARTS, MOST_CELLS // max(1, int(rows[-1])), horizon))
        edges = np.linspace(0.0, horizon, parts + 1)
        self.middle, self.length = (edges[1:] + edges[:-1]) / 2, np.diff(edges)
        stiff = STIFF * np.maximum(prices, 1e-6 * float(prices.max(initial=1.0))) / copies
        self.job = np.stack([copies, weights, prices, stiff, weights * horizon, np.zeros(len(copies))], axis=1)
        self.price = np.minimum(prices + stiff * copies, self.job[:, 4])
        number = self.entries[:, 2] - self.entries[:, 1]
        self.level = np.repeat(self.wanted / number, number)
        self.amount = np.zeros(rows[-1])
        self.block = np.zeros((len(self.middle), rows[-1]))
        self.busy = np.zeros((len(self.middle), len(self.entries)), dtype=np.bool_)
        self.scratch = np.zeros(rows[-1]), np.zeros(rows[-1], dtype=np.int64), np.zeros(rows[-1])

    def move(self) -> None:
        """Every block moves on once, and prices follow."""
        before = np.concatenate([np.zeros(1, dtype=np.int64), np.cumsum(self.seen)])
        parts = self.parts.copy()
        parts[:, 1] = before[parts[:, 1]]
        self._sweep(True, self.pairs[self.seen], parts, self.price, self.level, np.zeros(before[-1], dtype=np.bool_))
        self.job[:, 2] = self._at_what_is_missing()
        self.price = self._at_what_is_missing()

    def _at_what_is_missing(self) -> Floats:
        """Prices of copies, as far as they are missing."""
        copies, price, rise, most, done = (self.job[:, k] for k in (0, 2, 3, 4, 5))
        prices: Floats = np.clip(price + rise * (copies - done), 0.0, most)
        return prices

    def bound(self, price: Floats, level: Floats) -> float:
        """No plan costs less, up to rounding."""
        gains = self._sweep(False, self.pairs, self.parts, price, level, self.seen)
        return float(self.job[:, 0] @ price) - gains

    def _sweep(self, moves: bool, pairs: Any, parts: Any, price: Floats, level: Floats, seen: Any) -> float:
        steps = len(self.middle) * len(self.pairs) * CHECK
        rows = np.zeros(len(level), dtype=np.int64)
        rows[pairs[pairs >= 0]] = 1
        live = np.add.reduceat(rows, self.entries[:, 1]) > 0
        plan = (self.count, self.middle, self.length, self.job, price, level, self.amount, self.block, self.busy)
        gains: float = kernel(sweep, steps)(
            moves, self.entries, live, self.wanted, pairs, parts, *plan, *self.scratch, seen
        )
        return gains

    def improve(self, watch: Watch) -> Duals:
        """Sweeps until bound and relaxed plan are close, or nothing comes of it any more, or a limit is reached."""
        best = self._duals(self.price.copy(), self.level, self.bound(self.price, self.level))
        price, level = self.price.copy(), self.level.copy()
        stale = 0
        for number in range(1, SWEEPS + 1):
            if watch.ended() is not None or stale >= PATIENCE:
                break
            self.move()
            if number % CHECK:
                continue
            price, level = (price + self.job[:, 2]) / 2, (level + self.level) / 2
            stale += 1
            for p, z in ((self.job[:, 2].copy(), self.level), (price, level)):
                bound = self.bound(p, z)
                if bound > best.bound:
                    if bound - best.bound > BETTER * abs(bound):
                        stale = 0
                    best = self._duals(p, z, bound)
            cost = self.cost()
            _log.info("sweep %d: bound %.6g of %.6g", number, best.bound, cost)
            if cost - best.bound < NEAR * abs(best.bound):
                break
        return best

    def _duals(self, price: Floats, level: Floats, bound: float) -> Duals:
        return Duals(price, tuple(level[a:b].copy() for a, b in pairwise(self.rows)), bound)

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
