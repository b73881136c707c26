"""A certified plan of the whole problem as devices that a search can start from."""

from __future__ import annotations

from collections.abc import Mapping

from pipefill_opt.errors import CertificateError
from pipefill_opt.fill.certificate import Certificate
from pipefill_opt.fill.certify import certify
from pipefill_opt.fill.plan import FillPlan, Pattern
from pipefill_opt.fill.problem import FillProblem
from pipefill_opt.solve.device import Compiled, DevicePlan, Run, Visit
from pipefill_opt.solve.greedy import Choice


def certified_start(problem: FillProblem, plan: FillPlan) -> Certificate:
    """The certificate of a plan to start from. Raises CertificateError for a plan that breaks a rule of the problem."""
    certificate = certify(problem, plan)
    if not certificate.valid:
        first = certificate.violations[0]
        raise CertificateError(
            f"the plan to start from breaks a rule: {first.place}: {first.code}: {first.message} (see `pipefill certify`)"
        )
    return certificate


def start_from(compiled: Compiled, plan: FillPlan) -> tuple[int, list[Choice]]:
    """(H of the plan, its devices that have residents). Raises CertificateError for a plan that breaks a rule of the problem."""
    problem = compiled.problem
    certified_start(problem, plan)
    iterations = problem.iterations or plan.iterations
    assert iterations is not None
    classes = {device.name: c for c, device in enumerate(problem.devices)}
    return iterations, [
        _choice(compiled, pattern, classes, iterations) for pattern in plan.patterns if pattern.phases[0].slots
    ]


def _choice(compiled: Compiled, pattern: Pattern, classes: Mapping[str, int], iterations: int) -> Choice:
    """One pattern, its slots in the order of residents."""
    jobs = compiled.problem.jobs
    phase = pattern.phases[0]
    kinds = []
    for slot in phase.slots:
        job = next(j for j, job in enumerate(jobs) if job.name == slot.job)
        names = [configuration.name for configuration in jobs[job].configurations]
        kinds.append((job, names.index(slot.configuration)))
    order = sorted(range(len(kinds)), key=kinds.__getitem__)
    place = {slot: k for k, slot in enumerate(order)}
    device = compiled.device(classes[pattern.device], tuple(kinds[slot] for slot in order), iterations)
    visits = [
        Visit(
            occurrence.iteration,
            occurrence.bubble,
            tuple(Run(place[segment.slot], segment.first, segment.count) for segment in occurrence.segments),
        )
        for occurrence in phase.occurrences
        if occurrence.segments
    ]
    visits.sort(key=lambda visit: (visit.iteration, visit.bubble))
    own = DevicePlan(tuple(phase.slots[slot].first for slot in order), tuple(visits))
    return Choice(device, own, own.value(device), pattern.multiplicity)
