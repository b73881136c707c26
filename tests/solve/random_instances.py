"""Seeded tiny fill problems that cover every field, with so little slack that one tick or one byte matters.

The length of a bubble is what some sequence of operators and switches needs, or one tick less; free bytes are what some
set of slots needs, or one byte less.
"""

from __future__ import annotations

import math
import random
from collections.abc import Sequence
from dataclasses import replace
from fractions import Fraction
from typing import NamedTuple, TypeVar

from pipefill_opt.fill.problem import (
    Configuration,
    DeviceClass,
    FillBubble,
    FillProblem,
    Guard,
    Job,
    Objective,
    Operator,
    Switch,
    ValueRule,
)

PERIOD = 100_000_000
ENDLESS = 50_000_000
"""An operator of this length fits no bubble: a chain that ends with it is done once at most."""
MB = 1_000_000
KINDS = ("fill-drain", "fwd-bwd", "sync", "inner")
LARGEST = 100_000
"""Cap on the work of the brute force, as `work` estimates it."""
LONGEST = 20
"""Most operators that fit one device over all iterations: models with a place for each segment grow with it."""

T = TypeVar("T")


def random_problem(seed: int) -> FillProblem:
    """The problem of that seed; the same on every machine."""
    for attempt in range(1000):
        problem = _Generator(random.Random(f"fill-{seed}-{attempt}"), seed).problem()
        small = work(problem) <= LARGEST and all(length(problem, device) <= LONGEST for device in problem.devices)
        if small and all(_in_period(device) for device in problem.devices):
            return problem
    raise AssertionError(f"seed {seed}: no small instance")


def _in_period(device: DeviceClass) -> bool:
    """The bubbles begin in the period, and the last one ends before the first one comes again."""
    first, last = device.bubbles[0], device.bubbles[-1]
    return last.length > 0 and last.start < PERIOD and last.start + last.length <= PERIOD + first.start


def work(problem: FillProblem) -> int:
    """How much the brute force has to search, roughly: position tuples x states in a bubble, over all choices of residents."""
    total = 0
    for device in problem.devices:
        jobs = [job for job in problem.jobs if device.name in job.devices]
        tuples, slots = 1, sum(job.copies for job in jobs)
        for job in jobs:
            positions = sum(len(c.operators) if problem.repeat else 1 for c in job.configurations)
            tuples *= (1 + positions) ** job.copies
        total += sum(tuples * math.comb(most + slots, slots) for most in _most_operators(problem, device))
    return total


def length(problem: FillProblem, device: DeviceClass) -> int:
    """Most operators that fit the bubbles of a device over all iterations."""
    return (problem.iterations or problem.max_iterations) * sum(_most_operators(problem, device))


def _most_operators(problem: FillProblem, device: DeviceClass) -> list[int]:
    """By bubble: most operators that fit."""
    jobs = [job for job in problem.jobs if device.name in job.devices]
    shortest = min((o.duration for job in jobs for c in job.configurations for o in c.operators), default=PERIOD)
    return [math.floor(problem.guard.fraction * b.length * device.speed / shortest) for b in device.bubbles]


class Segment(NamedTuple):
    """Operators of a chain in a row, as a plan may run them in a bubble."""

    job: Job
    configuration: Configuration
    first: int
    operators: int


Visit = list[Segment]


