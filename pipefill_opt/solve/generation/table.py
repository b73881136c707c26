"""The slots that a class allows as arrays: what sets of them are worth at most by their time, and which larger sets there are.

A row is a set of residents: kinds (indices) in rising order. Sums are floats, rounded up where they are bounds and in favour of a set where
they decide whether it is possible; `by_time` is exact.
"""

from __future__ import annotations

from collections.abc import Sequence
from fractions import Fraction
from math import inf, nextafter
from typing import Any, Final

import numpy as np
from numpy.typing import NDArray

from pipefill_opt.solve.bounds import fractional_knapsack
from pipefill_opt.solve.columns import Kinds
from pipefill_opt.solve.device import Compiled, Residents
from pipefill_opt.solve.generation.knapsack import whole_knapsack

Floats = NDArray[np.float64]
Rows = NDArray[np.int64]
SAFE: Final = 1e-12
"""Relative error that sums of floats here stay well below."""
RATES: Final = 48
"""Most rates (values per tick) at which time is priced."""
CELLS: Final = 4_000_000
"""Entries of arrays made at once."""


class Table:
    """The kinds of one class for H = `iterations`. every: values are per `iterations` main iterations of a plan of any length.

    kinds: (job, configuration) by index, those that are worth most a tick first. beyond: by kind and rate, the most that a slot is worth
    beyond the rate x its time. capacity: most net ticks for any set.
    """

    def __init__(self, compiled: Compiled, class_index: int, iterations: int, *, every: bool = False) -> None:
        self.known = Kinds(compiled, class_index, iterations)
        self.every = every
        slots = self.known.slots
        self.items = {
            kind: [(value, ticks, most + every) for value, ticks, most in slot.items if value]
            for kind, slot in slots.items()
        }

        def density(kind: tuple[int, int]) -> Fraction:
            return max((Fraction(value, ticks) for value, ticks, _ in self.items[kind]), default=Fraction(0))

        self.kinds = sorted((kind for kind in slots if self.items[kind]), key=lambda kind: (-density(kind), kind))
        self.index = {kind: k for k, kind in enumerate(self.kinds)}
        own = [slots[kind] for kind in self.kinds]
        jobs = compiled.problem.jobs
        self.job: Rows = np.array([job for job, _ in self.kinds], dtype=np.int64)
        self.copies: Rows = np.array([min(jobs[job].copies, 2**31) for job, _ in self.kinds], dtype=np.int64)
        self.stays = np.array([float(slot.stays) for slot in own])
        self.most_held = np.array([float(slot.stays + slot.headroom) for slot in own])
        self.least = np.array([float(slot.least) for slot in own])
        self.moves = [slot.moves for slot in own]
        self.shortest = [slot.shortest for slot in own]
        self.free = float(compiled.problem.devices[class_index].resident_free)
        self.rates = self._rates()
        self.beyond = np.array([self._beyond(kind) for kind in self.kinds]).reshape(len(own), len(self.rates))
        self.capacity = up(self.known.capacity(min(self.moves), min(self.shortest))) if own else 0.0

    def _rates(self) -> Floats:
        every = sorted({v / t for kind in self.kinds for v, t, _ in self.items[kind]})
        picked = (
            every if len(every) <= RATES else [every[round(k * (len(every) - 1) / (RATES - 1))] for k in range(RATES)]
        )
        return np.array([0.0, *picked])

    def _beyond(self, kind: tuple[int, int]) -> Floats:
        """By rate: most that a slot is worth beyond the rate x its time."""
        total: Floats = np.zeros(len(self.rates))
        for value, ticks, most in self.items[kind]:
            total += most * np.maximum(0.0, value - self.rates * ticks) + SAFE * most * value
        return total

    def residents(self, row: Sequence[int]) -> Residents:
        """The residents of a row."""
        return tuple(sorted(self.kinds[k] for k in row))

    def usage(self, row: Sequence[int]) -> dict[int, int]:
        """Copies used, by job index."""
        used: dict[int, int] = {}
        for k in row:
            job = self.kinds[k][0]
            used[job] = used.get(job, 0) + 1
        return used

    def row(self, residents: Residents) -> tuple[int, ...] | None:
        """The row of these residents; None if one of them is of no use here."""
        if any(kind not in self.index for kind in residents):
            return None
        return tuple(sorted(self.index[kind] for kind in residents))

    def by_time(self, row: tuple[int, ...]) -> int:
        """A bound on the value of a set, by the use of time."""
        items = [item for k in row for item in self.items[self.kinds[k]]]
        room = self.known.capacity(min(self.moves[k] for k in row), min(self.shortest[k] for k in row))
        if self.every:
            return fractional_knapsack(items, room) + 1
        if self.known.repeat:
            return whole_knapsack(items, room)
        return fractional_knapsack(items, room)

    def near_by_time(self, rows: Rows) -> Floats:
        """By row: a float not below such a bound."""
        upper = np.zeros(len(rows))
        capacities = self.capacities(rows)
        chunk = max(1, CELLS // (len(self.rates) * rows.shape[1]))
        for begin in range(0, len(rows), chunk):
            part = slice(begin, begin + chunk)
            total = self.rates * capacities[part, None] + self.beyond[rows[part]].sum(axis=1)
            upper[part] = total.min(axis=1) * (1 + SAFE) + self.every
        return upper

    def room_for(self, rows: Rows) -> Floats:
        """Most slots that memory and copies leave room for, besides those of each row."""
        copies = float(self.copies.sum())
        least = float(self.stays.min())
        if least <= 0:
            return np.full(len(rows), copies)
        room = (self.free * (1 + SAFE) - self.stays[rows].sum(axis=1)) / least
        slots: Floats = np.minimum(np.floor(room * (1 + SAFE) + SAFE), copies)
        return slots

    def grown(self, rows: Rows) -> Rows:
        """The rows with one more kind, not before the last one, where copies, memory and time allow it (as far as floats can tell)."""
        size = rows.shape[1]
        kinds = np.arange(len(self.kinds))
        held = self.stays[rows].sum(axis=1)[:, None] + self.stays
        fits = held <= self.free * (1 + SAFE)
        most = self.most_held[rows].min(axis=1, initial=inf)[:, None]
        fits &= held <= np.minimum(most, self.most_held) * (1 + SAFE)
        used = (self.job[rows][:, :, None] == self.job).sum(axis=1)
        fits &= used < self.copies
        if size:
            fits &= kinds >= rows[:, -1:]
        parent, kind = np.nonzero(fits)
        grown = np.concatenate([rows[parent], kind[:, None]], axis=1)
        least = self.least[grown].sum(axis=1)
        fitting: Rows = grown[least <= self.capacities(grown) * (1 + SAFE)]
        return fitting

    def capacities(self, rows: Rows) -> Floats:
        """Net ticks of each row's rooms, rounded up."""
        shape: Any = (len(rows), rows.shape[1])
        moves = np.array(self._rank(self.moves)[0])[rows].min(axis=1) if shape[0] else np.zeros(0, dtype=np.int64)
        short = np.array(self._rank(self.shortest)[0])[rows].min(axis=1) if shape[0] else np.zeros(0, dtype=np.int64)
        all_moves, all_short = self._rank(self.moves)[1], self._rank(self.shortest)[1]
        code = moves * len(all_short) + short
        found, inverse = np.unique(code, return_inverse=True)
        table = [up(self.known.capacity(all_moves[c // len(all_short)], all_short[c % len(all_short)])) for c in found]
        return np.array(table, dtype=np.float64)[inverse]

    @staticmethod
    def _rank(numbers: list[int]) -> tuple[list[int], list[int]]:
        levels = sorted(set(numbers))
        place = {number: k for k, number in enumerate(levels)}
        return [place[number] for number in numbers], levels


def up(number: int) -> float:
    """The whole number as a float that is not smaller."""
    near = float(number)
    return near if int(near) >= number else nextafter(near, inf)
