"""Exhaustive search for the objectives over time on tiny problems, from docs/fill.md alone: of the package it knows the data types only.

A device's life is searched turn by turn (a turn is a repetition of H main iterations, each a phase of its own), over every set of copies
that are there, every configuration and first operator of a new copy, and every number of operators that each can do. Devices
are then combined: what matters of a life is how many copies of each job it takes, and the least that this costs.
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Iterator
from fractions import Fraction
from typing import NamedTuple

from pipefill_opt.fill.problem import Configuration, DeviceClass, FillProblem, Job, Objective, ValueRule

Counts = tuple[int, ...]
LATE = 10**9


class Copy(NamedTuple):
    """A copy that has begun: job, configuration, first operator, operators done."""

    job: int
    configuration: int
    first: int
    done: int


def up(a: int, b: Fraction) -> int:
    """ceil(a / b)."""
    return -((-a * b.denominator) // b.numerator)


def worth(job: Job, configuration: Configuration) -> Fraction:
    """Weight x value of one iteration."""
    chain = configuration.operators
    if job.value_rule is ValueRule.FLOPS:
        shares = [operator.flops for operator in chain]
    else:
        least = min(Fraction(sum(o.duration for o in other.operators)) / other.samples for other in job.configurations)
        total = sum(operator.duration for operator in chain)
        marks = [
            math.floor(least * configuration.samples * sum(o.duration for o in chain[:i]) / total)
            for i in range(len(chain) + 1)
        ]
        shares = [Fraction(after - before) for before, after in itertools.pairwise(marks)]
    return job.weight * sum(
        (share if o.value is None else o.value for share, o in zip(shares, chain, strict=True)), Fraction(0)
    )


class Turns:
    """What residents of one class can do in one turn."""

    def __init__(self, problem: FillProblem, device: DeviceClass, length: int) -> None:
        self.problem = problem
        self.device = device
        self.length = length
        self.known: dict[tuple[Copy, ...], frozenset[Counts]] = {}

    def chain(self, copy: Copy) -> Configuration:
        return self.problem.jobs[copy.job].configurations[copy.configuration]

    def carried(self, copy: Copy, done: int) -> int:
        """Bytes carried after `done` more operators."""
        operators = self.chain(copy).operators
        total = copy.done + done
        if total == 0 and not self.problem.repeat:
            return 0
        return operators[(copy.first + total - 1) % len(operators)].carry

    def options(self, residents: tuple[Copy, ...]) -> frozenset[Counts]:
        """All numbers of operators that the residents can do in one turn. Those of a plan that repeats: the largest ones."""
        key = tuple(sorted(residents)) if self.problem.repeat else residents
        if residents not in self.known:
            reached = {(0,) * len(residents)}
            if not self.outside(residents, (0,) * len(residents)):
                reached = set()
            for _ in range(self.length):
                for bubble in range(len(self.device.bubbles)):
                    reached = set().union(*(self.visit(residents, before, bubble) for before in reached))
            if self.problem.repeat:
                lengths = [len(self.chain(copy).operators) for copy in residents]
                reached = {c for c in reached if all(n % k == 0 for n, k in zip(c, lengths, strict=True))}
                reached = {c for c in reached if not any(o != c and all(map(int.__ge__, o, c)) for o in reached)}
            self.known[residents] = frozenset(reached)
        del key
        return self.known[residents]

    def outside(self, residents: tuple[Copy, ...], done: Counts) -> bool:
        """Rule 5 between bubbles. A copy that does not work at all in a repeating plan is not looked at here: it may be left out."""
        held = sum(
            self.chain(copy).resident + self.carried(copy, n)
            for copy, n in zip(residents, done, strict=True)
            if self.problem.jobs[copy.job].keep
        )
        return held <= self.device.resident_free

    def visit(self, residents: tuple[Copy, ...], before: Counts, bubble: int) -> set[Counts]:
        """The numbers done after a visit of a bubble, or without one."""
        problem, room = self.problem, self.device.bubbles[bubble]
        usable = max(0, math.floor(problem.guard.fraction * room.length) - problem.guard.margin)
        jobs = [problem.jobs[copy.job] for copy in residents]
        kept = frozenset(s for s, job in enumerate(jobs) if job.keep)
        found = {before}
        # (done, last slot, slots that are in, slots that are out for good): least time
        layer: dict[tuple[Counts, int, frozenset[int], frozenset[int]], int] = {
            (before, -1, kept, frozenset()): problem.switch.enter
        }
        while layer:
            following: dict[tuple[Counts, int, frozenset[int], frozenset[int]], int] = {}
            for (done, last, inside, left), time in layer.items():
                for s, copy in enumerate(residents):
                    if s in left:
                        continue
                    for goes in (False, True) if last >= 0 and last != s and last not in kept else (False,):
                        clock, present, gone = time, inside, left
                        if goes:
                            clock += self.move(residents[last], done[last], problem.switch.d2h)
                            present, gone = inside - {last}, left | {last}
                        if last not in (-1, s):
                            table = problem.switch.between
                            clock += table if isinstance(table, int) else table[jobs[last].name][jobs[s].name]
                        if s not in present:
                            clock += self.move(copy, done[s], problem.switch.h2d)
                            present = present | {s}
                        operators = self.chain(copy).operators
                        operator = operators[(copy.first + copy.done + done[s]) % len(operators)]
                        need = operator.memory + sum(self.chain(residents[o]).resident for o in present)
                        need += sum(self.carried(residents[o], done[o]) for o in present if o != s)
                        clock += up(operator.duration, self.device.speed)
                        if need > room.free or clock + problem.switch.leave > usable:
                            continue
                        after = (*done[:s], done[s] + 1, *done[s + 1 :])
                        state = (after, s, present, gone)
                        following[state] = min(following.get(state, LATE * 10**9), clock)
            for (done, last, inside, _), time in following.items():
                if inside - kept <= {last}:
                    end = time + problem.switch.leave
                    if last not in kept:
                        end += self.move(residents[last], done[last], problem.switch.d2h)
                    if end <= usable and self.outside(residents, done):
                        found.add(done)
            layer = following
        return found

    def move(self, copy: Copy, done: int, rate: Fraction | None) -> int:
        assert rate is not None
        return up((self.chain(copy).resident + self.carried(copy, done)) * 10**9, rate)


class Life:
    """All that one device of a class can do in `horizon` turns."""

    def __init__(self, problem: FillProblem, device: DeviceClass, length: int, horizon: int) -> None:
        self.problem = problem
        self.device = device
        self.turn = length * problem.period
        self.horizon = horizon
        self.turns = Turns(problem, device, length)
        self.jobs = [j for j, job in enumerate(problem.jobs) if device.name in job.devices]

    def outcomes(self) -> dict[Counts, Fraction]:
        """By copies of each job (finished ones; for the on-time value, all begun): the least cost."""
        nothing = (0,) * len(self.problem.jobs)
        layer: dict[tuple[tuple[Copy, ...], Counts], Fraction] = {((), nothing): Fraction(0)}
        best = {nothing: Fraction(0)}
        for time in range(self.horizon):
            following: dict[tuple[tuple[Copy, ...], Counts], Fraction] = {}
            for (active, used), cost in layer.items():
                for there, others in self.choices(active, used, time):
                    for counts in self.turns.options(there):
                        state, more = self.step(there, others, used, counts, time)
                        total = cost + more
                        if state not in following or total < following[state]:
                            following[state] = total
            layer = following
            for (active, used), cost in layer.items():
                if self.problem.objective is Objective.ON_TIME or not active:
                    best[used] = min(best.get(used, cost), cost)
        return best

    def choices(
        self, active: tuple[Copy, ...], used: Counts, time: int
    ) -> Iterator[tuple[tuple[Copy, ...], tuple[Copy, ...]]]:
        """(copies that are there in this turn, those that are not)."""
        fresh = [
            Copy(j, k, first, 0)
            for j in self.jobs
            if time * self.turn >= self.problem.jobs[j].release
            for k, configuration in enumerate(self.problem.jobs[j].configurations)
            for first in range(len(configuration.operators) if self.problem.repeat else 1)
        ]
        most = [job.copies - n for job, n in zip(self.problem.jobs, used, strict=True)]
        for size in range(len(active) + 1):
            for chosen in itertools.combinations(range(len(active)), size):
                there = tuple(active[i] for i in chosen)
                others = tuple(copy for i, copy in enumerate(active) if i not in chosen)
                for number in range(sum(most) + 1):
                    for new in itertools.combinations_with_replacement(fresh, number):
                        if all(sum(copy.job == j for copy in new) <= n for j, n in enumerate(most)):
                            yield tuple(sorted(there + new)), others

    def step(
        self, there: tuple[Copy, ...], others: tuple[Copy, ...], used: Counts, counts: Counts, time: int
    ) -> tuple[tuple[tuple[Copy, ...], Counts], Fraction]:
        """The state after a turn, and what it adds to the cost."""
        cost = Fraction(0)
        number = list(used)
        active = list(others)
        end = (time + 1) * self.turn
        for copy, n in zip(there, counts, strict=True):
            if n == 0 and copy.done == 0:
                continue  # not begun
            job = self.problem.jobs[copy.job]
            length = len(job.configurations[copy.configuration].operators)
            number[copy.job] += copy.done == 0
            after = copy._replace(done=copy.done + n)
            finished = job.iterations is not None and after.done >= job.iterations * length
            if self.problem.objective is Objective.ON_TIME and (job.deadline is None or end <= job.deadline):
                most = LATE if job.iterations is None else job.iterations
                gain = min(most, after.done // length) - min(most, copy.done // length)
                cost -= gain * worth(job, job.configurations[copy.configuration])
            if not finished:
                active.append(after)
            elif self.problem.objective is Objective.COMPLETION:
                cost += job.weight * end
        return (tuple(sorted(active)), tuple(number)), cost


def optimum(problem: FillProblem, horizon: int, length: int | None = None) -> Fraction | None:
    """The optimum over plans that end within `horizon` turns; None: there is none."""
    assert not problem.migrate
    lengths = range(1, problem.max_iterations + 1) if problem.iterations is None else [problem.iterations]
    found = [_of_length(problem, horizon, h) for h in lengths if length in (None, h)]
    values = [value for value in found if value is not None]
    if not values:
        return None
    return max(values) if problem.objective is Objective.ON_TIME else min(values)


def _of_length(problem: FillProblem, horizon: int, length: int) -> Fraction | None:
    if problem.objective is Objective.MAKESPAN:
        for turns in range(1, horizon + 1):
            if _combined(problem, turns, length) is not None:
                return Fraction(turns * length * problem.period)
        return None
    return _combined(problem, horizon, length)


def _combined(problem: FillProblem, horizon: int, length: int) -> Fraction | None:
    """The least cost over all devices; for the on-time value the most."""
    copies = tuple(job.copies for job in problem.jobs)
    total: dict[Counts, Fraction] = {(0,) * len(copies): Fraction(0)}
    for device in problem.devices:
        own = Life(problem, device, length, horizon).outcomes()
        for _ in range(device.count):
            joint: dict[Counts, Fraction] = {}
            for (a, x), (b, y) in itertools.product(total.items(), own.items()):
                used = tuple(i + j for i, j in zip(a, b, strict=True))
                if all(i <= n for i, n in zip(used, copies, strict=True)):
                    joint[used] = min(joint.get(used, x + y), x + y)
            total = joint
    if problem.objective is Objective.ON_TIME:
        return -min(total.values())
    return total.get(copies)
