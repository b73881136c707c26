"""What `replay` runs: a main job with its fill plan as a request for the native program, beside what is predicted of it.

The devices that are watched are real; the others are played: they sleep for their actions and send their messages. All times
may be scaled, so that seconds become milliseconds.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction
from itertools import count
from typing import Any, Final

import numpy as np

from pipefill_opt.errors import InputError
from pipefill_opt.fill.packing import PackedOccurrence, SlotState, initial_states, pack_phase
from pipefill_opt.fill.plan import FillPlan, Pattern
from pipefill_opt.fill.problem import DeviceClass, FillProblem
from pipefill_opt.schedule.texts import action_texts
from pipefill_opt.timeline.compute import timeline
from pipefill_opt.timeline.memory import taken_and_given
from pipefill_opt.timeline.timeline import Timeline
from pipefill_opt.timeline.times import Times, settle
from pipefill_opt.units import scaled_ticks
from pipefill_opt.workload.costs import Boundary, MainJob, Mode
from pipefill_opt.workload.weights import is_block

Document = dict[str, Any]
DEADLINE_FACTOR: Final = 20
DEADLINE_SECONDS: Final = 30


@dataclass(frozen=True, slots=True)
class PlannedOperator:
    """A fill operator in a bubble. start: ticks from the bubble's beginning; held: bytes of all slots that are in, besides."""

    job: str
    configuration: str
    slot: int
    index: int
    start: int
    duration: int
    memory: int
    held: int


@dataclass(frozen=True, slots=True)
class PlannedVisit:
    """Fill work in a bubble of main iteration `iteration` of the plan. before: the action that ends the bubble, by its place in the
    row; the number of actions for the bubble around the iteration boundary. used: ticks; kept: bytes that kept slots hold
    after it."""

    iteration: int
    bubble: int
    before: int
    length: int
    free: int
    enter: int
    leave: int
    used: int
    operators: tuple[PlannedOperator, ...]
    kept: int = 0


@dataclass(frozen=True, slots=True)
class WatchedDevice:
    """A real device: its class, its pattern's visits, its actions (text, start, duration in ticks), its bubbles (start, length, before).
    kept: bytes that kept slots hold when the plan begins."""

    name: str
    main_device: int
    actions: tuple[tuple[str, int, int], ...]
    bubbles: tuple[tuple[int, int, int], ...]
    visits: tuple[PlannedVisit, ...]
    main_peak: int
    fill_peak: int
    kept: int = 0


@dataclass(frozen=True, slots=True)
class Scenario:
    """All that is predicted. Ticks are those of the main job; on the device they are multiplied by `scale`."""

    problem: FillProblem
    times: Times
    period: int
    turns: int
    scale: Fraction
    devices: tuple[WatchedDevice, ...]

    def scaled(self, ticks: int) -> int:
        """Ticks of the main job in ns on the device."""
        return round(ticks * self.scale)


def scenario(
    problem: FillProblem, plan: FillPlan, watched: Sequence[str] = (), *, scale: Fraction = Fraction(1)
) -> Scenario:
    """What is predicted of a valid plan. watched: names of classes, by default the one with most fill work.

    Raises InputError for an instance without a main job or one whose communication cannot be played: SENDs and RECVs that take
    time (`blocking`), overlapped pairs as one block, plans of several phases.
    """
    main = problem.main
    if main is None:
        raise InputError("expected an instance with main: {file: ...}", value=problem.name, where="main")
    if main.communication.mode is Mode.BLOCKING:
        raise InputError(
            "expected lag or link: messages that keep devices busy cannot be replayed", where="communication.mode"
        )
    if is_block(main):
        raise InputError("expected overlap: sequential: blocks cannot be replayed", where="overlap")
    if any(len(pattern.phases) != 1 for pattern in plan.patterns):
        raise InputError("expected a plan of one phase", where="patterns")
    computed, times = timeline(main), settle(main)
    if times.scale != 1:
        raise InputError(
            "expected a period of whole ticks", value=str(Fraction(times.period, times.scale)), where="boundary"
        )
    names = tuple(watched) or _busiest(problem, plan)
    devices = tuple(_watched(problem, plan, _class(problem, name), computed) for name in names)
    turns = problem.iterations or plan.iterations or 1
    return Scenario(problem, times, computed.period, turns, scale, devices)


def _class(problem: FillProblem, name: str) -> DeviceClass:
    for device in problem.devices:
        if device.name == name and device.main_device is not None:
            return device
    known = ", ".join(device.name for device in problem.devices if device.main_device is not None)
    raise InputError(f"expected a class of the main job: {known}", value=name, where="device")


def _busiest(problem: FillProblem, plan: FillPlan) -> tuple[str, ...]:
    """The class of the pattern with most operators; the first one of the main job, if there is no fill work at all."""
    work: dict[str, int] = {}
    for pattern in plan.patterns:
        operators = sum(segment.count for entry in pattern.phases[0].occurrences for segment in entry.segments)
        work[pattern.device] = max(operators, work.get(pattern.device, 0))
    known = [device.name for device in problem.devices if device.main_device is not None]
    return (max(known, key=lambda name: work.get(name, 0)),)


