"""A solution with its certificate and all that puts it into proportion: as text, JSON and CSV."""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import Any

from pipefill_opt.fill.explain import Explanation, explain
from pipefill_opt.fill.fits import misfits
from pipefill_opt.fill.hash import instance_hash
from pipefill_opt.fill.plan import FillPlan
from pipefill_opt.fill.plan_file import plan_document
from pipefill_opt.fill.problem import FillProblem, Objective, ValueRule
from pipefill_opt.fill.retime import Slowdown, retime
from pipefill_opt.report.explanation import explanation_document, rest_lines
from pipefill_opt.report.figures import Figures, figures
from pipefill_opt.report.tables import csv_text, exact_number, percent, text_table
from pipefill_opt.solve.result import Outcome, Reason, Solution
from pipefill_opt.units import format_time

JITTER = Fraction(1, 20)
ITERATIONS = 200
"""Re-timing under jitter: how much durations vary, over how many iterations."""


@dataclass(frozen=True, slots=True)
class Report:
    """A solution with a plan; the greedy ones beside it; figures, re-timing (where the main job is known), warnings."""

    problem: FillProblem
    solution: Solution
    plan: FillPlan
    baselines: tuple[Solution, ...]
    figures: Figures
    explanation: Explanation
    slowdown: Slowdown | None
    warnings: tuple[str, ...]


def report(problem: FillProblem, solution: Solution, baselines: tuple[Solution, ...]) -> Report:
    """Compute all that is reported beside a solution. It must have a plan."""
    if solution.plan is None:
        raise ValueError("a solution without a plan cannot be reported")
    return Report(
        problem=problem,
        solution=solution,
        plan=solution.plan,
        baselines=baselines,
        figures=figures(problem, solution.plan),
        explanation=explain(problem, solution.plan),
        slowdown=retime(problem, solution.plan, jitter=JITTER, seed=solution.seed, iterations=ITERATIONS)
        if problem.main is not None
        else None,
        warnings=misfits(problem),
    )


def solution_text(result: Report) -> str:
    """The whole report for people."""
    blocks = [
        _head(result),
        _comparison(result),
        _utilisation(result),
        _jobs(result),
        rest_lines(result.explanation),
        [f"warning: {line}" for line in result.warnings],
    ]
    return "\n\n".join("\n".join(block) for block in blocks if block) + "\n"


def _in_time(problem: FillProblem) -> bool:
    """Whether the objective is useful GPU time, in ticks."""
    return problem.objective is Objective.THROUGHPUT and all(
        job.weight == 1
        and job.value_rule is ValueRule.TIME
        and all(o.value is None for configuration in job.configurations for o in configuration.operators)
        for job in problem.jobs
    )


def value_text(problem: FillProblem, value: Fraction | None) -> str:
    """A value of the problem's objective: a time where it is one."""
    if value is None:
        return "unknown"
    return format_time(value) if _in_time(problem) else f"{float(value):.6g}"


def _head(result: Report) -> list[str]:
    problem, solution = result.problem, result.solution
    unit = "useful GPU time" if _in_time(problem) else "value"
    iterations = result.plan.iterations or problem.iterations
    gap = "unknown" if solution.gap is None else percent(solution.gap, 3)
    if solution.bound and not solution.objective:
        gap = "the whole bound: this plan fills nothing"
    lines = [
        f"{problem.name}: {_counted(result.figures.devices, 'device', 'devices')} in "
        f"{_counted(len(problem.devices), 'class', 'classes')}, "
        f"period {format_time(problem.period)}, H = {iterations}",
        f"  outcome    {solution.outcome} ({solution.reason}), solver {solution.solver}, {solution.seconds:.1f} s",
        f"  objective  {value_text(problem, solution.objective)} of {unit} per main iteration, certified",
        f"  bound      {value_text(problem, solution.bound)}, from {solution.bound_origin}",
        f"  gap        {gap}",
    ]
    return lines + [f"  note       {note}" for note in solution.notes]


def _counted(number: int, one: str, more: str) -> str:
    return f"{number} {one if number == 1 else more}"


def _comparison(result: Report) -> list[str]:
    """Greedy against this plan against the bound."""
    bound = result.solution.bound
    rows = []
    for name, value in comparison(result):
        share = "" if value is None or not bound else percent(value / bound)
        rows.append((name, value_text(result.problem, value), share))
    for place, found in enumerate(result.baselines):
        if found.reason not in (Reason.HEURISTIC, Reason.PROVED):
            rows[place] = (f"{rows[place][0]} ({found.reason})", *rows[place][1:])
    return text_table(("plan", "value", "of bound"), rows)


