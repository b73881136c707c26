"""More pieces of several slots where prices say that they are wanted: turns that gain most at some times, as modes."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

import numpy as np
from numpy.typing import NDArray

from pipefill_opt.fill.problem import Objective
from pipefill_opt.solve.life.modes import Mode
from pipefill_opt.solve.life.shared import shared_pieces
from pipefill_opt.solve.life.shop import Piece, Shop
from pipefill_opt.solve.life.turns import Turns

Floats = NDArray[np.float64]
TIMES: Final = 8
"""Times at which turns are priced."""
SEARCHES: Final = 4
"""Searches of devices a class and time."""
MODES: Final = 6
"""Modes a class and time."""
BITS: Final = 32


def enrich(
    shop: Shop, turns: Sequence[Turns], pieces: Sequence[list[Piece]], prices: Floats, last: int, times: int = TIMES
) -> int:
    """Add pieces to those of each class, at the prices of copies; how many are new. last: the turn by which most is done."""
    if not len(prices):
        return 0
    known = {(c, piece.mode.residents, piece.mode.laps) for c, own in enumerate(pieces) for piece in own}
    found = 0
    for c, own in enumerate(turns):
        for k in range(times):
            time = last * k // times
            worth = lap_worth(shop, prices, time)
            top = float(worth.max(initial=0.0))
            if own.watch.ended() is not None or top <= 0:
                break
            whole = (worth / top * (1 << BITS)).astype(np.int64)
            _, modes = own.best(whole[own.jobs], SEARCHES)
            for mode in modes[:MODES]:
                key = (c, mode.residents, mode.laps)
                if key not in known and _gains(mode, worth):
                    known.add(key)
                    new = shared_pieces(shop, mode, last, [float(value) for value in worth])
                    pieces[c].extend(new)
                    found += len(new)
    return found


def _gains(mode: Mode, worth: Floats) -> bool:
    """Whether every slot has something to gain."""
    return len(mode.laps) > 1 and all(worth[job] > 0 for job, _ in mode.residents)


def lap_worth(shop: Shop, prices: Floats, time: int) -> Floats:
    """By job: what a lap in the turn `time` is worth at prices of copies."""
    worth = np.zeros(len(prices))
    for j, wanted in enumerate(shop.wanted):
        if shop.release[j] > time:
            continue
        if shop.objective is Objective.COMPLETION:
            assert wanted is not None
            worth[j] = max(0.0, float(prices[j]) - float(shop.weights[j]) * (time + 0.5)) / wanted
        elif shop.objective is Objective.ON_TIME:
            deadline = shop.deadline[j]
            if wanted is not None and deadline is not None and deadline > time:
                worth[j] = max(0.0, float(max(shop.worth[j])) + float(prices[j]) / wanted)
        elif wanted is not None:
            worth[j] = float(prices[j]) / wanted
    return worth