def _watched(problem: FillProblem, plan: FillPlan, device: DeviceClass, computed: Timeline) -> WatchedDevice:
    assert device.main_device is not None
    schedule, number = computed.main.schedule, device.main_device
    row = range(int(schedule.row_start[number]), int(schedule.row_start[number + 1]))
    texts = action_texts(schedule)
    actions = tuple((texts[a], int(computed.start[a]), int(computed.end[a] - computed.start[a])) for a in row)
    place = {a: index for index, a in enumerate(row)}
    bubbles = []
    for bubble in computed.bubbles[number]:
        goes_on = bubble.start + bubble.length >= computed.period
        before = len(row) if goes_on or bubble.next_action is None else place[bubble.next_action]
        bubbles.append((bubble.start, bubble.length, before))
    pattern = _pattern(plan, device)
    visits = () if pattern is None else tuple(_visits(problem, device, pattern, bubbles))
    peak = 0 if computed.peak is None else int(computed.peak[number])
    fill_peak = max((o.held + o.memory for visit in visits for o in visit.operators), default=0)
    slots = () if pattern is None else initial_states(problem, pattern.phases[0])
    kept = sum(state.held for state in slots if state.job.keep)
    return WatchedDevice(device.name, number, actions, tuple(bubbles), visits, peak, fill_peak, kept)


def _pattern(plan: FillPlan, device: DeviceClass) -> Pattern | None:
    """The class's pattern with most fill work."""
    own = [pattern for pattern in plan.patterns if pattern.device == device.name]
    return max(own, key=lambda pattern: len(pattern.phases[0].occurrences), default=None)


def _visits(
    problem: FillProblem, device: DeviceClass, pattern: Pattern, bubbles: Sequence[tuple[int, int, int]]
) -> Iterator[PlannedVisit]:
    phase = pattern.phases[0]
    before = {start: place for start, _, place in bubbles}
    states: Sequence[SlotState] = initial_states(problem, phase)
    for visit in pack_phase(problem, device, phase):
        bubble = device.bubbles[visit.bubble]
        yield PlannedVisit(
            iteration=visit.iteration,
            bubble=visit.bubble,
            before=before[bubble.start],
            length=bubble.length,
            free=bubble.free,
            enter=problem.switch.enter,
            leave=problem.switch.leave,
            used=visit.used,
            kept=visit.held,
            operators=tuple(_operators(visit, device, states)),
        )
        states = visit.states


def _operators(visit: PackedOccurrence, device: DeviceClass, states: Sequence[SlotState]) -> Iterator[PlannedOperator]:
    now = list(states)
    inside = {index for index, state in enumerate(now) if state.job.keep}
    for segment in visit.segments:
        inside.add(segment.slot)
        state = now[segment.slot]
        held = sum(now[other].held for other in inside - {segment.slot}) + state.configuration.resident
        clock = segment.start
        chain = state.configuration.operators
        for step in range(segment.count):
            index = (segment.first + step) % len(chain)
            ticks = scaled_ticks(chain[index].duration, device.speed)
            yield PlannedOperator(
                state.job.name, state.configuration.name, segment.slot, index, clock, ticks, chain[index].memory, held
            )
            clock += ticks
        now[segment.slot] = state.after(segment.count)
        if segment.move_out:
            inside.remove(segment.slot)


@dataclass(frozen=True, slots=True)
class Iterations:
    """Which iterations have fill work: `warmup` without, then `rounds` of `block` without and `block` with it."""

    warmup: int = 2
    block: int = 3
    rounds: int = 5

    def with_fill(self) -> list[bool]:
        """For each iteration."""
        return [False] * self.warmup + ([False] * self.block + [True] * self.block) * self.rounds

    def covering(self, turns: int) -> Iterations:
        """At least these, and as many that each of so many main iterations of the plan counts once or more."""
        block = next(
            length for length in count(max(2, self.block)) if turns % length
        )  # else some turn is always a block's first
        longer = (Iterations(self.warmup, block, rounds) for rounds in count(self.rounds))
        return next(found for found in longer if len(found._turns_counted(turns)) == turns)

    def _turns_counted(self, turns: int) -> set[int]:
        return {
            (start + offset) % turns
            for start in range(0, self.block * self.rounds, self.block)
            for offset in range(1, self.block)
        }

    def counted(self) -> list[int]:
        """Indices of the iterations that count: not the first of a block, into which the one before may reach."""
        return [
            self.warmup + start + offset
            for start in range(0, 2 * self.block * self.rounds, self.block)
            for offset in range(1, self.block)
        ]


