"""Rules 1 to 6 inside one phase on one device: a replay, one function per rule. Part of `certify`: shares nothing with solvers."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from fractions import Fraction
from itertools import accumulate

from pipefill_opt.fill.certificate import Violation
from pipefill_opt.fill.plan import Occurrence, Phase, Segment
from pipefill_opt.fill.problem import Configuration, DeviceClass, FillProblem, Job, Operator


@dataclass(frozen=True, slots=True)
class Chain:
    """A configuration on a device. elapsed[k]: ticks of its first k operators; heaviest: the most bytes an operator takes."""

    elapsed: Sequence[int]
    heaviest: int


def chain_on_device(configuration: Configuration, speed: Fraction) -> Chain:
    """The configuration's operators on a device of this speed, each ceil(duration / speed) ticks."""
    ticks = (-(-operator.duration * speed.denominator // speed.numerator) for operator in configuration.operators)
    heaviest = max(operator.memory for operator in configuration.operators)
    return Chain(tuple(accumulate(ticks, initial=0)), heaviest)


@dataclass(slots=True)
class Standing:
    """A slot during the replay: the operator at which it stands, and the bytes it carries."""

    job: Job
    configuration: Configuration
    chain: Chain
    position: int
    carried: int

    @property
    def held(self) -> int:
        """Bytes it holds between two operators."""
        return self.configuration.resident + self.carried

    def operators(self, segment: Segment) -> Iterator[tuple[int, Operator]]:
        """Index and operator of what `segment` runs; of a segment longer than the chain, each operator once."""
        chain = self.configuration.operators
        for step in range(min(segment.count, len(chain))):
            index = (segment.first + step) % len(chain)
            yield index, chain[index]

    def finish(self, segment: Segment) -> None:
        """Go on past the segment's last operator."""
        chain = self.configuration.operators
        self.position = (segment.first + segment.count) % len(chain)
        self.carried = chain[self.position - 1].carry


def replay_phase(
    problem: FillProblem, device: DeviceClass, phase: Phase, standings: Sequence[Standing], place: str
) -> Iterator[Violation]:
    """Run one repetition of a phase; `standings` (one a slot) are left as they are at its end."""
    yield from kept_slots_fit_outside(device, standings, f"{place}, at its beginning")
    order = sorted(
        range(len(phase.occurrences)),
        key=lambda index: (phase.occurrences[index].iteration, phase.occurrences[index].bubble),
    )
    for index in order:
        if phase.occurrences[index].segments:
            here = f"{place}.occurrences[{index}]"
            yield from replay_occurrence(problem, device, phase.occurrences[index], standings, here)
            yield from kept_slots_fit_outside(device, standings, f"{here}, after it")


def replay_occurrence(
    problem: FillProblem, device: DeviceClass, occurrence: Occurrence, standings: Sequence[Standing], place: str
) -> Iterator[Violation]:
    """One visited bubble: enter, segments with their swaps and changes, leave."""
    bubble = device.bubbles[occurrence.bubble]
    last = {segment.slot: index for index, segment in enumerate(occurrence.segments)}
    inside = {index for index, standing in enumerate(standings) if standing.job.keep}
    clock = problem.switch.enter
    previous: Segment | None = None
    for index, segment in enumerate(occurrence.segments):
        here = f"{place}.segments[{index}]"
        standing = standings[segment.slot]
        yield from begins_where_its_slot_stands(standing, segment, here)
        if previous is not None and previous.slot != segment.slot:
            clock += change_ticks(problem, standings[previous.slot].job, standing.job)
        if segment.slot not in inside:
            clock += move_ticks(standing, problem.switch.h2d)
            inside.add(segment.slot)
        yield from states_its_packed_start(segment, clock, here)
        yield from operators_fit_memory(bubble.free, standings, inside, segment, here)
        clock += work_ticks(standing.chain, segment)
        standing.finish(segment)
        if not standing.job.keep and last[segment.slot] == index:
            clock += move_ticks(standing, problem.switch.d2h)
            inside.remove(segment.slot)
        previous = segment
    yield from fits_in_bubble(problem, bubble.length, clock + problem.switch.leave, place)


def change_ticks(problem: FillProblem, source: Job, target: Job) -> int:
    """`between` from a copy of one job to a copy of another (or the same) job."""
    between = problem.switch.between
    return between if isinstance(between, int) else between[source.name][target.name]


def move_ticks(standing: Standing, bandwidth: Fraction | None) -> int:
    """One transfer of everything the slot holds, rounded up."""
    assert bandwidth is not None
    return _ceiling(Fraction(standing.held * 10**9) / bandwidth)


def work_ticks(chain: Chain, segment: Segment) -> int:
    """Ticks of the segment's operators, which go on cyclically past the chain's end."""
    elapsed = chain.elapsed
    laps, end = divmod(segment.first + segment.count, len(elapsed) - 1)
    return laps * elapsed[-1] + elapsed[end] - elapsed[segment.first]


def _ceiling(number: Fraction) -> int:
    return -(-number.numerator // number.denominator)


def begins_where_its_slot_stands(standing: Standing, segment: Segment, place: str) -> Iterator[Violation]:
    """`order` (rule 3): a segment begins at the operator at which its slot stands."""
    if segment.first != standing.position:
        yield Violation(
            "order",
            place,
            f"begins at operator {segment.first}, slot {segment.slot} stands at {standing.position}",
            {"first": segment.first, "stands": standing.position},
        )


def states_its_packed_start(segment: Segment, packed: int, place: str) -> Iterator[Violation]:
    """`start` (rule 1): a stated start is that of the packed sequence."""
    if segment.start is not None and segment.start != packed:
        yield Violation(
            "start",
            place,
            f"stated {segment.start}, packed {packed} ticks",
            {"stated": segment.start, "packed": packed},
        )


def operators_fit_memory(
    free: int, standings: Sequence[Standing], inside: set[int], segment: Segment, place: str
) -> Iterator[Violation]:
    """`memory` (rule 4): residents that are in + carried bytes of the others that are in + the operator <= free."""
    standing = standings[segment.slot]
    others = sum(standings[index].held for index in inside if index != segment.slot)
    base = others + standing.configuration.resident
    if base + standing.chain.heaviest <= free:
        return
    index, operator = max(standing.operators(segment), key=lambda entry: entry[1].memory)
    if base + operator.memory > free:
        yield Violation(
            "memory",
            place,
            f"operator {index} ({operator.name}) needs {base + operator.memory} bytes, {free} are free",
            {"operator": index, "needed": base + operator.memory, "free": free},
        )


def fits_in_bubble(problem: FillProblem, length: int, used: int, place: str) -> Iterator[Violation]:
    """`fit` (rule 1): enter + transfers + operators + between + leave <= usable."""
    guarded = Fraction(length) * problem.guard.fraction
    usable = max(0, guarded.numerator // guarded.denominator - problem.guard.margin)
    if used > usable:
        yield Violation("fit", place, f"takes {used} ticks, {usable} are usable", {"used": used, "usable": usable})


def kept_slots_fit_outside(device: DeviceClass, standings: Sequence[Standing], place: str) -> Iterator[Violation]:
    """`resident` (rule 5): kept slots hold at most `resident_free` outside the bubbles."""
    held = sum(standing.held for standing in standings if standing.job.keep)
    if held > device.resident_free:
        yield Violation(
            "resident",
            place,
            f"kept slots hold {held} bytes, {device.resident_free} stay free",
            {"held": held, "free": device.resident_free},
        )


def begins_at_its_first_operator(first: int, place: str) -> Iterator[Violation]:
    """`first` (rule 6, `repeat: false`): a copy begins at operator 0."""
    if first != 0:
        yield Violation(
            "first", place, f"begins at operator {first}, a plan that runs once begins at 0", {"first": first}
        )


def ends_where_it_began(standing: Standing, first: int, place: str) -> Iterator[Violation]:
    """`cycle` (rule 6, `repeat: true`): a slot ends at the operator at which it began."""
    if standing.position != first:
        yield Violation(
            "cycle",
            place,
            f"begins at operator {first}, ends at {standing.position}",
            {"first": first, "last": standing.position},
        )