def comparison(result: Report) -> list[tuple[str, Fraction | None]]:
    """(name, value) side by side: both greedy plans, the solution, the bound."""
    names = ("greedy, contiguous bubbles", "greedy, all bubbles")
    rows = [(name, found.objective) for name, found in zip(names, result.baselines, strict=True)]
    best = "optimum" if result.solution.outcome is Outcome.OPTIMAL else "this plan"
    return [*rows, (best, result.solution.objective), ("bound", result.solution.bound)]


def _utilisation(result: Report) -> list[str]:
    f = result.figures
    filled = percent(f.fill / f.bubbles) if f.bubbles else "none"
    lines = [
        f"GPU utilisation         {percent(f.before)} before, {percent(f.after)} after",
        f"bubbles                 {format_time(f.bubbles)} of GPU time per iteration, {filled} of it now runs fill work",
        f"recovered useful time   {format_time(f.useful)} of GPU time per iteration = the work of "
        f"{float(f.gpus):.3g} exclusive GPUs (of {f.devices})",
    ]
    if result.slowdown is not None:
        s = result.slowdown
        lines += [
            f"main job's slowdown     {percent(s.stated, 3)} by re-timing at the stated durations",
            f"                        {percent(s.mean, 3)} mean, {percent(s.p95, 3)} p95, {percent(s.worst, 3)} worst "
            f"with durations jittered by {percent(s.jitter, 0)} (seed {s.seed}, {s.iterations} iterations)",
        ]
    return lines


def _jobs(result: Report) -> list[str]:
    rows = []
    for job in result.figures.jobs:
        rate = job.samples * 10**9 / result.problem.period
        rows.append(
            (
                job.name,
                f"{job.copies_used} of {job.copies}",
                f"{float(job.iterations):.5g}",
                f"{float(rate):.5g}",
                format_time(job.fill),
            )
        )
    return text_table(("job", "copies", "passes/iteration", "samples/s", "GPU time/iteration"), rows)


def outcome_document(problem: FillProblem, solution: Solution, warnings: Sequence[str]) -> dict[str, Any]:
    """What every solution says of itself, whatever its objective: exact numbers as text."""
    minimised = problem.objective in (Objective.MAKESPAN, Objective.COMPLETION)
    return {
        "instance": problem.name,
        "instance_hash": instance_hash(problem),
        "objective_kind": problem.objective.value,
        "sense": "min" if minimised else "max",
        "outcome": solution.outcome.value,
        "reason": solution.reason.value,
        "solver": solution.solver,
        "seconds": round(solution.seconds, 3),
        "seed": solution.seed,
        "versions": solution.versions,
        "notes": list(solution.notes),
        "warnings": list(warnings),
        "objective": exact_number(solution.objective),
        "bound": exact_number(solution.bound),
        "bound_origin": solution.bound_origin,
        "gap": exact_number(solution.gap),
    }


def solution_document(result: Report) -> dict[str, Any]:
    """The report as plain data: exact numbers as text (`7/2`), times in ticks."""
    f = result.figures
    document: dict[str, Any] = {
        **outcome_document(result.problem, result.solution, result.warnings),
        "comparison": {name: exact_number(value) for name, value in comparison(result)},
        "period": f.period,
        "devices": f.devices,
        "utilisation": {"before": float(f.before), "after": float(f.after)},
        "main_ticks": f.main,
        "fill_ticks": exact_number(f.fill),
        "useful_ticks": exact_number(f.useful),
        "exclusive_gpus": float(f.gpus),
        "jobs": [
            {
                "name": job.name,
                "copies_used": job.copies_used,
                "copies": job.copies,
                "passes": exact_number(job.iterations),
                "samples": exact_number(job.samples),
                "fill_ticks": exact_number(job.fill),
            }
            for job in f.jobs
        ],
        "rest": explanation_document(result.explanation),
        "plan": plan_document(result.problem, result.plan),
    }
    if result.slowdown is not None:
        document["slowdown"] = slowdown_document(result.slowdown)
    return document


def slowdown_document(slowdown: Slowdown) -> dict[str, Any]:
    """The main job's slowdown as plain data."""
    return {
        "stated": float(slowdown.stated),
        "jitter": float(slowdown.jitter),
        "mean": float(slowdown.mean),
        "p95": float(slowdown.p95),
        "worst": float(slowdown.worst),
        "seed": slowdown.seed,
        "iterations": slowdown.iterations,
    }


def solution_json(result: Report) -> str:
    """`solution_document` as JSON text."""
    return json.dumps(solution_document(result), indent=2) + "\n"


def solution_csv(result: Report) -> str:
    """One row for each plan of the comparison: name, value (exact), share of the bound."""
    bound = result.solution.bound
    rows = [
        (name, exact_number(value), "" if value is None or not bound else f"{float(value / bound):.6f}")
        for name, value in comparison(result)
    ]
    return csv_text(("plan", "value", "of_bound"), rows)
