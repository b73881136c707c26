"""Good lives of a class at given prices, made of pieces."""

from __future__ import annotations

from collections.abc import Sequence
from fractions import Fraction
from typing import Final

import numpy as np
from numpy.typing import NDArray

from pipefill_opt.fill.problem import Objective
from pipefill_opt.solve.life.bounds import LEAST_BITS, PRICE_BITS, WEIGHT_BITS
from pipefill_opt.solve.life.generation import Column
from pipefill_opt.solve.life.layered import hosts_of, layered_piece
from pipefill_opt.solve.life.layers import Layers
from pipefill_opt.solve.life.relay import Relay
from pipefill_opt.solve.life.shop import Life, Piece, Shop, settled, single_piece, used
from pipefill_opt.solve.life.steps import FOREVER, Step, Walks, whole_numbers

Floats = NDArray[np.float64]
RELAYS: Final = 3
"""Relays for one answer."""


class Pricing:
    """The walks of all classes over pieces, up to a horizon (turns). factor: cost of one turn, per weight. layers: second tracks."""

    def __init__(
        self,
        shop: Shop,
        pieces: Sequence[Sequence[Piece]],
        horizon: int,
        factor: int,
        layers: Sequence[Layers] = (),
        relays: Sequence[Relay] = (),
    ) -> None:
        self.shop = shop
        self.pieces = pieces
        self.horizon = horizon
        self.factor = factor
        self.layers = layers
        self.relays = relays
        self.each = Fraction(0)
        """What a life costs beside; to use few devices where the horizon is all that counts."""
        self.cut = shop.objective is Objective.ON_TIME
        bits = min(WEIGHT_BITS, max(LEAST_BITS, PRICE_BITS - horizon.bit_length()))
        if self.cut:
            whole = whole_numbers([value for job in shop.worth for value in job], WEIGHT_BITS)
        else:
            whole = whole_numbers(shop.weights, bits)
        self.unit = float(whole.unit) * (1 if self.cut else factor)
        numbers = iter(whole.numbers)
        self.worth = [[next(numbers) for _ in job] for job in shop.worth] if self.cut else []
        self.weight = [] if self.cut else list(whole.numbers)
        up = shop.objective is Objective.MAKESPAN
        self.walks = [
            Walks([self._step(piece) for piece in own], horizon, len(shop.copies), cut=self.cut, up=up)
            for own in pieces
        ]

    def _step(self, piece: Piece) -> Step:
        numbers: dict[int, int] = {}
        for copy in piece.copies:
            numbers[copy.job] = numbers.get(copy.job, 0) + 1
        jobs = tuple(sorted(numbers.items()))
        if self.shop.objective is Objective.MAKESPAN:
            return Step(piece.turns, piece.release, FOREVER, jobs)
        if self.shop.objective is Objective.COMPLETION:
            slope = sum(self.weight[copy.job] for copy in piece.copies)
            late = sum(self.weight[copy.job] * (copy.end - piece.turns) for copy in piece.copies)
            return Step(piece.turns, piece.release, FOREVER, jobs, late=late, slope=slope)
        if len(piece.copies) > 1:  # whole or not at all
            full = sum(self.worth[y.job][y.configuration] * y.done for y in piece.copies)
            end = min((self.shop.deadline[y.job] or 0) - y.end + piece.turns for y in piece.copies)
            return Step(piece.turns, piece.release, end, jobs, full=full)
        (copy,) = piece.copies
        full = self.worth[copy.job][copy.configuration] * copy.done
        last = self.shop.deadline[copy.job]
        assert last is not None
        return Step(piece.turns, piece.release, last, jobs, rate=full // piece.turns, full=full)

    def lives(self, c: int, prices: Floats) -> tuple[float, list[Column]]:
        """(what the best life gains, it and what is left of it with no more copies of a job than there are), at prices in costs."""
        walks = self.walks[c]
        own = prices / self.unit
        top = max(1.0, float(np.abs(own).max(initial=0.0)))
        scale = 1 << max(0, min(12, PRICE_BITS - int(np.ceil(np.log2(top)))))
        whole = np.array([round(float(price) * scale) for price in own], dtype=np.int64)
        if not self.cut and self.weight and self.shop.objective is Objective.COMPLETION:
            whole = np.minimum(whole, np.array(self.weight, dtype=np.int64) * scale * self.horizon)
        gain, way = walks.best(whole, scale)
        life = self._trimmed([(self.pieces[c][walks.kept[i]], turns) for _, i, turns in way])
        columns = [self.column(c, life)] if life else []
        if self.layers:
            columns += [self.column(c, wider) for wider in self._layered(c, life, prices)]
        gained = gain / scale * self.unit
        if self.relays:
            for more, piece in self._relayed(c, prices):
                gained = max(gained, more)
                columns.append(self.column(c, ((0, piece),)))
        return gained, columns

    def _relayed(self, c: int, prices: Floats) -> list[tuple[float, Piece]]:
        """Relays and what they gain."""
        weights = np.zeros(len(prices))
        if self.shop.objective is Objective.COMPLETION:
            weights = np.array([float(weight) for weight in self.shop.weights]) * self.factor
        return self.relays[c].best(prices, weights, self.horizon, RELAYS)

    def _layered(self, c: int, life: Life, prices: Floats) -> list[Life]:
        """The life with the best fillers on a second track."""
        layers = self.layers[c]
        if any(len(piece.copies) > 1 or piece.mode not in layers.number for _, piece in life):
            return []
        hosts = hosts_of(layers, life, self.horizon)
        jobs = [job for job, _ in layers.kinds]
        own = prices[jobs] / self.factor if jobs else np.zeros(0)
        weights = np.zeros(len(jobs))
        if self.shop.objective is Objective.COMPLETION:
            weights = np.array([float(self.shop.weights[job]) for job in jobs])
        elif self.cut:
            own = own + np.array([float(self.shop.worth[j][k]) * (self.shop.wanted[j] or 0) for j, k in layers.kinds])
        _, fills = layers.track(hosts, own, weights)
        left = [n - m for n, m in zip(self.shop.copies, used(life, len(self.shop.copies)), strict=True)]
        kept = []
        for fill in fills:
            job = jobs[fill.filler]
            if left[job] > 0:
                left[job] -= 1
                kept.append(fill)
        return [((0, layered_piece(self.shop, layers, life, kept)),)] if kept else []

    def _trimmed(self, way: Sequence[tuple[Piece, int]]) -> Life:
        left = list(self.shop.copies)
        chosen = []
        for piece, turns in way:
            numbers = [copy.job for copy in piece.copies]
            if any(left[job] < numbers.count(job) for job in numbers):
                continue
            for job in numbers:
                left[job] -= 1
            short = self.cut and turns < piece.turns and len(piece.copies) == 1
            chosen.append(single_piece(self.shop, piece.mode, turns) if short else piece)
        return settled(chosen)

    def column(self, c: int, life: Life) -> Column:
        """A life with what it does and costs."""
        jobs = len(self.shop.copies)
        cost = self.shop.cost(life) * (1 if self.cut else self.factor) + self.each
        return Column(c, np.array(used(life, jobs), dtype=np.float64), float(cost), life)
