"""Values of laps other than the true ones, whose bounds may rule out vectors of laps."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import combinations

import numpy as np

from pipefill_opt.solve.grid import Table


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

    def next(self, target: Table) -> Cut | None:
        """The next one that may rule out the point `target`. None if there is none left to try."""
        for cut in self._of(target.tolist()):
            if cut not in self._tried:
                self._tried.add(cut)
                return cut
        return None

    def _of(self, target: Sequence[int]) -> Iterator[Cut]:
        """Time and value of few slots first, which is quick."""
        used = [s for s, laps in enumerate(target) if laps]
        for size in range(1, len(used) + 1):
            for some in combinations(used, size):
                yield Cut(some, tuple(self._ticks[s] for s in some))
                yield Cut(some, tuple(self._lap[s] for s in some))
