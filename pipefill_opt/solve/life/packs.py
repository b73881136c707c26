"""Which copies one device might complete by a horizon: sets of whole copies, as a copy stays on its device. For the makespan.

A set is ruled out by turns that hold too little: at some prices of laps no turn of its copies is worth more than a bound, and all laps that
are wanted are worth more than so many such turns. Prices of laps come from a linear program over turns and are whole numbers in the proof.
The best set at prices of copies is found best first, so that no set that is left out is better: what it gains is a bound.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from heapq import heappop, heappush
from itertools import combinations_with_replacement, product
from math import ceil
from typing import Any, Final

import numpy as np
from numpy.typing import NDArray

from pipefill_opt.kernels import kernel
from pipefill_opt.solve.device import Compiled
from pipefill_opt.solve.life.mixes import least_between, most_beside, undominated
from pipefill_opt.solve.life.shares import Kind, Share, fit_in_memory, kinds_of, rooms_of
from pipefill_opt.solve.linear import INFINITE, LinearProgram, LinearStatus, minimize

Ints = NDArray[np.int64]
Floats = NDArray[np.float64]
Copies = tuple[int, ...]
"""Jobs of the copies on a device, in order; a job as often as it has copies there."""
GRID: Final = 4096
"""Parts of the horizon in which sizes of copies are counted, rounded down."""
LAP_PRICE: Final = 1 << 20
"""The largest price of a lap in a proof."""
POPS: Final = 3_000
"""Most steps of one search."""
ROUNDS: Final = 30
CLOSE: Final = 1
"""Sets that need so many turns less than the horizon, or no less, are looked at closely."""
MOST_CELLS: Final = 50_000_000
"""Most steps to do so."""
MOST_LAPS: Final = 256
"""Sets of copies that do more laps in a turn are not looked at."""
MANY: Final = 4
"""So many copies in one turn and more are not told apart."""


class Packs:
    """The sets of copies of one class, for turns of `length` main iterations. shares: those of the class."""

    def __init__(self, compiled: Compiled, c: int, length: int, shares: dict[int, Share]) -> None:
        self.compiled = compiled
        self.shares = shares
        self.empty = compiled.device(c, (), length)
        kinds = undominated(kinds_of(compiled, c, range(length, length + 1)))
        self.kinds = {job: [kind for kind in kinds if kind.job == job] for job in shares}
        self.wanted = {job: compiled.problem.jobs[job].iterations or 0 for job in shares}
        self.alone = {job for job, share in shares.items() if share.share != share.lap * self.wanted[job]}
        """Jobs that never work beside another one."""
        self.known: dict[Copies, int] = {}
        """The least turns of sets that were looked at."""
        self._closely: set[Copies] = set()
        self._beside: dict[tuple[int, int], Ints] = {}
        self._fits: dict[Copies, list[tuple[Kind, ...]]] = {}

    def best(self, horizon: int, prices: Sequence[int]) -> tuple[int, Copies]:
        """(no device gains more by the horizon, the best set that is not known to need more), at whole prices of copies."""
        jobs = [j for j, share in self.shares.items() if prices[j] > 0 and share.alone <= horizon]
        size = [int(self.shares[j].share * GRID / horizon) for j in jobs]
        if not jobs or min(size) < 1:  # too many copies for sets
            return self._rough(horizon, prices, jobs), ()
        order = sorted(range(len(jobs)), key=lambda k: (-prices[jobs[k]] / size[k], jobs[k]))
        jobs, size = [jobs[k] for k in order], [size[k] for k in order]
        table = np.zeros(GRID + 1, dtype=np.int64)
        worth = np.array([prices[j] for j in jobs], dtype=np.int64)
        kernel(fullest, GRID * len(jobs))(table, np.array(size, dtype=np.int64), worth)
        room: list[int] = table.tolist()
        copies = [self.compiled.problem.jobs[j].copies for j in jobs]
        heap: list[tuple[int, int, int, int, Copies]] = [(-room[GRID], 1, 0, GRID, ())]
        for _ in range(POPS):
            bound, open_, first, left, chosen = heappop(heap)
            if not open_:
                found = tuple(sorted(jobs[k] for k in chosen))
                if self.known.get(found, 0) <= horizon:
                    return -bound, found
                continue
            value = sum(prices[jobs[k]] for k in chosen)
            heappush(heap, (-value, 0, first, left, chosen))
            for k in range(first, len(jobs)):
                if size[k] <= left and chosen.count(k) < copies[k]:
                    heappush(
                        heap, (-value - prices[jobs[k]] - room[left - size[k]], 1, k, left - size[k], (*chosen, k))
                    )
        return -heap[0][0], ()

    def _rough(self, horizon: int, prices: Sequence[int], jobs: Sequence[int]) -> int:
        """The same for copies that can be split."""
        return max((-int(-prices[j] * horizon // self.shares[j].share) for j in jobs), default=0)

    def least(self, copies: Copies, horizon: int) -> int:
        """No device completes these copies in fewer turns; looked at closely where that is about the horizon."""
        if copies not in self.known:
            self.known[copies] = self._least_turns(copies)
        if horizon - CLOSE <= self.known[copies] <= horizon and copies not in self._closely:
            self._closely.add(copies)
            self.known[copies] = self._whole_turns(copies, self.known[copies])
        return self.known[copies]

    def _least_turns(self, copies: Copies) -> int:
        numbers = Counter(copies)
        jobs = list(numbers)
        wanted = [numbers[j] * (self.shares[j].alone if j in self.alone else self.wanted[j]) for j in jobs]
        least = max((self.shares[j].alone for j in jobs), default=0)
        if not jobs or max(self._pace(j) for j in jobs) > MOST_LAPS:
            return least
        turns = [[self._pace(j) if i == k else 0 for i, j in enumerate(jobs)] for k in range(len(jobs))]
        for _ in range(ROUNDS):
            needed, prices = _prices(turns, wanted)
            value, turn = self._turn(numbers, jobs, prices)
            if not value:
                break
            worth = sum(n * price for n, price in zip(wanted, prices, strict=True))
            least = max(least, -(-worth // value))
            if turn in turns or least >= ceil(needed):
                break
            turns.append(turn)
        return least

    def _whole_turns(self, copies: Copies, least: int) -> int:
        """The same for whole numbers of turns of each kind: all that can be done in so many, one turn more at a time."""
        numbers = Counter(copies)
        wanted = {j: numbers[j] * (self.shares[j].alone if j in self.alone else self.wanted[j]) for j in numbers}
        jobs = sorted(numbers, key=lambda j: (wanted[j], j))
        if len(jobs) > 3 or max(self._pace(j) for j in jobs) > MOST_LAPS:
            return least
        turns = self._maximal(numbers, jobs)
        sizes = [wanted[j] for j in jobs[:-1]]
        sizes = [0] * (2 - len(sizes)) + sizes
        cells = (sizes[0] + 1) * (sizes[1] + 1)
        last = least + CLOSE + 1
        if turns is None or cells * len(turns) * last > MOST_CELLS:
            return least
        done = np.full((sizes[0] + 1, sizes[1] + 1), -1, dtype=np.int64)
        done[0, 0] = 0
        laps = np.array([[0] * (3 - len(turn)) + list(turn) for turn in turns], dtype=np.int64)
        number: int = kernel(turns_needed, cells * len(turns) * last)(
            done, np.full_like(done, -1), laps, wanted[jobs[-1]], last
        )
        return max(least, number)

    def _maximal(self, numbers: Counter[int], jobs: list[int]) -> list[tuple[int, ...]] | None:
        """The laps of all turns, but for those below another one. None: more copies work at once than are told apart."""
        found: set[tuple[int, ...]] = set()
        for k, job in enumerate(jobs):
            found.add(tuple(self._pace(job) if i == k else 0 for i in range(len(jobs))))
        together = [k for k, job in enumerate(jobs) if job not in self.alone]
        for size in range(2, MANY + 1):
            for group in combinations_with_replacement(together, size):
                if any(number > numbers[jobs[k]] for k, number in Counter(group).items()):
                    continue
                for kinds in self._fitting(tuple(jobs[k] for k in group)):
                    if size == MANY:
                        return None
                    grid, last = self._grid(kinds)
                    turn = np.zeros((len(last), len(jobs)), dtype=np.int64)
                    for k, n in zip(group, (*grid, last), strict=True):
                        turn[:, k] += n
                    found.update(map(tuple, turn[last >= 0].tolist()))
        kept: list[tuple[int, ...]] = []
        for laps in sorted(found, reverse=True):
            if not any(all(a >= b for a, b in zip(other, laps, strict=True)) for other in kept):
                kept.append(laps)
        return kept

    def _pace(self, job: int) -> int:
        """Most laps in a turn; a turn counts as one for those that are alone."""
        return 1 if job in self.alone else max(kind.most[0] for kind in self.kinds[job])

    def _turn(self, numbers: Counter[int], jobs: list[int], prices: list[int]) -> tuple[int, list[int]]:
        """(no turn is worth more, the laps of one that is there if nothing else limits it)."""
        best, turn = 0, [0] * len(jobs)

        def take(value: int, laps: Sequence[tuple[int, int]]) -> None:
            nonlocal best, turn
            if value > best:
                best, turn = value, [0] * len(jobs)
                for k, n in laps:
                    turn[k] += n

        priced = [k for k, price in enumerate(prices) if price > 0]
        for k in priced:
            take(prices[k] * self._pace(jobs[k]), [(k, self._pace(jobs[k]))])
        together = [k for k in priced if jobs[k] not in self.alone]
        for size in range(2, MANY + 1):
            some = False
            for group in combinations_with_replacement(together, size):
                if any(number > numbers[jobs[k]] for k, number in Counter(group).items()):
                    continue
                for kinds in self._fitting(tuple(jobs[k] for k in group)):
                    some = True
                    if size < MANY:
                        value, laps = self._side_by_side(kinds, [prices[k] for k in group])
                        take(value, list(zip(group, laps, strict=True)))
            if not some:
                return best, turn
        for k in together:  # more copies at once than are told apart: as if laps could be split
            for kind in self.kinds[jobs[k]]:
                room = sum(rooms_of(self.empty, [kind for kinds in self.kinds.values() for kind in kinds]))
                take(-(-prices[k] * room // kind.lap), [(k, max(1, room // kind.lap))])
        return best, turn

    def _fitting(self, group: Copies) -> list[tuple[Kind, ...]]:
        """The kinds in which copies of these jobs may work in one turn."""
        if group not in self._fits:
            every = product(*(self.kinds[job] for job in group))
            self._fits[group] = [kinds for kinds in every if fit_in_memory(self.empty, kinds)]
        return self._fits[group]

    def _side_by_side(self, kinds: tuple[Kind, ...], prices: Sequence[int]) -> tuple[int, list[int]]:
        """(the most that a turn of two or three copies is worth, its laps)."""
        grid, last = self._grid(kinds)
        total = np.where(last < 0, 0, sum(n * price for n, price in zip((*grid, last), prices, strict=True)))
        place = int(total.argmax())
        return int(total[place]), [int(n[place]) for n in (*grid, last)]

    def _grid(self, kinds: tuple[Kind, ...]) -> tuple[list[Ints], Ints]:
        """(laps of all but the last of two or three copies in one turn, the most of the last one beside them; -1: impossible)."""
        laps = [np.arange(kind.most[0] + 1, dtype=np.int64) for kind in kinds[:-1]]
        if len(kinds) == 2:
            return laps, self._most_beside(*kinds)
        grid: list[Ints] = [axis.ravel() for axis in np.meshgrid(*laps, indexing="ij")]
        left = sum(rooms_of(self.empty, kinds)) - sum(n * kind.lap for n, kind in zip(grid, kinds, strict=False))
        return grid, np.where(left < 0, -1, np.minimum(kinds[-1].most[0], left // kinds[-1].lap))

    def _most_beside(self, a: Kind, b: Kind) -> Ints:
        """By laps of one kind from 0 on: the most of the other one in the same turn."""
        key = (id(a), id(b))
        if key not in self._beside:
            beside = most_beside(self.empty, a, b, least_between(self.compiled, a.job, b.job))
            self._beside[key] = np.concatenate([[b.most[0]], beside])
        return self._beside[key]


def _prices(turns: Sequence[Sequence[int]], wanted: Sequence[int]) -> tuple[float, list[int]]:
    """(turns that are needed, whole prices of laps at which all that are wanted are worth most, beside the best turn)."""
    rows = [j for turn in turns for j, n in enumerate(turn) if n]
    columns = [k for k, turn in enumerate(turns) for n in turn if n]
    values = [float(n) for turn in turns for n in turn if n]
    size = len(turns)
    found = minimize(
        LinearProgram(
            [1.0] * size,
            rows,
            columns,
            values,
            [float(n) for n in wanted],
            [INFINITE] * len(wanted),
            [0.0] * size,
            [INFINITE] * size,
        )
    )
    if found.status is not LinearStatus.OPTIMAL:
        return 0.0, [0] * len(wanted)
    top = max(float(found.duals.max(initial=0.0)), 1e-300)
    return found.value, [max(0, int(dual / top * LAP_PRICE)) for dual in found.duals]


def fullest(best: Any, size: Any, value: Any) -> None:
    """best[s]: the most that whole copies of total size s are worth at most; size above 0, value at least 0."""
    for s in range(1, len(best)):
        top = best[s - 1]
        for i in range(len(size)):
            if size[i] <= s and best[s - size[i]] + value[i] > top:
                top = best[s - size[i]] + value[i]
        best[s] = top


def turns_needed(done: Any, after: Any, laps: Any, wanted: int, last: int) -> int:
    """The least turns, up to `last`, that do all laps. done[x, y]: the most laps of the last job where x and y of the others are done
    (-1: impossible), at first none; laps: of turns."""
    rows, columns = done.shape
    for t in range(last):
        if done[rows - 1, columns - 1] >= wanted:
            return t
        after[:] = -1
        for x in range(rows):
            for y in range(columns):
                if done[x, y] < 0:
                    continue
                for k in range(len(laps)):
                    right = min(rows - 1, x + laps[k, 0])
                    up = min(columns - 1, y + laps[k, 1])
                    after[right, up] = max(after[right, up], done[x, y] + laps[k, 2])
        done[:] = after
    return last
