"""Sets of residents of one group of devices, listed as far as prices make it necessary, with proven upper bounds on their values.

Three bounds meet. Of a listed set: by the use of time, min over rates r of r x capacity + sum over slots of the most that a slot is
worth beyond r x its time; or a tighter one that was proved since. Of all sets that grow from a listed one and are not listed: the same,
with the best further slots that memory leaves room for. Floats decide what is looked at; they are rounded up, and what is closest is
computed again in whole numbers, so that `Sets.price` is a proof.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from fractions import Fraction
from math import inf
from typing import Final

import numpy as np
from numpy.typing import NDArray

from pipefill_opt.solve.device import Compiled, Residents
from pipefill_opt.solve.generation.prices import Prices
from pipefill_opt.solve.generation.table import CELLS, SAFE, Floats, Rows, Table, up

OPENED: Final = 64
"""Sets that are grown at once."""
MOST_ROWS: Final = 400_000
"""Most sets listed of a group; then the bound for the others stands."""


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

    exact: bounds proved for single sets, by row.
    """

    def __init__(self, compiled: Compiled, class_index: int, iterations: int, *, every: bool = False) -> None:
        self.table = Table(compiled, class_index, iterations, every=every)
        self.every = every
        self.exact: dict[tuple[int, ...], int] = {}
        self.levels = [_Level(np.zeros((1, 0), dtype=np.int64), np.zeros(1), np.array([bool(self.table.kinds)]))]
        self.place: list[dict[tuple[int, ...], int]] = [{(): 0}]

    def count(self) -> int:
        """Sets listed."""
        return sum(len(level.rows) for level in self.levels) - 1

    def row(self, residents: Residents) -> tuple[int, ...] | None:
        """The row of these residents, listed if it was not; None if they cannot all be of use."""
        row = self.table.row(residents)
        if row is None:
            return None
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
        return self.table.known.any_bound(every_length=self.every)

    def float_upper(self, row: tuple[int, ...]) -> float:
        """A float that is not below the best bound known on the value of a set."""
        return float(self.levels[len(row)].upper[self.place[len(row)][row]])

    def upper(self, row: tuple[int, ...]) -> int:
        """The best bound known on the value of a set, whole."""
        if row not in self.exact:
            self.tighten(row, self.table.by_time(row))
        return self.exact[row]

    def tighten(self, row: tuple[int, ...], bound: int) -> None:
        """A bound on the value of a set was proved."""
        self.exact[row] = min(bound, self.exact.get(row, bound))
        level = self.levels[len(row)]
        place = self.place[len(row)][row]
        level.upper[place] = min(level.upper[place], up(self.exact[row]))

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
            row
            for row in (offer.row for offer in offers)
            if self.upper(row) - prices.of(self.table.usage(row)) >= threshold
        ]
        return rows if len(rows) <= most else None

    def _margin(self, prices: Prices) -> float:
        """More than the float error of any value - price here."""
        return SAFE * (
            self.table.capacity * float(self.table.rates[-1])
            + float(self.table.beyond[:, 0].max(initial=0.0))
            + prices.most
        )

    def _reduced(self, level: _Level, prices: Prices) -> Floats:
        """Value - price, by listed set; the empty set has none."""
        if not level.rows.shape[1]:
            return np.full(len(level.rows), -inf)
        reduced: Floats = level.upper - prices.near[self.table.job][level.rows].sum(axis=1)
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
        exact = max(self.upper(row) - prices.of(self.table.usage(row)) for row in near)
        return max(exact, _fraction(band + self._margin(prices)))

    def _hopes(self, size: int, prices: Prices) -> Floats:
        """By set of one size: a bound on value - price of the sets that grow from it and are not listed; -inf where there are none."""
        level = self.levels[size]
        hopes = np.full(len(level.rows), -inf)
        places = np.flatnonzero(level.open)
        if not len(places):
            return hopes
        net = self.table.beyond - prices.near[self.table.job][:, None]
        further = np.maximum.accumulate(np.maximum(net, 0.0)[::-1], axis=0)[::-1]
        chunk = max(1, CELLS // max(1, len(self.table.rates) * max(1, size)))
        for begin in range(0, len(places), chunk):
            part = places[begin : begin + chunk]
            rows = level.rows[part]
            last = rows[:, -1] if size else np.zeros(len(part), dtype=np.int64)
            slots = self.table.room_for(rows)
            total = self.table.rates * self.table.capacity + net[rows].sum(axis=1) + slots[:, None] * further[last]
            hopes[part] = total.min(axis=1) + self._margin(prices) + self.every
        return hopes

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
        chunk = max(1, CELLS // (len(self.table.kinds) * (size + 1)))
        for begin in range(0, len(places), chunk):
            self._add(self.table.grown(level.rows[places[begin : begin + chunk]]))

    def _add(self, rows: Rows) -> None:
        """List rows, all of one size."""
        size = rows.shape[1]
        if len(self.levels) == size:
            self.levels.append(_Level(np.zeros((0, size), dtype=np.int64), np.zeros(0), np.zeros(0, dtype=np.bool_)))
            self.place.append({})
        level, place = self.levels[size], self.place[size]
        for k, row in enumerate(rows.tolist(), len(level.rows)):
            place[tuple(row)] = k
        level.rows = np.concatenate([level.rows, rows])
        level.upper = np.concatenate([level.upper, self.table.near_by_time(rows)])
        level.open = np.concatenate([level.open, np.ones(len(rows), dtype=np.bool_)])


def _fraction(number: float) -> Fraction:
    return Fraction(number) if number > -inf else Fraction(0)
