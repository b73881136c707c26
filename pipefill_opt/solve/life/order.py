"""One device and the copies it works off, in a given order of completion: the best life, as an integer program over turns.

Time is cut at releases and deadlines into *epochs*, and where a copy completes into *phases*. Turns of one phase in one epoch may change
places, so that only their numbers count. The copies of a phase are done at its end.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import pairwise, product
from math import prod
from typing import Final

import numpy as np

from pipefill_opt.solve.life.menu import Choice, Menu
from pipefill_opt.solve.life.points import Vector
from pipefill_opt.solve.program import Program, Row

Laps = tuple[int, ...]
MOST_WAYS: Final = 10_000
"""Most ways to put copies into the slots of all turns."""


@dataclass(frozen=True, slots=True)
class Task:
    """One copy: its job, the iterations wanted, first and last turn in which it may work (None: no end)."""

    job: int
    wanted: int
    release: int
    deadline: int | None


@dataclass(frozen=True, slots=True, eq=False)
class Use:
    """A choice with the copies (indices of tasks) in its slots, and the laps of each task."""

    choice: Choice
    copies: Vector
    laps: Laps


@dataclass(frozen=True, slots=True)
class Stretch:
    """`turns` turns from turn `begin` on with the same use."""

    begin: int
    turns: int
    use: Use


def uses(menu: Menu, tasks: Sequence[Task], *, most: int | None = None) -> list[Use] | None:
    """All turns with these copies, of at most so many slots; slots of one kind take copies in order. None: too many."""
    found: list[Use] = []
    own: dict[int, list[int]] = {}
    for k, task in enumerate(tasks):
        own.setdefault(task.job, []).append(k)
    choices = [choice for choice in menu.choices if most is None or len(choice.jobs) <= most]
    if sum(prod(len(own.get(job, ())) for job in choice.jobs) for choice in choices) > MOST_WAYS:
        return None
    for choice in choices:
        for copies in product(*(own.get(job, ()) for job in choice.jobs)):
            if len(set(copies)) < len(copies) or any(
                a == b and j > k for (a, j), (b, k) in pairwise(zip(choice.kinds, copies, strict=True))
            ):
                continue
            laps = [0] * len(tasks)
            for copy, number in zip(copies, choice.laps, strict=True):
                laps[copy] = number
            found.append(Use(choice, copies, tuple(laps)))
    return found


def undominated(entries: Sequence[Use]) -> list[Use]:
    """Those without a use that does no less of each copy."""
    ordered = sorted(entries, key=lambda use: -sum(use.laps))
    laps = np.array([use.laps for use in ordered], dtype=np.int64)
    kept = np.zeros(len(ordered), dtype=np.bool_)
    for n in range(len(ordered)):
        kept[n] = not (laps[:n][kept[:n]] >= laps[n]).all(axis=1).any()
    return [use for use, stays in zip(ordered, kept.tolist(), strict=True) if stays]


class Line:
    """Copies by phase: those of phases[p] complete by its end, which costs costs[p] a turn; no more than `worst` in all.

    horizon: no turn is later. The program maximises what is left of `worst`.
    """

    def __init__(
        self,
        tasks: Sequence[Task],
        entries: Sequence[Use],
        phases: Sequence[Sequence[int]],
        costs: Sequence[int],
        horizon: int,
        worst: int,
    ) -> None:
        self.tasks = tasks
        self.worst = worst
        self.phases = phases
        self.costs = costs
        self.phase_of = {k: p for p, own in enumerate(phases) for k in own}
        starts = sorted({0, *(task.release for task in tasks)})
        self.epochs = list(pairwise((*starts, max(horizon, starts[-1] + 1))))
        self.rows: list[Row] = []
        self.cost: list[int] = []
        self.upper: list[int] = []
        self.run: dict[tuple[int, int], list[tuple[Use | None, int]]] = {}
        for e, (start, end) in enumerate(self.epochs):
            for p in range(len(phases)):
                fitting = [
                    use
                    for use in entries
                    if all(self.phase_of[k] >= p and tasks[k].release <= start for k in use.copies)
                ]
                own = [(use, self._variable(p, end - start)) for use in undominated(fitting)]
                self.run[p, e] = [*own, (None, self._variable(p, end - start))]
        self._demands()
        self._time()
        spent = [(j, cost) for j, cost in enumerate(self.cost) if cost]
        saved = self._variable_of(0, worst)
        self._row([*spent, (saved, 1)], worst)
        self.program = Program((0,) * saved + (1,), tuple(self.upper), tuple(self.rows))

    def _variable(self, phase: int, upper: int) -> int:
        """Turns in a phase delay it and all later ones."""
        return self._variable_of(sum(self.costs[phase:]), upper)

    def _variable_of(self, cost: int, upper: int) -> int:
        self.cost.append(cost)
        self.upper.append(upper)
        return len(self.cost) - 1

    def _row(self, terms: Sequence[tuple[int, int]], most: int) -> None:
        self.rows.append(Row(tuple(j for j, _ in terms), tuple(a for _, a in terms), None, most))

    def _demands(self) -> None:
        for k, task in enumerate(self.tasks):
            terms = [
                (j, -use.laps[k])
                for (p, _), own in self.run.items()
                if p <= self.phase_of[k]
                for use, j in own
                if use is not None and use.laps[k]
            ]
            self._row(terms, -task.wanted)

    def _time(self) -> None:
        """Epochs are full until all is done; a phase goes on after an epoch only where it, and none behind it, is not done in it."""
        count, last = len(self.phases), len(self.epochs) - 1
        done: dict[tuple[int, int], int] = {}
        for e, (start, end) in enumerate(self.epochs):
            turns = {p: [(j, 1) for _, j in self.run[p, e]] for p in range(count)}
            self._row([term for own in turns.values() for term in own], end - start)
            if e == last:
                break
            for p in range(count):
                done[p, e] = self._variable_of(0, 1)
                if p:  # no phase is done before the one in front of it, nor begun before that is done
                    self._row([(done[p, e], 1), (done[p - 1, e], -1)], 0)
                    self._row([*turns[p], (done[p - 1, e], start - end)], 0)
                if e:
                    self._row([(done[p, e - 1], 1), (done[p, e], -1)], 0)
            full = [(j, -1) for own in turns.values() for j, _ in own]
            self._row([*full, (done[count - 1, e], start - end)], start - end)
        for (p, e), switch in done.items():
            for later in range(e + 1, last + 1):
                size = self.epochs[later][1] - self.epochs[later][0]
                self._row([*((j, 1) for _, j in self.run[p, later]), (switch, size)], size)

    def stretches(self, point: Sequence[int]) -> list[Stretch]:
        """The turns of a point, in order of time."""
        return list(self._stretches(point))

    def _stretches(self, point: Sequence[int]) -> Iterator[Stretch]:
        for e, (clock, _) in enumerate(self.epochs):
            for p in range(len(self.phases)):
                for use, j in self.run[p, e]:
                    if use is not None and point[j]:
                        yield Stretch(clock, point[j], use)
                    clock += point[j]
