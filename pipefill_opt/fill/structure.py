"""What a plan must be made of before rules can be checked at all. Part of `certify`: shares nothing with solvers."""

from __future__ import annotations

from collections.abc import Iterator

from pipefill_opt.fill.certificate import Violation
from pipefill_opt.fill.plan import FillPlan, Pattern, Phase, Slot
from pipefill_opt.fill.problem import DeviceClass, FillProblem, Objective

CopyKey = tuple[int | str, ...]
"""Which copy a slot is: (name,) of a named one, (pattern, phase, slot) of one without a name."""


def main_iterations(problem: FillProblem, plan: FillPlan) -> int:
    """H of a plan whose structure is sound."""
    iterations = problem.iterations or plan.iterations
    assert iterations is not None
    return iterations


def phase_place(plan: FillPlan, pattern: int, phase: int) -> str:
    """`patterns[0] (s0)`, with `.phases[1]` where the pattern is a sequence of phases."""
    entry = plan.patterns[pattern]
    place = f"patterns[{pattern}] ({entry.device})"
    single = len(entry.phases) == 1 and entry.phases[0].repetitions is None
    return place if single else f"{place}.phases[{phase}]"


def copy_key(pattern: int, phase: int, index: int, slot: Slot) -> CopyKey:
    """The copy that a slot is."""
    return (pattern, phase, index) if slot.copy is None else (slot.copy,)


def broken_structure(problem: FillProblem, plan: FillPlan) -> Iterator[Violation]:
    """Every place where the plan is not one for this problem: codes iterations, phases, reference, split, copy, migrate."""
    iterations = list(states_iterations(problem, plan))
    if iterations:
        yield from iterations
        return
    devices = {device.name: device for device in problem.devices}
    for index, pattern in enumerate(plan.patterns):
        if pattern.device not in devices:
            yield Violation("reference", f"patterns[{index}]", f"no device class {pattern.device!r}")
            continue
        if pattern.multiplicity < 1:
            yield Violation("count", f"patterns[{index}]", f"multiplicity {pattern.multiplicity} is below 1")
        yield from has_proper_phases(problem, pattern, f"patterns[{index}] ({pattern.device})")
        for number, phase in enumerate(pattern.phases):
            place = phase_place(plan, index, number)
            yield from refers_to_slots(problem, phase, place)
            yield from refers_to_bubbles(problem, plan, devices[pattern.device], phase, place)
            yield from refers_to_operators(problem, phase, place)
    yield from names_one_copy(plan)
    yield from stays_on_its_device(problem, plan)


def states_iterations(problem: FillProblem, plan: FillPlan) -> Iterator[Violation]:
    """`iterations`: H is stated where it is part of the decision, within its limit, and equal to the instance's otherwise."""
    stated = plan.iterations
    if problem.iterations is not None:
        if stated not in (None, problem.iterations):
            yield Violation("iterations", "iterations", f"the plan states {stated}, the instance {problem.iterations}")
    elif stated is None:
        yield Violation("iterations", "iterations", "the instance leaves them to the plan (auto), which states none")
    elif not 1 <= stated <= problem.max_iterations:
        message = f"the plan states {stated}, the instance allows 1 to {problem.max_iterations}"
        yield Violation("iterations", "iterations", message, {"stated": stated, "most": problem.max_iterations})


def has_proper_phases(problem: FillProblem, pattern: Pattern, place: str) -> Iterator[Violation]:
    """`phases`: one without repetitions for the throughput; else whole repetitions, left out in the last phase at most."""
    if problem.objective is Objective.THROUGHPUT:
        if len(pattern.phases) != 1 or pattern.phases[0].repetitions is not None:
            message = f"objective throughput takes one phase without repetitions, here are {len(pattern.phases)} phases"
            yield Violation("phases", place, message)
        return
    for number, phase in enumerate(pattern.phases):
        if phase.repetitions is None:
            if number + 1 < len(pattern.phases):
                yield Violation("phases", f"{place}.phases[{number}]", "no repetitions, and it is not the last phase")
        elif phase.repetitions < 1:
            yield Violation("phases", f"{place}.phases[{number}]", f"repetitions {phase.repetitions} is below 1")


