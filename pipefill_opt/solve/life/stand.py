"""Where copies stand: a closed turn leaves each copy at the operator at which it began, so that a copy stands there for its whole life.

The turns of a life must all be there from one position of each copy. Small numbers of copies: all positions are tried, copy by copy.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import product
from math import prod
from typing import Final

from pipefill_opt.solve.device import Compiled
from pipefill_opt.solve.life.menu import Menu, below
from pipefill_opt.solve.life.modes import Mode
from pipefill_opt.solve.life.order import Stretch, Task, Use
from pipefill_opt.solve.life.points import Points, Vector

MOST_TRIES: Final = 20_000

Stands = dict[int, tuple[tuple[int, int], int]]
"""By copy: its job and configuration, and its position."""


@dataclass(frozen=True, slots=True)
class Cast:
    """A use with its copies in the order of `Points`: by kind, then by position."""

    points: Points
    start: Vector
    laps: Vector
    copies: Vector


def cast(use: Use, stands: Stands) -> Cast | None:
    """The use from where its copies stand; None if it is not known to be there."""
    points = use.choice.points
    if points is None or any(stands[k][0] != kind for k, kind in zip(use.copies, use.choice.residents, strict=True)):
        return None
    slots = sorted(range(len(use.copies)), key=lambda s: (_rank(use, s), stands[use.copies[s]][1]))
    copies = tuple(use.copies[s] for s in slots)
    laps = tuple(use.choice.laps[s] for s in slots)
    start = tuple(stands[k][1] for k in copies)
    if not any(below(laps, point) for point in points.of.get(start, ())):
        return None
    return Cast(points, start, laps, copies)


def _rank(use: Use, slot: int) -> int:
    """Slots of one kind follow each other; the first place of the kind."""
    return use.choice.kinds.index(use.choice.kinds[slot])


def stand(compiled: Compiled, stretches: Sequence[Stretch]) -> tuple[Stands, int]:
    """(where copies stand best, turns that are not there then)."""
    kinds: dict[int, tuple[int, int]] = {}
    for stretch in stretches:
        for k, kind in zip(stretch.use.copies, stretch.use.choice.residents, strict=True):
            kinds.setdefault(k, kind)
    order = list(kinds)
    best: tuple[int, Stands] | None = None
    tries = 0

    def place(number: int, stands: Stands, lost: int) -> None:
        nonlocal best, tries
        if (best is not None and lost >= best[0]) or tries > MOST_TRIES:
            return
        if number == len(order):
            best = (lost, dict(stands))
            return
        copy = order[number]
        job, configuration = kinds[copy]
        for position in range(len(compiled.problem.jobs[job].configurations[configuration].operators)):
            tries += 1
            stands[copy] = (kinds[copy], position)
            more = sum(
                stretch.turns
                for stretch in stretches
                if copy in stretch.use.copies
                and all(k in stands for k in stretch.use.copies)
                and cast(stretch.use, stands) is None
            )
            place(number + 1, stands, lost + more)
            del stands[copy]

    place(0, {}, 0)
    assert best is not None
    return best[1], best[0]


def all_stands(compiled: Compiled, menu: Menu, tasks: Sequence[Task], most: int) -> list[Stands]:
    """All ways in which copies can stand; none if there are more than `most`."""
    places: list[list[tuple[tuple[int, int], int]]] = []
    for task in tasks:
        kinds = [(kind.job, kind.configuration) for kind in menu.kinds if kind.job == task.job]
        sizes = [len(compiled.problem.jobs[job].configurations[k].operators) for job, k in kinds]
        places.append([(kind, p) for kind, size in zip(kinds, sizes, strict=True) for p in range(size)])
    if prod(map(len, places)) > most:
        return []
    return [dict(enumerate(way)) for way in product(*places)]


def allowed(entries: Sequence[Use], stands: Stands) -> list[Use]:
    """The uses that are there, from where the copies stand."""
    return [use for use in entries if all(k in stands for k in use.copies) and cast(use, stands) is not None]


class Modes:
    """Modes of casts, each with its plan, made once."""

    def __init__(self, menu: Menu) -> None:
        self.menu = menu
        self._known: dict[tuple[int, Vector, Vector], Mode] = {}

    def of(self, entry: Cast) -> Mode:
        """The mode of a cast."""
        key = (id(entry.points), entry.start, entry.laps)
        if key not in self._known:
            plan = entry.points.plan(entry.start, entry.laps)
            self._known[key] = Mode(self.menu.c, entry.points.device, entry.laps, plan=plan, start=entry.start[0])
        return self._known[key]
