"""Sets of residents of one group of devices, listed as far as prices make it necessary, with proven upper bounds on their values.

Three bounds meet. Of a listed set: by the use of time, min over rates r of r x capacity + sum over slots of the most that a slot is
worth beyond r x its time; or a tighter one that was proved since. Of all sets that grow from a listed one and are not listed: the same,
with the best further slots that memory leaves room for. Floats decide what is looked at; they are rounded up, and what is closest is
computed again in whole numbers, so that `Sets.price` is a proof.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from fractions import Fraction
from math import inf, nextafter
from typing import Any, Final

import numpy as np
from numpy.typing import NDArray

from pipefill_opt.solve.bounds import fractional_knapsack
from pipefill_opt.solve.columns import Kinds
from pipefill_opt.solve.device import Compiled, Residents
from pipefill_opt.solve.generation.prices import Prices

Floats = NDArray[np.float64]
Rows = NDArray[np.int64]
SAFE: Final = 1e-12
"""Relative error that sums of floats here stay well below."""
RATES: Final = 48
"""Most rates (values per tick) at which time is priced."""
OPENED: Final = 64
"""Sets that are grown at once."""
MOST_ROWS: Final = 400_000
"""Most sets listed of a group; then the bound for the others stands."""
CELLS: Final = 4_000_000
"""Entries of arrays made at once."""


@dataclass(slots=True)
class _Level:
    """Sets of one size: a row of kinds each, in rising order. upper: a bound on the value. open: larger sets are still to be listed."""

    rows: Rows
    upper: Floats
    open: NDArray[np.bool_]


@dataclass(frozen=True, slots=True)
class Offer:
    """A set of residents (kinds) whose bound is worth more than its price: `reduced` is the difference, a float."""

    row: tuple[int, ...]
    reduced: float


class Sets:
    """The sets of one class for H = `iterations`. every: values are per `iterations` main iterations of a plan of any length.

    kinds: (job, configuration) by index, those that are worth most a tick first. exact: bounds proved for single sets, by row.
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
        self.exact: dict[tuple[int, ...], int] = {}
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
        self.levels = [_Level(np.zeros((1, 0), dtype=np.int64), np.zeros(1), np.array([bool(own)]))]
        self.place: list[dict[tuple[int, ...], int]] = [{(): 0}]
        self.capacity = _up(self.known.capacity(min(self.moves), min(self.shortest))) if own else 0.0

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

    def count(self) -> int:
        """Sets listed."""
        return sum(len(level.rows) for level in self.levels) - 1

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
        """The row of these residents, listed if it was not; None if they cannot all be of use."""
        index = {kind: k for k, kind in enumerate(self.kinds)}
        if any(kind not in index for kind in residents):
            return None
        row = tuple(sorted(index[kind] for kind in residents))
        for size in range(len(row)):
            place = self.place[size].get(row[:size]) if size < len(self.place) else None
            if place is None:
                return None
            if self.levels[size].open[place]:
                self._grow(size, np.array([place]))
        return row if len(row) < len(self.place) and row in self.place[len(row)] else None

    def list_single(self) -> None:
        """List all sets of one slot."""
        if self.levels[0].open[0]:
            self._grow(0, np.zeros(1, dtype=np.int64))

    # Bounds

    def upper_of_any(self) -> int:
        """A bound on the value of any set."""
        return self.known.any_bound(every_length=self.every)

    def float_upper(self, row: tuple[int, ...]) -> float:
        """A float that is not below the best bound known on the value of a set."""
        return float(self.levels[len(row)].upper[self.place[len(row)][row]])

    def upper(self, row: tuple[int, ...]) -> int:
        """The best bound known on the value of a set, whole."""
        if row not in self.exact:
            self.tighten(row, self._by_time(row))
        return self.exact[row]

    def tighten(self, row: tuple[int, ...], bound: int) -> None:
        """A bound on the value of a set was proved."""
        self.exact[row] = min(bound, self.exact.get(row, bound))
        level = self.levels[len(row)]
        place = self.place[len(row)][row]
        level.upper[place] = min(level.upper[place], _up(self.exact[row]))

    def _by_time(self, row: tuple[int, ...]) -> int:
        items = [item for k in row for item in self.items[self.kinds[k]]]
        room = self.known.capacity(min(self.moves[k] for k in row), min(self.shortest[k] for k in row))
        if self.every:
            return fractional_knapsack(items, room) + 1
        if self.known.repeat:
            return whole_knapsack(items, room)
        return fractional_knapsack(items, room)

    # Prices

    def price(
        self, prices: Prices, threshold: float, ended: Callable[[], object | None]
    ) -> tuple[Fraction, list[Offer]]:
        """(a proven bound on value - price of any set, at least 0; listed sets with more than `threshold`, best first).

        Where none with more than `threshold` is listed, sets are grown that may lead to one, until `ended` says something.
        """
        while True:
            reduced = [self._reduced(level, prices) for level in self.levels]
            offers = self._offers(reduced, threshold)
            hopes = [self._hopes(size, prices) for size in range(len(self.levels))]
            best = max((float(hope.max()) for hope in hopes if len(hope)), default=-inf)
            if offers or best <= threshold or self.count() >= MOST_ROWS or ended():
                return max(Fraction(0), self._proved(reduced, prices), _fraction(best)), offers
            self._open(hopes, threshold)

    def worth_more(self, prices: Prices, threshold: Fraction, most: int) -> list[tuple[int, ...]] | None:
        """All sets of a bound - price of at least `threshold`, those not listed before among them; None if they are more than `most`."""
        level = float(threshold) - self._margin(prices)
        while True:
            hopes = [self._hopes(size, prices) for size in range(len(self.levels))]
            if max(float(hope.max(initial=-inf)) for hope in hopes) < level:
                break
            if self.count() > MOST_ROWS:
                return None
            self._open(hopes, level)
        reduced = [self._reduced(own, prices) for own in self.levels]
        offers = self._offers(reduced, level)
        rows = [
            row for row in (offer.row for offer in offers) if self.upper(row) - prices.of(self.usage(row)) >= threshold
        ]
        return rows if len(rows) <= most else None

    def _margin(self, prices: Prices) -> float:
        """More than the float error of any value - price here."""
        return SAFE * (self.capacity * float(self.rates[-1]) + float(self.beyond[:, 0].max(initial=0.0)) + prices.most)

    def _reduced(self, level: _Level, prices: Prices) -> Floats:
        """Value - price, by listed set; the empty set has none."""
        if not level.rows.shape[1]:
            return np.full(len(level.rows), -inf)
        reduced: Floats = level.upper - prices.near[self.job][level.rows].sum(axis=1)
        return reduced

    def _offers(self, reduced: list[Floats], threshold: float) -> list[Offer]:
        found = []
        for level, own in zip(self.levels, reduced, strict=True):
            for place in np.flatnonzero(own > threshold):
                found.append(Offer(tuple(int(k) for k in level.rows[place]), float(own[place])))
        return sorted(found, key=lambda offer: (-offer.reduced, offer.row))

    def _proved(self, reduced: list[Floats], prices: Prices) -> Fraction:
        """The largest value - price of a listed set: computed exactly where floats cannot tell, else rounded up."""
        top = max((float(own.max()) for own in reduced if len(own)), default=-inf)
        if top <= 0:
            return Fraction(0) if top <= -self._margin(prices) else _fraction(top + self._margin(prices))
        band = top - 4 * self._margin(prices) - 1e-9 * top
        near = [
            tuple(int(k) for k in level.rows[place])
            for level, own in zip(self.levels, reduced, strict=True)
            for place in np.flatnonzero(own >= band)
        ]
        if len(near) > 10_000:
            return _fraction(top + self._margin(prices))
        exact = max(self.upper(row) - prices.of(self.usage(row)) for row in near)
        return max(exact, _fraction(band + self._margin(prices)))

    def _hopes(self, size: int, prices: Prices) -> Floats:
        """By set of one size: a bound on value - price of the sets that grow from it and are not listed; -inf where there are none."""
        level = self.levels[size]
        hopes = np.full(len(level.rows), -inf)
        places = np.flatnonzero(level.open)
        if not len(places):
            return hopes
        net = self.beyond - prices.near[self.job][:, None]
        further = np.maximum.accumulate(np.maximum(net, 0.0)[::-1], axis=0)[::-1]
        chunk = max(1, CELLS // max(1, len(self.rates) * max(1, size)))
        for begin in range(0, len(places), chunk):
            part = places[begin : begin + chunk]
            rows = level.rows[part]
            last = rows[:, -1] if size else np.zeros(len(part), dtype=np.int64)
            slots = self._room_for(rows)
            total = self.rates * self.capacity + net[rows].sum(axis=1) + slots[:, None] * further[last]
            hopes[part] = total.min(axis=1) + self._margin(prices) + self.every
        return hopes

    def _room_for(self, rows: Rows) -> Floats:
        """Most slots that memory and copies leave room for, besides those of each row."""
        copies = float(self.copies.sum())
        least = float(self.stays.min())
        if least <= 0:
            return np.full(len(rows), copies)
        room = (self.free * (1 + SAFE) - self.stays[rows].sum(axis=1)) / least
        slots: Floats = np.minimum(np.floor(room * (1 + SAFE) + SAFE), copies)
        return slots

    # Growing

    def _open(self, hopes: list[Floats], threshold: float) -> None:
        """Grow the sets with the best hopes."""
        flat = [
            (-hope[place], size, int(place))
            for size, hope in enumerate(hopes)
            for place in (np.argpartition(-hope, min(OPENED, len(hope)) - 1)[:OPENED] if len(hope) else ())
            if hope[place] >= threshold
        ]
        chosen = sorted(flat)[:OPENED]
        for size in {size for _, size, _ in chosen}:
            self._grow(size, np.array(sorted(place for _, own, place in chosen if own == size)))

    def _grow(self, size: int, places: Rows) -> None:
        """List the sets with one more slot than those at `places`."""
        level = self.levels[size]
        level.open[places] = False
        chunk = max(1, CELLS // (len(self.kinds) * (size + 1)))
        for begin in range(0, len(places), chunk):
            self._add(self._grown(level.rows[places[begin : begin + chunk]]))

    def _grown(self, rows: Rows) -> Rows:
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
        fitting: Rows = grown[least <= self._capacities(grown) * (1 + SAFE)]
        return fitting

    def _capacities(self, rows: Rows) -> Floats:
        """Net ticks of each row's rooms, rounded up."""
        shape: Any = (len(rows), rows.shape[1])
        moves = np.array(self._rank(self.moves)[0])[rows].min(axis=1) if shape[0] else np.zeros(0, dtype=np.int64)
        short = np.array(self._rank(self.shortest)[0])[rows].min(axis=1) if shape[0] else np.zeros(0, dtype=np.int64)
        all_moves, all_short = self._rank(self.moves)[1], self._rank(self.shortest)[1]
        code = moves * len(all_short) + short
        found, inverse = np.unique(code, return_inverse=True)
        table = [_up(self.known.capacity(all_moves[c // len(all_short)], all_short[c % len(all_short)])) for c in found]
        return np.array(table, dtype=np.float64)[inverse]

    @staticmethod
    def _rank(numbers: list[int]) -> tuple[list[int], list[int]]:
        levels = sorted(set(numbers))
        place = {number: k for k, number in enumerate(levels)}
        return [place[number] for number in numbers], levels

    def _add(self, rows: Rows) -> None:
        """List rows, all of one size."""
        size = rows.shape[1]
        if len(self.levels) == size:
            self.levels.append(_Level(np.zeros((0, size), dtype=np.int64), np.zeros(0), np.zeros(0, dtype=np.bool_)))
            self.place.append({})
        level, place = self.levels[size], self.place[size]
        upper = np.zeros(len(rows))
        capacities = self._capacities(rows)
        chunk = max(1, CELLS // (len(self.rates) * size))
        for begin in range(0, len(rows), chunk):
            part = slice(begin, begin + chunk)
            total = self.rates * capacities[part, None] + self.beyond[rows[part]].sum(axis=1)
            upper[part] = total.min(axis=1) * (1 + SAFE) + self.every
        for k, row in enumerate(rows.tolist(), len(level.rows)):
            place[tuple(row)] = k
        level.rows = np.concatenate([level.rows, rows])
        level.upper = np.concatenate([level.upper, upper])
        level.open = np.concatenate([level.open, np.ones(len(rows), dtype=np.bool_)])


def whole_knapsack(items: Sequence[tuple[int, int, int]], room: int, *, steps: int = 200) -> int:
    """An upper bound on the best choice of whole pieces (value, size, most) in `room`; the best itself, if `steps` suffice to find it."""
    items = sorted(items, key=lambda item: Fraction(-item[0], item[1]))
    best, open_nodes, left = 0, [(fractional_knapsack(items, room), 0, 0, room)], steps
    while open_nodes:
        open_nodes.sort()
        bound, value, first, free = open_nodes.pop()
        if bound <= best or left <= 0:
            return max(best, bound)
        if first == len(items):
            best = max(best, value)
            continue
        worth, size, most = items[first]
        for number in range(min(most, free // size), -1, -1):
            left -= 1
            now, rest = value + number * worth, free - number * size
            limit = now + fractional_knapsack(items[first + 1 :], rest)
            if limit <= best or left <= 0:
                if limit > best:
                    open_nodes.append((limit, now, first + 1, rest))
                break
            best = max(best, now)
            open_nodes.append((limit, now, first + 1, rest))
    return best


def _up(number: int) -> float:
    """The whole number as a float that is not smaller."""
    near = float(number)
    return near if int(near) >= number else nextafter(near, inf)


def _fraction(number: float) -> Fraction:
    return Fraction(number) if number > -inf else Fraction(0)
