"""List scheduling: copies in an order of urgency, each where it completes first (or is worth most). The first incumbent."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Sequence
from fractions import Fraction
from heapq import heapify, heapreplace

from pipefill_opt.fill.problem import Objective
from pipefill_opt.solve.life.shop import Life, Lives, Piece, Shop, settled

Offers = dict[int, list[tuple[int, Piece]]]
"""By job: (class, its quickest piece there)."""


def dispatch(
    shop: Shop, offers: Offers, copies: Sequence[int], ready: Sequence[Sequence[Life]]
) -> list[list[Life]] | None:
    """Devices' lives after placing so many copies of each job behind the lives in `ready` (by class, one a device); None if a copy
    fits nowhere. Copies without on-time value are left out."""
    heaps = [[(_free_at(life), number) for number, life in enumerate(devices)] for devices in ready]
    for heap in heaps:
        heapify(heap)
    pieces: list[dict[int, list[Piece]]] = [{} for _ in ready]
    for job in sorted(
        (j for j, number in enumerate(copies) if number), key=lambda j: urgency(shop, offers.get(j, []), j)
    ):
        for _ in range(copies[job]):
            best = _place(shop, heaps, offers.get(job, []))
            if best is None:
                if shop.objective is Objective.ON_TIME:
                    break
                return None
            _, c, piece = best
            free, number = heaps[c][0]
            heapreplace(heaps[c], (max(free, piece.release) + piece.turns, number))
            pieces[c].setdefault(number, []).append(piece)
    return [
        [
            arranged(shop, [piece for _, piece in life] + pieces[c][number]) if number in pieces[c] else life
            for number, life in enumerate(devices)
        ]
        for c, devices in enumerate(ready)
    ]


def _place(
    shop: Shop, heaps: Sequence[list[tuple[int, int]]], places: Sequence[tuple[int, Piece]]
) -> tuple[float, int, Piece] | None:
    """(badness, class, piece) of the best place for one copy."""
    best: tuple[float, int, Piece] | None = None
    for c, piece in places:
        if not heaps[c]:
            continue
        start = max(heaps[c][0][0], piece.release)
        if shop.objective is Objective.ON_TIME:
            copy = piece.copies[0]
            worth = shop.in_time(start, piece, copy) * float(shop.worth[copy.job][copy.configuration])
            if worth <= 0:
                continue
            badness: float = -worth
        else:
            badness = start + piece.turns
        if best is None or badness < best[0]:
            best = (badness, c, piece)
    return best


def urgency(shop: Shop, places: Sequence[tuple[int, Piece]], job: int) -> tuple[Fraction, int]:
    """What is placed first: for the makespan the longest, else what is worth most per turn; early releases before late ones."""
    shortest = min((piece.turns for _, piece in places), default=1)
    if shop.objective is Objective.MAKESPAN:
        return (Fraction(-shortest), job)
    if shop.objective is Objective.COMPLETION:
        return (-shop.weights[job] / shortest, job)
    worth = max(
        (shop.on_time(piece.release, piece, piece.copies[0]) / piece.turns for _, piece in places), default=Fraction(0)
    )
    return (-worth, job)


def _free_at(life: Life) -> int:
    return life[-1][0] + life[-1][1].turns if life else 0


def arranged(shop: Shop, pieces: Iterable[Piece]) -> Life:
    """The pieces on one device in a good order: of those released, the most weight per turn, or the first deadline."""
    waiting = sorted(pieces, key=lambda piece: _rank(shop, piece))
    clock, order = 0, []
    while waiting:
        chosen = next((piece for piece in waiting if piece.release <= clock), None)
        if chosen is None:
            clock = min(piece.release for piece in waiting)
            continue
        waiting.remove(chosen)
        order.append(chosen)
        clock += chosen.turns
    return settled(order)


def _rank(shop: Shop, piece: Piece) -> Fraction | float:
    if piece.parts:
        return -float("inf")
    if shop.objective is Objective.COMPLETION:
        return -sum((shop.weights[copy.job] for copy in piece.copies), Fraction(0)) / piece.turns
    if shop.objective is Objective.ON_TIME:
        deadlines = [shop.deadline[copy.job] for copy in piece.copies]
        return min((float("inf") if deadline is None else deadline for deadline in deadlines), default=float("inf"))
    return piece.release


def grouped(lives: Sequence[Sequence[Life]]) -> list[Lives]:
    """Equal lives of a class as one entry; empty ones are left out."""
    found = []
    for c, devices in enumerate(lives):
        for life, number in Counter(devices).items():
            if life:
                found.append(Lives(c, number, life))
    return found
