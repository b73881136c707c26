"""The least horizon if copies were liquid: turns of all classes, blended so that every job gets its laps. It finds modes that matter, and
at its prices no plan is shorter than all laps are worth over what all devices gain in a turn."""

from __future__ import annotations

import logging
from collections.abc import Sequence
from fractions import Fraction
from typing import Final

import numpy as np
from numpy.typing import NDArray

from pipefill_opt.solve.life.modes import Mode
from pipefill_opt.solve.life.shop import Shop
from pipefill_opt.solve.life.turns import Turns
from pipefill_opt.solve.linear import INFINITE, LinearProgram, LinearStatus, minimize

Floats = NDArray[np.float64]
ROUNDS: Final = 6
SEARCHES: Final = 6
HELPS: Final = 1e-3
"""A round that shortens the horizon by a smaller part is the last one."""
"""Searches of devices a class and round."""
PRICE_BITS: Final = 32
MOST_MODES: Final = 60
"""Most modes of several slots that a class hands on."""
_log = logging.getLogger(__name__)


class Blend:
    """Modes of all classes, amounts and prices of the LP: least turns so that every job gets `laps`."""

    def __init__(self, shop: Shop, turns: Sequence[Turns], laps: Sequence[int]) -> None:
        self.shop = shop
        self.turns = turns
        self.watch = turns[0].watch
        self.laps = np.array(laps, dtype=np.float64)
        self.modes: list[Mode] = [mode for own in shop.modes for mode in own if mode.walk is None]
        self.known = {(mode.class_index, mode.residents, mode.laps) for mode in self.modes}
        self.value = INFINITE
        self.amounts: Floats = np.zeros(0)
        self.prices: Floats = np.zeros(len(laps))
        self.bound = Fraction(0)

    def relax(self) -> bool:
        """Solve the LP over the modes known."""
        jobs = len(self.laps)
        rows, columns, values = [], [], []
        for k, mode in enumerate(self.modes):
            for (job, _), laps in zip(mode.residents, mode.laps, strict=True):
                rows.append(job)
                columns.append(k + 1)
                values.append(float(laps))
            rows.append(jobs + mode.class_index)
            columns.append(k + 1)
            values.append(1.0)
        for c, count in enumerate(self.shop.counts):
            rows.append(jobs + c)
            columns.append(0)
            values.append(-float(count))
        size = len(self.modes) + 1
        found = minimize(
            LinearProgram(
                cost=[1.0] + [0.0] * len(self.modes),
                rows=rows,
                columns=columns,
                values=values,
                row_lower=[*self.laps, *[-INFINITE] * len(self.turns)],
                row_upper=[INFINITE] * jobs + [0.0] * len(self.turns),
                lower=[0.0] * size,
                upper=[INFINITE] * size,
            )
        )
        if found.status is not LinearStatus.OPTIMAL:
            return False
        self.value, self.amounts = found.value, found.primal[1:]
        self.prices = np.maximum(found.duals[:jobs], 0.0)
        return True

    def generate(self) -> None:
        """Rounds of prices and searches for better turns, until bound and value are close."""
        before = INFINITE
        for number in range(ROUNDS):
            if self.watch.ended() is not None or not self.relax() or self.value > before * (1 - HELPS):
                return
            before = self.value
            news = self.ask()
            _log.info("blend %d: %.6g turns, bound %.6g, %d modes", number, self.value, self.bound, len(self.modes))
            if not news or self.value - float(self.bound) < 1e-3 * self.value:
                return

    def useful(self, part: float) -> list[list[Mode]]:
        """By class: the modes of several slots that are worth at least `part` of the best one at the LP's prices, best first."""
        chosen = []
        for c in range(len(self.turns)):
            own = [(self.worth(mode), mode) for mode in self.modes if mode.class_index == c]
            top = max((worth for worth, _ in own), default=0.0)
            own = [(worth, mode) for worth, mode in own if len(mode.laps) > 1 and worth >= part * top]
            own.sort(key=lambda found: (-found[0], found[1].residents))
            chosen.append([mode for _, mode in own[:MOST_MODES]])
        return chosen

    def worth(self, mode: Mode) -> float:
        """What a turn of a mode is worth at the LP's prices."""
        return float(sum(self.prices[job] * laps for (job, _), laps in zip(mode.residents, mode.laps, strict=True)))

    def ask(self) -> bool:
        """Better modes at the LP's prices, and the bound there; whether there were any."""
        top = float(self.prices.max(initial=0.0))
        if top <= 0:
            return False
        whole = np.array([int(price / top * (1 << PRICE_BITS)) for price in self.prices], dtype=np.int64)
        gain = Fraction(0)
        news = False
        for c, turns in enumerate(self.turns):
            bound, modes = turns.best(whole[turns.jobs], SEARCHES)
            gain += self.shop.counts[c] * bound
            for mode in modes[:SEARCHES]:
                key = (c, mode.residents, mode.laps)
                if key not in self.known:
                    self.known.add(key)
                    self.modes.append(mode)
                    news = True
        worth = sum(int(price) * int(laps) for price, laps in zip(whole, self.laps, strict=True))
        if gain:
            self.bound = max(self.bound, worth / gain)
        return news
