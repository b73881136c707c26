"""Relays: copies one after the other, each beside the one that comes before it, so that hardly a turn is wasted.

In each turn the copy in front and the next one share the device (`pairs`); in the last turn of a copy it does only the laps that are
left, and the next one the more. Which copies, in which order, a walk finds at prices of copies (`relay_walk`).
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final

import numpy as np
from numpy.typing import NDArray

from pipefill_opt.fill.problem import Objective
from pipefill_opt.kernels import kernel
from pipefill_opt.solve.life.modes import Mode
from pipefill_opt.solve.life.pairs import Pair, can_pair, pairable
from pipefill_opt.solve.life.relay_walk import (
    ALONE,
    AT,
    BEFORE,
    COLUMNS,
    END,
    FIRST,
    FRONT,
    LAPS,
    LAST,
    OTHER,
    keep_best,
    steps_from,
)
from pipefill_opt.solve.life.shop import Copy, Leg, Piece, Shop

Ints = NDArray[np.int64]
Floats = NDArray[np.float64]
BEAM: Final = 2
"""States kept of one kind at one time."""
SLACK: Final = 0.03
"""States that promise less than the best one at their time by a larger part of what one copy gains at most are left."""
MOST_KINDS: Final = 64
"""Most kinds of copies that a walk tells apart."""
MOST_LAPS: Final = 512
"""Most laps a turn of a copy in a relay."""
MOST_STEPS: Final = 200_000_000
"""Longest walk."""
EARLY: Final = (0.0, 1 / 3)
"""Parts of the time at which the laps that are worth most are an option."""


@dataclass(frozen=True, slots=True)
class Tables:
    """What the kinds of a class do: see `relay_walk.steps_from`. fixed: options that hold at all prices."""

    alone: Ints
    wanted: Ints
    copies: Ints
    beside: Ints
    fixed: Ints


class Relay:
    """The relays of one class."""

    def __init__(self, shop: Shop, c: int) -> None:
        self.shop = shop
        self.c = c
        self.modes = [
            mode
            for mode in shop.modes[c]
            if pairable(mode)
            and mode.laps[0] <= MOST_LAPS
            and shop.wanted[mode.residents[0][0]]
            and not shop.release[mode.residents[0][0]]
        ]
        self._pairs: dict[tuple[int, int], Pair | None] = {}
        self.jobs = np.array([mode.residents[0][0] for mode in self.modes], dtype=np.int64)
        self.tables: Tables | None = None

    def pair(self, first: int, second: int) -> Pair | None:
        """Two modes side by side."""
        key = (first, second)
        if key not in self._pairs:
            a, b = self.modes[first], self.modes[second]
            between = self.shop.compiled.problem.switch.between
            change = between if isinstance(between, int) else between[_name(a)][_name(b)]
            found = Pair(a, b, change) if can_pair(a, b) else None
            self._pairs[key] = found if found is not None and found.best else None
        return self._pairs[key]

    def _tables(self) -> Tables:
        if self.tables is None:
            kinds = range(len(self.modes))
            pairs = [(i, k, pair) for i in kinds for k in kinds if (pair := self.pair(i, k)) is not None]
            laps = max((len(pair.laps) for _, _, pair in pairs), default=1)
            beside = np.full((len(kinds), len(kinds), laps), -1, dtype=np.int64)
            fixed = np.zeros((len(kinds), len(kinds), 2), dtype=np.int64)
            for i, k, pair in pairs:
                beside[i, k, : len(pair.laps)] = pair.laps
                fixed[i, k] = pair.ahead, pair.best
            self.tables = Tables(
                alone=np.array([mode.laps[0] for mode in self.modes], dtype=np.int64),
                wanted=np.array([self.shop.wanted[job] for job in self.jobs], dtype=np.int64),
                copies=np.array([self.shop.copies[job] for job in self.jobs], dtype=np.int64),
                beside=beside,
                fixed=fixed,
            )
        return self.tables

    def best(self, prices: Floats, weights: Floats, horizon: int, number: int) -> list[tuple[float, Piece]]:
        """Up to `number` relays by the horizon and what they gain, best first, at prices of copies, less weight x turn of completion."""
        kinds = len(self.modes)
        if not 0 < kinds <= MOST_KINDS:
            return []
        gain, slope = prices[self.jobs], weights[self.jobs]
        horizon = _latest(gain, slope, horizon)
        if horizon <= 0 or (gain <= 0).all():
            return []
        tables = self._tables()
        options = self.options(prices, weights, horizon)
        shape = (horizon + 1, kinds + 1, BEAM)
        most = (kinds * BEAM + kinds) * (kinds * options.shape[2] + 1)
        work = horizon * most
        if work > MOST_STEPS:
            return []
        left, value, promise = np.full(shape, -1, dtype=np.int64), np.zeros(shape), np.full(shape, -np.inf)
        came, step, gained = (
            np.zeros((*shape, COLUMNS), dtype=np.int64),
            np.zeros((most, COLUMNS), dtype=np.int64),
            np.zeros(most),
        )
        left[0, kinds, 0], promise[0, kinds, 0], came[0, kinds, 0, BEFORE] = 0, 0.0, -1
        forth, keep = kernel(steps_from, work), kernel(keep_best, work)
        own = (tables.copies, tables.alone, tables.wanted)
        for t in range(horizon):
            least = float(promise[t].max()) - SLACK * float((gain - slope * t).max())
            found = forth(t, left, value, promise, least, came, *own, options, tables.beside, gain, slope, step, gained)
            keep(found, step, gained, left, value, promise, came, tables.wanted, gain, slope)
        ends = [(-float(value[t, kinds, s]), t, s) for t, s in np.argwhere(left[:, kinds] >= 0).tolist() if t]
        return [(-loss, self._piece(_back(came, t, s))) for loss, t, s in sorted(ends)[:number]]

    def options(self, prices: Floats, weights: Floats, horizon: int) -> Ints:
        """[first, second]: laps of the first that a turn of both may have; 0 for none."""
        tables, gain, slope = self._tables(), prices[self.jobs], weights[self.jobs]
        horizon = _latest(gain, slope, horizon)
        beside = tables.beside
        laps = np.arange(beside.shape[2])
        found = [tables.fixed[:, :, 0], tables.fixed[:, :, 1]]
        for part in EARLY if slope.any() else EARLY[:1]:
            worth = np.maximum(gain - slope * part * horizon, 0.0) / tables.wanted
            total = np.where(beside >= 0, laps * worth[:, None, None] + beside * worth[None, :, None], 0.0)
            found.append(total.argmax(axis=2))
        for number, option in enumerate(found):
            for other in found[:number]:
                option = np.where(option == other, 0, option)
            found[number] = option
        return np.stack(found, axis=2)

    def _piece(self, way: Sequence[Sequence[int]]) -> Piece:
        """The steps of a walk as one piece."""
        copies: list[list[int]] = []  # kind, begin, end
        legs: list[Leg] = []
        clock, front = 0, -1
        for row in way:
            end, i, k = row[END], row[FRONT], row[OTHER]
            if front < 0:
                front = len(copies)
                copies.append([i, clock, end])
            mode = self.modes[i]
            if k == ALONE:
                legs.append(Leg(clock, end, (front,), mode))
                copies[front][2] = end
            else:
                pair, other = self.pair(i, k), len(copies)
                assert pair is not None
                together = (front, other)
                if clock < end - 1:
                    legs.append(Leg(clock, end - 1, together, mode, pair, row[LAPS]))
                legs.append(Leg(end - 1, end, together, mode, pair, row[LAST]))
                begin = clock if clock < end - 1 and pair.laps[row[LAPS]] else end - (pair.laps[row[LAST]] > 0)
                copies.append([k, begin, end])
                if row[FIRST] or row[AT] == len(self.modes):
                    copies[front][2], front = end, other
            if row[AT] == len(self.modes):  # nobody goes on
                front = -1
            clock = end
        work = []
        for k, begin, end in copies:
            job, configuration = self.modes[k].residents[0]
            work.append(Copy(0, job, configuration, begin, end, self.shop.wanted[job] or 0, None))
        return Piece(self.modes[copies[0][0]], clock, tuple(work), 0, legs=tuple(legs))


def relays_of(shop: Shop, turns: Sequence[object]) -> list[Relay]:
    """The relays of all classes; none where copies never share a device (no `turns`), or where work is cut at deadlines."""
    if not turns or shop.objective is Objective.ON_TIME:
        return []
    return [Relay(shop, c) for c in range(len(shop.counts))]


def relays_suffice(shop: Shop, relays: Sequence[Relay]) -> bool:
    """Whether all that can work at all can be in a relay, so that other ways to share devices need not be tried."""
    return bool(relays) and all(
        0 < len(relay.modes) <= MOST_KINDS and len(relay.modes) == len(modes)
        for relay, modes in zip(relays, shop.modes, strict=True)
        if modes
    )


def _latest(gain: Floats, slope: Floats, horizon: int) -> int:
    """The last turn at which a copy that ends may gain anything."""
    return min(horizon, int((gain / slope).max())) if slope.all() else horizon


def _back(came: Ints, t: int, s: int) -> list[list[int]]:
    """The steps to the state of nobody's at time t."""
    kinds, beam = came.shape[1] - 1, came.shape[2]
    way = []
    row = came[t, kinds, s]
    while row[BEFORE] >= 0:
        way.append(row.tolist())
        here = int(row[BEFORE])
        row = came[here // beam // (kinds + 1), here // beam % (kinds + 1), here % beam]
    way.reverse()
    return way


def _name(mode: Mode) -> str:
    return mode.device.slots[0].job_name
