"""Column generation over lives: a master LP picks how many devices of a class live which life, dual prices ask for better lives.

Prices are smoothed towards those of the best bound so far (in-out separation), since the master's own swing wildly at first.
Everything here is floating point and serves the search; bounds are computed again from the prices, exactly.
"""

from __future__ import annotations

import logging
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import Final

import numpy as np
from numpy.typing import NDArray

from pipefill_opt.solve.life.shop import Life
from pipefill_opt.solve.linear import INFINITE, LinearProgram, LinearStatus, minimize
from pipefill_opt.solve.watch import Watch

Floats = NDArray[np.float64]
SMOOTH: Final = 0.6
"""Share of the best prices in those that lives are asked for at."""
TINY: Final = 1e-9
_log = logging.getLogger(__name__)


@dataclass(frozen=True, slots=True, eq=False)
class Column:
    """What one device of a class does: copies by job, what it costs; the life itself, where it is one."""

    class_index: int
    usage: Floats
    cost: float
    life: Life | None = None


@dataclass(frozen=True, slots=True)
class Answer:
    """The answer for one class at given prices: no device of the class gains more than `gain`; columns that gain much."""

    gain: float
    columns: tuple[Column, ...]


Oracle = Callable[[int, Floats], Answer]


@dataclass(slots=True)
class Master:
    """Minimise the cost of lives. All copies must be done, each one missing costs `missing` (None: they need not be).

    bound, prices: the best Lagrangian bound so far and its prices. copies and counts are what is left to be planned.
    """

    copies: Floats
    counts: Floats
    missing: Floats | None
    columns: list[Column] = field(default_factory=list)
    bound: float = -INFINITE
    prices: Floats | None = None
    value: float = INFINITE
    amounts: Floats = field(default_factory=lambda: np.zeros(0))
    own: Floats = field(default_factory=lambda: np.zeros(0))
    place: Floats = field(default_factory=lambda: np.zeros(0))
    """Prices of the LP's optimum: of a copy of each job, of a device of each class (at most 0)."""

    def relax(self) -> bool:
        """Solve the LP: sets value, amounts and its prices; False where that fails."""
        jobs, classes, own = len(self.copies), len(self.counts), len(self.columns)
        if not own and self.missing is None:  # nothing to choose from
            self.value, self.amounts, self.own, self.place = 0.0, np.zeros(0), np.zeros(jobs), np.zeros(classes)
            return True
        rows: list[NDArray[np.int64]] = []
        at: list[NDArray[np.int64]] = []
        values: list[Floats] = []
        for k, column in enumerate(self.columns):
            busy = np.flatnonzero(column.usage)
            rows += [busy, np.array([jobs + column.class_index])]
            at.append(np.full(len(busy) + 1, k))
            values += [column.usage[busy], np.ones(1)]
        cost = np.array([column.cost for column in self.columns])
        lower, upper = np.full(jobs, -INFINITE), self.copies
        if self.missing is not None:
            lower, upper = self.copies, np.full(jobs, INFINITE)
            rows.append(np.arange(jobs))
            at.append(np.arange(own, own + jobs))
            values.append(np.ones(jobs))
            cost = np.concatenate([cost, self.missing])
        unit = max(1.0, float(np.abs(cost).max(initial=0.0)))  # HiGHS likes costs of about 1
        found = minimize(
            LinearProgram(
                cost=cost / unit,
                rows=np.concatenate(rows) if rows else np.zeros(0, dtype=np.int64),
                columns=np.concatenate(at) if at else np.zeros(0, dtype=np.int64),
                values=np.concatenate(values) if values else np.zeros(0),
                row_lower=np.concatenate([lower, np.full(classes, -INFINITE)]),
                row_upper=np.concatenate([upper, self.counts]),
                lower=np.zeros(len(cost)),
                upper=np.full(len(cost), INFINITE),
            )
        )
        if found.status is not LinearStatus.OPTIMAL:
            return False
        self.value, self.amounts = found.value * unit, found.primal[:own]
        prices = found.duals[:jobs] * unit
        self.own = np.maximum(prices, 0.0) if self.missing is not None else np.minimum(prices, 0.0)
        self.place = found.duals[jobs:] * unit
        return True

    def lagrangian(self, prices: Floats, gains: Sequence[float]) -> float:
        """No plan costs less."""
        return float(self.copies @ prices - self.counts @ np.maximum(np.array(gains), 0.0))

    def generate(
        self,
        oracle: Oracle,
        watch: Watch,
        *,
        rounds: int,
        gap: float = 1e-4,
        target: float = INFINITE,
        enough: float = -INFINITE,
    ) -> None:
        """Rounds of prices and lives until bound and value are close, the bound passes `target`, the value is at most `enough`, or a limit
        is reached."""
        for number in range(rounds):
            if watch.ended() is not None or not self.relax() or self.value <= enough:
                return
            mixed = self.own if self.prices is None else SMOOTH * self.prices + (1 - SMOOTH) * self.own
            if not self.ask(oracle, mixed) and not self.ask(oracle, self.own):
                return
            _log.info("round %d: %.6g, bound %.6g, %d lives", number + 1, self.value, self.bound, len(self.columns))
            if self.value - self.bound <= gap * max(1.0, abs(self.value)) or self.bound > target:
                return

    def ask(self, oracle: Oracle, prices: Floats) -> bool:
        """Take in what the oracle finds at these prices; whether the bound got better or the master has lives that help it."""
        gains = []
        news = False
        for c, count in enumerate(self.counts):
            answer = oracle(c, prices) if count > 0 else Answer(0.0, ())
            gains.append(answer.gain)
            for column in answer.columns:
                if column.cost - float(self.own @ column.usage) - self.place[c] < -TINY * max(1.0, abs(self.value)):
                    self.columns.append(column)
                    news = True
        bound = self.lagrangian(prices, gains)
        if bound > self.bound:
            news = news or bound > self.bound + TINY * max(1.0, abs(self.value))
            self.bound, self.prices = bound, prices
        return news
