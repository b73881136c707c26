"""Values of laps other than the true ones, whose bounds may rule out vectors of laps."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import combinations
from typing import Final

import numpy as np

from pipefill_opt.solve.grid import Table

TILTS: Final = (20, 10, 5, 2)
"""By one part in so many are laps weighted up or down."""


@dataclass(frozen=True, slots=True)
class Cut:
    """Laps of `slots` weighted by `weights`, those of other slots by nothing: only these slots need be looked at."""

    slots: tuple[int, ...]
    weights: tuple[int, ...]

    def spread(self, slots: int) -> Table:
        """The weights of all slots."""
        found: Table = np.zeros(slots, dtype=np.int64)
        found[list(self.slots)] = self.weights
        return found


class Cuts:
    """Cuts not tried yet. lap: true value of a lap; ticks: its time."""

    def __init__(self, lap: Sequence[int], ticks: Sequence[int]) -> None:
        self._lap = lap
        self._ticks = ticks
        self._tried: set[Cut] = {Cut(tuple(range(len(lap))), tuple(lap))}

    def next(self, target: Table | None, laps: Table) -> Cut | None:
        """The next one that may rule out the point `target`; laps: those of the best plan known. None if there is none left to try."""
        if target is None:
            return None
        for cut in self._of(target.tolist(), np.sign(target - laps).tolist()):
            if cut not in self._tried:
                self._tried.add(cut)
                return cut
        return None

    def _of(self, target: Sequence[int], signs: Sequence[int]) -> Iterator[Cut]:
        """Time and value of few slots first, which is quick; then the true values, more for the slots of which the point has more laps."""
        used = [s for s, laps in enumerate(target) if laps]
        for size in range(1, len(used) + 1):
            for some in combinations(used, size):
                yield Cut(some, tuple(self._ticks[s] for s in some))
                yield Cut(some, tuple(self._lap[s] for s in some))
        if min(signs) < 0:
            for part in TILTS:
                yield Cut(
                    tuple(range(len(signs))),
                    tuple(lap + sign * lap // part for lap, sign in zip(self._lap, signs, strict=True)),
                )
