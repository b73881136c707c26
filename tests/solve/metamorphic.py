"""Changes to a fill problem whose effect on the optimum is known, with the proof of each in a line.

A relation holds for the optimum of the throughput. docs/metamorphic.md lists them, with those that sound right and are wrong.
"""

from __future__ import annotations

import random
from collections.abc import Callable
from dataclasses import dataclass, replace
from fractions import Fraction
from typing import Final

from pipefill_opt.fill.problem import DeviceClass, FillBubble, FillProblem, Job, ValueRule

SAME: Final = "same"
NOT_LESS: Final = "not less"
NOT_MORE: Final = "not more"
Transform = Callable[[FillProblem, random.Random], FillProblem | None]
"""The changed problem, or None where the change says nothing about this one."""


@dataclass(frozen=True, slots=True)
class Change:
    """A change, how the optimum answers to it, and by what factor the old optimum is multiplied before it is compared."""

    transform: Transform
    relation: str
    factor: Fraction = Fraction(1)

    def holds(self, before: Fraction, after: Fraction) -> bool:
        """The relation between the two optima."""
        before *= self.factor
        if self.relation == SAME:
            return before == after
        return after >= before if self.relation == NOT_LESS else after <= before


TIMES: Final = 7
WEIGHTS: Final = Fraction(5, 3)


# What all changes are made of


def each_device(problem: FillProblem, change: Callable[[DeviceClass], DeviceClass]) -> FillProblem:
    """Every class changed."""
    return replace(problem, devices=tuple(change(device) for device in problem.devices))


def each_bubble(problem: FillProblem, change: Callable[[FillBubble], FillBubble]) -> FillProblem:
    """Every bubble changed."""
    return each_device(problem, lambda d: replace(d, bubbles=tuple(change(bubble) for bubble in d.bubbles)))


def each_job(problem: FillProblem, change: Callable[[Job], Job]) -> FillProblem:
    """Every job changed."""
    return replace(problem, jobs=tuple(change(job) for job in problem.jobs))


def switch_times(problem: FillProblem, change: Callable[[int], int]) -> FillProblem:
    """Enter, leave and `between` changed."""
    switch = problem.switch
    between = switch.between
    table = (
        change(between)
        if isinstance(between, int)
        else {a: {b: change(ticks) for b, ticks in row.items()} for a, row in between.items()}
    )
    return replace(
        problem, switch=replace(switch, enter=change(switch.enter), leave=change(switch.leave), between=table)
    )


def rates(problem: FillProblem, factor: Fraction) -> FillProblem:
    """Both bandwidths multiplied."""
    switch = problem.switch
    h2d = None if switch.h2d is None else switch.h2d * factor
    d2h = None if switch.d2h is None else switch.d2h * factor
    return replace(problem, switch=replace(switch, h2d=h2d, d2h=d2h))


def by_time(problem: FillProblem) -> FillProblem:
    """Every operator is worth its useful time."""

    def timed(job: Job) -> Job:
        configurations = tuple(
            replace(c, operators=tuple(replace(o, value=None) for o in c.operators)) for c in job.configurations
        )
        return replace(job, value_rule=ValueRule.TIME, configurations=configurations)

    return each_job(problem, timed)


