"""Which residents a device of a class can usefully have: the columns of the whole problem, smallest first."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass
from fractions import Fraction
from typing import Final

from pipefill_opt.solve.bounds import Item, fractional_knapsack, knapsack_items, net_ticks
from pipefill_opt.solve.column import Column
from pipefill_opt.solve.device import Compiled, DeviceProblem, Residents
from pipefill_opt.solve.reach import least_moves

MAX_COLUMNS: Final = 6000
"""Most columns that are listed; larger sets of residents are then covered by one bound for each class."""


@dataclass(frozen=True, slots=True)
class Choices:
    """columns with a simple upper bound on the value of each.

    rest[c]: (an upper bound on the value of any residents of class c that are not listed, how many they are at the least), or None
    if all that can matter are listed.
    """

    columns: tuple[Column, ...]
    bounds: tuple[int, ...]
    rest: tuple[tuple[int, int] | None, ...]


def list_columns(compiled: Compiled, iterations: int) -> Choices:
    """All sets of residents that could be worth something, class by class, as long as there are not too many."""
    columns: list[Column] = []
    bounds: list[int] = []
    rest: list[tuple[int, int] | None] = []
    share = MAX_COLUMNS // max(1, len(compiled.problem.devices))
    for c in range(len(compiled.problem.devices)):
        kinds = Kinds(compiled, c, iterations)
        complete = True
        level: list[Residents] = [()]
        size, room = 0, share
        while level and complete:
            size += 1
            level = [grown for residents in level for grown in kinds.grown(residents)]
            complete = len(level) <= room
            room -= len(level)
            for residents in level[: max(0, room + len(level))]:
                columns.append(Column(c, residents))
                bounds.append(kinds.bound(residents))
        rest.append(None if complete else (kinds.any_bound(), size))
    return Choices(tuple(columns), tuple(bounds), tuple(rest))


def rate_bound(compiled: Compiled) -> Fraction:
    """An upper bound, in units per main iteration, on all plans: no residents, no number of iterations is better."""
    problem = compiled.problem
    iterations = problem.iterations or problem.max_iterations
    every = problem.iterations is None
    total = sum(
        device.count * Kinds(compiled, c, iterations).any_bound(every_length=every)
        for c, device in enumerate(problem.devices)
    )
    return Fraction(total, iterations)


@dataclass(frozen=True, slots=True)
class Kind:
    """A (job, configuration) on a class, alone there.

    least: time of the least work that counts (a lap, or with `repeat: false` the first operator). shortest: its shortest operator.
    headroom: the most bytes that others may hold while each operator that must run still fits some bubble. stays: the least
    bytes that it holds itself at any time.
    """

    least: int
    shortest: int
    moves: int
    headroom: int
    stays: int
    items: tuple[Item, ...]


class Kinds:
    """The slots that a class allows (`slots`, by job and configuration index), and what sets of them are worth at most."""

    def __init__(self, compiled: Compiled, class_index: int, iterations: int) -> None:
        self._jobs = compiled.problem.jobs
        self._empty = compiled.device(class_index, (), iterations)
        self.repeat = self._empty.repeat
        self.slots: dict[tuple[int, int], Kind] = {}
        self._capacities: dict[tuple[int, int], int] = {}
        name = compiled.problem.devices[class_index].name
        for j, job in enumerate(self._jobs):
            for k in range(len(job.configurations) if name in job.devices and job.copies else 0):
                kind = kind_of(compiled.device(class_index, ((j, k),), iterations))
                if kind is not None and kind.least <= self.capacity(kind.moves, kind.shortest):
                    self.slots[j, k] = kind

    def capacity(self, moves: int, shortest: int) -> int:
        """Net ticks of all rooms for slots with such least transfers and such a shortest operator."""
        key = (moves, shortest)
        if key not in self._capacities:
            empty = self._empty
            self._capacities[key] = empty.iterations * sum(net_ticks(empty, room, *key) for room in empty.rooms)
        return self._capacities[key]

    def grown(self, residents: Residents) -> list[Residents]:
        """The residents with one more, in order; only where every slot can still do something (else fewer residents serve as well)."""
        larger = []
        for kind in self.slots:
            if residents and kind < residents[-1]:
                continue
            copies = Counter(job for job, _ in residents)[kind[0]] + 1
            grown = (*residents, kind)
            if copies <= self._jobs[kind[0]].copies and self._all_can_work(grown):
                larger.append(grown)
        return larger

    def _all_can_work(self, residents: Residents) -> bool:
        slots = [self.slots[kind] for kind in residents]
        stays = sum(slot.stays for slot in slots)
        if stays > self._empty.resident_free:
            return False
        if any(slot.headroom < stays - slot.stays for slot in slots):
            return False
        return sum(slot.least for slot in slots) <= self._room(residents)

    def _room(self, residents: Residents) -> int:
        slots = [self.slots[kind] for kind in residents]
        return self.capacity(min(slot.moves for slot in slots), min(slot.shortest for slot in slots))

    def bound(self, residents: Residents) -> int:
        """An upper bound on the value of a device with these residents."""
        items = [item for kind in residents for item in self.slots[kind].items]
        return fractional_knapsack(items, self._room(residents))

    def any_bound(self, *, every_length: bool = False) -> int:
        """An upper bound on the value of a device with any residents.

        every_length: it holds for a plan of any number of iterations, in proportion. No plan has more laps an iteration than P iterations
        hold, closed or not, plus one, by P (the map from position to position is monotone); and fractions of value count as one.
        """
        if not self.slots:
            return 0
        items = [
            (value, ticks, (most + every_length) * self._jobs[job].copies)
            for (job, _), kind in self.slots.items()
            for value, ticks, most in kind.items
        ]
        return fractional_knapsack(items, self._room(tuple(self.slots))) + every_length


def kind_of(device: DeviceProblem) -> Kind | None:
    """What a single slot is on a device of its own; None if it can do nothing there."""
    slot = device.slots[0]
    moves = least_moves(slot)
    headroom = []
    for k in range(slot.length if device.repeat else 1):
        time = device.enter + slot.ticks[k] + device.leave + moves
        free = [room.free for room in device.rooms if room.usable >= time]
        headroom.append(max(free, default=-1) - slot.resident - slot.memory[k])
    stays = slot.resident + (min(slot.carry) if device.repeat else 0) if slot.keep else 0
    if min(headroom) < 0 or stays > device.resident_free:
        return None
    return Kind(
        least=sum(slot.ticks) if device.repeat else slot.ticks[0],
        shortest=min(slot.ticks),
        moves=moves,
        headroom=min(headroom),
        stays=stays,
        items=tuple(knapsack_items(device, slot)),
    )
