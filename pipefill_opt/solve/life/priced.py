"""Weighted completion and on-time value for one H: lives by column generation, whole devices by diving, bounds at the best prices."""

from __future__ import annotations

from collections.abc import Sequence
from fractions import Fraction
from typing import Final

import numpy as np
from numpy.typing import NDArray

from pipefill_opt.fill.problem import Objective
from pipefill_opt.solve.life.bounds import Bounds
from pipefill_opt.solve.life.dispatch import Offers
from pipefill_opt.solve.life.enrich import enrich
from pipefill_opt.solve.life.generation import Answer, Master, Oracle
from pipefill_opt.solve.life.incumbent import Incumbent
from pipefill_opt.solve.life.intervals import ORIGIN, interval_bound
from pipefill_opt.solve.life.layers import Layers
from pipefill_opt.solve.life.modes import Mode
from pipefill_opt.solve.life.pricing import Pricing
from pipefill_opt.solve.life.relay import relays_of, relays_suffice
from pipefill_opt.solve.life.rounding import dive, with_endless
from pipefill_opt.solve.life.shop import Lives, Piece, Shop, ends, single_piece
from pipefill_opt.solve.life.steps import MOST_STEPS
from pipefill_opt.solve.life.turns import Turns
from pipefill_opt.solve.life.whole import ORIGIN as WHOLE_LAPS
from pipefill_opt.solve.life.whole import usable, whole_bound, whole_prices

Floats = NDArray[np.float64]
ROUNDS: Final = 400
ENRICHED: Final = 3
"""Times that pieces of several slots are added at the LP's prices."""
FINE: Final = 2e-4
"""Gap of the LP at which no more lives are generated."""
TIGHT: Final = 0.99
"""A bound by whole laps that keeps so much of what its prices promise is as good as any other one."""
FLUID: Final = "fluid bound at prices of column generation"
WALKED: Final = "column generation over lives, prices checked exactly"


def pieces_of(shop: Shop) -> list[list[Piece]]:
    """Each mode of each class as a piece: all that is wanted, or as long as it counts."""
    return [[piece for mode in modes if (piece := _piece(shop, mode)) is not None] for modes in shop.modes]


def _piece(shop: Shop, mode: Mode) -> Piece | None:
    job = mode.residents[0][0]
    wanted, deadline = shop.wanted[job], shop.deadline[job]
    if shop.objective is Objective.ON_TIME:
        if deadline is None:
            return None
        turns = deadline - shop.release[job]
        if wanted is not None:
            turns = min(turns, mode.turns(0, wanted))
        return single_piece(shop, mode, turns) if turns > 0 else None
    return single_piece(shop, mode)


def offers_of(pieces: Sequence[Sequence[Piece]]) -> Offers:
    """The pieces of one copy, by job."""
    offers: Offers = {}
    for c, own in enumerate(pieces):
        for piece in own:
            if len(piece.copies) == 1:
                offers.setdefault(piece.copies[0].job, []).append((c, piece))
    return offers


def search_priced(
    shop: Shop,
    bounds: Bounds | None,
    best: Incumbent,
    horizon: int,
    start: Sequence[Lives],
    pieces: Sequence[list[Piece]],
    turns: Sequence[Turns],
) -> None:
    """Improve `best` with lives for this H. bounds: where given, in turns of this H, they are improved too. start: lives to begin with."""
    whole = bounds is not None and prove_whole(bounds, best, turns)
    master = _master(shop, horizon)
    relays = relays_of(shop, turns)
    wide = turns and not relays_suffice(shop, relays)
    layers = [Layers(shop, c) for c in range(len(shop.counts))] if wide and horizon <= MOST_STEPS else []
    pricing = Pricing(shop, pieces, horizon, 1, layers, relays)
    master.columns = [pricing.column(entry.class_index, entry.life) for entry in start]
    steer = bounds if wide or not relays else None
    oracle = _oracle(pricing, steer)
    last = max((ends(entry.life) for entry in start), default=1)
    for number in range(1 + ENRICHED):
        master.generate(oracle, best.watch, rounds=ROUNDS, gap=FINE)
        if bounds is not None and not whole and master.prices is not None:
            prove(bounds, best, master.prices)
        if best.over() or number == ENRICHED or not wide or not enrich(shop, turns, pieces, master.own, last):
            break
        pricing = Pricing(shop, pieces, horizon, 1, layers, relays)
        oracle = _oracle(pricing, steer)
    if not best.over() and master.relax():
        lives = dive(shop, master, oracle, offers_of(pieces), best.watch)
        best.keep(shop, with_endless(shop, lives), "lives rounded")
    if bounds is None or best.over() or whole:
        return
    if master.prices is not None:
        polish(bounds, best, master)
    if not best.over() and shop.objective is Objective.COMPLETION:
        least = interval_bound(bounds, last, best.watch.left().time)
        if least is not None:
            best.prove(least * bounds.shares.unit, ORIGIN)