def durations(found: Scenario) -> list[int]:
    """All different durations in ns of work on the watched devices, which calibrated work must meet."""
    main = {found.scaled(ticks) for device in found.devices for _, _, ticks in device.actions}
    fill = {found.scaled(o.duration) for device in found.devices for visit in device.visits for o in visit.operators}
    return sorted((main | fill) - {0})


def request(
    found: Scenario,
    iterations: Iterations,
    works: Mapping[int, Document],
    *,
    claim: bool = False,
    play_switches: bool = True,
) -> Document:
    """The replay as a request. works: what to run for a duration in ns; a duration without an entry sleeps.

    claim: take the pools as memory of the device. play_switches: let each switch take as long as the plan says, by sleep; else it takes
    what it takes on the device.
    """
    main, times = found.times.main, found.times
    watched = {device.main_device: device for device in found.devices}
    messages = _messages(times)
    takes, gives = _memory(main)
    devices = [
        _device(found, number, watched.get(number), messages, takes, gives, works, claim, play_switches)
        for number in range(main.schedule.devices)
    ]
    with_fill = iterations.with_fill()
    period = found.scaled(found.period)
    return {
        "mode": "replay",
        "iterations": with_fill,
        "boundary": "barrier" if main.boundary is Boundary.BARRIER else "flow",
        "deadline": DEADLINE_SECONDS * 10**9 + DEADLINE_FACTOR * period * len(with_fill),
        "lags": [found.scaled(int(times.lag[edge])) for edge in messages],
        "devices": devices,
    }


def _messages(times: Times) -> list[int]:
    """The edges between devices, which become messages."""
    return [int(edge) for edge in np.flatnonzero(times.waits.crosses)]


def _memory(main: MainJob) -> tuple[list[int], list[int]]:
    """Bytes that each action takes and gives back; nothing without a memory model."""
    if main.memory is None:
        return [0] * main.schedule.size, [0] * main.schedule.size
    taken, given = taken_and_given(main.schedule, main.memory)
    return [int(size) for size in taken], [int(size) for size in given]


def _device(
    found: Scenario,
    number: int,
    watched: WatchedDevice | None,
    messages: Sequence[int],
    takes: Sequence[int],
    gives: Sequence[int],
    works: Mapping[int, Document],
    claim: bool,
    play_switches: bool,
) -> Document:
    times = found.times
    schedule, memory = times.main.schedule, times.main.memory
    successor = times.waits.successor()
    waits: dict[int, list[int]] = {}
    sends: dict[int, list[int]] = {}
    for message, edge in enumerate(messages):
        waits.setdefault(int(successor[edge]), []).append(message)
        sends.setdefault(int(times.waits.pred[edge]), []).append(message)
    actions = []
    for action in range(int(schedule.row_start[number]), int(schedule.row_start[number + 1])):
        duration = found.scaled(int(times.duration[action]))
        entry: Document = {"work": _work(duration, works if watched is not None else {})}
        entry |= {key: table[action] for key, table in (("waits", waits), ("sends", sends)) if action in table}
        if watched is not None:
            entry |= {"takes": takes[action], "gives": gives[action]}
        actions.append(entry)
    if watched is None:
        return {"name": f"device{number}", "real": False, "main_bytes": 0, "fill_bytes": 0, "actions": actions}
    static = 0 if memory is None else memory.static[number]
    capacity = 0 if memory is None else memory.capacity[number] - memory.reserve[number]
    return {
        "name": watched.name,
        "real": True,
        "main_bytes": max(capacity, watched.main_peak),
        "main_static": static,
        "fill_bytes": max((visit.free for visit in watched.visits), default=0),
        "kept": 0 if memory is None else watched.kept,
        "claim": claim,
        "actions": actions,
        "turns": [
            [
                _visit(found, visit, works, play_switches) | {"kept": 0 if memory is None else visit.kept}
                for visit in watched.visits
                if visit.iteration == turn
            ]
            for turn in range(found.turns)
        ],
    }


def _visit(found: Scenario, visit: PlannedVisit, works: Mapping[int, Document], play_switches: bool) -> Document:
    """Where switches are played, the change between two slots and the transfers are part of what the operator after them sleeps first."""
    operators = []
    clock = visit.enter
    for planned in visit.operators:
        gap = found.scaled(planned.start) - found.scaled(clock)
        work = _work(found.scaled(planned.duration), works)
        operators.append(
            {"work": work, "memory": planned.memory, "held": planned.held, "pause": gap if play_switches else 0}
        )
        clock = planned.start + planned.duration
    document: Document = {"before": visit.before, "limit": visit.free, "operators": operators}
    if play_switches:
        document["enter"] = _work(found.scaled(visit.enter), {})
        document["leave"] = _work(found.scaled(visit.used - clock), {})
    return document


def _work(duration: int, works: Mapping[int, Document]) -> Document:
    if duration == 0:
        return {"kind": "none"}
    return dict(works.get(duration, {"kind": "sleep", "loops": duration}))
