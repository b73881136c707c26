"""Why the rest of each bubble stays empty under a plan; each reason proved by relaxing that one limit.

For each of the H x bubbles occurrences of each pattern (visited or not) every *next operator* is tried: that of each slot where it
then stands (after its last segment, or at the occurrence's end), and the first of one more copy of each job (with `repeat` any
operator, since a copy may begin anywhere), whose bytes must fit all other bubbles too. A limit is a reason if the operator does
not fit, and does with this limit relaxed.
"""

from __future__ import annotations

from bisect import bisect_left, bisect_right
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from enum import StrEnum
from fractions import Fraction
from itertools import accumulate

from pipefill_opt.fill.fits import usable_ticks
from pipefill_opt.fill.packing import (
    PackedOccurrence,
    SlotState,
    initial_states,
    pack_occurrence,
    pack_plan,
    with_further_copy,
)
from pipefill_opt.fill.plan import FillPlan, Occurrence, Segment
from pipefill_opt.fill.problem import DeviceClass, FillProblem


class Limit(StrEnum):
    """What keeps the rest of a bubble empty, in the order in which the main reason is chosen."""

    CHOICE = (
        "choice"  # nothing here: another operator fits, the order of the chain, the cycle or another bubble forbids it
    )
    GUARD = "guard"  # fits without the guard
    SWITCH = "switch"  # fits if switches, changes and transfers cost nothing
    MEMORY = "memory"  # fits with more memory
    JOBS = "jobs"  # fits if the job had one more copy
    TIME = "time"  # fits in a longer bubble
    SEVERAL = "several"  # fits only if several of these are relaxed
    FULL = "full"  # nothing is left


@dataclass(frozen=True, slots=True)
class Proof:
    """The operator that fits once `limit` is relaxed, and the numbers that say so.

    `slot`: the slot whose next operator it is, or None for one more copy. `work` and `switch`: ticks in the bubble with it, of
    operators and of all else. `peak`: most bytes while an operator runs. `held`: bytes of kept slots afterwards.
    """

    limit: Limit
    slot: int | None
    job: str
    configuration: str
    operator: int
    work: int
    switch: int
    peak: int
    held: int


@dataclass(frozen=True, slots=True)
class Rest:
    """One bubble of one main iteration on the devices of a pattern: what is left of it, and why. Ticks and bytes.

    `used` of `usable` ticks (of `length`) are used; `rest` = length - used. `reason`: the first of the limits proved.
    """

    pattern: int
    phase: int
    device: str
    multiplicity: int
    iteration: int
    bubble: int
    length: int
    usable: int
    used: int
    reason: Limit
    proofs: tuple[Proof, ...]

    @property
    def rest(self) -> int:
        """Ticks without fill work and without switches."""
        return self.length - self.used


@dataclass(frozen=True, slots=True)
class Explanation:
    """All rests, and their ticks by reason per main iteration, summed over all devices (largest first).

    Of a plan with several phases each counts once, as if it had a life of its own.
    """

    rests: tuple[Rest, ...]
    ticks: dict[Limit, Fraction]


def explain(problem: FillProblem, plan: FillPlan) -> Explanation:
    """Why each bubble's rest stays empty. The plan must be valid."""
    rests = tuple(_rests(problem, plan))
    iterations = problem.iterations or plan.iterations or 1
    ticks: dict[Limit, Fraction] = {}
    for rest in rests:
        if rest.rest:
            share = Fraction(rest.multiplicity * rest.rest, iterations)
            ticks[rest.reason] = ticks.get(rest.reason, Fraction(0)) + share
    return Explanation(rests, dict(sorted(ticks.items(), key=lambda item: -item[1])))


def _rests(problem: FillProblem, plan: FillPlan) -> Iterator[Rest]:
    left = _copies_left(problem, plan)
    iterations = problem.iterations or plan.iterations or 1
    for (index, number), packed in sorted(pack_plan(problem, plan).items()):
        pattern = plan.patterns[index]
        phase, device = pattern.phases[number], problem.device(pattern.device)
        visits = {(entry.iteration, entry.bubble): entry for entry in packed}
        segments = {(entry.iteration, entry.bubble): entry.segments for entry in phase.occurrences}
        states = initial_states(problem, phase)
        room = _Room(device, states, packed)
        further = tuple(_further_copies(problem, device))
        for iteration in range(iterations):
            for bubble in range(len(device.bubbles)):
                key = (iteration, bubble)
                visited = visits.get(key)
                occurrence = Occurrence(iteration, bubble, segments.get(key, ()))
                now = visited or PackedOccurrence(
                    iteration, bubble, (), 0, 0, 0, sum(state.held for state in states if state.job.keep), states
                )
                trials = _trials(problem, device, occurrence, states, now, further, room, left)
                proofs = tuple(_proofs(problem, device, trials))
                used = now.used
                length = device.bubbles[bubble].length
                yield Rest(
                    pattern=index,
                    phase=number,
                    device=device.name,
                    multiplicity=pattern.multiplicity,
                    iteration=iteration,
                    bubble=bubble,
                    length=length,
                    usable=usable_ticks(problem.guard, device.bubbles[bubble]),
                    used=used,
                    reason=_main_reason(length - used, proofs),
                    proofs=proofs,
                )
                states = now.states


