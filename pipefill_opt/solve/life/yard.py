"""What each number of copies costs one device of a class, for small queues: bounds of all numbers at once, lives of single ones.

Costs are whole: turns for the makespan, weight x turns for the completion, minus the value for the on-time value (`due`). A linear program
for one number gives prices of laps, and these bound all others: no turn is worth more than the best of the menu, in whole numbers.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from heapq import heappop, heappush
from typing import Final

import numpy as np
from numpy.typing import NDArray

from pipefill_opt.solve.life.lattice import NEVER, Ints, Lattice
from pipefill_opt.solve.life.menu import Menu
from pipefill_opt.solve.life.order import Line, Stretch, Task, Use, uses
from pipefill_opt.solve.linear import INFINITE, LinearProgram, LinearStatus, minimize
from pipefill_opt.solve.program import Answer, Maximize, Program
from pipefill_opt.solve.result import Reason
from pipefill_opt.solve.watch import Watch

PRICE: Final = 1 << 24
WORK: Final = 4.0
"""Deterministic time of one integer program."""
FAR: Final = 2**30
"""More turns than any life has."""


@dataclass(frozen=True, slots=True)
class Known:
    """The best life found for some copies: its cost, and what it does."""

    cost: int
    tasks: tuple[Task, ...]
    stretches: tuple[Stretch, ...]


class Yard(ABC):
    """One class. low: by number of the lattice, no life of these copies costs less; exact: the known one costs just that.

    dead: a device that takes exactly these copies is of no use (they may be part of what another one takes).
    """

    def __init__(self, menu: Menu, lattice: Lattice, search: Maximize, watch: Watch) -> None:
        self.menu = menu
        self.lattice = lattice
        self.search = search
        self.watch = watch
        jobs = len(lattice.copies)
        self.most: Ints = np.zeros(jobs, dtype=np.int64)
        for choice in menu.choices:
            for job, number in zip(choice.jobs, choice.laps, strict=True):
                self.most[job] = max(int(self.most[job]), number)
        self.low: Ints = np.zeros(lattice.size, dtype=np.int64)
        self.exact: NDArray[np.bool_] = np.zeros(lattice.size, dtype=np.bool_)
        self.exact[0] = True
        self.dead: NDArray[np.bool_] = np.zeros(lattice.size, dtype=np.bool_)
        self.known: dict[int, Known] = {0: Known(0, (), ())}
        self.cuts: set[int] = {0}

    def open(self) -> Ints:
        """Bounds of what is of use."""
        return np.where(self.dead, NEVER, self.low)

    @abstractmethod
    def refresh(self) -> None:
        """Bring the bounds up to date after cuts."""

    @abstractmethod
    def cut(self, number: int) -> bool:
        """Bound all numbers by prices that fit this one; False if that was done before."""

    @abstractmethod
    def again(self, number: int, allowed: Sequence[Use]) -> tuple[Known | None, int]:
        """(a life of these copies, which have a known one, that has only turns that are allowed; no such life costs less)."""

    def replace(self, number: int, best: Known, bound: int) -> None:
        """The best life of these copies is another one, and none costs less than the bound."""
        self.known[number] = best
        self.low[number] = max(int(self.low[number]), bound)
        self.exact[number] = int(self.low[number]) == best.cost

    @abstractmethod
    def settle(self, number: int, worst: int) -> None:
        """Search for the best life of these copies, unless it costs more than `worst`."""

    def within(self, program: Program) -> Answer:
        """The answer of an integer program within the limits."""
        return self.search(program, replace(self.watch.left(), work=WORK), None)


class Finish(Yard):
    """All copies are finished. wanted, release, weight by job; weight None: the makespan."""

    def __init__(
        self,
        menu: Menu,
        lattice: Lattice,
        search: Maximize,
        watch: Watch,
        wanted: Sequence[int],
        release: Sequence[int],
        weight: Sequence[int] | None,
    ) -> None:
        super().__init__(menu, lattice, search, watch)
        self.wanted: Ints = np.array(wanted, dtype=np.int64)
        self.release: Ints = np.array(release, dtype=np.int64)
        self.weight = weight
        shape = (len(menu.choices), len(wanted))
        self.laps: Ints = np.zeros(shape, dtype=np.int64)
        self.slots: Ints = np.zeros(shape, dtype=np.int64)
        for row, choice in enumerate(menu.choices):
            for job, number in zip(choice.jobs, choice.laps, strict=True):
                self.laps[row, job] += number
                self.slots[row, job] += 1
        alone = -(-self.wanted // np.maximum(self.most, 1)) + self.release
        self.turns: Ints = ((lattice.counts > 0) * alone).max(axis=1, initial=0)
        able = (lattice.counts[:, self.most == 0] == 0).all(axis=1)
        self.turns = np.where(able, self.turns, NEVER)
        self.floor: Ints = np.zeros(lattice.size, dtype=np.int64)
        self.refresh()

    def refresh(self) -> None:
        """Bounds of costs from those of turns and from costs known: whoever completes last does so no sooner than all can be done."""
        if self.weight is None:
            self.low = np.maximum(self.turns, self.floor)
            return
        low = np.full(self.lattice.size, NEVER, dtype=np.int64)
        low[0] = 0
        for level in self.lattice.levels():
            best = np.full(len(level), NEVER, dtype=np.int64)
            for job, stride in enumerate(self.lattice.strides):
                has = self.lattice.counts[level, job] > 0
                own = level[has]
                last = self.weight[job] * np.minimum(self.turns[own], FAR)
                best[has] = np.minimum(best[has], low[own - stride] + last)
            low[level] = np.where(self.turns[level] >= NEVER, NEVER, np.maximum(best, self.floor[level]))
        self.low = low

    def cut(self, number: int) -> bool:
        if number in self.cuts:
            return False
        self.cuts.add(number)
        counts = self.lattice.counts[number]
        for threshold in sorted({int(r) for r in self.release[counts > 0]}):
            prices = self._prices(counts * (self.release >= threshold))
            if prices is not None:
                self._bound(prices)
        return True

    def _prices(self, counts: Ints) -> Ints | None:
        """Prices of laps, in whole numbers, at which these copies are dear."""
        jobs = np.flatnonzero(counts)
        rows = np.flatnonzero((self.slots <= counts).all(axis=1))
        if not len(rows):
            return None
        matrix = self.laps[np.ix_(rows, jobs)]
        columns, places = np.nonzero(matrix)
        answer = minimize(
            LinearProgram(
                cost=np.ones(len(rows)),
                rows=places,
                columns=columns,
                values=matrix[columns, places].astype(np.float64),
                row_lower=(self.wanted * counts)[jobs].astype(np.float64),
                row_upper=np.full(len(jobs), INFINITE),
                lower=np.zeros(len(rows)),
                upper=np.full(len(rows), INFINITE),
            )
        )
        top = float(np.abs(answer.duals).max(initial=0.0))
        if answer.status is not LinearStatus.OPTIMAL or top <= 0:
            return None
        prices = np.zeros(len(counts), dtype=np.int64)
        prices[jobs] = np.maximum(0, np.rint(answer.duals / top * PRICE)).astype(np.int64)
        return prices

    def _bound(self, prices: Ints) -> None:
        """No number needs fewer turns than its laps are worth over the best turn; what is released later needs them later."""
        best = int((self.laps @ prices).max(initial=0))
        for threshold in sorted(set(self.release.tolist())) if best else ():
            total = self.lattice.counts @ (prices * self.wanted * (self.release >= threshold))
            self.turns = np.maximum(self.turns, np.where(total > 0, threshold - (-total // best), 0))

    def settle(self, number: int, worst: int) -> None:
        """The best life, by the orders of completion, each an integer program; first for the parts of these copies, which bound it."""
        if self.exact[number] or self.low[number] > worst or self.watch.ended() is not None:
            return
        if self.weight is not None:
            for job, stride in enumerate(self.lattice.strides):
                if self.lattice.counts[number, job]:
                    self.settle(number - stride, worst)
        self.cut(number)
        self.refresh()
        tasks = self._tasks(number)
        entries = uses(self.menu, tasks)
        if entries is None:
            return
        best = self.known.get(number)
        bound = worst + 1
        for low, phases in self._orders(number, tasks):
            top = worst if best is None else min(worst, best.cost - 1)
            if low > top:
                break
            if self.watch.ended() is not None:
                bound = min(bound, low)
                break
            found, proved = self._life(tasks, entries, phases, top)
            best = best if found is None else found
            bound = min(bound, max(low, proved))
        if best is not None:
            self.known[number] = best
            bound = min(bound, best.cost)
        self.floor[number] = max(int(self.floor[number]), bound)
        self.exact[number] = best is not None and bound == best.cost
        self.refresh()

    def _life(
        self, tasks: Sequence[Task], entries: Sequence[Use], phases: Sequence[Sequence[int]], top: int
    ) -> tuple[Known | None, int]:
        """(a life in this order that costs at most `top`, no such life costs less)."""
        costs = [1] if self.weight is None else [sum(self.weight[tasks[k].job] for k in own) for own in phases]
        line = Line(tasks, entries, phases, costs, self._horizon(tasks), top)
        answer = self.within(line.program)
        if answer.point is None:
            return None, top + 1 if answer.reason is Reason.PROVED else 0
        cost = top - line.program.worth(answer.point)
        return Known(cost, tuple(tasks), tuple(line.stretches(answer.point))), top - answer.bound

    def replace(self, number: int, best: Known, bound: int) -> None:
        self.floor[number] = max(int(self.floor[number]), bound)
        super().replace(number, best, bound)

    def again(self, number: int, allowed: Sequence[Use]) -> tuple[Known | None, int]:
        """The same in the order of the best life: the bound is one for the makespan only, which has no order."""
        known = self.known[number]
        done = dict.fromkeys(range(len(known.tasks)), 0)
        left = [task.wanted for task in known.tasks]
        for stretch in known.stretches:
            for k, laps in enumerate(stretch.use.laps):
                if left[k] > 0 and laps:
                    done[k] = stretch.begin + min(stretch.turns, -(-left[k] // laps))
                    left[k] -= laps * stretch.turns
        order = sorted(done, key=lambda k: (done[k], k))
        phases = [order] if self.weight is None else [[k] for k in order]
        weight = 1 if self.weight is None else sum(self.weight[task.job] for task in known.tasks)
        found, bound = self._life(known.tasks, allowed, phases, weight * 2 * self._horizon(known.tasks))
        return found, bound if self.weight is None else int(self.low[number])

    def _horizon(self, tasks: Sequence[Task]) -> int:
        """Turns in which all copies can be done one after the other."""
        alone = sum(-(-task.wanted // int(self.most[task.job])) for task in tasks)
        return max(task.release for task in tasks) + alone + 1

    def _tasks(self, number: int) -> list[Task]:
        return [
            Task(job, int(self.wanted[job]), int(self.release[job]), None)
            for job, count in enumerate(self.lattice.counts[number].tolist())
            for _ in range(count)
        ]

    def _orders(self, number: int, tasks: Sequence[Task]) -> Iterator[tuple[int, list[list[int]]]]:
        """(bound, phases) of all orders of completion, the least bound first; one phase for the makespan."""
        if self.weight is None:
            yield int(self.low[number]), [list(range(len(tasks)))]
            return
        heap: list[tuple[int, int, int, tuple[int, ...]]] = [(int(self.low[number]), 0, number, ())]
        while heap:
            low, behind, left, order = heappop(heap)
            if not left:
                yield low, _phases(order, tasks)
                continue
            turns = int(self.turns[left])
            for job, stride in enumerate(self.lattice.strides):
                if self.lattice.counts[left, job]:
                    cost = behind + self.weight[job] * turns
                    heappush(heap, (cost + int(self.low[left - stride]), cost, left - stride, (job, *order)))


def _phases(order: Sequence[int], tasks: Sequence[Task]) -> list[list[int]]:
    """A phase for each job of an order: copies of one job are alike."""
    own: dict[int, list[int]] = {}
    for k, task in enumerate(tasks):
        own.setdefault(task.job, []).append(k)
    return [[own[job].pop(0)] for job in order]