def _master(shop: Shop, horizon: int) -> Master:
    """The LP over lives, without any yet."""
    copies = np.array(shop.copies, dtype=np.float64)
    missing: Floats | None = None
    if shop.objective is Objective.COMPLETION:
        missing = np.array([float(weight) for weight in shop.weights]) * horizon
    else:
        copies *= np.array([deadline is not None for deadline in shop.deadline])
    return Master(copies, np.array(shop.counts, dtype=np.float64), missing)


def _oracle(pricing: Pricing, bounds: Bounds | None) -> Oracle:
    """Lives made of pieces; and what no life of any plan gains more than, where bounds are to steer.

    Where relays suffice bounds are too far away for that: what was found has to do, and `polish` finds the bounds' own prices.
    """

    def oracle(c: int, prices: Floats) -> Answer:
        gain, columns = pricing.lives(c, prices)
        if bounds is not None:
            gain = bounds.oracle(c, prices).gain
        return Answer(gain, tuple(columns))

    return oracle


def prove_whole(bounds: Bounds, best: Incumbent, turns: Sequence[Turns]) -> bool:
    """The bound by whole laps in every turn; whether there is one that others need not be tried beside."""
    if not turns or best.over() or not usable(bounds):
        return False
    found = whole_prices(bounds, turns, best.watch)
    least = None if found is None else whole_bound(bounds, *found, best.watch)
    if found is None or least is None:
        return False
    conclude(bounds, best, least, WHOLE_LAPS)
    tight = float(least / bounds.unit) >= TIGHT * found[1].bound
    return tight and all(walks is None for walks in bounds.walks)


def polish(bounds: Bounds, best: Incumbent, before: Master) -> None:
    """Better prices for the bound itself, where its gains are not those of lives: column generation over what the bound allows."""
    if all(walks is not None for walks in bounds.walks):
        return
    master = Master(before.copies, before.counts, before.missing, prices=before.prices)
    assert before.prices is not None
    master.columns = [column for c in range(len(before.counts)) for column in bounds.oracle(c, before.prices).columns]
    master.generate(bounds.oracle, best.watch, rounds=ROUNDS, gap=FINE)
    if master.prices is not None:
        prove(bounds, best, master.prices)


def prove(bounds: Bounds, best: Incumbent, prices: Floats) -> None:
    """The bound at these prices, exact, in the objective's own measure."""
    origin = WALKED if all(walks is not None for walks in bounds.walks) else FLUID
    conclude(bounds, best, bounds.certain(prices), origin)


def conclude(bounds: Bounds, best: Incumbent, least: Fraction, origin: str) -> None:
    """No plan costs less than `least`: in the objective's own measure."""
    if best.minimised:
        best.prove(least * bounds.shares.unit, origin)
    else:
        best.prove(-least + always(bounds), origin)


def always(bounds: Bounds) -> Fraction:
    """The on-time value of copies without deadline: all of it can be had, behind everything else."""
    total = Fraction(0)
    for j, job in enumerate(bounds.problem.jobs):
        if job.deadline is None and job.iterations is not None:
            configurations = {k for of in bounds.shares.of if j in of for k, _, _ in of[j].kinds}
            top = max((bounds.worth[j][k] for k in configurations), default=0)
            total += job.copies * job.iterations * top * bounds.unit
    return total
