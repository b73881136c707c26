"""What one room can do to the positions of all slots: every transition between states, with its value.

A state is a position per slot (with `repeat: false` also "has done nothing yet", which carries nothing): all that the rest of a
plan can depend on, and all that rule 5 looks at. Exact for everything in section 4; the cost is that all states are listed.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from itertools import accumulate
from math import prod
from typing import Any

import numpy as np
from numpy.typing import NDArray

from pipefill_opt.kernels import kernel
from pipefill_opt.solve.device import Chain, DeviceProblem, Room, Run
from pipefill_opt.solve.labels import (
    UNREACHED,
    flat_tables,
    least_times,
    runs_of,
    strides,
)
from pipefill_opt.solve.reach import reach_alone

Index = NDArray[np.int64]


@dataclass(frozen=True, slots=True)
class States:
    """Mixed-radix numbering of the states of a device.

    radix[s]: positions of slot s = its length, and one more with `repeat: false` (the last one: fresh). stride[s]: its place value.
    allowed[state]: whether rule 5 lets the slots stand there between two occurrences.
    """

    device: DeviceProblem
    radix: tuple[int, ...]
    stride: tuple[int, ...]
    allowed: NDArray[np.bool_]

    @property
    def count(self) -> int:
        """Number of states, allowed or not."""
        return len(self.allowed)

    @property
    def fresh(self) -> int:
        """The state in which no slot has done anything (`repeat: false`)."""
        return self.count - 1

    def digits(self, state: int) -> list[int]:
        """Position of each slot, its length standing for fresh."""
        return [state // stride % radix for stride, radix in zip(self.stride, self.radix, strict=True)]


def state_count(device: DeviceProblem) -> int:
    """Number of states, without listing them."""
    return prod(slot.length + (not device.repeat) for slot in device.slots)


def transition_count(device: DeviceProblem) -> int:
    """Number of transitions of all different rooms, at most, without listing them."""
    fresh = not device.repeat
    rooms = set(device.rooms)
    reach = ([reach_alone(device, slot, room) for slot in device.slots] for room in rooms)
    return sum(prod(sum(own) + len(own) + fresh * (own[0] + 1) for own in by_slot) for by_slot in reach)


def list_states(device: DeviceProblem) -> States:
    """All states, and which of them rule 5 allows between occurrences."""
    radix = tuple(slot.length + (not device.repeat) for slot in device.slots)
    held: Index = np.zeros(1, dtype=np.int64)
    for slot, size in zip(device.slots, radix, strict=True):
        own = np.zeros(size, dtype=np.int64)
        if slot.keep:
            own[:] = slot.resident
            own[: slot.length] += np.array(slot.carry[-1:] + slot.carry[:-1], dtype=np.int64)
        held = (own[:, None] + held[None, :]).ravel()
    stride = tuple(accumulate((1, *radix[:-1]), int.__mul__)) if radix else ()
    return States(device, radix, stride, held <= device.resident_free)


@dataclass(frozen=True, slots=True)
class Transitions:
    """All transitions of one room between allowed states, by source: those of sources[i] are first[i] to first[i + 1].

    Doing nothing is one of them. Values are int64, or Python integers in an object array where int64 might overflow.
    """

    sources: Index
    first: Index
    target: Index
    value: NDArray[Any]


class Rooms:
    """Transitions of each different room of a device, found once and kept.

    With `repeat: true` the value of a lap is spread over the chain in proportion to time, rounded down cumulatively: over a whole plan
    that sums up to the same, because each slot ends where it began, and bounds from parts of a plan come out smoother.
    """

    def __init__(self, states: States) -> None:
        self.states = states
        self.device = states.device
        self._known: dict[Room, Transitions] = {}
        self._reach = {
            room: [reach_alone(self.device, slot, room) for slot in self.device.slots]
            for room in set(self.device.rooms)
        }
        self._masks = 1 << sum(not slot.keep for slot in self.device.slots)
        self._kernel: Any = kernel(least_times, self.labels())
        self._plain = self._kernel is least_times
        self._wrap: Any = list if self._plain else _int64
        self._tables = flat_tables(self.device, self._wrap)
        most = max((max(counts) for reach in self._reach.values() for counts in reach), default=0)
        worth = [_worth(slot, slot.length + most, smooth=self.device.repeat) for slot in self.device.slots]
        self.most_value = sum(_most_worth(worth, self._reach[room]) for room in self.device.rooms)
        """No iteration is worth more."""
        largest = max((values[-1] for values in worth), default=0)
        self.big = largest + self.most_value * max(64, 4 * self.device.iterations) >= 2**61
        """Whether values need more than 64 bits."""
        self._worth = [self.array(values) for values in worth]

    def labels(self) -> int:
        """Labels of all rooms and states together, at most: what the search inside the occurrences costs."""
        return room_labels(self.device, self._reach)

    def array(self, values: list[int]) -> NDArray[Any]:
        """Values as an array of the kind that is wide enough."""
        return np.array(values, dtype=object if self.big else np.int64)

    def of(self, room: Room) -> Transitions:
        """The transitions of a room that `find` has found."""
        return self._known[room]

    def find(self, room: Room, stopped: Callable[[], bool]) -> bool:
        """Find the transitions of a room, unless they are known; False if `stopped` said so before the end."""
        if room in self._known:
            return True
        sources = np.flatnonzero(self.states.allowed)
        targets, values, first = [], [], [0]
        for source in sources.tolist():
            if stopped():
                return False
            search = self._search(room, self.states.digits(source))
            target, value = self._ends(search, source)
            fine = self.states.allowed[target]
            targets.append(target[fine])
            values.append(value[fine])
            first.append(first[-1] + int(fine.sum()))
        if targets:
            found = Transitions(sources, _int64(first), np.concatenate(targets), np.concatenate(values))
        else:
            found = Transitions(sources, _int64([0]), _int64([]), self.array([]))
        self._known[room] = found
        return True

    def runs(self, room: Room, source: int, target: int, value: int) -> tuple[Run, ...]:
        """The segments of a transition of that value."""
        search = self._search(room, self.states.digits(source))
        targets, values = self._ends(search, source)
        chosen = next(
            d
            for d, t, v in zip(search.reached.tolist(), targets.tolist(), values.tolist(), strict=True)
            if t == target and v == value
        )
        if chosen == 0:
            return ()
        lengths = [slot.length for slot in self.device.slots]
        label = int(search.last[chosen])
        return runs_of(search.parent, label, len(lengths), self._masks, search.position, lengths)

    def _search(self, room: Room, digits: list[int]) -> _Search:
        """All that can be done in the room from these positions."""
        slots = len(digits)
        fresh = [digit == slot.length for digit, slot in zip(digits, self.device.slots, strict=True)]
        position = [0 if new else digit for digit, new in zip(digits, fresh, strict=True)]
        limits = [counts[k] for counts, k in zip(self._reach[room], position, strict=True)]
        stride, box = strides(limits)
        labels = box * slots * self._masks
        time, least = self._filled(labels, UNREACHED), self._filled(box, UNREACHED)
        parent, last, done = self._filled(labels, -1), self._filled(box, -1), self._filled(slots, 0)
        if box > 1:
            self._kernel(
                *self._tables, room.usable, room.free, self._wrap(position), self._wrap([int(new) for new in fresh]),
                self._wrap(stride), box, self._masks, time, parent, least, last, done,
            )  # fmt: skip
        least[0] = 0
        return _Search(position, stride, np.flatnonzero(_int64(least) < UNREACHED), parent, last)

    def _filled(self, size: int, value: int) -> Any:
        return [value] * size if self._plain else np.full(size, value, dtype=np.int64)

    def _ends(self, search: _Search, source: int) -> tuple[Index, NDArray[Any]]:
        """(target, value) of each reached vector of operators."""
        digits = self.states.digits(source)
        target = np.zeros(len(search.reached), dtype=np.int64)
        value = self.array([0] * len(search.reached))
        slots = self.device.slots
        for s, slot in enumerate(slots):
            done = search.reached // search.stride[s] % (search.stride[s + len(slots)] + 1)
            position = search.position[s]
            end = np.where(done == 0, digits[s], (position + done) % slot.length)
            target += end * self.states.stride[s]
            value = value + (self._worth[s][position + done] - self._worth[s][position])
        return target, value


@dataclass(frozen=True, slots=True)
class _Search:
    """reached: indices of the vectors of operators that fit, by `stride`; parent and last as `least_times` leaves them."""

    position: list[int]
    stride: list[int]
    reached: Index
    parent: Any
    last: Any


def room_labels(device: DeviceProblem, reach: dict[Room, list[tuple[int, ...]]]) -> int:
    """Labels of all rooms and states together, at most; reach: by room and slot, as `reach_alone` gives it."""
    masks = 1 << sum(not slot.keep for slot in device.slots)
    boxes = sum(prod(sum(counts) + len(counts) for counts in by_slot) for by_slot in reach.values())
    return boxes * max(1, len(device.slots)) * masks


def _worth(slot: Chain, most: int, *, smooth: bool) -> list[int]:
    """Value of the first 0 .. most operators from the chain's beginning; smooth: spread over each lap in proportion to time."""
    lap, total = sum(slot.value), sum(slot.ticks)
    if smooth:
        within = [lap * elapsed // total for elapsed in accumulate(slot.ticks, initial=0)]
    else:
        within = list(accumulate(slot.value, initial=0))
    return [k // slot.length * lap + within[k % slot.length] for k in range(most + 1)]


def _most_worth(worth: list[list[int]], reach: list[tuple[int, ...]]) -> int:
    """The most that one room can be worth: every slot's best on its own."""
    return sum(
        max(values[k + count] - values[k] for k, count in enumerate(counts))
        for values, counts in zip(worth, reach, strict=True)
    )


def _int64(values: Any) -> Index:
    return np.array(values, dtype=np.int64)
