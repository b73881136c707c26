"""Makespan: the least number of units by which all copies can be done. Bounds by horizons that are too short, plans by horizons that do.

A horizon N is too short if at some prices the copies are worth more than what all devices can gain by then. Prices come from the linear
program of Lenstra, Shmoys and Tardos (Math. Programming 46, 1990): copies to classes, none where it takes longer than N alone, the
least common load; then from column generation over lives that end by N, where these bound a class (`bounds`).
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from fractions import Fraction
from typing import Final

import numpy as np
from numpy.typing import NDArray

from pipefill_opt.fill.problem import FillProblem
from pipefill_opt.solve.life.bounds import Bounds
from pipefill_opt.solve.life.dispatch import Offers
from pipefill_opt.solve.life.enrich import enrich
from pipefill_opt.solve.life.generation import Answer, Column, Master
from pipefill_opt.solve.life.incumbent import Incumbent
from pipefill_opt.solve.life.pricing import Pricing
from pipefill_opt.solve.life.relay import relays_of, relays_suffice
from pipefill_opt.solve.life.rounding import dive
from pipefill_opt.solve.life.shares import Shares
from pipefill_opt.solve.life.shop import Lives, Piece, Shop, ends
from pipefill_opt.solve.life.turns import Turns
from pipefill_opt.solve.linear import INFINITE, LinearProgram, LinearStatus, minimize

Floats = NDArray[np.float64]
MARKS: Final = 12
"""Most release dates that the linear program tells apart."""
ROUNDS: Final = 150
FEW: Final = 10
ENRICHED: Final = 3
PARTS: Final = 64
"""The first horizon that is tried is by one part in so many longer than the bound, so that there is a plan soon."""
FRUGAL: Final = Fraction(1, 64)
"""What a device costs that is used at all, while lives are rounded: spare devices take what does not fit."""
FULL: Final = 1 << 24
"""The largest price in a proof."""
COVERED: Final = 1e-7
CLOSE: Final = 1e-3
"""Gap of the LP over relays at which no more are generated."""
LOADS: Final = "Lenstra-Shmoys-Tardos linear program, prices checked exactly"
LIVES: Final = "column generation over lives that end in time, prices checked exactly"


def too_short(problem: FillProblem, shares: Shares, horizon: int, prices: Floats) -> bool:
    """Whether these prices prove that no plan ends by the horizon."""
    top = float(prices.max(initial=0.0))
    return top > 0 and Bounds(problem, shares, horizon).certain(prices * (FULL / top)) > 0


def least_horizon(problem: FillProblem, shares: Shares, most: int) -> int:
    """A horizon (at most `most`, which some plan keeps) that no plan beats, by linear programs; exact."""
    low = max(
        (
            -(-job.release // shares.unit) + min(of[j].alone for of in shares.of if j in of)
            for j, job in enumerate(problem.jobs)
        ),
        default=0,
    )
    high = most
    while low < high:
        middle = (low + high) // 2
        load, prices = loads(problem, shares, middle)
        proved = load > middle and too_short(problem, shares, middle, prices)
        if not proved:
            high = middle
            continue
        low = middle + 1
        further = min(high, int(load))  # with these prices the horizon may be longer still
        if further > low and too_short(problem, shares, further - 1, prices):
            low = further
    return low


def loads(problem: FillProblem, shares: Shares, horizon: int) -> tuple[float, Floats]:
    """(the least horizon of the linear program if a copy may go only where it can be done within `horizon`, prices of the copies)."""
    release = [-(-job.release // shares.unit) for job in problem.jobs]
    marks = sorted({0, *release})
    if len(marks) > MARKS:
        marks = [marks[len(marks) * k // MARKS] for k in range(MARKS)]
    jobs, parts = len(problem.jobs), len(marks)
    rows: list[int] = []
    columns: list[int] = []
    values: list[float] = []
    cost: list[float] = [1.0]
    for c in range(len(problem.devices)):
        rows.append(jobs + c * parts + parts - 1)
        columns.append(0)
        values.append(-float(problem.devices[c].count))
        for j, share in shares.of[c].items():
            if share.alone > horizon - release[j]:
                continue
            for i, mark in enumerate(marks):
                if i + 1 < parts and marks[i + 1] <= release[j]:
                    continue
                if mark > horizon:
                    break
                rows += [j, jobs + c * parts + i]
                columns += [len(cost)] * 2
                values += [1.0, float(share.share)]
                cost.append(0.0)
    lower = [float(job.copies) for job in problem.jobs]
    upper = [INFINITE] * jobs
    for device in problem.devices:
        for i, mark in enumerate(marks):
            lower.append(-INFINITE)
            last = i + 1 == parts
            upper.append(-float(device.count * mark) if last else float(device.count * (marks[i + 1] - mark)))
    found = minimize(
        LinearProgram(cost, rows, columns, values, lower, upper, [0.0] * len(cost), [INFINITE] * len(cost))
    )
    if found.status is LinearStatus.INFEASIBLE:  # some copy can go nowhere
        nowhere = np.array(
            [float(all(j not in of or of[j].alone > horizon - release[j] for of in shares.of)) for j in range(jobs)]
        )
        return INFINITE, nowhere
    if found.status is not LinearStatus.OPTIMAL:
        return 0.0, np.zeros(jobs)
    return found.value, np.maximum(found.duals[:jobs], 0.0)


class Shortest:
    """Plans of one H, and bounds where `shares` are in its turns, between horizons that are too short and the best plan."""

    def __init__(
        self,
        shop: Shop,
        shares: Shares | None,
        best: Incumbent,
        pieces: Sequence[list[Piece]],
        offers: Offers,
        turns: Sequence[Turns],
    ) -> None:
        self.shop = shop
        self.shares = shares
        self.best = best
        self.pieces = pieces
        self.offers = offers
        self.turns = turns
        self.lives: list[Lives] = []
        self.columns: list[Column] = []
        """Of all horizons so far."""
        self.watch = best.watch
        self.relays = relays_of(shop, turns)
        self.wide = bool(turns) and not relays_suffice(shop, self.relays)

    def search(self, low: int, start: Sequence[Lives]) -> None:
        """From about `low` on, which is not known to be too short, up to a horizon for which lives are found; then down by halves."""
        high = int(self.shop.total(start))
        self.lives = list(start)
        failed, step = low - 1, low // PARTS
        found = False
        while failed + 1 < high and not self.best.over():
            tried = (failed + high) // 2 if found else min(failed + 1 + step, high - 1)
            master = self.master(tried)
            if master.value <= COVERED:
                found = True
                high = min(high, self.rounded(master, tried))
                if high > tried:  # whole lives take longer
                    failed = tried
                continue
            if master.bound > COVERED and master.prices is not None:
                self.short(tried, master.prices)
            failed, step = tried, max(1, 2 * step)

    def short(self, horizon: int, prices: Floats) -> bool:
        """Whether no plan at all keeps this horizon, and not only none of these pieces."""
        if self.shares is None or not too_short(self.shop.compiled.problem, self.shares, horizon, prices):
            return False
        self.best.prove(Fraction((horizon + 1) * self.shares.unit), LIVES)
        return True

    def master(self, horizon: int) -> Master:
        """The lives that end by the horizon, generated until all copies are covered or cannot be."""
        shop = self.shop
        quick = [min((piece.turns for _, piece in self.offers[j]), default=1) for j in range(len(shop.copies))]
        copies, counts = np.array(shop.copies, dtype=np.float64), np.array(shop.counts, dtype=np.float64)
        master = Master(copies, counts, np.array(quick, dtype=np.float64))
        self.use(horizon)
        self.columns += [self.pricing.column(entry.class_index, entry.life) for entry in self.lives]
        master.columns = [column for column in self.columns if column.life and ends(column.life) <= horizon]
        old = len(master.columns)
        for number in range(1 + ENRICHED):
            if self.relays:  # then what lives gain is what was found, and no proof
                master.generate(self.oracle, self.watch, rounds=ROUNDS, gap=CLOSE, enough=COVERED)
            else:
                master.generate(self.oracle, self.watch, rounds=ROUNDS, gap=COVERED, target=COVERED, enough=COVERED)
            if master.value <= COVERED or number == ENRICHED or self.watch.ended() is not None:
                break
            if not self.wide or not enrich(shop, self.turns, self.pieces, master.own, horizon, times=1):
                break
            self.use(horizon)
            master.bound, master.prices = -INFINITE, None
        self.columns += master.columns[old:]
        return master

    def use(self, horizon: int) -> None:
        """Price lives up to the horizon, of all pieces there are."""
        self.pricing = Pricing(self.shop, self.pieces, horizon, 1, relays=self.relays)

    def oracle(self, c: int, prices: Floats) -> Answer:
        """The best life of a class."""
        gain, columns = self.pricing.lives(c, prices)
        return Answer(gain, tuple(columns))

    def rounded(self, master: Master, horizon: int) -> int:
        """The makespan of whole lives made of the LP's."""
        frugal = Master(master.copies, master.counts, master.missing)
        frugal.columns = [replace(column, cost=float(FRUGAL)) for column in master.columns]
        self.pricing.each = FRUGAL
        frugal.generate(self.oracle, self.watch, rounds=FEW, gap=COVERED)
        if not frugal.relax():
            return int(self.shop.total(self.lives))
        lives = dive(self.shop, frugal, self.oracle, self.offers, self.watch)
        if lives is None:
            return int(self.shop.total(self.lives))
        reached = int(self.shop.total(lives))
        if reached < int(self.shop.total(self.lives)):
            self.lives = lives
        self.best.keep(self.shop, lives, f"lives that end by {horizon} turns, rounded")
        return reached
