"""Two copies side by side in one turn: one does `a` laps, the other as many as then fit; both from the places where they stand."""

from __future__ import annotations

from itertools import accumulate
from typing import Any, Final

import numpy as np
from numpy.typing import NDArray

from pipefill_opt.kernels import kernel
from pipefill_opt.solve.device import DeviceProblem, Room, Run, Visit
from pipefill_opt.solve.life.modes import Mode
from pipefill_opt.solve.reach import reach

Ints = NDArray[np.int64]
FRONT: Final = 16
"""In a full turn the first slot's ticks count by one part in so many more."""
MOST_STATES: Final = 100_000
"""Largest (occurrences x operators of the first slot) of a table."""


def furthest_beside(
    done: Any,
    chosen: Any,
    room: Any,
    net: Any,
    between: int,
    elapsed: Any,
    reach_first: Any,
    start: int,
    other: Any,
    reach_other: Any,
    place: int,
) -> None:
    """done[r, p]: the most operators of the other slot after r occurrences in which the first one has done p; -1: impossible.

    chosen[r, p]: how many of the p were done before occurrence r - 1. room[r]: which net room it is; elapsed, other: ticks of the
    operators, summed up; reach_*: [room][position] most operators there; the first slot runs first in each occurrence.
    """
    size = done.shape[1]
    length, beside = reach_first.shape[1], reach_other.shape[1]
    lap, lap_of_other = elapsed[length], other[beside]
    for r in range(len(room)):
        k = room[r]
        for p in range(size):
            if done[r, p] < 0:
                continue
            here = (start + p) % length
            there = (place + done[r, p]) % beside
            most = min(reach_first[k, here], size - 1 - p)
            count = reach_other[k, there]
            for x in range(most + 1):
                end = (here + x) % length
                ticks = (here + x) // length * lap + elapsed[end] - elapsed[here]
                left = net[k] - ticks - (between if x else 0)
                while count > 0:
                    stop = (there + count) % beside
                    if (there + count) // beside * lap_of_other + other[stop] - other[there] <= left:
                        break
                    count -= 1
                total = done[r, p] + count
                if total > done[r + 1, p + x]:
                    done[r + 1, p + x] = total
                    chosen[r + 1, p + x] = p


class Pair:
    """What two modes of one slot do side by side in a turn. laps[a]: of the second one, beside `a` laps of the first (-1: impossible)."""

    def __init__(self, first: Mode, second: Mode, between: int) -> None:
        self.first, self.second = first, second
        device = first.device
        own, other = device.slots[0], second.device.slots[0]
        self.length, self.beside = own.length, other.length
        different = {room: number for number, room in enumerate(dict.fromkeys(device.rooms))}
        rooms = list(different)
        net = [room.usable - device.enter - device.leave for room in rooms]
        numbers = [different[room] for room in device.rooms] * device.iterations
        size = first.laps[0] * own.length + 1
        self.done = np.full((len(numbers) + 1, size), -1, dtype=np.int64)
        self.done[0, 0] = 0
        self.chosen = np.zeros_like(self.done)
        tables = [_reaches(device, rooms, net, mode, rest) for mode, rest in ((first, other), (second, own))]
        kernel(furthest_beside, len(numbers) * size * size)(
            self.done,
            self.chosen,
            np.array(numbers, dtype=np.int64),
            np.array(net, dtype=np.int64),
            between,
            np.array(list(accumulate(own.ticks, initial=0)), dtype=np.int64),
            tables[0],
            first.start,
            np.array(list(accumulate(other.ticks, initial=0)), dtype=np.int64),
            tables[1],
            second.start,
        )
        last = self.done[-1, :: own.length]
        self.laps: list[int] = np.where(last < 0, -1, last // other.length).tolist()
        ahead, behind = (FRONT + 1) * sum(own.ticks), FRONT * sum(other.ticks)
        full = [a * ahead + b * behind if b >= 0 else -1 for a, b in enumerate(self.laps)]
        self.ahead = max((a for a, b in enumerate(self.laps) if b >= 0), default=0)
        self.best = max(range(len(full)), key=lambda a: (full[a], a))
        """Laps of the first slot in the fullest turn, its own ticks counting a little more."""

    def visits(self, a: int) -> tuple[Visit, ...]:
        """The plan of a turn with `a` laps of the first slot, and those beside it."""
        rooms = len(self.first.device.rooms)
        p, wanted = a * self.length, self.laps[a] * self.beside
        way = []
        for r in range(len(self.done) - 1, 0, -1):
            before = int(self.chosen[r, p])
            way.append((before, p, int(self.done[r - 1, before]), int(self.done[r, p])))
            p = before
        found = []
        for r, (before, after, begin, end) in enumerate(reversed(way)):
            runs = []
            if after > before:
                runs.append(Run(0, (self.first.start + before) % self.length, after - before))
            end = min(end, wanted)
            if end > begin:
                runs.append(Run(1, (self.second.start + begin) % self.beside, end - begin))
            if runs:
                found.append(Visit(*divmod(r, rooms), tuple(runs)))
        return tuple(found)


def _reaches(device: DeviceProblem, rooms: list[Room], net: list[int], mode: Mode, beside: Any) -> Ints:
    """By room and position: the most operators of a mode's slot, with the other one in memory, at its most."""
    slot = mode.device.slots[0]
    rows = []
    for room, ticks in zip(rooms, net, strict=True):
        free = room.free - slot.resident - beside.resident - max(beside.carry)
        rows.append(reach(slot.ticks, ticks, tuple(k for k, memory in enumerate(slot.memory) if memory > free)))
    return np.array(rows, dtype=np.int64)


def can_pair(first: Mode, second: Mode) -> bool:
    """Whether both may stay on the device, wherever they stand, and the table is not too large."""
    device = first.device
    held = sum(mode.device.slots[0].resident + max(mode.device.slots[0].carry) for mode in (first, second))
    states = len(device.rooms) * device.iterations * first.laps[0] * device.slots[0].length
    return held <= device.resident_free and states <= MOST_STATES


def pairable(mode: Mode) -> bool:
    """Whether a mode can be one of a pair: one kept slot that repeats, and may stand anywhere."""
    if mode.walk is not None or mode.plan is not None or len(mode.laps) != 1:
        return False
    slot = mode.device.slots[0]
    return slot.keep and slot.resident + max(slot.carry) <= mode.device.resident_free
