"""The on-time value of one device for each number of copies (`yard`): turns between releases and deadlines, laps that are in time.

A number of copies has the value of what a device does of them in time; more copies than it can serve cost nothing.
"""

from __future__ import annotations

from collections.abc import Sequence
from itertools import pairwise
from typing import Final

import numpy as np

from pipefill_opt.solve.life.lattice import NEVER, Ints, Lattice
from pipefill_opt.solve.life.menu import Menu
from pipefill_opt.solve.life.order import Stretch, Task, Use, uses
from pipefill_opt.solve.life.yard import Known, Yard
from pipefill_opt.solve.linear import INFINITE, LinearProgram, LinearStatus, minimize
from pipefill_opt.solve.program import Maximize, Program, Row
from pipefill_opt.solve.result import Reason
from pipefill_opt.solve.watch import Watch

FINE: Final = 1 << 10
"""Prices are whole numbers of 1 / FINE of a unit of value."""


class Due(Yard):
    """worth[job][configuration]: of an iteration, in whole units. Only jobs with a deadline; wanted None: no end."""

    def __init__(
        self,
        menu: Menu,
        lattice: Lattice,
        search: Maximize,
        watch: Watch,
        wanted: Sequence[int | None],
        release: Sequence[int],
        deadline: Sequence[int],
        worth: Sequence[Sequence[int]],
    ) -> None:
        super().__init__(menu, lattice, search, watch)
        self.worth = worth
        self.release = release
        self.deadline = deadline
        window = [max(0, end - begin) for begin, end in zip(release, deadline, strict=True)]
        self.wanted = [
            int(most) * turns if own is None else min(own, int(most) * turns)
            for own, most, turns in zip(wanted, self.most, window, strict=True)
        ]
        marks = sorted({0, *release, *deadline})
        last = max((end for end, turns in zip(deadline, window, strict=True) if turns), default=0)
        self.epochs = [(begin, end) for begin, end in pairwise(marks) if begin < last]
        self.goods = sorted({(kind.job, kind.configuration) for kind in menu.kinds})
        number = {good: g for g, good in enumerate(self.goods)}
        self.laps: Ints = np.zeros((len(menu.choices), len(self.goods)), dtype=np.int64)
        self.slots: Ints = np.zeros((len(menu.choices), len(wanted)), dtype=np.int64)
        for row, choice in enumerate(menu.choices):
            for s, laps in zip(choice.kinds, choice.laps, strict=True):
                kind = menu.kinds[s]
                self.laps[row, number[kind.job, kind.configuration]] += laps
                self.slots[row, kind.job] += 1
        self.value: Ints = np.array([worth[job][k] for job, k in self.goods], dtype=np.int64)
        self.inside = np.array(
            [[release[job] <= begin and end <= deadline[job] for job, _ in self.goods] for begin, end in self.epochs],
            dtype=np.bool_,
        ).reshape(len(self.epochs), len(self.goods))
        self.low[1:] = -NEVER
        self._bound(np.zeros(len(self.goods), dtype=np.int64))

    def _bound(self, prices: Ints) -> None:
        """At prices of laps in time: what a lap is worth above its price, and what turns are worth at these prices."""
        turns = 0
        for (begin, end), inside in zip(self.epochs, self.inside, strict=True):
            turns += (end - begin) * int((self.laps @ (prices * inside)).max(initial=0))
        above = np.zeros(len(self.wanted), dtype=np.int64)
        for g, (job, _) in enumerate(self.goods):
            above[job] = max(int(above[job]), int(self.value[g]) * FINE - int(prices[g]))
        total = turns + self.lattice.counts @ (above * np.array(self.wanted, dtype=np.int64))
        self.low = np.maximum(self.low, -(total // FINE))

    def refresh(self) -> None:
        """Nothing to do: cuts bound all numbers at once."""

    def cut(self, number: int) -> bool:
        if number in self.cuts:
            return False
        self.cuts.add(number)
        counts = self.lattice.counts[number]
        prices = self._prices(counts)
        if prices is not None:
            self._bound(prices)
        return True

    def _prices(self, counts: Ints) -> Ints | None:
        """Prices of laps in time at which these copies are worth least. Columns: laps done by good, then choices by epoch."""
        goods = len(self.goods)
        rows = np.flatnonzero((self.slots <= counts).all(axis=1))
        if not len(rows):
            return None
        lines, columns, values, upper = [], [], [], []
        for g, (job, _) in enumerate(self.goods):
            lines += [g, goods + job]
            columns += [g, g]
            values += [1.0, 1.0]
            upper.append(INFINITE)
        jobs = len(self.wanted)
        for e in range(len(self.epochs)):
            for row in rows.tolist():
                useful = np.flatnonzero(self.laps[row] * self.inside[e])
                lines += [*useful.tolist(), goods + jobs + e]
                columns += [len(upper)] * (len(useful) + 1)
                values += [*(-self.laps[row, useful]).astype(np.float64).tolist(), 1.0]
                upper.append(INFINITE)
        cost = np.zeros(len(upper))
        cost[:goods] = -self.value
        most = [int(n) * own for n, own in zip(counts, self.wanted, strict=True)]
        limits = [0.0] * goods + [float(n) for n in most] + [float(end - begin) for begin, end in self.epochs]
        answer = minimize(
            LinearProgram(cost, lines, columns, values, [-INFINITE] * len(limits), limits, [0.0] * len(upper), upper)
        )
        if answer.status is not LinearStatus.OPTIMAL:
            return None
        prices = np.rint(-answer.duals[:goods] * FINE).astype(np.int64)
        return np.clip(prices, 0, self.value * FINE)

    def settle(self, number: int, worst: int) -> None:
        """The best life, as one integer program."""
        if self.exact[number] or self.low[number] > worst or self.watch.ended() is not None:
            return
        tasks = self._tasks(number)
        entries = uses(self.menu, tasks)
        if entries is None:
            return
        found, bound = self._life(tasks, entries, worst)
        if found is not None:
            self.known[number] = found
        self.low[number] = max(int(self.low[number]), bound)
        self.exact[number] = found is not None and int(self.low[number]) == found.cost

    def _tasks(self, number: int) -> list[Task]:
        """The copies that can do anything here, no more of a job than can work in all turns together."""
        return [
            Task(job, self.wanted[job], self.release[job], self.deadline[job])
            for job, count in enumerate(self.lattice.counts[number].tolist())
            for _ in range(count if self.wanted[job] else 0)
        ]

    def _life(self, tasks: Sequence[Task], entries: Sequence[Use], worst: int) -> tuple[Known | None, int]:
        value: list[int] = []
        upper: list[int] = []
        rows: list[Row] = []
        done: dict[tuple[int, int], list[tuple[int, int]]] = {}
        run: list[tuple[int, Use, int]] = []
        for e, (begin, end) in enumerate(self.epochs):
            own = [use for use in entries if all(_inside(tasks[k], begin, end) for k in use.copies)]
            first = len(value)
            for use in own:
                for k, kind, laps in zip(use.copies, use.choice.kinds, use.choice.laps, strict=True):
                    done.setdefault((k, self.menu.kinds[kind].configuration), []).append((len(value), -laps))
                run.append((e, use, len(value)))
                value.append(0)
                upper.append(end - begin)
            rows.append(Row(tuple(range(first, len(value))), (1,) * (len(value) - first), None, end - begin))
        laps_of: dict[int, list[int]] = {}
        for (k, configuration), terms in done.items():
            laps_of.setdefault(k, []).append(len(value))
            rows.append(Row((len(value), *(j for j, _ in terms)), (1, *(a for _, a in terms)), None, 0))
            value.append(self.worth[tasks[k].job][configuration])
            upper.append(tasks[k].wanted)
        for k, own_laps in laps_of.items():
            if len(own_laps) > 1:
                rows.append(Row(tuple(own_laps), (1,) * len(own_laps), None, tasks[k].wanted))
        program = Program(tuple(value), tuple(upper), tuple(rows))
        answer = self.within(program)
        if answer.point is None:
            return None, worst + 1 if answer.reason is Reason.PROVED else -program.trivial_bound()
        clocks = [begin for begin, _ in self.epochs]
        stretches = []
        for e, use, j in run:
            if answer.point[j]:
                stretches.append(Stretch(clocks[e], answer.point[j], use))
                clocks[e] += answer.point[j]
        return Known(-program.worth(answer.point), tuple(tasks), tuple(stretches)), -answer.bound

    def again(self, number: int, allowed: Sequence[Use]) -> tuple[Known | None, int]:
        return self._life(self.known[number].tasks, allowed, 0)


def _inside(task: Task, begin: int, end: int) -> bool:
    return task.release <= begin and (task.deadline is None or end <= task.deadline)
