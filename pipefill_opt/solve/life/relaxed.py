"""The relaxed plan of turns with whole laps side by side, and its prices (`levels`): sweeps over blocks until both are close."""

from __future__ import annotations

import logging
from collections.abc import Sequence
from itertools import pairwise
from typing import Any, Final

import numpy as np

from pipefill_opt.kernels import kernel
from pipefill_opt.solve.life.levels import Duals, Floats, sweep
from pipefill_opt.solve.life.mixes import Mixes
from pipefill_opt.solve.watch import Watch

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
MISSING: Final = 1e-3
"""Most part of the copies of a job that a relaxed plan misses, or does too many of, when it is compared with a bound."""
STIFF: Final = 0.2
"""A copy is worth more by this part of its price if all copies of its job are missing."""
DEEP: Final = 8
"""With more copies a device than so many, nothing is gained by prices of their places."""
_log = logging.getLogger(__name__)


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
        edges = self.edges = np.unique(np.linspace(0, horizon, parts + 1).astype(np.int64))
        self.middle, self.length = (edges[1:] + edges[:-1]) / 2, np.diff(edges).astype(np.float64)
        stiff = STIFF * np.maximum(prices, 1e-6 * float(prices.max(initial=1.0))) / copies
        self.job = np.stack([copies, weights, prices, stiff, weights * horizon, np.zeros(len(copies))], axis=1)
        self.price = np.minimum(prices + stiff * copies, self.job[:, 4])
        number = self.entries[:, 2] - self.entries[:, 1]
        self.level = np.repeat(self.wanted / number, number)
        self.amount = np.zeros(rows[-1])
        self.block = np.zeros((len(self.middle), rows[-1]))
        self.busy = np.zeros((len(self.middle), len(self.entries)), dtype=np.bool_)
        self.place = np.zeros((4, len(copies), len(self.middle)))
        if copies.sum() <= DEEP * self.count.sum():
            self.place[2] = self._rise_of_places()
        self.scratch = np.zeros(rows[-1]), np.zeros(rows[-1], dtype=np.int64), np.zeros(rows[-1])

    def _rise_of_places(self) -> Floats:
        """So much more a device-turn costs for each that copies cannot work in: a part of its share of their price, if all are one more."""
        turns = np.full(len(self.job), np.inf)
        np.minimum.at(turns, self.entries[:, 0], self.wanted / (self.entries[:, 2] - self.entries[:, 1]))
        price = STIFF * self.job[:, 2] / np.maximum(turns, 1.0)
        rise: Floats = (price / self.job[:, 0])[:, None] / self.length
        return rise

    def move(self) -> None:
        """Every block moves on once, and prices follow."""
        before = np.concatenate([np.zeros(1, dtype=np.int64), np.cumsum(self.seen)])
        parts = self.parts.copy()
        parts[:, 1] = before[parts[:, 1]]
        seen = np.zeros(before[-1], dtype=np.bool_)
        self._sweep(True, self.pairs[self.seen], parts, self.price, self.place, self.level, seen)
        over = self.place[3] - self.job[:, :1] * self.length
        for k in (1, 0):
            self.place[k] = np.maximum(0.0, self.place[1] + self.place[2] * over)
        self.job[:, 2] = self._at_what_is_missing()
        self.price = self._at_what_is_missing()

    def _at_what_is_missing(self) -> Floats:
        """Prices of copies, as far as they are missing."""
        copies, price, rise, most, done = (self.job[:, k] for k in (0, 2, 3, 4, 5))
        prices: Floats = np.clip(price + rise * (copies - done), 0.0, most)
        return prices

    def bound(self, price: Floats, places: Floats, level: Floats) -> float:
        """No plan costs less, up to rounding."""
        gains = self._sweep(False, self.pairs, self.parts, price, places[None], level, self.seen)
        return float(self.job[:, 0] @ (price - places @ self.length)) - gains

    def _sweep(
        self, moves: bool, pairs: Any, parts: Any, price: Floats, place: Floats, level: Floats, seen: Any
    ) -> float:
        steps = len(self.middle) * len(self.pairs) * CHECK
        rows = np.zeros(len(level), dtype=np.int64)
        rows[pairs[pairs >= 0]] = 1
        live = np.add.reduceat(rows, self.entries[:, 1]) > 0
        plan = (self.count, self.middle, self.length, self.job, price, level, self.amount, self.block, self.busy, place)
        gains: float = kernel(sweep, steps)(
            moves, self.entries, live, self.wanted, pairs, parts, *plan, *self.scratch, seen
        )
        return gains

    def improve(self, watch: Watch) -> Duals:
        """Sweeps until bound and relaxed plan are close, or nothing comes of it any more, or a limit is reached."""
        price, places, level = self.price.copy(), self.place[1].copy(), self.level.copy()
        best = self._duals(price, places, level)
        stale = 0
        for number in range(1, SWEEPS + 1):
            if watch.ended() is not None or stale >= PATIENCE:
                break
            self.move()
            if number % CHECK:
                continue
            price, level = (price + self.job[:, 2]) / 2, (level + self.level) / 2
            places = (places + self.place[1]) / 2
            stale += 1
            for found in (
                self._duals(self.job[:, 2].copy(), self.place[1], self.level),
                self._duals(price, places, level),
            ):
                if found.bound > best.bound:
                    if found.bound - best.bound > BETTER * abs(found.bound):
                        stale = 0
                    best = found
            cost = self.cost()
            _log.info("sweep %d: bound %.6g of %.6g", number, best.bound, cost)
            missing = np.abs(self.job[:, 0] - self.job[:, 5]) / self.job[:, 0]
            if missing.max(initial=0.0) < MISSING and cost - best.bound < NEAR * abs(best.bound):
                break
        return best

    def _duals(self, price: Floats, places: Floats, level: Floats) -> Duals:
        levels = tuple(level[a:b].copy() for a, b in pairwise(self.rows))
        return Duals(price, places.copy(), self.edges, levels, self.bound(price, places, level))

    def cost(self) -> float:
        """What the relaxed plan costs, with its missing copies and places at their prices."""
        copies, weights, prices, done = (self.job[:, k] for k in (0, 1, 2, 5))
        total = float(prices @ (copies - done))
        total += float((self.place[1] * (self.place[3] - copies[:, None] * self.length)).sum())
        late = (self.block * self.middle[:, None]).sum(axis=0)
        for (j, a, b), wanted in zip(self.entries, self.wanted, strict=True):
            own = self.amount[a:b]
            laps = float(own.sum())
            if laps > 0:
                total += weights[j] * (float(late[a:b].sum()) / wanted + float(own @ own) / (2 * laps))
        return total