class _Generator:
    def __init__(self, rng: random.Random, seed: int) -> None:
        self.rng = rng
        self.seed = seed
        self.packed = self.chance(0.5)
        """One device, several short jobs, long bubbles: plans with several segments in a bubble."""
        self.sandwich = self.packed and self.chance(0.15)
        """Memory to spare, and a job that is cheap to come from and to go to: plans that run it around another one, A-B-A."""
        self.repeat = not self.sandwich and self.chance(0.4 if self.packed else 0.6)

    def pick(self, options: Sequence[T]) -> T:
        return self.rng.choice(options)

    def chance(self, probability: float) -> bool:
        return self.rng.random() < probability

    def problem(self) -> FillProblem:
        names = [f"s{i}" for i in range(1 if self.packed else self.pick((1, 1, 2, 3)))]
        rule = self.pick((ValueRule.TIME, ValueRule.TIME, ValueRule.FLOPS))
        explicit = self.chance(0.3)
        sizes = (3, 4) if self.sandwich else (2, 3, 3, 4) if self.packed else (1, 2, 2, 2, 3, 3)
        jobs = tuple(self.job(f"j{i}", names, rule, explicit) for i in range(self.pick(sizes)))
        guard = Guard(Fraction(self.pick(("1", "0.68", "0.9", "0.57", "0.85"))), self.pick((0, 0, 123_457, 300_000)))
        switch = self.switch(jobs)
        return FillProblem(
            name=f"random-{self.seed}",
            period=PERIOD,
            iterations=None if self.repeat and self.chance(0.12) else self.pick((1, 1, 1, 2)),
            max_iterations=self.pick((2, 3)),
            repeat=self.repeat,
            devices=tuple(self.device(name, jobs, guard, switch) for name in names),
            guard=guard,
            switch=switch,
            jobs=jobs,
            objective=Objective.THROUGHPUT,
            migrate=self.chance(0.1),
        )

    # Jobs

    def job(self, name: str, devices: list[str], rule: ValueRule, explicit: bool) -> Job:
        sizes = self.pick(((1,), (2,), (2,), (3,), (3,), (4,), (1, 2), (2, 2), (2, 3)))
        sizes = self.pick(((1,), (1,), (2,), (3,))) if self.packed else sizes
        sizes = ((2,) if name == "j0" else (1,)) if self.sandwich else sizes
        mixed = self.chance(0.04)
        return Job(
            name=name,
            copies=1 if self.sandwich or (self.packed and self.chance(0.8)) else self.pick((1, 1, 2)),
            weight=Fraction(self.pick(("1", "1", "1.5", "0.3", "0.5"))),
            iterations=self.pick((None, self.rng.randint(20, 500))),
            release=self.pick((0, 10_000_000)),
            deadline=self.pick((None, 5 * 10**9)),
            devices=tuple(devices) if self.chance(0.7) else tuple(sorted(self.rng.sample(devices, 1))),
            keep=self.chance(0.6),
            value_rule=self.pick((ValueRule.TIME, ValueRule.FLOPS)) if mixed else rule,
            configurations=tuple(
                self.configuration(f"c{i}", size, explicit * (10**11 if rule is ValueRule.FLOPS else 1))
                for i, size in enumerate(sizes)
            ),
        )

    def configuration(self, name: str, size: int, explicit: int) -> Configuration:
        operators: list[Operator] = []
        carries = [self.size(1, 12) for _ in range(size)]
        while len(operators) < size:
            index = len(operators)
            before, carry = carries[index - 1], carries[index]
            memory = self.size(2, 20) + (0 if self.chance(0.15) else max(before, carry))
            value = Fraction(self.pick(("0", "0.5", "1", "2", "2.75", "3"))) * explicit if explicit else None
            value = None if self.chance(0.2) else value
            flops = Fraction(self.pick((0, 3 * 10**11, 10**12, 25 * 10**11, 7 * 10**12)))
            operator = Operator(f"o{index}", self.duration(), memory, carry, flops, value)
            written = self.pick((1, 1, 1, 2)) if index + 2 <= size else 1
            operators.extend([operator] * written)
        if not self.repeat and self.chance(1 if self.sandwich else 0.85 if self.packed else 0.2):
            operators[len(operators) - (not self.packed) :] = [replace(operators[-1], duration=ENDLESS)]
        samples = Fraction(self.pick(("1", "2", "3", "4", "8", "2.5")))
        return Configuration(name, samples, self.size(2, 16), tuple(operators))

    def duration(self) -> int:
        least, most = (4, 20) if self.packed else (8, 36)
        if self.chance(0.5):
            return self.rng.randint(least, most) * 100_000
        return self.rng.randint(least * 100_000, most * 100_000)

    def size(self, least: int, most: int) -> int:
        return self.rng.randint(least, most) * MB if self.chance(0.8) else self.rng.randint(least * MB, most * MB)

    def switch(self, jobs: tuple[Job, ...]) -> Switch:
        times = (0, 100_000, 200_000, 1_000_000, 2_000_000)
        between: int | dict[str, dict[str, int]] = self.pick((0, 200_000, 500_000, 333_333))
        if self.chance(0.5):
            between = {a.name: {b.name: self.pick(times) for b in jobs} for a in jobs}
        if self.sandwich:
            hub = jobs[0]
            between = {
                a.name: {b.name: self.pick(times[:2] if hub in (a, b) else times[3:]) for b in jobs} for a in jobs
            }
        rates = tuple(Fraction(rate) * 10**9 for rate in ("64", "100", "25", "6.4", "17.179869184"))
        needed = any(not job.keep for job in jobs) or self.chance(0.5)
        return Switch(
            enter=self.pick((0, 200_000, 300_000, 500_000)),
            leave=self.pick((0, 100_000, 150_001)),
            between=between,
            h2d=self.pick(rates) if needed else None,
            d2h=self.pick(rates) if needed else None,
        )

    # Devices

    def device(self, name: str, jobs: tuple[Job, ...], guard: Guard, switch: Switch) -> DeviceClass:
        speed = Fraction(self.pick(("1", "1", "0.7", "0.85", "1.3", "0.9")))
        mine = [job for job in jobs if name in job.devices] or list(jobs)
        visits = self.sandwiches(mine) if self.sandwich else self.visits(mine)
        resident_free = 300 * MB if self.sandwich else self.resting(mine, visits)
        bubbles: list[FillBubble] = []
        end = 0
        for index, visit in enumerate(visits):
            start = end + self.rng.randint(1, 9) * 1_000_000
            length = self.length(visit, speed, guard, switch)
            if index == len(visits) - 1 and self.chance(0.25):  # around the end of the period
                start = max(start, PERIOD - self.rng.randint(1, 3) * 1_000_000)
            end = start + length
            free = max(resident_free, self.running(mine, visit))
            bubbles.append(FillBubble(start, length, free, self.pick(KINDS)))
        devices = 1 if self.packed and self.chance(0.8) else self.pick((1, 1, 2, 3))
        return DeviceClass(name, devices, speed, resident_free, tuple(bubbles))

    def visits(self, jobs: list[Job]) -> list[Visit]:
        """By bubble, what one device may do: a job that comes round, now and then with another one beside it."""
        job = self.pick(jobs)
        configuration = self.pick(job.configurations)
        chain = configuration.operators
        usable = len(chain) - (chain[-1].duration == ENDLESS)
        at = self.rng.randrange(len(chain)) if self.repeat else 0
        total = len(chain) * self.pick((1, 1, 2)) if self.repeat else self.rng.randint(min(1, usable), 2 * usable)
        total = total if usable == len(chain) else min(total, usable)
        bubbles = self.pick((1, 1, 2) if self.packed else (1, 1, 2, 2, 3))
        cuts = sorted(self.rng.randint(0, total) for _ in range(bubbles - 1))
        visits: list[Visit] = []
        for begin, end in zip((0, *cuts), (*cuts, total), strict=True):
            visit = [Segment(job, configuration, (at + begin) % len(chain), end - begin)] if begin < end else []
            for other in jobs:
                if other is not job and self.chance(0.6 if self.packed else 0.2):
                    visit.append(Segment(other, self.pick(other.configurations), 0, 1))
            self.rng.shuffle(visit)
            visits.append(visit)
        return visits

    def sandwiches(self, jobs: list[Job]) -> list[Visit]:
        """One bubble: the first job, one operator at a time, with others between."""
        hub, others = jobs[0], self.rng.sample(jobs[1:], len(jobs) - 1)
        visit: Visit = []
        for k in range(2):
            visit += [Segment(hub, hub.configurations[0], k, 1)]
            visit += [Segment(other, other.configurations[0], 0, 1) for other in others[k : k + 1]]
        return [visit if self.chance(0.5) else visit[::-1] if hub.keep else visit[:3]]

    def resting(self, jobs: list[Job], visits: list[Visit]) -> int:
        """Bytes that some kept slots need between bubbles."""
        total = 0
        working = [segment.job for visit in visits for segment in visit]
        for job in jobs:
            for _ in range(self.rng.randint(int(job in working), job.copies)):
                configuration = self.pick(job.configurations)
                total += configuration.resident + self.pick(configuration.operators).carry
        return max(0, total - self.pick((0, 0, 1)))

    def running(self, jobs: list[Job], visit: Visit) -> int:
        """Bytes that the largest operator of a visit needs while some other slots are in."""
        job, configuration, first, count = (
            self.pick(visit) if visit else Segment(jobs[0], jobs[0].configurations[0], 0, 1)
        )
        operators = [configuration.operators[(first + k) % len(configuration.operators)] for k in range(count)]
        total = configuration.resident + max(operator.memory for operator in operators)
        for other in jobs:
            if self.chance(0.6) and (other is not job or other.copies > 1):
                configuration = self.pick(other.configurations)
                total += configuration.resident + self.pick(configuration.operators).carry
        return total - self.pick((0, 0, 1))

    def length(self, visit: Visit, speed: Fraction, guard: Guard, switch: Switch) -> int:
        """Length of a bubble in which a visit just fits, or misses by one tick."""
        time = switch.enter + switch.leave
        for before, segment in zip((None, *visit), visit, strict=False):
            if before is not None:
                time += _between(switch, before.job, segment.job)
            time += self.moves(segment, switch)
            operators = segment.configuration.operators
            for k in range(segment.first, segment.first + segment.operators):
                operator = operators[k % len(operators)]
                time += math.ceil(operator.duration / speed) if operator.duration < ENDLESS else 0
        return math.ceil((time + guard.margin) / guard.fraction) - self.pick((0, 0, 0, 1))

    def moves(self, segment: Segment, switch: Switch) -> int:
        """Ticks to move a segment's slot in and out, if it has to."""
        job, configuration, first, count = segment
        if job.keep or switch.h2d is None or switch.d2h is None:
            return 0
        operators = configuration.operators
        before = operators[first - 1].carry if first or self.repeat else 0
        after = operators[(first + count - 1) % len(operators)].carry
        into = math.ceil((configuration.resident + before) * 10**9 / switch.h2d)
        return into + math.ceil((configuration.resident + after) * 10**9 / switch.d2h)


def _between(switch: Switch, a: Job, b: Job) -> int:
    return switch.between if isinstance(switch.between, int) else switch.between[a.name][b.name]
