"""PipeFill's plan algorithm (arXiv 2410.07192, as people describe it) as a baseline on any instance.

One job copy a device. Consecutive operators are packed into a bubble while they fit in time and memory, then into the next; the chain
is repeated to fill the whole plan; per device the job and configuration with the best throughput wins. PipeFill fills contiguous
bubbles only (`CONTIGUOUS`); `ALL_KINDS` takes the inner ones too. With `repeat: true` the plan must close its cycle: the operators
after the last full lap are dropped, and the first operator is chosen so that most laps close.
"""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Callable
from dataclasses import dataclass, replace
from itertools import accumulate
from typing import Final

from pipefill_opt.fill.fits import misfit
from pipefill_opt.fill.problem import FillBubble
from pipefill_opt.solve.device import Compiled, DevicePlan, DeviceProblem, Room, Run, Visit
from pipefill_opt.solve.reach import reach_alone
from pipefill_opt.solve.watch import Watch

ROOM_VISITS: Final = 500_000
"""About how many rooms one chain walks through, over all first operators tried."""
Kinds = Callable[[FillBubble], bool]


def contiguous(bubble: FillBubble) -> bool:
    """The bubbles that PipeFill fills."""
    return bubble.kind in ("fill-drain", "fwd-bwd")


def every_kind(bubble: FillBubble) -> bool:
    """All bubbles."""
    return True


@dataclass(frozen=True, slots=True)
class Choice:
    """One device problem with its greedy plan, on `multiplicity` devices."""

    device: DeviceProblem
    plan: DevicePlan
    value: int
    multiplicity: int


def greedy(compiled: Compiled, iterations: int, kinds: Kinds, watch: Watch) -> list[Choice]:
    """Devices and jobs matched by throughput, the best pair first, as copies and counts allow. Empty devices are left out."""
    problem = compiled.problem
    offers: list[Choice] = []
    for c, device_class in enumerate(problem.devices):
        closed = [not kinds(bubble) for bubble in device_class.bubbles]
        for j, job in enumerate(problem.jobs):
            if device_class.name not in job.devices:
                continue
            for k, configuration in enumerate(job.configurations):
                if watch.ended():
                    break
                device = compiled.device(c, ((j, k),), iterations)
                if misfit(problem, device_class, job, configuration):
                    continue
                rooms = tuple(Room(0, 0) if shut else room for room, shut in zip(device.rooms, closed, strict=True))
                plan = pack(replace(device, rooms=rooms), watch)
                value = plan.value(device)
                if value:
                    offers.append(Choice(device, plan, value, 0))
    offers.sort(key=lambda offer: -offer.value)
    counts = [device_class.count for device_class in problem.devices]
    copies = [job.copies for job in problem.jobs]
    taken = []
    for offer in offers:
        c, j = offer.device.class_index, offer.device.residents[0][0]
        multiplicity = min(counts[c], copies[j])
        if multiplicity:
            counts[c] -= multiplicity
            copies[j] -= multiplicity
            taken.append(replace(offer, multiplicity=multiplicity))
    return taken


def pack(device: DeviceProblem, watch: Watch | None = None) -> DevicePlan:
    """The greedy plan of a device with one slot; empty where nothing fits. When `watch` ends, the best of the starts tried so far."""
    slot = device.slots[0]
    steps = Steps(device)
    best_done, best_start, best_counts = 0, 0, [0]
    rooms = device.iterations * len(device.rooms)
    starts = range(min(slot.length, max(1, ROOM_VISITS // max(1, rooms))) if device.repeat else 1)
    for start in starts:
        if watch is not None and watch.ended():
            break
        if steps.may_stand(start, fresh=not device.repeat):
            counts = steps.walk(start)
            if device.repeat:
                counts = steps.closed(counts, start)
            if sum(counts) > best_done:
                best_done, best_start, best_counts = sum(counts), start, counts
    return steps.plan(best_counts, best_start)


class Steps:
    """What one slot does in each room from each position: as much as fits and may be paused after."""

    def __init__(self, device: DeviceProblem) -> None:
        self.device = device
        self.slot = device.slots[0]
        self._reach = {room: reach_alone(device, self.slot, room) for room in set(device.rooms)}
        different = {room: number for number, room in enumerate(self._reach)}
        self._rooms = list(self._reach)
        self.numbers = [different[room] for room in device.rooms] * device.iterations
        self._lap = sum(self.slot.ticks)
        self._ticks = list(accumulate(self.slot.ticks * 2, initial=0))
        self._known: list[list[int | None]] = [[None] * (self.slot.length + 1) for _ in self._rooms]

    def may_stand(self, position: int, *, fresh: bool = False) -> bool:
        """Rule 5 between occurrences."""
        slot = self.slot
        carried = 0 if fresh else slot.carry[position - 1]
        return not slot.keep or slot.resident + carried <= self.device.resident_free

    def fits(self, room: Room, position: int, count: int, *, fresh: bool) -> bool:
        """Rule 1, transfers included, and rule 5 after it."""
        slot, device = self.slot, self.device
        laps, rest = divmod(count, slot.length)
        ticks = self._lap * laps + self._ticks[position + rest] - self._ticks[position]
        end = (position + count) % slot.length
        into = slot.move_in_fresh if fresh else slot.move_in[position]
        total = device.enter + into + ticks + slot.move_out[end] + device.leave
        return total <= room.usable and self.may_stand(end)

    def step(self, number: int, position: int) -> int:
        """The most operators from `position` (the length: fresh) that fit the room of that number."""
        fresh = position == self.slot.length
        begin = 0 if fresh else position
        room = self._rooms[number]
        fitting = (c for c in range(self._reach[room][begin], 0, -1) if self.fits(room, begin, c, fresh=fresh))
        return next(fitting, 0)

    def walk(self, start: int) -> list[int]:
        """Operators done in each occurrence, greedily, from operator `start`."""
        n = self.slot.length
        position = start if self.device.repeat else n
        counts = []
        for number in self.numbers:
            known = self._known[number]
            count = known[position]
            if count is None:
                count = known[position] = self.step(number, position)
            counts.append(count)
            if count:
                position = (position % n + count) % n
        return counts

    def closed(self, counts: list[int], start: int) -> list[int]:
        """The counts up to the last full lap at which the shortened visit still fits (its transfer out is another)."""
        n = self.slot.length
        done = list(accumulate(counts))
        for laps in range(done[-1] // n if done else 0, 0, -1):
            place = bisect_left(done, laps * n)
            count = counts[place] - (done[place] - laps * n)
            position = (start + done[place] - counts[place]) % n
            if self.fits(self._rooms[self.numbers[place]], position, count, fresh=False):
                return [*counts[:place], count]
        return []

    def plan(self, counts: list[int], start: int) -> DevicePlan:
        """The plan that does these counts."""
        visits = []
        position = start
        for step, count in enumerate(counts):
            if count:
                run = Run(0, position, count)
                visits.append(Visit(*divmod(step, len(self.device.rooms)), (run,)))
                position = (position + count) % self.slot.length
        return DevicePlan((start,), tuple(visits))
