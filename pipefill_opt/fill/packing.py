"""Where a plan's operators lie inside their bubbles: the packed sequence of rule 1, in numbers.

Reports, pictures, re-timing and the writer of PLAN files use it, for plans that `certify` accepts. (`certify` itself
does not: it computes all of this again.)
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction

from pipefill_opt.fill.plan import FillPlan, Occurrence, Phase, Segment
from pipefill_opt.fill.problem import Configuration, DeviceClass, FillProblem, Job, Operator
from pipefill_opt.units import scaled_ticks, transfer_ticks


@dataclass(frozen=True, slots=True)
class SlotState:
    """A slot between two segments: the operator at which it stands, and the bytes it carries."""

    job: Job
    configuration: Configuration
    position: int
    carried: int

    @property
    def held(self) -> int:
        """Resident and carried bytes."""
        return self.configuration.resident + self.carried

    def after(self, count: int) -> SlotState:
        """The state after `count` >= 1 more operators."""
        chain = self.configuration.operators
        position = (self.position + count) % len(chain)
        return SlotState(self.job, self.configuration, position, chain[position - 1].carry)


@dataclass(frozen=True, slots=True)
class PackedSegment:
    """Ticks from the bubble's start: `start` of the first operator, `end` of the last; before and after, its transfers."""

    slot: int
    first: int
    count: int
    start: int
    end: int
    move_in: int
    move_out: int


@dataclass(frozen=True, slots=True)
class PackedOccurrence:
    """A visited bubble. `work` + `switch` ticks are used; `peak`: most bytes of fill work while an operator runs.

    `held`: bytes that kept slots hold after it. `states`: of all slots, after it.
    """

    iteration: int
    bubble: int
    segments: tuple[PackedSegment, ...]
    work: int
    switch: int
    peak: int
    held: int
    states: tuple[SlotState, ...]

    @property
    def used(self) -> int:
        """Ticks from entering to having left."""
        return self.work + self.switch


def pack_plan(problem: FillProblem, plan: FillPlan) -> Mapping[tuple[int, int], tuple[PackedOccurrence, ...]]:
    """For each (pattern, phase): its visited bubbles in order of time, in the phase's first repetition."""
    begun: set[str] = set()
    packed = {}
    for _, index, number in phases_in_time(problem, plan):
        pattern = plan.patterns[index]
        phase = pattern.phases[number]
        packed[index, number] = pack_phase(problem, problem.device(pattern.device), phase, begun)
        worked = {segment.slot for occurrence in phase.occurrences for segment in occurrence.segments}
        begun |= {phase.slots[slot].copy or "" for slot in worked}
    return packed


def phases_in_time(problem: FillProblem, plan: FillPlan) -> list[tuple[int, int, int]]:
    """(start in main iterations, pattern, phase) of all phases, by start."""
    entries = []
    for index, pattern in enumerate(plan.patterns):
        start = 0
        for number, phase in enumerate(pattern.phases):
            entries.append((start, index, number))
            start += (problem.iterations or plan.iterations or 1) * (phase.repetitions or 1)
    return sorted(entries)


def initial_states(problem: FillProblem, phase: Phase, begun: Iterable[str] = ()) -> tuple[SlotState, ...]:
    """The slots at a phase's beginning; `begun` names copies that have worked before."""
    worked = {segment.slot for occurrence in phase.occurrences for segment in occurrence.segments}
    known = set(begun)
    states = []
    for index, slot in enumerate(phase.slots):
        job = problem.job(slot.job)
        configuration = job.configuration(slot.configuration)
        steady = (problem.repeat and index in worked) or (slot.copy or "") in known - {""}
        carried = configuration.operators[slot.first - 1].carry if steady else 0
        states.append(SlotState(job, configuration, slot.first, carried))
    return tuple(states)


def pack_phase(
    problem: FillProblem, device: DeviceClass, phase: Phase, begun: Iterable[str] = ()
) -> tuple[PackedOccurrence, ...]:
    """The visited bubbles of one repetition of a phase, in order of time."""
    states = initial_states(problem, phase, begun)
    packed = []
    for occurrence in sorted(phase.occurrences, key=lambda entry: (entry.iteration, entry.bubble)):
        if occurrence.segments:
            packed.append(pack_occurrence(problem, device, occurrence, states))
            states = packed[-1].states
    return tuple(packed)


