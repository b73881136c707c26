"""Pieces of modes of several slots: every slot works off one copy after the other, for as long as that wastes little."""

from __future__ import annotations

from typing import Final

from pipefill_opt.fill.problem import Objective
from pipefill_opt.solve.life.modes import Mode
from pipefill_opt.solve.life.shop import Copy, Piece, Shop

MOST: Final = 64
"""Most copies of one slot in a piece."""
BEST: Final = 12
SHORTEST: Final = 4
"""Lengths of a mode that are offered: the least wasteful, and the shortest."""


def shared_pieces(shop: Shop, mode: Mode, horizon: int, worth: list[float]) -> list[Piece]:
    """Pieces of a mode up to the horizon. worth: of a lap, by job, for how much of the mode's time is wasted."""
    spans = []
    for s, (job, _) in enumerate(mode.residents):
        wanted = shop.wanted[job]
        if wanted is None:
            return []
        spans.append(mode.turns(s, wanted))
    lengths = sorted({k * span for span in spans for k in range(1, min(MOST, horizon // span) + 1)})
    rates = [worth[job] * laps for (job, _), laps in zip(mode.residents, mode.laps, strict=True)]
    offers = []
    for length in lengths:
        if any(length < span for span in spans):
            continue  # a slot that finishes nothing may as well be absent
        done = sum(rate * (length // span) * span for rate, span in zip(rates, spans, strict=True))
        offers.append((done / (length * max(sum(rates), 1e-300)), length))
    chosen = {length for _, length in offers[:SHORTEST]}
    offers.sort(key=lambda offer: (-offer[0], offer[1]))
    chosen |= {length for _, length in offers[:BEST]}
    return [piece for length in sorted(chosen) if (piece := _piece(shop, mode, length, spans)) is not None]


def _piece(shop: Shop, mode: Mode, length: int, spans: list[int]) -> Piece | None:
    copies = []
    release = 0
    for s, ((job, configuration), span) in enumerate(zip(mode.residents, spans, strict=True)):
        wanted = shop.wanted[job]
        assert wanted is not None
        number = min(length // span, shop.copies[job])
        copies += [Copy(s, job, configuration, k * span, (k + 1) * span, wanted, mode.laps[s]) for k in range(number)]
        release = max(release, shop.release[job])
        deadline = shop.deadline[job]
        if shop.objective is Objective.ON_TIME and (deadline is None or release + span > deadline):
            return None
    for job in {copy.job for copy in copies}:
        if sum(copy.job == job for copy in copies) > shop.copies[job]:
            return None
    return Piece(mode, length, tuple(copies), release)