def even(problem: FillProblem) -> FillProblem:
    """Nothing is left to round: speeds and guard 1, a byte a tick, one configuration a job, worth its time."""
    problem = each_device(by_time(problem), lambda d: replace(d, speed=Fraction(1)))
    problem = each_job(problem, lambda job: replace(job, configurations=job.configurations[:1]))
    problem = each_bubble(problem, lambda b: replace(b, length=max(1, int(b.length * problem.guard.fraction))))
    switch = replace(problem.switch, h2d=Fraction(10**12), d2h=Fraction(10**12))
    sized = each_job(
        problem,
        lambda job: replace(
            job,
            configurations=tuple(
                replace(
                    c,
                    resident=c.resident // 1000 * 1000,
                    operators=tuple(replace(o, carry=o.carry // 1000 * 1000) for o in c.operators),
                )
                for c in job.configurations
            ),
        ),
    )
    return replace(sized, switch=switch, guard=replace(problem.guard, fraction=Fraction(1)))


def longer(problem: FillProblem, k: int) -> FillProblem:
    """All times multiplied."""
    problem = switch_times(rates(problem, Fraction(1, k)), lambda ticks: k * ticks)
    problem = each_bubble(problem, lambda b: replace(b, start=k * b.start, length=k * b.length))
    problem = each_job(
        problem,
        lambda job: replace(
            job,
            release=k * job.release,
            deadline=None if job.deadline is None else k * job.deadline,
            configurations=tuple(
                replace(c, operators=tuple(replace(o, duration=k * o.duration) for o in c.operators))
                for c in job.configurations
            ),
        ),
    )
    return replace(problem, period=k * problem.period, guard=replace(problem.guard, margin=k * problem.guard.margin))


# Changes that change nothing


def permuted_devices(problem: FillProblem, rng: random.Random) -> FillProblem:
    """Classes have no order."""
    return replace(problem, devices=tuple(rng.sample(problem.devices, len(problem.devices))))


def permuted_jobs(problem: FillProblem, rng: random.Random) -> FillProblem:
    """Jobs and their configurations have no order."""
    jobs = rng.sample(problem.jobs, len(problem.jobs))
    turned = [replace(job, configurations=job.configurations[::-1]) for job in jobs]
    return replace(problem, jobs=tuple(turned))


def split_class(problem: FillProblem, rng: random.Random) -> FillProblem:
    """Identical devices may be called two classes, even one of no device."""
    index = rng.randrange(len(problem.devices))
    own = problem.devices[index]
    first = rng.randint(0, own.count)
    parts = (replace(own, count=first), replace(own, name="twin", count=own.count - first))
    devices = (*problem.devices[:index], *parts, *problem.devices[index + 1 :])
    jobs = (replace(j, devices=(*j.devices, "twin") if own.name in j.devices else j.devices) for j in problem.jobs)
    return replace(problem, devices=devices, jobs=tuple(jobs))


def split_job(problem: FillProblem, rng: random.Random) -> FillProblem:
    """Copies of a job may be called two jobs."""
    index = rng.randrange(len(problem.jobs))
    own = problem.jobs[index]
    first = rng.randint(0, own.copies)
    twins = (replace(own, copies=first), replace(own, name="twin", copies=own.copies - first))
    between = problem.switch.between
    if not isinstance(between, int):
        rows = {**between, "twin": between[own.name]}
        between = {a: {**row, "twin": row[own.name]} for a, row in rows.items()}
    jobs = (*problem.jobs[:index], *twins, *problem.jobs[index + 1 :])
    return replace(problem, jobs=jobs, switch=replace(problem.switch, between=between))


def repeated_configuration(problem: FillProblem, rng: random.Random) -> FillProblem:
    """A configuration twice is one choice twice."""
    del rng
    return each_job(
        problem,
        lambda job: replace(
            job, configurations=(*job.configurations, replace(job.configurations[0], name="once more"))
        ),
    )


def rotated_period(problem: FillProblem, rng: random.Random) -> FillProblem | None:
    """A plan that repeats may be told from another bubble on. (All classes turn by one bubble or not at all: each device by itself.)"""
    del rng
    if not problem.repeat:
        return None
    return each_device(problem, lambda d: replace(d, bubbles=(*d.bubbles[1:], *d.bubbles[:1])))


def larger_bytes(problem: FillProblem, rng: random.Random) -> FillProblem:
    """All bytes, bandwidths too, in another unit."""
    k = rng.randint(2, 1000)
    problem = each_bubble(rates(problem, Fraction(k)), lambda b: replace(b, free=k * b.free))
    problem = each_device(problem, lambda d: replace(d, resident_free=k * d.resident_free))
    return each_job(
        problem,
        lambda job: replace(
            job,
            configurations=tuple(
                replace(
                    c,
                    resident=k * c.resident,
                    operators=tuple(replace(o, memory=k * o.memory, carry=k * o.carry) for o in c.operators),
                )
                for c in job.configurations
            ),
        ),
    )


def empty_bubble(problem: FillProblem, rng: random.Random) -> FillProblem:
    """A bubble in which nothing fits."""
    del rng
    shut = FillBubble(problem.period - 1, 1, 0, "inner")
    return each_device(problem, lambda d: replace(d, bubbles=(*d.bubbles, shut)))


def longer_times(problem: FillProblem, rng: random.Random) -> FillProblem:
    """Where nothing is rounded, a plan of one problem is a plan of the other, worth k times as much."""
    del rng
    return longer(even(problem), TIMES)


def heavier(problem: FillProblem, rng: random.Random) -> FillProblem:
    """All weights multiplied."""
    del rng
    return each_job(problem, lambda job: replace(job, weight=job.weight * WEIGHTS))


# Changes that only allow more: every old plan stays a plan and loses no value


def rounded_longer_times(problem: FillProblem, rng: random.Random) -> FillProblem:
    """ceil(k x) <= k ceil(x) and floor(k x) >= k floor(x), of a chain from operator 0 or by whole laps."""
    del rng
    return longer(by_time(problem), TIMES)


def more_bubbles(problem: FillProblem, rng: random.Random) -> FillProblem:
    """The new bubble may stay unvisited."""

    def more(device: DeviceClass) -> DeviceClass:
        at = rng.randint(0, len(device.bubbles))
        new = FillBubble(0, rng.randint(1, 10_000_000), rng.randint(0, 10**9), "inner")
        return replace(device, bubbles=(*device.bubbles[:at], new, *device.bubbles[at:]))

    return each_device(problem, more)


def longer_bubbles(problem: FillProblem, rng: random.Random) -> FillProblem:
    """What fits a bubble fits a longer one."""
    return each_bubble(problem, lambda b: replace(b, length=b.length + rng.randint(0, 2_000_000)))


def more_memory(problem: FillProblem, rng: random.Random) -> FillProblem:
    """In the bubbles and between them."""
    more = each_bubble(problem, lambda b: replace(b, free=b.free + rng.randint(0, 10_000_000)))
    return each_device(more, lambda d: replace(d, resident_free=d.resident_free + rng.randint(0, 10_000_000)))


def more_copies(problem: FillProblem, rng: random.Random) -> FillProblem:
    """The new copy may stay unused."""
    index = rng.randrange(len(problem.jobs))
    jobs = [replace(job, copies=job.copies + (k == index)) for k, job in enumerate(problem.jobs)]
    return replace(problem, jobs=tuple(jobs))


def more_devices(problem: FillProblem, rng: random.Random) -> FillProblem:
    """The new device may stay empty."""
    del rng
    return each_device(problem, lambda d: replace(d, count=d.count + 1))


def allowed_everywhere(problem: FillProblem, rng: random.Random) -> FillProblem:
    """More classes for each job."""
    del rng
    names = tuple(device.name for device in problem.devices)
    return each_job(problem, lambda job: replace(job, devices=names))


def faster_devices(problem: FillProblem, rng: random.Random) -> FillProblem:
    """Operators take no longer and are worth the same."""
    return each_device(problem, lambda d: replace(d, speed=d.speed * Fraction(rng.randint(10, 20), 10)))


def cheaper_switches(problem: FillProblem, rng: random.Random) -> FillProblem:
    """Visits, changes and moves take no longer."""
    return switch_times(rates(problem, Fraction(rng.randint(10, 30), 10)), lambda ticks: ticks * 2 // 3)


def doubled_horizon(problem: FillProblem, rng: random.Random) -> FillProblem | None:
    """A plan that repeats, twice."""
    del rng
    if not problem.repeat or problem.iterations is None:
        return None
    return replace(problem, iterations=2 * problem.iterations)


def open_horizon(problem: FillProblem, rng: random.Random) -> FillProblem | None:
    """H is among those that may be chosen."""
    del rng
    if not problem.repeat or problem.iterations is None:
        return None
    return replace(problem, iterations=None, max_iterations=problem.iterations + 1)


def merged_bubbles(problem: FillProblem, rng: random.Random) -> FillProblem | None:
    """What ran in two bubbles in a row fits one as long as both, if a change costs no more than to leave and enter again.

    A swapped slot of both runs all it did where the others held less of the two; that takes one time for all changes.
    """
    del rng
    switch = problem.switch
    between = switch.between
    costs = [between] if isinstance(between, int) else [ticks for row in between.values() for ticks in row.values()]
    if max(costs) > switch.enter + switch.leave:
        return None
    if not isinstance(between, int) and not all(job.keep for job in problem.jobs):
        return None
    if all(len(device.bubbles) < 2 for device in problem.devices):
        return None

    def merged(device: DeviceClass) -> DeviceClass:
        if len(device.bubbles) < 2:
            return device
        a, b, *others = device.bubbles
        return replace(device, bubbles=(replace(a, length=a.length + b.length, free=max(a.free, b.free)), *others))

    return each_device(problem, merged)


def one_weight(problem: FillProblem, rng: random.Random) -> FillProblem:
    """One job counts for more."""
    index = rng.randrange(len(problem.jobs))
    jobs = [replace(job, weight=job.weight * (1 + (k == index))) for k, job in enumerate(problem.jobs)]
    return replace(problem, jobs=tuple(jobs))


# Changes that only forbid


def stricter_fraction(problem: FillProblem, rng: random.Random) -> FillProblem:
    """Usable ticks do not grow."""
    factor = Fraction(rng.randint(60, 100), 100)
    return replace(problem, guard=replace(problem.guard, fraction=problem.guard.fraction * factor))


def stricter_margin(problem: FillProblem, rng: random.Random) -> FillProblem:
    """Usable ticks do not grow."""
    return replace(problem, guard=replace(problem.guard, margin=problem.guard.margin + rng.randint(1, 1_000_000)))


def fewer_jobs(problem: FillProblem, rng: random.Random) -> FillProblem:
    """A job less to choose from."""
    gone = rng.randrange(len(problem.jobs))
    return replace(problem, jobs=tuple(job for k, job in enumerate(problem.jobs) if k != gone))


def larger_carry(problem: FillProblem, rng: random.Random) -> FillProblem:
    """Pausing costs more bytes, and more ticks for a swapped job."""
    return each_job(
        problem,
        lambda job: replace(
            job,
            configurations=tuple(
                replace(c, operators=tuple(replace(o, carry=o.carry + rng.randint(0, 5_000_000)) for o in c.operators))
                for c in job.configurations
            ),
        ),
    )


CHANGES: Final = {
    change.transform.__name__: change
    for change in (
        Change(permuted_devices, SAME),
        Change(permuted_jobs, SAME),
        Change(split_class, SAME),
        Change(split_job, SAME),
        Change(repeated_configuration, SAME),
        Change(rotated_period, SAME),
        Change(larger_bytes, SAME),
        Change(empty_bubble, SAME),
        Change(longer_times, SAME, Fraction(TIMES)),
        Change(heavier, SAME, WEIGHTS),
        Change(rounded_longer_times, NOT_LESS, Fraction(TIMES)),
        Change(more_bubbles, NOT_LESS),
        Change(longer_bubbles, NOT_LESS),
        Change(more_memory, NOT_LESS),
        Change(more_copies, NOT_LESS),
        Change(more_devices, NOT_LESS),
        Change(allowed_everywhere, NOT_LESS),
        Change(faster_devices, NOT_LESS),
        Change(cheaper_switches, NOT_LESS),
        Change(doubled_horizon, NOT_LESS),
        Change(open_horizon, NOT_LESS),
        Change(merged_bubbles, NOT_LESS),
        Change(one_weight, NOT_LESS),
        Change(stricter_fraction, NOT_MORE),
        Change(stricter_margin, NOT_MORE),
        Change(fewer_jobs, NOT_MORE),
        Change(larger_carry, NOT_MORE),
    )
}
BEFORE: Final[dict[str, Callable[[FillProblem], FillProblem]]] = {
    "longer_times": even,
    "rounded_longer_times": by_time,
}
"""What is done to a problem before the change, so that the change says something about it."""
