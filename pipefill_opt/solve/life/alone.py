"""One copy alone on a device: the most it can do in a repetition, and the plan that does it.

All starts at once: the map from position to position of one main iteration is a table of its positions, and H iterations are the table
applied H times. With `reach_alone` as the step of a room this bounds every plan, also one with other slots beside it, for no plan is
further along (whoever is further can wait); with the steps of greedy's packing it is a plan.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from fractions import Fraction

import numpy as np
from numpy.typing import NDArray

from pipefill_opt.solve.device import DevicePlan, DeviceProblem, Run, Visit
from pipefill_opt.solve.greedy import Steps
from pipefill_opt.solve.reach import reach_alone
from pipefill_opt.solve.transitions import Rooms, list_states

Table = NDArray[np.int64]
LONGEST_WALK = 100_000
"""Most repetitions of a plan that runs once which are walked one by one; longer lives close their cycle in every repetition."""


def furthest(device: DeviceProblem) -> Table:
    """By position of the one slot: the most operators done in one main iteration from there; never less in any plan's favour."""
    slot = device.slots[0]
    counts = {room: np.array(reach_alone(device, slot, room), dtype=np.int64) for room in set(device.rooms)}
    return _one_iteration([counts[room] for room in device.rooms], slot.length)


def stepwise(device: DeviceProblem) -> Table:
    """The same by greedy's steps: what is done is a plan, but for closing the cycle."""
    slot = device.slots[0]
    if _simple(device):
        return furthest(device)
    steps = Steps(replace(device, iterations=1))
    counts = [
        np.array([steps.step(number, p) for p in range(slot.length)], dtype=np.int64)
        for number in range(len(set(device.rooms)))
    ]
    return _one_iteration([counts[number] for number in steps.numbers], slot.length)


def _one_iteration(counts: list[Table], length: int) -> Table:
    position = np.arange(length, dtype=np.int64)
    for count in counts:
        position = position + count[position % length]
    return position - np.arange(length, dtype=np.int64)


def _simple(device: DeviceProblem) -> bool:
    """No transfers, and the slot may stand anywhere: then greedy's steps are the furthest there are."""
    slot = device.slots[0]
    return slot.keep and slot.resident + max(slot.carry) <= device.resident_free


def repeated(advance: Table, iterations: int) -> Table:
    """By position: operators done in so many main iterations."""
    length = len(advance)
    position = np.arange(length, dtype=np.int64)
    for _ in range(iterations):
        position = position + advance[position % length]
    done: Table = position - np.arange(length, dtype=np.int64)
    return done


@dataclass(frozen=True, slots=True)
class Closed:
    """A slot of a plan that repeats: laps a repetition, and no plan has more than `most`. start: where it begins; laps 0: nowhere."""

    laps: int
    most: int
    start: int


def closed(device: DeviceProblem) -> Closed:
    """The most laps of the one slot in H iterations, over all starts; `repeat: true`."""
    length = device.slots[0].length
    most = int((repeated(furthest(device), device.iterations) // length).max())
    if most == 0:
        return Closed(0, 0, 0)
    if _simple(device):
        laps = repeated(furthest(device), device.iterations) // length
        return Closed(int(laps.max()), most, int(laps.argmax()))
    steps = Steps(device)
    laps = repeated(stepwise(device), device.iterations) // length
    best = Closed(0, most, 0)
    for start in sorted(range(length), key=lambda p: (-int(laps[p]), p)):
        if laps[start] <= best.laps:
            break
        if steps.may_stand(start):
            found = sum(steps.closed(steps.walk(start), start)) // length
            if found > best.laps:
                best = Closed(found, most, start)
    return best


def closed_plan(device: DeviceProblem, start: int) -> DevicePlan:
    """The plan of `closed` from its start."""
    steps = Steps(device)
    return steps.plan(steps.closed(steps.walk(start), start), start)


@dataclass(frozen=True, slots=True)
class Once:
    """A slot of a plan that runs once, repetition after repetition: operators done in all after each, until `wanted` are done."""

    done: tuple[int, ...]
    visits: tuple[tuple[Visit, ...], ...]


def once(device: DeviceProblem, wanted: int, most: int) -> Once:
    """The walk from operator 0 until `wanted` operators are done, or for `most` repetitions, or until it gets stuck."""
    length, rooms = device.slots[0].length, len(device.rooms)
    steps = Steps(replace(device, iterations=1))
    position, total, fresh = 0, 0, True
    done: list[int] = []
    turns: list[tuple[Visit, ...]] = []
    while total < wanted and len(done) < most:
        visits = []
        before = total
        for step in range(device.iterations * rooms):
            iteration, bubble = divmod(step, rooms)
            count = steps.step(steps.numbers[bubble], length if fresh else position)
            if count:
                visits.append(Visit(iteration, bubble, (Run(0, position, count),)))
                position, total, fresh = (position + count) % length, total + count, False
        if total == before:
            break
        done.append(total)
        turns.append(tuple(visits))
    return Once(tuple(done), tuple(turns))


def least_repetitions(device: DeviceProblem, wanted: int) -> int | None:
    """No plan that runs once does `wanted` operators in fewer repetitions; None: none ever does."""
    advance = furthest(device)
    turn = repeated(advance, device.iterations)
    length, position, turns = len(turn), 0, 0
    while position < wanted:
        step = int(turn[position % length])
        if step == 0:
            return None
        if turns >= LONGEST_WALK:  # the rest at the best pace there is
            return turns + -(-(wanted - position) // int(turn.max()))
        position, turns = position + step, turns + 1
    return turns


def can_finish(device: DeviceProblem, wanted: int) -> bool:
    """Whether a plan that runs once ever does `wanted` operators of its one slot; False is a proof, also with other slots beside it.

    By state, the most operators done after so many repetitions: whoever does nothing stays where it stands, so that it never falls, and
    where a whole repetition raises none, none ever will. Long lives are taken to end.
    """
    slot = device.slots[0]
    counted = replace(device, slots=(replace(slot, value=(1,) * slot.length),), unit=Fraction(1))
    states = list_states(counted)
    rooms = Rooms(states)
    best = np.full(states.count, -1, dtype=np.int64)
    best[states.fresh] = 0
    for _ in range(LONGEST_WALK):
        before = best
        for room in device.rooms * device.iterations:
            rooms.find(room, lambda: False)
            found = rooms.of(room)
            origin = np.repeat(found.sources, np.diff(found.first))
            after = best.copy()
            reached = best[origin] >= 0
            np.maximum.at(after, found.target[reached], (best[origin] + found.value)[reached])
            best = after
        if best.max() >= wanted:
            return True
        if (best == before).all():
            return False
    return True
