"""Relays: copies one after the other, each beside the one that comes before it, so that hardly a turn is wasted.

In each turn the copy in front and the next one share the device as fully as they can (`pairs`); in the last turn of a copy it does only the
laps that are left, and the next one the more. Which copies, in which order, a walk over fractions of turns finds, at prices of copies.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

import numpy as np
from numpy.typing import NDArray

from pipefill_opt.fill.problem import Objective
from pipefill_opt.kernels import kernel
from pipefill_opt.solve.life.modes import Mode
from pipefill_opt.solve.life.pairs import Pair, can_pair, pairable
from pipefill_opt.solve.life.shop import Copy, Leg, Life, Piece, Shop
from pipefill_opt.solve.life.walk import best_relay

Ints = NDArray[np.int64]
Floats = NDArray[np.float64]
GRAIN: Final = 8
MOST_PARTS: Final = 4096
"""Parts of a turn in which the walk counts, and most of them in all."""
MOST_KINDS: Final = 64
"""Most kinds of copies that a walk tells apart."""
HALF: Final = 0.5
CHANGE: Final = 0.1
"""Turns that the walk takes to be wasted where a copy ends: alone, and beside the next one."""


class Relay:
    """The relays of one class."""

    def __init__(self, shop: Shop, c: int) -> None:
        self.shop = shop
        self.c = c
        self.modes = [
            mode
            for mode in shop.modes[c]
            if pairable(mode) and shop.wanted[mode.residents[0][0]] and not shop.release[mode.residents[0][0]]
        ]
        self._pairs: dict[tuple[int, int], Pair | None] = {}
        self.jobs = np.array([mode.residents[0][0] for mode in self.modes], dtype=np.int64)
        self.turns: Floats | None = None

    def _turns(self) -> Floats:
        """[before, kind], last row: nobody before. Turns that a copy takes up."""
        kinds = len(self.modes)
        turns = np.zeros((kinds + 1, kinds))
        for k, mode in enumerate(self.modes):
            slot = mode.device.slots[0]
            wanted = float(self.shop.wanted[slot.job] or 0)
            turns[:, k] = wanted / mode.laps[0] + HALF
            for i, other in enumerate(self.modes):
                pair = self.pair(i, k)
                if pair is not None:
                    full = pair.best * sum(other.device.slots[0].ticks) + pair.laps[pair.best] * sum(slot.ticks)
                    turns[i, k] = wanted * sum(slot.ticks) / full + CHANGE
        return turns

    def orders(self, prices: Floats, weights: Floats, ends: Sequence[int]) -> list[list[int]]:
        """The copies of the best walks by each of these turns, in order, at prices of copies by job, less weight x turn of completion."""
        last = max(ends)
        if not 0 < len(self.jobs) <= MOST_KINDS or not 0 < last <= MOST_PARTS:
            return []
        if self.turns is None:
            self.turns = self._turns()
        grain = min(GRAIN, MOST_PARTS // last)
        duration = np.maximum(1, np.rint(self.turns * grain)).astype(np.int64)
        value = np.full((last * grain + 1, len(self.jobs)), -np.inf)
        before = np.full(value.shape, -1, dtype=np.int64)
        kernel(best_relay, value.size * len(self.jobs))(
            value, before, duration, prices[self.jobs], weights[self.jobs] / grain
        )
        return [_back(value[: end * grain + 1], before, duration) for end in ends if end > 0]

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

    def order(self, life: Life) -> list[int]:
        """The copies of a life by completion; none where one cannot be in a relay."""
        numbers = {mode.residents[0]: k for k, mode in enumerate(self.modes)}
        copies = sorted(
            (start + copy.end, copy.job, copy.configuration) for start, piece in life for copy in piece.copies
        )
        order = [numbers.get((job, configuration), -1) for _, job, configuration in copies]
        return [] if -1 in order else order

    def run(self, order: Sequence[int], *, ahead: bool) -> Piece | None:
        """The copies (numbers of modes) in this order as one piece. ahead: whoever is in front does all it can, full turn or not."""
        left = [self.shop.wanted[self.modes[k].residents[0][0]] or 0 for k in order]
        begin: list[int | None] = [None] * len(order)
        end = [0] * len(order)
        legs: list[Leg] = []
        clock, front, later = 0, 0, 1
        while front < len(order):
            if not left[front]:
                front = later if later < len(order) else len(order)
                later = front + 1
                continue
            while later < len(order) and not left[later]:
                later += 1
            pair = self.pair(order[front], order[later]) if later < len(order) else None
            if pair is None:
                turns, laps = _alone(self.modes[order[front]], left[front])
                legs.append(Leg(clock, clock + turns, (front,), self.modes[order[front]]))
                done = (laps * turns, 0)
            else:
                turns, a = _together(pair, left[front], left[later], pair.ahead if ahead else pair.best)
                done = (a * turns, pair.laps[a] * turns)
                legs.append(Leg(clock, clock + turns, (front, later), self.modes[order[front]], pair, a))
            for copy, laps in zip((front, later), done, strict=True):
                if laps:
                    begin[copy] = clock if begin[copy] is None else begin[copy]
                    left[copy] = max(0, left[copy] - laps)
                    end[copy] = clock + turns
            clock += turns
        copies = []
        for k, number in enumerate(order):
            job, configuration = self.modes[number].residents[0]
            copies.append(Copy(0, job, configuration, begin[k] or 0, end[k], self.shop.wanted[job] or 0, None))
        if not copies:
            return None
        return Piece(self.modes[order[0]], clock, tuple(copies), 0, legs=tuple(legs))

    def within(self, order: Sequence[int], horizon: int, *, ahead: bool) -> Piece | None:
        """The same by the horizon: the last ones are left out until it is kept."""
        order = list(order)
        while order:
            piece = self.run(order, ahead=ahead)
            if piece is not None and piece.turns <= horizon:
                return piece
            order.pop()
        return None


def relays_of(shop: Shop, turns: Sequence[object]) -> list[Relay]:
    """The relays of all classes; none where copies never share a device (no `turns`), or where work is cut at deadlines."""
    if not turns or shop.objective is Objective.ON_TIME:
        return []
    return [Relay(shop, c) for c in range(len(shop.counts))]


def _back(value: Floats, before: Ints, duration: Ints) -> list[int]:
    """The way to the best end."""
    t, k = (int(place) for place in np.unravel_index(int(value.argmax()), value.shape))
    order: list[int] = []
    while t > 0 and value[t, k] > -np.inf:
        order.append(k)
        i = int(before[t, k])
        t, k = t - int(duration[i, k]), i
    order.reverse()
    return order


def _name(mode: Mode) -> str:
    return mode.device.slots[0].job_name


def _alone(mode: Mode, left: int) -> tuple[int, int]:
    """(turns, laps a turn) of one copy to its end."""
    return -(-left // mode.laps[0]), mode.laps[0]


def _together(pair: Pair, left: int, beside: int, best: int) -> tuple[int, int]:
    """(turns, laps a turn of the first) in which both go on as they are: as full as can be until one is nearly done."""
    if left < len(pair.laps) and pair.laps[left] >= 0:  # the last turn of the first one
        return 1, left
    b = pair.laps[best]
    if b >= beside:  # the last turn of the other one: as much of the first as lets it end
        return 1, max(a for a in range(len(pair.laps)) if pair.laps[a] >= beside)
    turns = (left - 1) // best
    return max(1, min(turns, (beside - 1) // b if b else turns)), best
