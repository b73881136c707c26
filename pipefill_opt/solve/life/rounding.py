"""From fractions of lives to whole numbers of devices."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

import numpy as np
from numpy.typing import NDArray

from pipefill_opt.fill.problem import Objective
from pipefill_opt.solve.life.dispatch import Offers, dispatch, grouped
from pipefill_opt.solve.life.generation import Column, Master, Oracle
from pipefill_opt.solve.life.shop import Life, Lives, Shop, single_piece
from pipefill_opt.solve.watch import Watch

Floats = NDArray[np.float64]
ROUNDS: Final = 6
"""Rounds of new lives after each fixing."""
NEAR: Final = 1e-6


def dive(shop: Shop, master: Master, oracle: Oracle, offers: Offers, watch: Watch) -> list[Lives] | None:
    """Whole lives: what the LP wants in whole numbers is fixed, then the largest part of a life, and so on; what is left is dispatched.

    None if a copy fits nowhere.
    """
    copies, counts = master.copies.copy(), master.counts.copy()
    fixed: list[Lives] = []
    while copies.sum() > 0 and counts.sum() > 0:
        chosen = _fix(master, copies, counts)
        if not chosen:
            break
        fixed += chosen
        fitting = [column for column in master.columns if column.life and (column.usage <= copies).all()]
        master = Master(copies.copy(), counts.copy(), master.missing, [c for c in fitting if counts[c.class_index] > 0])
        if watch.ended() is None:
            master.generate(oracle, watch, rounds=ROUNDS, gap=1e-3)
        if not master.relax():
            break
    return complete(shop, fixed, copies, counts, offers)


def _fix(master: Master, copies: Floats, counts: Floats) -> list[Lives]:
    """Take whole numbers of lives out of copies and counts: all whole parts, or else the life with the largest part that fits."""
    chosen = []
    order = np.argsort(-master.amounts, kind="stable")
    for k in order:
        number = _fit(master.columns[k], float(np.floor(master.amounts[k] + NEAR)), copies, counts)
        if number:
            chosen.append(_take(master.columns[k], number, copies, counts))
    if chosen:
        return chosen
    for k in order:
        if master.amounts[k] <= NEAR:
            break
        if _fit(master.columns[k], 1.0, copies, counts):
            return [_take(master.columns[k], 1, copies, counts)]
    return []


def _fit(column: Column, wanted: float, copies: Floats, counts: Floats) -> int:
    """At most how many such lives fit what is left."""
    if wanted < 1 or column.life is None:
        return 0
    busy = column.usage > 0
    most = float((copies[busy] // column.usage[busy]).min()) if busy.any() else 0.0
    return int(min(wanted, most, counts[column.class_index]))


def _take(column: Column, number: int, copies: Floats, counts: Floats) -> Lives:
    copies -= number * column.usage
    counts[column.class_index] -= number
    assert column.life is not None
    return Lives(column.class_index, number, column.life)


def complete(shop: Shop, fixed: Sequence[Lives], copies: Floats, counts: Floats, offers: Offers) -> list[Lives] | None:
    """The fixed lives with the copies that are left behind them or on empty devices."""
    if not copies.sum():
        return list(fixed)
    ready: list[list[Life]] = [[()] * int(count) for count in counts]
    for entry in fixed:
        ready[entry.class_index] += [entry.life] * entry.count
    lives = dispatch(shop, offers, [int(number) for number in copies], ready)
    return None if lives is None else grouped(lives)


def with_endless(shop: Shop, lives: Sequence[Lives] | None) -> list[Lives] | None:
    """For the on-time value: the lives with all copies without deadline behind them."""
    free = {j for j, deadline in enumerate(shop.deadline) if deadline is None}
    if lives is None or shop.objective is not Objective.ON_TIME or not free:
        return None if lives is None else list(lives)
    offers: Offers = {}
    for c, modes in enumerate(shop.modes):
        for mode in modes:
            job = mode.residents[0][0]
            if job in free:
                offers.setdefault(job, []).append((c, single_piece(shop, mode)))
    copies = np.array([number if j in free else 0 for j, number in enumerate(shop.copies)], dtype=np.float64)
    left = np.array(shop.counts, dtype=np.float64)
    for entry in lives:
        left[entry.class_index] -= entry.count
    return complete(shop, lives, copies, left, offers)
