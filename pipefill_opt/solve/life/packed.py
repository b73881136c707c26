"""The least horizon by which whole copies on devices may be done: a program over sets of copies (`packs`), its prices checked exactly."""

from __future__ import annotations

from typing import Final

import numpy as np
from numpy.typing import NDArray

from pipefill_opt.solve.device import Compiled
from pipefill_opt.solve.life.generation import Answer, Column, Master
from pipefill_opt.solve.life.packs import Copies, Packs
from pipefill_opt.solve.life.shares import Shares
from pipefill_opt.solve.linear import INFINITE
from pipefill_opt.solve.watch import Watch

Floats = NDArray[np.float64]
PRICE: Final = 1 << 24
"""The largest price of a copy."""
ROUNDS: Final = 100
MOST_TESTS: Final = 800
"""Most sets that are looked at."""
COVERED: Final = 1e-7
ORIGIN: Final = "sets of whole copies on a device, prices checked exactly"


class Packed:
    """The program for one problem with a fixed H that repeats, whose copies stay on their devices."""

    def __init__(self, compiled: Compiled, shares: Shares, watch: Watch) -> None:
        problem = compiled.problem
        assert problem.iterations is not None
        self.watch = watch
        self.copies = np.array([job.copies for job in problem.jobs], dtype=np.float64)
        self.counts = np.array([device.count for device in problem.devices], dtype=np.float64)
        alone = [[float(of[j].alone) for of in shares.of if j in of] for j in range(len(self.copies))]
        self.quick = np.array([min(own, default=1.0) for own in alone])
        self.packs = [Packs(compiled, c, problem.iterations, of) for c, of in enumerate(shares.of)]
        self.sets: dict[Column, tuple[int, Copies]] = {}
        self.tests = 0

    def least(self, low: int, high: int) -> int:
        """A horizon that no plan beats, from `low`, which is one, up to `high`, which some plan keeps."""
        step = 1
        while low < high and self.watch.ended() is None:
            tried = min(low + step, high) - 1
            if self.too_short(tried):
                low, step = tried + 1, 2 * step
            else:
                high = tried
                step = max(1, (high - low) // 2)
        return low

    def too_short(self, horizon: int) -> bool:
        """Whether there is a proof that no plan ends by the horizon. Sets are looked at where the program wants them."""
        master = Master(self.copies, self.counts, self.quick)
        master.columns = list(self.sets)

        def oracle(c: int, prices: Floats) -> Answer:
            whole, unit = _whole(prices)
            gain, found = self.packs[c].best(horizon, whole)
            return Answer(gain * unit, (self._column(c, found),) if found else ())

        while self.watch.ended() is None and self.tests < MOST_TESTS:
            master.columns = [column for column in master.columns if self._known(column) <= horizon]
            master.bound = -INFINITE
            master.generate(oracle, self.watch, rounds=ROUNDS, gap=COVERED, target=COVERED, enough=COVERED)
            if master.prices is not None and master.bound > COVERED:
                return self._proved(horizon, master.prices)
            if not master.relax() or not self._look(master, horizon):
                return False
        return False

    def _look(self, master: Master, horizon: int) -> bool:
        """Look at the sets that the program uses; whether one needs more turns."""
        news = False
        for column, amount in zip(master.columns, master.amounts, strict=True):
            if amount > COVERED:
                c, found = self.sets[column]
                self.tests += found not in self.packs[c].known
                news |= self.packs[c].least(found, horizon) > horizon
        return news

    def _proved(self, horizon: int, prices: Floats) -> bool:
        whole, _ = _whole(prices)
        worth = sum(int(n) * price for n, price in zip(self.copies, whole, strict=True))
        gains = [pack.best(horizon, whole)[0] for pack in self.packs]
        return worth > sum(int(n) * gain for n, gain in zip(self.counts, gains, strict=True))

    def _known(self, column: Column) -> int:
        c, found = self.sets[column]
        return self.packs[c].known.get(found, 0)

    def _column(self, c: int, found: Copies) -> Column:
        usage = np.bincount(found, minlength=len(self.copies)).astype(np.float64)
        column = Column(c, usage, 0.0)
        self.sets[column] = (c, found)
        return column


def _whole(prices: Floats) -> tuple[list[int], float]:
    """Whole prices, and what one is worth."""
    unit = max(float(prices.max(initial=0.0)), COVERED) / PRICE
    return [max(0, int(price / unit)) for price in prices], unit
