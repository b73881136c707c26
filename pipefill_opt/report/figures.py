"""Figures of a certified plan: utilisation before and after, useful GPU time recovered, what each job gets."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator
from dataclasses import dataclass, replace
from fractions import Fraction

from pipefill_opt.fill.plan import FillPlan, Phase
from pipefill_opt.fill.problem import Configuration, FillProblem, Job, ValueRule
from pipefill_opt.fill.values import operator_values
from pipefill_opt.timeline.compute import timeline
from pipefill_opt.units import scaled_ticks


@dataclass(frozen=True, slots=True)
class JobFigures:
    """What a job gets: copies that live on devices, of how many; passes through its chain and samples, per main iteration."""

    name: str
    copies_used: int
    copies: int
    iterations: Fraction
    samples: Fraction
    fill: Fraction


@dataclass(frozen=True, slots=True)
class Figures:
    """Over all devices, per main iteration; ticks.

    total = devices x period. main: main work. bubbles: total - main, whether the instance lists them all or not. fill: time in
    which operators of fill jobs run. useful: useful GPU time of these operators (their least exclusive time per sample).
    """

    devices: int
    period: int
    main: int
    fill: Fraction
    useful: Fraction
    jobs: tuple[JobFigures, ...]

    @property
    def total(self) -> int:
        """GPU time of one iteration."""
        return self.devices * self.period

    @property
    def bubbles(self) -> int:
        """GPU time without main work."""
        return self.total - self.main

    @property
    def before(self) -> Fraction:
        """Share of GPU time with main work."""
        return Fraction(self.main, self.total)

    @property
    def after(self) -> Fraction:
        """Share of GPU time with main or fill work."""
        return (self.main + self.fill) / self.total

    @property
    def gpus(self) -> Fraction:
        """How many exclusive GPUs would do the fill work."""
        return self.useful / self.period


def figures(problem: FillProblem, plan: FillPlan) -> Figures:
    """The figures of a certified plan; of patterns with several phases, the first one."""
    iterations = plan.iterations or problem.iterations or 1
    fill: dict[str, Fraction] = defaultdict(Fraction)
    laps: dict[str, Fraction] = defaultdict(Fraction)
    samples: dict[str, Fraction] = defaultdict(Fraction)
    useful = Fraction(0)
    copies: dict[str, int] = defaultdict(int)
    worth = {(job.name, c.name): _useful(job, c) for job in problem.jobs for c in job.configurations}
    for pattern in plan.patterns:
        speed, phase = problem.device(pattern.device).speed, pattern.phases[0]
        share = Fraction(pattern.multiplicity, iterations)
        for slot in phase.slots:
            copies[slot.job] += pattern.multiplicity
        for index, first, times in _operators_done(problem, phase):
            job = problem.job(phase.slots[index].job)
            configuration = job.configuration(phase.slots[index].configuration)
            operator = configuration.operators[first]
            fill[job.name] += share * times * scaled_ticks(operator.duration, speed)
            useful += share * times * worth[job.name, configuration.name][first]
            laps[job.name] += share * times / len(configuration.operators)
            samples[job.name] += share * times * configuration.samples / len(configuration.operators)
    return Figures(
        devices=sum(device.count for device in problem.devices),
        period=problem.period,
        main=_main_ticks(problem),
        fill=sum(fill.values(), Fraction(0)),
        useful=useful,
        jobs=tuple(
            JobFigures(j.name, copies[j.name], j.copies, laps[j.name], samples[j.name], fill[j.name])
            for j in problem.jobs
        ),
    )


def _main_ticks(problem: FillProblem) -> int:
    busy = timeline(problem.main).busy if problem.main is not None else None
    total = 0
    for device in problem.devices:
        if busy is not None and device.main_device is not None:
            total += device.count * int(busy[device.main_device])
        else:
            total += device.count * (problem.period - sum(bubble.length for bubble in device.bubbles))
    return total


def _useful(job: Job, configuration: Configuration) -> tuple[Fraction, ...]:
    """Useful GPU time of each operator, whatever the job's own value rule says."""
    plain = replace(configuration, operators=tuple(replace(o, value=None) for o in configuration.operators))
    return operator_values(replace(job, value_rule=ValueRule.TIME), plain)


def _operators_done(problem: FillProblem, phase: Phase) -> Iterator[tuple[int, int, int]]:
    """(slot, operator, times) for all work of a phase."""
    for occurrence in phase.occurrences:
        for segment in occurrence.segments:
            slot = phase.slots[segment.slot]
            length = len(problem.job(slot.job).configuration(slot.configuration).operators)
            laps, rest = divmod(segment.count, length)
            for index in range(length):
                times = laps + ((index - segment.first) % length < rest)
                if times:
                    yield segment.slot, index, times
