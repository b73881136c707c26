"""Devices' lives: phases one after the other, copies that go on from one to the next.

Part of `certify`: shares nothing with solvers.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from fractions import Fraction

from pipefill_opt.fill.certificate import Violation
from pipefill_opt.fill.plan import FillPlan, Phase, Slot
from pipefill_opt.fill.problem import Configuration, DeviceClass, FillProblem, Job, Objective
from pipefill_opt.fill.rules import (
    Chain,
    Standing,
    begins_at_its_first_operator,
    chain_on_device,
    ends_where_it_began,
    replay_phase,
)
from pipefill_opt.fill.structure import CopyKey, copy_key, main_iterations, phase_place


@dataclass(frozen=True, slots=True)
class Visit:
    """One copy in one phase: begins at tick `start`, `repetitions` (None: without end) of `turn` ticks each.

    `before`: operators it had done; `work`: operators that each repetition does. It stands for `multiplicity` copies.
    """

    copy: CopyKey
    job: Job
    configuration: Configuration
    multiplicity: int
    start: int
    turn: int
    repetitions: int | None
    before: int
    work: int


@dataclass(frozen=True, slots=True)
class _Life:
    """A copy so far: where it stands, what it carries, operators done, and when it is free again (None: never)."""

    position: int
    carried: int
    done: int
    free_at: int | None


def replay(problem: FillProblem, plan: FillPlan) -> tuple[list[Violation], list[Visit]]:
    """Replay all phases in order of time; the plan's structure must be sound. The violations, and who did what when."""
    turn = main_iterations(problem, plan) * problem.period
    violations: list[Violation] = []
    visits: list[Visit] = []
    lives: dict[CopyKey, _Life] = {}
    chains: dict[tuple[str, str, Fraction], Chain] = {}
    for start, index, number in _in_order_of_time(plan, turn):
        pattern, phase = plan.patterns[index], plan.patterns[index].phases[number]
        place = phase_place(plan, index, number)
        device = problem.device(pattern.device)
        keys = [copy_key(index, number, position, slot) for position, slot in enumerate(phase.slots)]
        work = _operators_done(phase)
        violations += _begin(problem, phase, start, work, [lives.get(key) for key in keys], place)
        standings = [
            _standing(problem, slot, lives.get(key), operators, device.speed, chains)
            for slot, key, operators in zip(phase.slots, keys, work, strict=True)
        ]
        violations += _run(problem, device, phase, standings, place)
        repetitions = phase.repetitions or (None if problem.repeat else 1)
        end = None if repetitions is None else start + turn * repetitions
        for key, standing, operators in zip(keys, standings, work, strict=True):
            before = lives[key].done if key in lives else 0
            visits.append(
                Visit(
                    copy=key,
                    job=standing.job,
                    configuration=standing.configuration,
                    multiplicity=pattern.multiplicity,
                    start=start,
                    turn=turn,
                    repetitions=repetitions,
                    before=before,
                    work=operators,
                )
            )
            done = before + operators * (repetitions or 1)
            lives[key] = _Life(standing.position, standing.carried, done, end)
    return violations, visits


def _in_order_of_time(plan: FillPlan, turn: int) -> list[tuple[int, int, int]]:
    """(start, pattern, phase) of all phases, by start."""
    entries = []
    for index, pattern in enumerate(plan.patterns):
        start = 0
        for number, phase in enumerate(pattern.phases):
            entries.append((start, index, number))
            start += turn * (phase.repetitions or 0)
    return sorted(entries)


def _operators_done(phase: Phase) -> list[int]:
    """Operators that each slot does in one repetition."""
    done = [0] * len(phase.slots)
    for occurrence in phase.occurrences:
        for segment in occurrence.segments:
            done[segment.slot] += segment.count
    return done


def _standing(
    problem: FillProblem,
    slot: Slot,
    life: _Life | None,
    work: int,
    speed: Fraction,
    chains: dict[tuple[str, str, Fraction], Chain],
) -> Standing:
    """A slot at its phase's beginning. A copy that has done nothing yet carries something only in the steady state."""
    job = problem.job(slot.job)
    configuration = job.configuration(slot.configuration)
    if life is not None and life.done:
        carried = life.carried
    elif problem.repeat and work:
        carried = configuration.operators[slot.first - 1].carry
    else:
        carried = 0
    key = (slot.job, slot.configuration, speed)
    if key not in chains:
        chains[key] = chain_on_device(configuration, speed)
    return Standing(job, configuration, chains[key], slot.first, carried)


def _begin(
    problem: FillProblem, phase: Phase, start: int, work: Sequence[int], lives: Sequence[_Life | None], place: str
) -> Iterator[Violation]:
    """Rules for the moment at which a phase begins."""
    for index, (slot, life) in enumerate(zip(phase.slots, lives, strict=True)):
        here = f"{place}.slots[{index}]"
        if life is not None:
            yield from goes_on_where_it_stands(slot, life.position, here)
            yield from is_on_one_device_at_a_time(life.free_at, start, here)
        elif not problem.repeat:
            yield from begins_at_its_first_operator(slot.first, here)
        if work[index] and problem.objective is not Objective.THROUGHPUT:
            yield from works_after_its_release(problem.job(slot.job), start, here)


def _run(
    problem: FillProblem, device: DeviceClass, phase: Phase, standings: Sequence[Standing], place: str
) -> Iterator[Violation]:
    """All repetitions of a phase: the first one and, where slots then carry something else, the steady one."""
    carried = [standing.carried for standing in standings]
    found = list(replay_phase(problem, device, phase, standings, place))
    if problem.repeat or (phase.repetitions or 1) > 1:
        for index, (slot, standing) in enumerate(zip(phase.slots, standings, strict=True)):
            found += ends_where_it_began(standing, slot.first, f"{place}.slots[{index}]")
        if not found and carried != [standing.carried for standing in standings]:
            found += replay_phase(problem, device, phase, standings, place)
    yield from found


def goes_on_where_it_stands(slot: Slot, position: int, place: str) -> Iterator[Violation]:
    """`order` (rule 3): a copy begins a later phase at the operator at which it stands."""
    if slot.first != position:
        yield Violation(
            "order",
            place,
            f"begins at operator {slot.first}, copy {slot.copy} stands at {position}",
            {"first": slot.first, "stands": position},
        )


def is_on_one_device_at_a_time(free_at: int | None, start: int, place: str) -> Iterator[Violation]:
    """`migrate`: a copy begins on another device after it has ended where it was."""
    if free_at is None or start < free_at:
        busy = "for ever" if free_at is None else f"until tick {free_at}"
        yield Violation("migrate", place, f"begins at tick {start}, the copy is on another device {busy}")


def works_after_its_release(job: Job, start: int, place: str) -> Iterator[Violation]:
    """`release`: no repetition in which a copy works begins before the job's release."""
    if start < job.release:
        yield Violation(
            "release",
            place,
            f"works from tick {start}, {job.name} is released at {job.release}",
            {"start": start, "release": job.release},
        )
