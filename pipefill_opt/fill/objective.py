"""The objective of a plan, exact. Part of `certify`: shares nothing with solvers."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from fractions import Fraction
from itertools import pairwise

from pipefill_opt.fill.certificate import Violation
from pipefill_opt.fill.lives import Visit
from pipefill_opt.fill.plan import FillPlan
from pipefill_opt.fill.problem import Configuration, FillProblem, Job, Objective, ValueRule
from pipefill_opt.fill.structure import CopyKey, main_iterations


def chain_values(job: Job, configuration: Configuration) -> list[Fraction]:
    """Value of each operator: its own, or its FLOPs, or its share of the useful GPU time, rounded down cumulatively."""
    if job.value_rule is ValueRule.FLOPS:
        shares = [operator.flops for operator in configuration.operators]
    else:
        per_sample = min(_length(entry) / entry.samples for entry in job.configurations)
        useful = per_sample * configuration.samples
        length = _length(configuration)
        marks = [0]
        elapsed = 0
        for operator in configuration.operators:
            elapsed += operator.duration
            mark = useful * elapsed / length
            marks.append(mark.numerator // mark.denominator)
        shares = [Fraction(after - before) for before, after in pairwise(marks)]
    return [
        share if operator.value is None else operator.value
        for share, operator in zip(shares, configuration.operators, strict=True)
    ]


def _length(configuration: Configuration) -> Fraction:
    return Fraction(sum(operator.duration for operator in configuration.operators))


def throughput(problem: FillProblem, plan: FillPlan) -> Fraction:
    """Weight x value of the operators done per main iteration, over all devices. One phase a pattern."""
    total = Fraction(0)
    prefixes: dict[tuple[str, str], list[Fraction]] = {}
    for pattern in plan.patterns:
        (phase,) = pattern.phases
        for occurrence in phase.occurrences:
            for segment in occurrence.segments:
                slot = phase.slots[segment.slot]
                job = problem.job(slot.job)
                key = (slot.job, slot.configuration)
                if key not in prefixes:
                    prefixes[key] = _prefix_sums(chain_values(job, job.configuration(slot.configuration)))
                done = _cyclic_sum(prefixes[key], segment.first, segment.count)
                total += pattern.multiplicity * job.weight * done
    return total / main_iterations(problem, plan)


def _prefix_sums(values: Sequence[Fraction]) -> list[Fraction]:
    sums = [Fraction(0)]
    for value in values:
        sums.append(sums[-1] + value)
    return sums


def _cyclic_sum(prefix: Sequence[Fraction], first: int, count: int) -> Fraction:
    """Sum of `count` entries from `first`, cyclically."""
    size = len(prefix) - 1
    laps, end = divmod(first + count, size)
    return laps * prefix[-1] + prefix[end] - prefix[first]


def all_copies_finish(problem: FillProblem, visits: Sequence[Visit]) -> Iterator[Violation]:
    """`unfinished`: every wanted iteration of every copy is done (and, for the on-time value, no count is endless)."""
    if problem.objective is Objective.ON_TIME:
        for visit in visits:
            if visit.repetitions is None and visit.work and visit.job.iterations is None and visit.job.deadline is None:
                message = "runs without end, without deadline and without a number of iterations"
                yield Violation("unfinished", f"job {visit.job.name}", message)
        return
    finished = _completions(visits)
    for job in problem.jobs:
        copies = sum(number for name, number, _ in finished.values() if name == job.name)
        if copies < job.copies:
            message = f"{copies} copies finish their iterations, {job.copies} exist"
            yield Violation("unfinished", f"job {job.name}", message, {"finished": copies, "copies": job.copies})


def objective_over_time(problem: FillProblem, visits: Sequence[Visit]) -> Fraction:
    """Makespan and weighted completion in ticks, or the weighted on-time value; of a plan that breaks no rule."""
    if problem.objective is Objective.ON_TIME:
        return _on_time_value(visits)
    finished = _completions(visits).values()
    if problem.objective is Objective.MAKESPAN:
        return Fraction(max((time for _, _, time in finished), default=0))  # without jobs nothing is to be waited for
    return sum((problem.job(name).weight * number * time for name, number, time in finished), Fraction(0))


def _completions(visits: Sequence[Visit]) -> dict[CopyKey, tuple[str, int, int]]:
    """For each copy that finishes: job, number of such copies, end of the repetition that does its last wanted iteration."""
    finished: dict[CopyKey, tuple[str, int, int]] = {}
    for visit in visits:
        if visit.copy in finished or visit.job.iterations is None or not visit.work:
            continue
        missing = visit.job.iterations * len(visit.configuration.operators) - visit.before
        turns = -(-missing // visit.work)
        if visit.repetitions is None or turns <= visit.repetitions:
            finished[visit.copy] = (visit.job.name, visit.multiplicity, visit.start + turns * visit.turn)
    return finished


def _on_time_value(visits: Sequence[Visit]) -> Fraction:
    """Weight x iterations finished by the deadline (at most those wanted) x value of an iteration, over all copies."""
    best: dict[CopyKey, Fraction] = {}
    for visit in visits:
        job = visit.job
        turns = visit.repetitions
        if job.deadline is not None:
            in_time = max(0, job.deadline - visit.start) // visit.turn
            turns = in_time if turns is None else min(turns, in_time)
        if turns == 0:  # what was done before counts, if at all, in the visits before
            continue
        if turns is None and visit.work:
            assert job.iterations is not None  # `all_copies_finish`
            iterations = job.iterations
        else:
            iterations = (visit.before + (turns or 0) * visit.work) // len(visit.configuration.operators)
            iterations = iterations if job.iterations is None else min(iterations, job.iterations)
        value = sum(chain_values(job, visit.configuration), Fraction(0))
        worth = visit.multiplicity * job.weight * iterations * value
        best[visit.copy] = max(worth, best.get(visit.copy, Fraction(0)))
    return sum(best.values(), Fraction(0))
