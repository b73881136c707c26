"""One vector of laps at a time: weights that rule it out, or a plan that does it.

Weights w rule out laps p if no plan has w.p. The best such w are found by a linear program over the laps per iteration that plans are
known to reach (none of them is more than the bound for w, so the program is an outlook, never a proof): least over w of the most that
they are worth, with w.p = 1. Each w that it names is swept (`potential`), and what the sweep leads to is known from then on. Where p lies
among what is reached, no weights help; then the starts of plans that do p are searched by fronts, with the best weights known: what is
reached may lose but little of them, so that few states are gone on from. Slots without a lap in p are left out.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from math import inf
from typing import Final

import numpy as np
from numpy.typing import NDArray

from pipefill_opt.solve.bounds import most_operators
from pipefill_opt.solve.cuts import Cut
from pipefill_opt.solve.front import fits_front
from pipefill_opt.solve.front_search import Closed, FrontSearch
from pipefill_opt.solve.grid import Grid, Table
from pipefill_opt.solve.laps import LapPoints
from pipefill_opt.solve.linear import LinearProgram, LinearStatus, minimize
from pipefill_opt.solve.monotone import Relaxed
from pipefill_opt.solve.potential import Potential, laps_led_to, one_turn, potential

LEAST_SCALE: Final = 2**30
MOST_SCALE: Final = 2**40
"""A point is worth about so much in weights aimed at it: its true value, or a multiple, where that lies between, so that no sum leaves 64
bits and weights are as fine as they should be."""
MOST_AIMS: Final = 12
RADIUS: Final = 0.02
"""By how much the share of a slot in the worth of the point may change at first."""
PATIENCE: Final = 6
"""Weights in a row that are no better, after which no more are tried."""
FEW: Final = 10
"""One start in so many left: they are searched."""
SWEEPS: Final = 8
"""Main iterations before those that count: with worths that have settled, bounds are tight."""
FURTHER: Final = 3
"""The same from worths for other weights on."""
NEARER: Final = 1e-4
"""An outlook that promises less than this part is not worth a sweep."""

Floats = NDArray[np.float64]


@dataclass(slots=True)
class Known:
    """Of a set of slots: laps per main iteration of its plans, and the last potential."""

    rates: list[list[float]]
    near: Potential | None = None


class Aim:
    """The search for one point. After a step `closed` is a plan that does it, or it is `ruled_out`, or neither yet; stuck: nothing is left
    to try. bound: of the weights that the last step tried. near: a potential of the true values. known: by set of slots, shared by all
    points, grows.
    """

    def __init__(
        self, relaxed: Relaxed, point: Table, known: dict[tuple[int, ...], Known], near: Potential | None = None
    ) -> None:
        self.slots = tuple(int(s) for s in np.flatnonzero(point))
        self.point = point
        self.closed: Closed | None = None
        self.ruled_out = False
        self.stuck = False
        self.bound = 0
        self._own = point[list(self.slots)]
        self._relaxed = relaxed.only(self.slots)
        device = self._relaxed.device
        self._iterations = device.iterations  # of H
        self._grid = Grid(one_turn(self._relaxed))
        value = sum(sum(slot.value) * int(laps) for slot, laps in zip(device.slots, self._own, strict=True))
        times = max(1, LEAST_SCALE // max(1, value))
        if self.slots not in known:
            known[self.slots] = Known(_single_rates(self._relaxed))
            if near is not None and len(self.slots) == len(near.weights) and value < MOST_SCALE:
                more = tuple(times * weight for weight in near.weights)
                known[self.slots].near = replace(near, weights=more, worth=times * near.worth)
        self._known = known[self.slots]
        self._best: tuple[float, Potential, Table] | None = None
        lap = np.array([float(sum(slot.value)) for slot in device.slots])
        self._scale = min(float(MOST_SCALE), float(times * value))
        self._center: Floats = lap / float(lap @ self._own)
        self._radius = RADIUS
        self._tried = 0
        self._idle = 0
        self._never = np.zeros(self._grid.length, dtype=np.bool_)
        self._search: FrontSearch | None = None

    def spent(self) -> int:
        """Work of fronts since this was asked last."""
        return 0 if self._search is None else self._search.spent()

    def step(self, stopped: Callable[[Grid], bool], *, fronts: bool) -> Cut | None:
        """Try the next weights: the cut that they are, with its bound in `bound`; or search a box. fronts: the device is monotone."""
        if self._search is None:
            more = self._tried < MOST_AIMS and self._idle < PATIENCE and not self._few_left()
            weights = self._weights() if more else None
            if weights is not None:
                return self._swept(weights, stopped)
            if not fronts or self._best is None or not fits_front(self._relaxed, self._own.tolist()):
                self.stuck = True
                return None
            self._search = self._fronts(*self._best[1:])
        self.closed = self._search.step()
        self.ruled_out = self.closed is None and self._search.high <= self._search.points.low
        return None

    def _few_left(self) -> bool:
        """Whether plans that do the point can begin at few starts only."""
        if self._best is None:
            return False
        found = self._best[1]
        wanted = int(np.array(found.weights, dtype=np.int64) @ self._own)
        return FEW * int((~self._never & (found.limit >= wanted)).sum()) <= self._never.size

    def _weights(self) -> tuple[int, ...] | None:
        """The weights of the best outlook; None if they do not rule the point out by what is known, or were swept."""
        slots = len(self.slots)
        if self._best is None:
            return self._whole(self._center)
        rates = [[self._iterations * rate for rate in own] for own in self._known.rates]
        entries = [(k, s, -rate) for k, own in enumerate(rates) for s, rate in enumerate(own)]
        entries += [(k, slots, 1.0) for k in range(len(rates))]
        entries += [(len(rates), s, float(laps)) for s, laps in enumerate(self._own)]
        rows, columns, values = zip(*entries, strict=True)
        answer = minimize(
            LinearProgram(
                cost=[0.0] * slots + [1.0],
                rows=rows,
                columns=columns,
                values=values,
                row_lower=[0.0] * len(rates) + [1.0],
                row_upper=[inf] * len(rates) + [1.0],
                lower=[*np.maximum(0.0, self._center - self._radius / self._own), 0.0],
                upper=[*(self._center + self._radius / self._own), inf],
            )
        )
        if answer.status is not LinearStatus.OPTIMAL:
            return None
        if answer.value >= 1 or answer.value > self._best[0] - NEARER:
            return None
        return self._whole(answer.primal[:slots])

    def _whole(self, weights: Floats) -> tuple[int, ...]:
        return tuple(max(0, round(float(w) * self._scale)) for w in weights)

    def _swept(self, weights: tuple[int, ...], stopped: Callable[[Grid], bool]) -> Cut | None:
        """A bound for weights; what it leads to joins the rates."""
        self._tried += 1
        grid = self._grid
        near = self._known.near
        sweeps = SWEEPS if near is None else FURTHER
        found = potential(grid, self._iterations, weights, lambda: stopped(grid), sweeps=sweeps, near=near)
        hopes = None if found is None else grid.before_each_room(found.worth, weights, lambda: stopped(grid))
        if found is None or hopes is None:
            return None
        self._known.near = found
        self.bound = found.bound
        wanted = sum(w * int(laps) for w, laps in zip(weights, self._own, strict=True))
        self._never |= found.whole < wanted
        ratio = self.bound / max(1, wanted)
        self._idle += 1
        if self._best is None or ratio < self._best[0] - NEARER:
            self._idle = 0
            self._radius *= 2
        else:
            self._radius /= 2
        if self._best is None or ratio < self._best[0]:
            self._best = ratio, found, hopes
            self._center = np.array(weights, dtype=np.float64) / wanted
        led = laps_led_to(grid, found, hopes)
        worth = self._iterations * sum(w * laps for w, laps in zip(weights, led, strict=True))
        self._known.rates.append([laps * self.bound / worth for laps in led] if worth else led)
        return Cut(self.slots, weights)

    def _fronts(self, found: Potential, hopes: Table) -> FrontSearch:
        worth = np.array(found.weights, dtype=np.int64)
        wanted = int(worth @ self._own)
        points = LapPoints(worth, self._own[None, :], wanted - 1, wanted)
        limit = np.where(self._never, wanted - 1, found.limit)
        return FrontSearch(self._relaxed, self._grid, replace(found, limit=limit), hopes, points)


def _single_rates(relaxed: Relaxed) -> list[list[float]]:
    """About the most laps of each slot alone, in a main iteration."""
    device = replace(relaxed.device, iterations=1)
    return [
        [most_operators(device, slot, 8) / 8 / slot.length if s == k else 0.0 for k in range(len(device.slots))]
        for s, slot in enumerate(device.slots)
    ]
