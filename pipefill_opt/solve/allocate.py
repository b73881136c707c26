"""The whole problem: how many devices of each class get which residents.

A lazy exact scheme. Every column first counts with a simple upper bound; the integer master chooses multiplicities with these; only the
columns that it uses are evaluated by the device solver, and the master is solved again, until its optimum uses evaluated columns
only. Its value with bounds is an upper bound on the problem at any time, its value with what was found is the incumbent.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from fractions import Fraction
from functools import partial
from math import floor
from typing import Final, Protocol

from pipefill_opt.solve.column import Column, MasterResult
from pipefill_opt.solve.columns import Choices, list_columns
from pipefill_opt.solve.device import Compiled, DevicePlan, DeviceProblem, DeviceResult
from pipefill_opt.solve.greedy import Choice
from pipefill_opt.solve.result import Limits, Progress, Reason
from pipefill_opt.solve.watch import Watch

SHORTEST_SHARE: Final = 0.5
"""Seconds that a device search gets at the least, of a limited time."""
MASTER_SECONDS: Final = 1.0
"""Seconds that a master gets at the least, so that what was found before the time ended counts."""
SMALL: Final = 2
"""Sets of so few residents are searched roughly before larger ones that hold them: they are quick, and good plans to begin with."""
ROUGH: Final = Fraction(1, 50)
"""The gap at which a rough search ends."""


class DeviceSolver(Protocol):
    """Solves one device: `solve_dp`, or its twins in CP-SAT and MILP."""

    def __call__(self, device: DeviceProblem, limits: Limits, *, hint: DevicePlan | None = None) -> DeviceResult: ...


MasterSolver = Callable[[Sequence[int], Sequence[Column], Sequence[int], Sequence[int], Limits], MasterResult]
"""(value of each column, columns, count of each class, copies of each job, limits): see `MasterResult`."""


@dataclass(frozen=True, slots=True)
class Allocation:
    """Chosen devices (`Choice` by column) with their total value over H iterations, an upper bound on it, and what proved that bound."""

    choices: tuple[Choice, ...]
    value: int
    bound: int
    origin: str
    reason: Reason


def allocate(
    compiled: Compiled,
    iterations: int,
    solve_device: DeviceSolver,
    solve_master: MasterSolver,
    watch: Watch,
    *,
    start: Sequence[Choice] = (),
    known: dict[DeviceProblem, DeviceResult] | None = None,
    beat: int = 0,
    tell: Callable[[int, int, str], None] | None = None,
    listed: Choices | None = None,
    ceiling: int | None = None,
) -> Allocation:
    """The best choice for H = `iterations`, proved unless a limit ends the search first.

    start: plans known already (greedy's). known: proved results of devices, which grows. beat: a value that is known otherwise; the
    search ends, proved, when no choice is worth more. tell(value, bound, note) hears of progress. listed: columns that a better choice
    than `start` must be of, with bounds; all that can matter if it is not given. ceiling: a bound on all choices.
    """
    known = {} if known is None else known
    listed = list_columns(compiled, iterations) if listed is None else listed
    search = _Allocator(compiled, iterations, solve_device, solve_master, watch, start, known, tell, listed)
    if ceiling is not None:
        search.bound = min(search.bound, ceiling)
    return search.answer(search.run(beat))


class _Allocator:
    """The state of the search.

    upper: by column, a bound on the value of one such device. closed: no search will move the bound any more. The columns after
    the first `listed` stand for residents that are not listed.
    """

    def __init__(
        self,
        compiled: Compiled,
        iterations: int,
        solve_device: DeviceSolver,
        solve_master: MasterSolver,
        watch: Watch,
        start: Sequence[Choice],
        known: dict[DeviceProblem, DeviceResult],
        tell: Callable[[int, int, str], None] | None,
        listed: Choices,
    ) -> None:
        self.compiled = compiled
        self.iterations = iterations
        self.solve_device = solve_device
        self.solve_master = solve_master
        self.watch = watch
        problem = compiled.problem
        self.counts = [device.count for device in problem.devices]
        self.copies = [job.copies for job in problem.jobs]
        self.listed = len(listed.columns)
        self.columns = list(listed.columns)
        self.upper = list(listed.bounds)
        self.add_rest(listed.rest)
        self.results: list[DeviceResult | None] = [None] * len(self.columns)
        self.closed = [k >= self.listed for k in range(len(self.columns))]
        self.shares: dict[int, float] = {}
        self.known = known
        self.tell = tell
        self.origins: set[str] = set()
        place = {(column.class_index, column.residents): k for k, column in enumerate(listed.columns)}
        for choice in start:
            k = place.get((choice.device.class_index, choice.device.residents))
            if k is not None:
                self.results[k] = DeviceResult(choice.value, self.upper[k], choice.plan, "greedy")
        self.bound = self.copies_apart()
        self.best = self.master([self.lower(k) for k in range(len(self.columns))])

    def lower(self, k: int) -> int:
        """The best value found for a column."""
        result = self.results[k]
        return result.value if result is not None and result.plan is not None else 0

    def add_rest(self, rest: Sequence[tuple[int, int] | None]) -> None:
        """One column a class for all residents that are not listed. They use some copies; which ones is left open, their number is not."""
        if not any(rest):
            return
        every = len(self.copies)
        self.copies.append(sum(self.copies))
        self.columns = [replace(column, extra=((every, len(column.residents)),)) for column in self.columns]
        for c, bound in enumerate(rest):
            if bound is not None:
                self.columns.append(Column(c, (), ((every, bound[1]),)))
                self.upper.append(bound[0])

    def copies_apart(self) -> int:
        """An upper bound that leaves the copies aside: every device takes the column with the best bound."""
        tops = [0] * len(self.counts)
        for column, upper in zip(self.columns, self.upper, strict=True):
            tops[column.class_index] = max(tops[column.class_index], upper)
        return sum(count * top for count, top in zip(self.counts, tops, strict=True))

    def news(self, k: int | None, progress: Progress | None = None) -> None:
        """Tell the best value and the bound; k, progress: with what the running search of a column reports."""
        if self.tell is None:
            return
        value, bound = self.best.value, self.bound
        if k is not None and progress is not None and progress.bound is not None:
            self.upper[k] = min(self.upper[k], floor(progress.bound))
            bound = min(bound, self.copies_apart())
            if progress.value is not None and sum(self.counts) == 1:
                value = max(value, floor(progress.value))
        done = sum(result is not None for result in self.results)
        self.tell(value, max(value, bound), f"{done} of {self.listed} sets of residents searched")

    def run(self, beat: int) -> Reason:
        """Evaluate columns until the bound is met or a limit is reached."""
        while True:
            relaxed = self.master(self.upper)
            self.bound = min(self.bound, relaxed.bound)
            self.news(None)
            if self.bound <= max(beat, self.best.value):
                return Reason.PROVED
            one = self.iterations / self.compiled.unit
            if self.bound - self.best.value <= self.watch.limits.gap * max(one, Fraction(self.best.value)):
                return Reason.GAP_LIMIT
            ended = self.watch.ended()
            if ended is not None:
                return ended
            used = [k for k, number in enumerate(relaxed.multiplicity) if number]
            wanted = [k for k in used if not self.closed[k] and self.lower(k) < self.upper[k]]
            if not wanted:
                return relaxed.reason if relaxed.reason is not Reason.PROVED else self.why_open(relaxed)
            pending = self.small_first(wanted)
            for position, k in enumerate(pending):
                if self.watch.ended() is None:
                    self.evaluate(k, len(pending) - position, rough=k not in wanted)
            found = self.master([self.lower(k) for k in range(len(self.columns))])
            if found.value > self.best.value:
                self.best = found

    def why_open(self, relaxed: MasterResult) -> Reason:
        """The limit at which a used column's own search ended, where all used columns are evaluated as far as they will be."""
        for k, number in enumerate(relaxed.multiplicity):
            result = self.results[k]
            if number and result is not None and not result.proved:
                return result.reason
        return Reason.WORK_LIMIT

    def small_first(self, wanted: Sequence[int]) -> list[int]:
        """The wanted columns and the small sets of residents that they hold, as far as these may be worth more than is known."""
        pending = set(wanted)
        for k in range(self.listed):
            small = self.columns[k]
            if len(small.residents) <= SMALL and not self.closed[k]:
                for whole in wanted:
                    column = self.columns[whole]
                    inside = not Counter(small.residents) - Counter(column.residents)
                    if small.class_index == column.class_index and inside and self.upper[k] > self.lower(whole):
                        pending.add(k)
        return sorted(pending, key=lambda k: (len(self.columns[k].residents), -self.upper[k], k))

    def evaluate(self, k: int, parts: int, *, rough: bool) -> None:
        """Solve a column's device, within one of `parts` parts of the time that is left; rough: up to a coarse gap only."""
        column = self.columns[k]
        device = self.compiled.device(column.class_index, column.residents, self.iterations)
        key = replace(device, class_index=0)
        gap = self.watch.limits.gap
        limits = self.watch.left(gap=max(gap, ROUGH) if rough else gap)
        if limits.time is not None:
            share = min(limits.time, max(SHORTEST_SHARE, limits.time / parts))
            limits = replace(limits, time=share)
            if share < 2 * self.shares.get(k, 0.0):
                self.closed[k] = True
                return
        limits = replace(limits, on_progress=partial(self.news, k))
        before = self.results[k]
        result = self.known.get(key)
        if result is None:
            result = self.solve_device(device, limits, hint=before.plan if before is not None else None)
            if result.proved:
                self.known[key] = result
        self.origins.add(result.origin)
        self.upper[k] = min(self.upper[k], result.bound)
        if not rough and limits.time is not None:
            self.shares[k] = limits.time
        self.closed[k] = result.proved or (not rough and result.reason is not Reason.TIME_LIMIT)
        if before is None or result.value >= before.value:
            self.results[k] = result

    def master(self, values: Sequence[int]) -> MasterResult:
        """The integer master, without its columns that others make useless."""
        best: dict[tuple[int, tuple[tuple[int, int], ...]], int] = {}
        for k, column in enumerate(self.columns):
            if values[k] > 0:
                key = (column.class_index, column.usage)
                if key not in best or values[k] > values[best[key]]:
                    best[key] = k
        chosen = list(best.values())
        free = self.unlimited(chosen, values)
        if free is not None:
            return free
        columns = [self.columns[k] for k in chosen]
        limits = self.watch.left()
        if limits.time is not None:
            limits = replace(limits, time=max(MASTER_SECONDS, limits.time))
        part = self.solve_master([values[k] for k in chosen], columns, self.counts, self.copies, limits)
        multiplicity = [0] * len(self.columns)
        for k, number in zip(chosen, part.multiplicity, strict=True):
            multiplicity[k] = number
        return replace(part, multiplicity=tuple(multiplicity))

    def unlimited(self, chosen: Sequence[int], values: Sequence[int]) -> MasterResult | None:
        """The best column of each class on all its devices, if there are copies enough: then no choice is better."""
        multiplicity = [0] * len(self.columns)
        copies = list(self.copies)
        for c, count in enumerate(self.counts):
            own = [k for k in chosen if self.columns[k].class_index == c]
            if own:
                top = max(own, key=lambda k: (values[k], self.closed[k], -len(self.columns[k].residents)))
                multiplicity[top] = count
                for job, used in self.columns[top].usage:
                    copies[job] -= used * count
        if min(copies, default=0) < 0:
            return None
        value = sum(number * values[k] for k, number in enumerate(multiplicity))
        return MasterResult(tuple(multiplicity), value, value)

    def answer(self, reason: Reason) -> Allocation:
        """The incumbent as choices."""
        choices = []
        for k, number in enumerate(self.best.multiplicity):
            result = self.results[k]
            if number and result is not None and result.plan is not None:
                column = self.columns[k]
                device = self.compiled.device(column.class_index, column.residents, self.iterations)
                choices.append(Choice(device, result.plan, result.value, number))
        origin = " and ".join(sorted(self.origins - {"greedy"})) or "capacity"
        bound = max(self.bound, self.best.value)
        return Allocation(tuple(choices), self.best.value, bound, f"integer master over columns: {origin}", reason)