def pack_occurrence(
    problem: FillProblem, device: DeviceClass, occurrence: Occurrence, states: Sequence[SlotState]
) -> PackedOccurrence:
    """Pack the segments (at least one) of an occurrence; `states` of all slots before it."""
    now = list(states)
    last = {segment.slot: index for index, segment in enumerate(occurrence.segments)}
    inside = {index for index, state in enumerate(now) if state.job.keep}
    clock, work, peak = problem.switch.enter, 0, 0
    packed: list[PackedSegment] = []
    for index, segment in enumerate(occurrence.segments):
        state = now[segment.slot]
        if index and occurrence.segments[index - 1].slot != segment.slot:
            clock += between_ticks(problem, now[occurrence.segments[index - 1].slot].job, state.job)
        move_in = 0 if segment.slot in inside else _move(state, problem.switch.h2d)
        inside.add(segment.slot)
        others = sum(now[other].held for other in inside if other != segment.slot)
        memory = max(operator.memory for operator in _run(state, segment))
        peak = max(peak, others + state.configuration.resident + memory)
        start = clock + move_in
        end = start + chain_ticks(state.configuration, device, segment.first, segment.count)
        now[segment.slot] = state.after(segment.count)
        leaves = not state.job.keep and last[segment.slot] == index
        move_out = _move(now[segment.slot], problem.switch.d2h) if leaves else 0
        if leaves:
            inside.remove(segment.slot)
        packed.append(PackedSegment(segment.slot, segment.first, segment.count, start, end, move_in, move_out))
        work += end - start
        clock = end + move_out
    held = sum(state.held for state in now if state.job.keep)
    switch = clock + problem.switch.leave - work
    return PackedOccurrence(
        occurrence.iteration, occurrence.bubble, tuple(packed), work, switch, peak, held, tuple(now)
    )


def with_further_copy(
    problem: FillProblem, device: DeviceClass, packed: PackedOccurrence, state: SlotState
) -> PackedOccurrence:
    """A packed occurrence (or an unvisited one, without segments) in which one more copy does one operator at the end.

    `states` and `segments` are left without that copy; all numbers have it in.
    """
    operator = state.configuration.operators[state.position]
    after = state.after(1)
    switch = packed.switch if packed.segments else problem.switch.enter + problem.switch.leave
    if packed.segments:
        switch += between_ticks(problem, packed.states[packed.segments[-1].slot].job, state.job)
    peak, held = packed.held + state.configuration.resident + operator.memory, packed.held
    if packed.segments:
        peak = max(peak, packed.peak + (state.held if state.job.keep else 0))
    if state.job.keep:
        held += after.held
    else:
        switch += _move(state, problem.switch.h2d) + _move(after, problem.switch.d2h)
    work = packed.work + scaled_ticks(operator.duration, device.speed)
    return PackedOccurrence(packed.iteration, packed.bubble, packed.segments, work, switch, peak, held, packed.states)


def _run(state: SlotState, segment: Segment) -> Iterable[Operator]:
    """The operators of a segment, each of them once."""
    chain = state.configuration.operators
    return (chain[(segment.first + step) % len(chain)] for step in range(min(segment.count, len(chain))))


def chain_ticks(configuration: Configuration, device: DeviceClass, first: int, count: int) -> int:
    """Ticks of `count` operators from `first`, cyclically, on a device of this class."""
    chain = configuration.operators
    laps, rest = divmod(count, len(chain))
    ticks = sum(scaled_ticks(chain[(first + step) % len(chain)].duration, device.speed) for step in range(rest))
    return ticks + (laps and laps * sum(scaled_ticks(operator.duration, device.speed) for operator in chain))


def between_ticks(problem: FillProblem, source: Job, target: Job) -> int:
    """The change from a copy of one job to a copy of another (or the same)."""
    between = problem.switch.between
    return between if isinstance(between, int) else between[source.name][target.name]


def _move(state: SlotState, bandwidth: Fraction | None) -> int:
    assert bandwidth is not None
    return transfer_ticks(state.held, bandwidth)