def _copies_left(problem: FillProblem, plan: FillPlan) -> Mapping[str, int]:
    """Copies of each job that the plan does not use."""
    used: dict[str, int] = {}
    seen: set[str] = set()
    for pattern in plan.patterns:
        for slot in (slot for phase in pattern.phases for slot in phase.slots):
            if slot.copy not in seen:
                used[slot.job] = used.get(slot.job, 0) + pattern.multiplicity
            if slot.copy is not None:
                seen.add(slot.copy)
    return {job.name: job.copies - used.get(job.name, 0) for job in problem.jobs}


def _main_reason(rest: int, proofs: Sequence[Proof]) -> Limit:
    if rest == 0:
        return Limit.FULL
    proved = {proof.limit for proof in proofs}
    return next((limit for limit in Limit if limit in proved), Limit.SEVERAL if proofs else Limit.JOBS)


@dataclass(frozen=True, slots=True)
class _Trial:
    """One operator more in an occurrence: the slot before it, the occurrence packed with it.

    slot: None for one more copy; exists: the copy exists; elsewhere: its bytes fit all other bubbles, and between them.
    """

    slot: int | None
    state: SlotState
    packed: PackedOccurrence
    exists: bool = True
    elsewhere: bool = True


class _Room:
    """Bytes that one more kept copy may hold, before and after each bubble of a phase."""

    def __init__(
        self,
        device: DeviceClass,
        states: Sequence[SlotState],
        packed: Sequence[PackedOccurrence],
    ) -> None:
        kept = sum(state.held for state in states if state.job.keep)
        room = [min(device.bubbles[e.bubble].free - e.peak, device.resident_free - e.held) for e in packed]
        self._keys = [(entry.iteration, entry.bubble) for entry in packed]
        self._before = list(accumulate(room, min, initial=device.resident_free - kept))
        self._after = list(accumulate(reversed(room), min, initial=device.resident_free))[::-1]

    def fits(self, occurrence: Occurrence, state: SlotState) -> bool:
        """Whether a copy that works in this occurrence only fits everywhere else."""
        if not state.job.keep:
            return True
        key = (occurrence.iteration, occurrence.bubble)
        before = self._before[bisect_left(self._keys, key)]
        after = self._after[bisect_right(self._keys, key)]
        return state.held <= before and state.after(1).held <= after


def _proofs(problem: FillProblem, device: DeviceClass, trials: Iterator[_Trial]) -> Iterator[Proof]:
    """For each limit that some next operator proves, the first such operator."""
    proved: set[Limit] = set()
    for trial in trials:
        state, packed = trial.state, trial.packed
        for limit in _limits(problem, device, trial):
            if limit not in proved:
                proved.add(limit)
                yield Proof(
                    limit,
                    trial.slot,
                    state.job.name,
                    state.configuration.name,
                    state.position,
                    packed.work,
                    packed.switch,
                    packed.peak,
                    packed.held,
                )


def _limits(problem: FillProblem, device: DeviceClass, trial: _Trial) -> Iterator[Limit]:
    """The limits that a trial proves."""
    packed = trial.packed
    bubble = device.bubbles[packed.bubble]
    usable = usable_ticks(problem.guard, bubble)
    in_time = packed.used <= usable
    in_memory = packed.peak <= bubble.free and packed.held <= device.resident_free and trial.elsewhere
    if not trial.exists:
        yield Limit.JOBS if in_time and in_memory else Limit.SEVERAL
    elif in_time:
        yield Limit.CHOICE if in_memory else Limit.MEMORY
    elif not in_memory:
        yield Limit.SEVERAL
    else:
        if packed.used <= bubble.length:
            yield Limit.GUARD
        if packed.work <= usable:
            yield Limit.SWITCH
        yield Limit.TIME


def _trials(
    problem: FillProblem,
    device: DeviceClass,
    occurrence: Occurrence,
    states: Sequence[SlotState],
    now: PackedOccurrence,
    further: Sequence[SlotState],
    room: _Room,
    left: Mapping[str, int],
) -> Iterator[_Trial]:
    """Every next operator of an occurrence; `states`: of the slots before it, `now`: packed as it is;
    `further`: copies that might come besides, where they would begin.
    """
    for slot, state in enumerate(now.states):
        for longer in _with_one_more(occurrence, slot, state.position):
            yield _Trial(slot, state, pack_occurrence(problem, device, longer, states))
    for state in further:
        packed = with_further_copy(problem, device, now, state)
        yield _Trial(None, state, packed, left[state.job.name] > 0, room.fits(occurrence, state))


def _with_one_more(occurrence: Occurrence, slot: int, operator: int) -> Iterator[Occurrence]:
    """The occurrence with one more operator of a slot: after its last segment where it has one, and at the end."""
    segments = occurrence.segments
    own = [index for index, segment in enumerate(segments) if segment.slot == slot]
    if own:
        longer = replace(segments[own[-1]], count=segments[own[-1]].count + 1)
        yield replace(occurrence, segments=(*segments[: own[-1]], longer, *segments[own[-1] + 1 :]))
    if not own or own[-1] + 1 < len(segments):
        yield replace(occurrence, segments=(*segments, Segment(slot, operator, 1)))


def _further_copies(problem: FillProblem, device: DeviceClass) -> Iterator[SlotState]:
    """One more copy of each job that this class may run, in each configuration, at each operator where it may begin."""
    for job in problem.jobs:
        if device.name not in job.devices:
            continue
        for configuration in job.configurations:
            chain = configuration.operators
            seen = set()
            for position in range(len(chain) if problem.repeat else 1):
                carried = chain[position - 1].carry if problem.repeat else 0
                operator = chain[position]
                kind = (operator.duration, operator.memory, operator.carry, carried)
                if kind not in seen:
                    seen.add(kind)
                    yield SlotState(job, configuration, position, carried)
