"""A solution for an objective over time: as text, JSON and CSV."""

from __future__ import annotations

import json
from collections import defaultdict
from collections.abc import Iterator
from dataclasses import dataclass
from fractions import Fraction
from typing import Any

from pipefill_opt.fill.fits import misfits
from pipefill_opt.fill.plan import FillPlan, Pattern
from pipefill_opt.fill.plan_file import plan_document
from pipefill_opt.fill.problem import FillProblem, Objective
from pipefill_opt.report.solution import outcome_document
from pipefill_opt.report.tables import csv_text, exact_number, percent, text_table
from pipefill_opt.solve.result import Solution
from pipefill_opt.units import format_time


@dataclass(frozen=True, slots=True)
class JobLife:
    """Copies of a job: how many finish, when the first, the mean and the last one does (ticks), how many by the deadline."""

    name: str
    copies: int
    finished: int
    first: int | None
    mean: Fraction | None
    last: int | None
    in_time: int | None


@dataclass(frozen=True, slots=True)
class LifeReport:
    """A solution with a plan, and what becomes of each job."""

    problem: FillProblem
    solution: Solution
    plan: FillPlan
    jobs: tuple[JobLife, ...]
    warnings: tuple[str, ...]


def life_report(problem: FillProblem, solution: Solution, plan: FillPlan) -> LifeReport:
    """What is reported of a certified plan."""
    return LifeReport(problem, solution, plan, tuple(_jobs(problem, plan)), misfits(problem))


def _jobs(problem: FillProblem, plan: FillPlan) -> Iterator[JobLife]:
    found = [entry for pattern in plan.patterns for entry in _completions(problem, plan, pattern)]
    for job in problem.jobs:
        own = sorted((time, number) for name, number, time in found if name == job.name)
        finished = sum(number for _, number in own)
        yield JobLife(
            name=job.name,
            copies=job.copies,
            finished=finished,
            first=own[0][0] if own else None,
            mean=Fraction(sum(time * number for time, number in own), finished) if own else None,
            last=own[-1][0] if own else None,
            in_time=None if job.deadline is None else sum(n for time, n in own if time <= job.deadline),
        )


def _completions(problem: FillProblem, plan: FillPlan, pattern: Pattern) -> Iterator[tuple[str, int, int]]:
    """(job, devices, tick) for each named copy of a pattern that does all its iterations there."""
    turn = (plan.iterations or problem.iterations or 1) * problem.period
    done: dict[str, int] = defaultdict(int)
    start = 0
    for phase in pattern.phases:
        work = [0] * len(phase.slots)
        for occurrence in phase.occurrences:
            for segment in occurrence.segments:
                work[segment.slot] += segment.count
        for slot, operators in zip(phase.slots, work, strict=True):
            job = problem.job(slot.job)
            if slot.copy is None or job.iterations is None or not operators:
                continue
            wanted = job.iterations * len(job.configuration(slot.configuration).operators)
            turns = -(-(wanted - done[slot.copy]) // operators)
            if turns > 0 and (phase.repetitions is None or turns <= phase.repetitions):
                yield slot.job, pattern.multiplicity, start + turns * turn
            done[slot.copy] += operators * (turns if phase.repetitions is None else phase.repetitions)
        start += turn * (phase.repetitions or 0)


def life_text(result: LifeReport) -> str:
    """The whole report for people."""
    blocks = [_head(result), _job_lines(result), [f"warning: {line}" for line in result.warnings]]
    return "\n\n".join("\n".join(block) for block in blocks if block) + "\n"


def _value(problem: FillProblem, value: Fraction | None) -> str:
    if value is None:
        return "unknown"
    return format_time(value) if problem.objective is Objective.MAKESPAN else f"{float(value):.6g}"


def _head(result: LifeReport) -> list[str]:
    problem, solution, plan = result.problem, result.solution, result.plan
    devices = sum(device.count for device in problem.devices)
    phases = sum(len(pattern.phases) for pattern in plan.patterns)
    minimised = problem.objective is not Objective.ON_TIME
    words = {
        Objective.MAKESPAN: "makespan (less is better)",
        Objective.COMPLETION: "weight x ticks of completion (less is better)",
        Objective.ON_TIME: "weighted on-time value (more is better)",
    }
    gap = "unknown" if solution.gap is None else percent(solution.gap, 3)
    lines = [
        f"{problem.name}: {devices} device{'' if devices == 1 else 's'} in {len(problem.devices)} "
        f"class{'' if len(problem.devices) == 1 else 'es'}, period {format_time(problem.period)}, "
        f"H = {plan.iterations or problem.iterations}, {len(plan.patterns)} patterns of {phases} phases in all",
        f"  outcome    {solution.outcome} ({solution.reason}), solver {solution.solver}, {solution.seconds:.1f} s",
        f"  objective  {_value(problem, solution.objective)}, {words[problem.objective]}, certified",
        f"  bound      no plan is {'below' if minimised else 'above'} {_value(problem, solution.bound)}: {solution.bound_origin}",
        f"  gap        {gap}",
    ]
    return lines + [f"  note       {note}" for note in solution.notes]


def _job_lines(result: LifeReport) -> list[str]:
    def time(ticks: int | Fraction | None) -> str:
        return "" if ticks is None else format_time(ticks)

    rows = [
        (
            job.name,
            f"{job.finished} of {job.copies}",
            time(job.first),
            time(job.mean),
            time(job.last),
            "" if job.in_time is None else str(job.in_time),
        )
        for job in result.jobs
    ]
    return text_table(("job", "finished", "first", "mean", "last", "by the deadline"), rows)


def life_json(result: LifeReport) -> str:
    """The report as JSON: exact numbers as text, times in ticks."""
    document: dict[str, Any] = {
        **outcome_document(result.problem, result.solution, result.warnings),
        "period": result.problem.period,
        "jobs": [
            {
                "name": job.name,
                "copies": job.copies,
                "finished": job.finished,
                "first": job.first,
                "mean": exact_number(job.mean),
                "last": job.last,
                "by_the_deadline": job.in_time,
            }
            for job in result.jobs
        ],
        "plan": plan_document(result.problem, result.plan),
    }
    return json.dumps(document, indent=2) + "\n"


def life_csv(result: LifeReport) -> str:
    """One row a job; times in ticks."""
    rows = [
        (job.name, job.copies, job.finished, job.first, exact_number(job.mean), job.last, job.in_time)
        for job in result.jobs
    ]
    return csv_text(("job", "copies", "finished", "first", "mean", "last", "by_the_deadline"), rows)