def refers_to_slots(problem: FillProblem, phase: Phase, place: str) -> Iterator[Violation]:
    """`reference`: every slot names a job, one of its configurations and one of its operators."""
    jobs = {job.name: job for job in problem.jobs}
    for index, slot in enumerate(phase.slots):
        here = f"{place}.slots[{index}]"
        if slot.job not in jobs:
            yield Violation("reference", here, f"no job {slot.job!r}")
            continue
        chains = {entry.name: len(entry.operators) for entry in jobs[slot.job].configurations}
        if slot.configuration not in chains:
            yield Violation("reference", here, f"job {slot.job!r} has no configuration {slot.configuration!r}")
        elif not 0 <= slot.first < chains[slot.configuration]:
            yield Violation("reference", here, f"no operator {slot.first} in a chain of {chains[slot.configuration]}")


def refers_to_bubbles(
    problem: FillProblem, plan: FillPlan, device: DeviceClass, phase: Phase, place: str
) -> Iterator[Violation]:
    """`reference`: every occurrence is one of the H x bubbles of the class, listed once."""
    iterations = main_iterations(problem, plan)
    seen = set()
    for index, occurrence in enumerate(phase.occurrences):
        here = f"{place}.occurrences[{index}]"
        key = (occurrence.iteration, occurrence.bubble)
        text = f"iteration {key[0]}, bubble {key[1]}"
        if not (0 <= key[0] < iterations and 0 <= key[1] < len(device.bubbles)):
            yield Violation("reference", here, f"no {text}: there are {iterations} and {len(device.bubbles)}")
        if key in seen:
            yield Violation("reference", here, f"{text} is listed twice")
        seen.add(key)


def refers_to_operators(problem: FillProblem, phase: Phase, place: str) -> Iterator[Violation]:
    """`reference` and `split` (rule 2): segments name a slot, an operator of its chain, and a whole number of operators."""
    chains: list[int | None] = []
    jobs = {job.name: {entry.name: len(entry.operators) for entry in job.configurations} for job in problem.jobs}
    for slot in phase.slots:
        chains.append(jobs.get(slot.job, {}).get(slot.configuration))
    for number, occurrence in enumerate(phase.occurrences):
        for index, segment in enumerate(occurrence.segments):
            here = f"{place}.occurrences[{number}].segments[{index}]"
            if not 0 <= segment.slot < len(chains):
                yield Violation("reference", here, f"no slot {segment.slot}: there are {len(chains)}")
                continue
            chain = chains[segment.slot]
            if chain is not None and not 0 <= segment.first < chain:
                yield Violation("reference", here, f"no operator {segment.first} in a chain of {chain}")
            if segment.count < 1 or segment.count != int(segment.count):
                yield Violation("split", here, f"count {segment.count} is not a whole number of at least 1")


def names_one_copy(plan: FillPlan) -> Iterator[Violation]:
    """`copy`: slots of equal name are one copy: same job, same configuration, once in a phase."""
    known: dict[str, tuple[str, str]] = {}
    for index, pattern in enumerate(plan.patterns):
        for number, phase in enumerate(pattern.phases):
            here: set[str] = set()
            for position, slot in enumerate(phase.slots):
                if slot.copy is None:
                    continue
                place = f"{phase_place(plan, index, number)}.slots[{position}]"
                if slot.copy in here:
                    yield Violation("copy", place, f"copy {slot.copy!r} is here twice")
                if known.setdefault(slot.copy, (slot.job, slot.configuration)) != (slot.job, slot.configuration):
                    job, configuration = known[slot.copy]
                    yield Violation("copy", place, f"copy {slot.copy!r} is of {job} in {configuration} elsewhere")
                here.add(slot.copy)


def stays_on_its_device(problem: FillProblem, plan: FillPlan) -> Iterator[Violation]:
    """`migrate`: the slots of a named copy lie in one pattern; with `migrate: true` in several, each of one device."""
    homes: dict[str, set[int]] = {}
    for index, pattern in enumerate(plan.patterns):
        for phase in pattern.phases:
            for slot in phase.slots:
                if slot.copy is not None:
                    homes.setdefault(slot.copy, set()).add(index)
    for name, patterns in homes.items():
        if len(patterns) == 1:
            continue
        places = ", ".join(f"patterns[{index}]" for index in sorted(patterns))
        if not problem.migrate:
            yield Violation("migrate", f"copy {name}", f"on several devices ({places}), migrate is false")
        elif any(plan.patterns[index].multiplicity != 1 for index in patterns):
            yield Violation("migrate", f"copy {name}", f"a copy that migrates needs multiplicity 1 in {places}")
