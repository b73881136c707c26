"""What GLPK found as plans, so that `certify` judges them."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Mapping
from dataclasses import replace

from pipefill_opt.fill.certificate import Certificate
from pipefill_opt.fill.certify import certify
from pipefill_opt.fill.plan import FillPlan, Occurrence, Pattern, Phase, Segment, Slot
from pipefill_opt.fill.problem import FillProblem
from tests.formulations.glpk import Optimum, UnsolvedError
from tests.solve.brute_force import Device

TOLERANCE = 1e-6
"""GLPK's rows may be broken by about 1e-7 of their limit; a plan that breaks one by less than this is an answer to another question."""

Steps = Mapping[int, list[tuple[int, int, int]]]
"""By occurrence, counted from 1: (step, slot, state), one operator each."""


def chosen(optimum: Optimum, variable: str) -> list[tuple[str, ...]]:
    """The subscripts at which a binary variable is 1."""
    found = [name for name, value in optimum.variables.items() if value and name.startswith(variable + "[")]
    return [tuple(name[len(variable) + 1 : -1].split(",")) for name in found]


def phase(slots: list[Slot], lengths: list[int], steps: Steps, bubbles: int) -> Phase:
    """Operators one by one as segments."""
    occurrences = []
    for number, own in sorted(steps.items()):
        segments: list[Segment] = []
        for _, slot, state in sorted(own):
            if segments and segments[-1].slot == slot:
                segments[-1] = replace(segments[-1], count=segments[-1].count + 1)
            else:
                segments.append(Segment(slot, state % lengths[slot], 1))
        occurrences.append(Occurrence(*divmod(number - 1, bubbles), tuple(segments)))
    return Phase(tuple(slots), tuple(occurrences))


def device_plan(device: Device, optimum: Optimum) -> tuple[FillProblem, FillPlan]:
    """What device.mod found, and the problem of this device alone."""
    own = replace(device.device, count=1)
    problem = replace(device.problem, devices=(own,))
    at = {int(s): int(p) for s, p in chosen(optimum, "first")}
    slots, lengths = [], [len(ticks) for ticks in device.ticks]
    for s, (j, c) in enumerate(device.residents):
        job = problem.jobs[j]
        slots.append(Slot(job.name, job.configurations[c].name, at[s] % lengths[s]))
    steps: defaultdict[int, list[tuple[int, int, int]]] = defaultdict(list)
    for o, k, s, p in chosen(optimum, "x"):
        steps[int(o)].append((int(k), int(s), int(p)))
    problem = replace(problem, jobs=tuple(replace(job, devices=(own.name,)) for job in problem.jobs))
    return problem, FillPlan((Pattern(own.name, 1, (phase(slots, lengths, steps, len(own.bubbles)),)),))


def whole_plan(problem: FillProblem, optimum: Optimum) -> FillPlan:
    """What throughput.mod found."""
    at = {entry[:3]: int(entry[3]) for entry in chosen(optimum, "first")}
    steps: defaultdict[str, list[tuple[str, ...]]] = defaultdict(list)
    for device, *step in chosen(optimum, "x"):
        steps[device].append(tuple(step))
    patterns = []
    for g, own in enumerate(problem.devices):
        for number in range(own.count):
            device = f"d{g}_{number}"
            slots, lengths, index = [], [], {}
            for _, kind, n in sorted(entry for entry in chosen(optimum, "lives") if entry[0] == device):
                j, c = map(int, kind[1:].split("_"))
                index[kind, n] = len(slots)
                configuration = problem.jobs[j].configurations[c]
                lengths.append(len(configuration.operators))
                slots.append(Slot(problem.jobs[j].name, configuration.name, at[device, kind, n] % lengths[-1]))
            own_steps: defaultdict[int, list[tuple[int, int, int]]] = defaultdict(list)
            for o, k, kind, n, p in steps[device]:
                own_steps[int(o)].append((int(k), index[kind, n], int(p)))
            patterns.append(Pattern(own.name, 1, (phase(slots, lengths, own_steps, len(own.bubbles)),)))
    return FillPlan(tuple(patterns))


def verdict(problem: FillProblem, plan: FillPlan, iterations: int) -> Certificate:
    """The certificate of a plan of H = `iterations`. Raises UnsolvedError for a limit that is broken within GLPK's tolerance."""
    certificate = certify(replace(problem, iterations=iterations), replace(plan, iterations=iterations))
    slips = [v.numbers for v in certificate.violations if v.code in ("fit", "memory", "resident")]
    if slips and len(slips) == len(certificate.violations):
        used = [(numbers.get("used", numbers.get("needed", numbers.get("held"))), numbers) for numbers in slips]
        limits = [(u, numbers.get("usable", numbers.get("free"))) for u, numbers in used]
        if all(u is not None and limit is not None and u - limit <= TOLERANCE * u for u, limit in limits):
            raise UnsolvedError(f"a plan that breaks {limits} within GLPK's tolerance")
    return certificate
