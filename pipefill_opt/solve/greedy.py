"""PipeFill's plan algorithm (arXiv 2410.07192, as people describe it) as a baseline on any instance.

One job copy a device. Consecutive operators are packed into a bubble while they fit in time and memory, then into the next; the chain
is repeated to fill the whole plan; per device the job and configuration with the best throughput wins. PipeFill fills contiguous
bubbles only (`CONTIGUOUS`); `ALL_KINDS` takes the inner ones too. With `repeat: true` the plan must close its cycle: the operators
after the last full lap are dropped, and the first operator is chosen so that most laps close.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Final

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
            for k in range(len(job.configurations)):
                if watch.ended():
                    break
                device = compiled.device(c, ((j, k),), iterations)
                rooms = tuple(Room(0, 0) if shut else room for room, shut in zip(device.rooms, closed, strict=True))
                plan = pack(replace(device, rooms=rooms))
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


def pack(device: DeviceProblem) -> DevicePlan:
    """The greedy plan of a device with one slot; empty where nothing fits."""
    slot = device.slots[0]
    steps = _Steps(device)
    best: tuple[int, DevicePlan] = (0, DevicePlan((0,), ()))
    visits = device.iterations * len(device.rooms)
    starts = range(min(slot.length, max(1, ROOM_VISITS // max(1, visits))) if device.repeat else 1)
    for start in starts:
        if not steps.may_stand(start, fresh=not device.repeat):
            continue
        taken = steps.walk(start)
        if device.repeat:
            taken = steps.closed(taken)
        done = sum(run.count for visit in taken for run in visit.runs)
        if done > best[0]:
            best = (done, DevicePlan((start,), tuple(taken)))
    return best[1]


class _Steps:
    """What one slot does in each room from each position: as much as fits and may be paused after."""

    def __init__(self, device: DeviceProblem) -> None:
        self.device = device
        self.slot = device.slots[0]
        self._reach = {room: reach_alone(device, self.slot, room) for room in set(device.rooms)}
        self._known: dict[tuple[Room, int, bool], int] = {}

    def may_stand(self, position: int, *, fresh: bool = False) -> bool:
        """Rule 5 between occurrences."""
        slot = self.slot
        carried = 0 if fresh else slot.carry[position - 1]
        return not slot.keep or slot.resident + carried <= self.device.resident_free

    def fits(self, room: Room, position: int, count: int, *, fresh: bool) -> bool:
        """Rule 1, transfers included, and rule 5 after it."""
        slot, device = self.slot, self.device
        n = slot.length
        ticks = sum(slot.ticks) * (count // n) + sum(slot.ticks[(position + k) % n] for k in range(count % n))
        end = (position + count) % n
        into = slot.move_in_fresh if fresh else slot.move_in[position]
        total = device.enter + into + ticks + slot.move_out[end] + device.leave
        return total <= room.usable and self.may_stand(end)

    def step(self, room: Room, position: int, *, fresh: bool) -> int:
        """The most operators from `position` that fit the room."""
        key = (room, position, fresh)
        if key not in self._known:
            most = self._reach[room][position]
            fitting = (count for count in range(most, 0, -1) if self.fits(room, position, count, fresh=fresh))
            self._known[key] = next(fitting, 0)
        return self._known[key]

    def walk(self, start: int) -> list[Visit]:
        """The greedy visits of H iterations from operator `start`."""
        visits = []
        position, fresh = start, not self.device.repeat
        for iteration in range(self.device.iterations):
            for bubble, room in enumerate(self.device.rooms):
                count = self.step(room, position, fresh=fresh)
                if count:
                    visits.append(Visit(iteration, bubble, (Run(0, position, count),)))
                    position, fresh = (position + count) % self.slot.length, False
        return visits

    def closed(self, visits: list[Visit]) -> list[Visit]:
        """The visits up to the last full lap at which the shortened visit still fits (its transfer out is another)."""
        n = self.slot.length
        laps = sum(visit.runs[0].count for visit in visits) // n
        while laps:
            cut, left = [], laps * n
            for visit in visits:
                run = visit.runs[0]
                count = min(run.count, left)
                if count:
                    cut.append(replace(visit, runs=(replace(run, count=count),)))
                    left -= count
            last = cut[-1].runs[0]
            if self.fits(self.device.rooms[cut[-1].bubble], last.first, last.count, fresh=False):
                return cut
            laps -= 1
        return []
