"""`certify(problem, plan)`: every rule and the objective, recomputed from the data.

This module and those it stands on (`structure`, `rules`, `lives`, `objective`) share nothing with solvers but the data
model: no helper, not even a rounding. docs/fill.md states the rules and their codes.
"""

from __future__ import annotations

from collections.abc import Iterator

from pipefill_opt.fill.certificate import Certificate, Violation
from pipefill_opt.fill.lives import replay
from pipefill_opt.fill.objective import all_copies_finish, objective_over_time, throughput
from pipefill_opt.fill.plan import FillPlan
from pipefill_opt.fill.problem import FillProblem, Objective
from pipefill_opt.fill.structure import CopyKey, broken_structure, copy_key, phase_place


def certify(problem: FillProblem, plan: FillPlan) -> Certificate:
    """The verdict on `plan`: every broken rule with code, place and numbers, or the exact objective.

    Where the plan is not one for this problem (codes `reference`, `split`, `iterations`, `phases`, `copy`, and `migrate` for
    names), nothing else is checked. The objective is per main iteration for `throughput`, in ticks for `makespan` and
    `weighted-completion` (less is better), a weighted value for `on-time-value`.
    """
    violations = list(broken_structure(problem, plan))
    if violations:
        return Certificate(tuple(violations), None)
    violations += uses_every_device(problem, plan)
    violations += runs_where_allowed(problem, plan)
    violations += has_the_copies(problem, plan)
    replayed, visits = replay(problem, plan)
    violations += replayed
    if problem.objective is not Objective.THROUGHPUT:
        violations += all_copies_finish(problem, visits)
    if violations:
        return Certificate(tuple(violations), None)
    if problem.objective is Objective.THROUGHPUT:
        return Certificate((), throughput(problem, plan))
    return Certificate((), objective_over_time(problem, visits))


def uses_every_device(problem: FillProblem, plan: FillPlan) -> Iterator[Violation]:
    """`count`: the multiplicities of every class sum to its count."""
    for device in problem.devices:
        total = sum(pattern.multiplicity for pattern in plan.patterns if pattern.device == device.name)
        if total != device.count:
            message = f"multiplicities sum to {total}, count is {device.count}"
            yield Violation("count", f"class {device.name}", message, {"sum": total, "count": device.count})


def runs_where_allowed(problem: FillProblem, plan: FillPlan) -> Iterator[Violation]:
    """`device`: a job lives only on classes that it allows."""
    for index, pattern in enumerate(plan.patterns):
        for number, phase in enumerate(pattern.phases):
            for position, slot in enumerate(phase.slots):
                if pattern.device not in problem.job(slot.job).devices:
                    place = f"{phase_place(plan, index, number)}.slots[{position}]"
                    yield Violation("device", place, f"{slot.job} is not allowed on {pattern.device}")


def has_the_copies(problem: FillProblem, plan: FillPlan) -> Iterator[Violation]:
    """`copies` (rule 7): no job uses more copies than there are."""
    copies: dict[CopyKey, tuple[str, int]] = {}
    for index, pattern in enumerate(plan.patterns):
        for number, phase in enumerate(pattern.phases):
            for position, slot in enumerate(phase.slots):
                copies[copy_key(index, number, position, slot)] = (slot.job, pattern.multiplicity)
    for job in problem.jobs:
        used = sum(multiplicity for name, multiplicity in copies.values() if name == job.name)
        if used > job.copies:
            message = f"{used} copies used, {job.copies} exist"
            yield Violation("copies", f"job {job.name}", message, {"used": used, "copies": job.copies})
