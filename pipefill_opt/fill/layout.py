"""Where the fill work of a phase lies in the main iterations, and what memory it holds: for pictures and traces."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import NamedTuple

from pipefill_opt.fill.packing import PackedOccurrence, PackedSegment, SlotState, initial_states, pack_phase
from pipefill_opt.fill.plan import Phase
from pipefill_opt.fill.problem import DeviceClass, FillProblem
from pipefill_opt.units import scaled_ticks


class Piece(NamedTuple):
    """Something on a device from `start` to `end`, ticks from the beginning of main iteration 0.

    slot >= 0: `operators` of that slot in a row, from `first` on, cyclically. slot -1: switches (enter, leave, between, transfers).
    """

    start: int
    end: int
    slot: int = -1
    operators: int = 0
    first: int = 0


class Level(NamedTuple):
    """Fill work holds `size` bytes from tick `time` on."""

    time: int
    size: int


@dataclass(frozen=True, slots=True)
class Layout:
    """A phase in time. `levels` in order of time; the last one holds until the first one comes round again."""

    pieces: tuple[Piece, ...]
    levels: tuple[Level, ...]


def layout(problem: FillProblem, device: DeviceClass, phase: Phase) -> Layout:
    """The pieces and memory levels of a certified phase over its main iterations."""
    states: Sequence[SlotState] = initial_states(problem, phase)
    pieces: list[Piece] = []
    levels = [Level(0, _held(states, {index for index, state in enumerate(states) if state.job.keep}))]
    for visit in pack_phase(problem, device, phase):
        begin = visit.iteration * problem.period + device.bubbles[visit.bubble].start
        pieces += _pieces(visit, begin)
        levels += _levels(visit, begin, device, states)
        states = visit.states
    return Layout(tuple(pieces), tuple(levels))


def levels_within(placed: Layout, width: int, *, whole: bool) -> tuple[Level, ...]:
    """The levels before `width` ticks; of a whole plan, those past it come round to the beginning."""
    inside = tuple(level for level in placed.levels if level.time < width)
    wrapped = tuple(Level(level.time - width, level.size) for level in placed.levels if whole and level.time >= width)
    return wrapped + inside[1:] if wrapped else inside


def _pieces(visit: PackedOccurrence, begin: int) -> Iterator[Piece]:
    clock = begin
    for segment in visit.segments:
        if begin + segment.start > clock:
            yield Piece(clock, begin + segment.start)
        yield Piece(begin + segment.start, begin + segment.end, segment.slot, segment.count, segment.first)
        clock = begin + segment.end
    if begin + visit.used > clock:
        yield Piece(clock, begin + visit.used)


def _levels(visit: PackedOccurrence, begin: int, device: DeviceClass, states: Sequence[SlotState]) -> Iterator[Level]:
    now = list(states)
    inside = {index for index, state in enumerate(now) if state.job.keep}
    for segment in visit.segments:
        if segment.slot not in inside:
            inside.add(segment.slot)
            yield Level(begin + segment.start - segment.move_in, _held(now, inside))
        yield from _running(segment, begin, device, now[segment.slot], _held(now, inside - {segment.slot}))
        now[segment.slot] = now[segment.slot].after(segment.count)
        yield Level(begin + segment.end, _held(now, inside))
        if segment.move_out:
            inside.remove(segment.slot)
            yield Level(begin + segment.end + segment.move_out, _held(now, inside))


def _running(segment: PackedSegment, begin: int, device: DeviceClass, state: SlotState, others: int) -> Iterator[Level]:
    """A level for each operator of a segment, while the other slots hold `others` bytes."""
    clock = begin + segment.start
    chain = state.configuration.operators
    for step in range(segment.count):
        operator = chain[(segment.first + step) % len(chain)]
        yield Level(clock, others + state.configuration.resident + operator.memory)
        clock += scaled_ticks(operator.duration, device.speed)


def _held(states: Sequence[SlotState], inside: set[int]) -> int:
    return sum(states[index].held for index in inside)
