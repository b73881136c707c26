"""The compiled single-device problem: integers only, one device of a class, H main iterations, given residents.

Every exact device solver (dynamic program, CP-SAT, MILP) reads a `DeviceProblem` and answers with a `DeviceResult`. Rule
numbers are those of docs/design.md, section 4.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from fractions import Fraction
from itertools import accumulate
from math import gcd, lcm

from pipefill_opt.errors import InputError
from pipefill_opt.fill.fits import usable_ticks
from pipefill_opt.fill.plan import Occurrence, Pattern, Phase, Segment, Slot
from pipefill_opt.fill.problem import FillProblem, Job
from pipefill_opt.fill.values import operator_values
from pipefill_opt.solve.result import Reason
from pipefill_opt.units import scaled_ticks, transfer_ticks

Residents = tuple[tuple[int, int], ...]
"""(job index, configuration index) per slot, sorted."""


@dataclass(frozen=True, slots=True)
class Chain:
    """One slot: a job in one configuration on one device class, by operator 0 .. n - 1.

    ticks: durations on this class. value: weight x value, in whole units of `DeviceProblem.unit`. carry: bytes carried when
    paused after the operator. move_in[p]: ticks to bring a swapped slot in when it stands at position p (the last operator
    finished is p - 1, cyclically); move_in_fresh: the same for a slot of `repeat: false` that has done nothing yet (it carries
    nothing). move_out[p]: ticks to take it out when it stands at p. All moves are 0 for a kept slot.
    """

    job: int
    configuration: int
    job_name: str
    keep: bool
    resident: int
    ticks: tuple[int, ...]
    memory: tuple[int, ...]
    carry: tuple[int, ...]
    value: tuple[int, ...]
    move_in: tuple[int, ...]
    move_in_fresh: int
    move_out: tuple[int, ...]

    @property
    def length(self) -> int:
        """Number of operators."""
        return len(self.ticks)

    def carried(self, done: int) -> int:
        """Bytes carried by a slot of `repeat: false` that has done `done` operators in all."""
        return self.carry[(done - 1) % self.length] if done else 0


@dataclass(frozen=True, slots=True)
class Room:
    """A bubble as fill work sees it: usable ticks after the guard (enter and leave not yet taken off), free bytes."""

    usable: int
    free: int


@dataclass(frozen=True, slots=True)
class DeviceProblem:
    """One device with given residents over H = `iterations` main iterations of the bubbles `rooms`.

    between[a][b]: ticks from slot a to slot b. The value of a plan is the sum of the values of the operators done over the H iterations, in
    units of `unit`; the objective of the fill problem is value x unit / H. A slot that does nothing is taken to stand at a
    position (any), and to carry what is carried there: a plan with an idle slot is a plan of fewer residents, so nothing is lost.
    """

    class_index: int
    residents: Residents
    iterations: int
    repeat: bool
    enter: int
    leave: int
    rooms: tuple[Room, ...]
    slots: tuple[Chain, ...]
    between: tuple[tuple[int, ...], ...]
    resident_free: int
    unit: Fraction

    @property
    def kept_resident(self) -> int:
        """Resident bytes of all kept slots: always on the device."""
        return sum(slot.resident for slot in self.slots if slot.keep)


@dataclass(frozen=True, slots=True)
class Run:
    """`count` operators of a slot in a row, from operator `first`, cyclically."""

    slot: int
    first: int
    count: int


@dataclass(frozen=True, slots=True)
class Visit:
    """What runs in one occurrence (iteration, bubble), in order; never empty."""

    iteration: int
    bubble: int
    runs: tuple[Run, ...]


@dataclass(frozen=True, slots=True)
class DevicePlan:
    """first[s]: the operator at which slot s begins. Visits in order of (iteration, bubble); empty occurrences left out."""

    first: tuple[int, ...]
    visits: tuple[Visit, ...]

    def value(self, device: DeviceProblem) -> int:
        """Sum of the values of the operators done, in units of `device.unit`."""
        before = [list(accumulate(slot.value * 2, initial=0)) for slot in device.slots]
        total = 0
        for visit in self.visits:
            for run in visit.runs:
                laps, rest = divmod(run.count, device.slots[run.slot].length)
                worth = before[run.slot]
                total += laps * worth[device.slots[run.slot].length] + worth[run.first + rest] - worth[run.first]
        return total


@dataclass(frozen=True, slots=True)
class DeviceResult:
    """A device solver's answer, in units of `DeviceProblem.unit` over the H iterations: value of `plan` <= optimum <= bound.

    plan None: nothing was found (the empty plan of value 0 is always there). proved: value == bound.
    """

    value: int
    bound: int
    plan: DevicePlan | None
    origin: str
    reason: Reason = Reason.PROVED

    @property
    def proved(self) -> bool:
        """True if the plan is optimal."""
        return self.value == self.bound


@dataclass(frozen=True, slots=True)
class Compiled:
    """The whole problem in integers. value[j][c][k]: weight x value of operator k of configuration c of job j, in whole `unit`s."""

    problem: FillProblem
    unit: Fraction
    value: tuple[tuple[tuple[int, ...], ...], ...]
    _chains: dict[tuple[int, int, int], Chain] = field(default_factory=dict, compare=False, repr=False)

    def rooms(self, class_index: int) -> tuple[Room, ...]:
        """The bubbles of a class after the guard."""
        guard = self.problem.guard
        return tuple(Room(usable_ticks(guard, b), b.free) for b in self.problem.devices[class_index].bubbles)

    def chain(self, class_index: int, job_index: int, configuration_index: int) -> Chain:
        """One slot on one class. Raises InputError for a swapped job without bandwidths."""
        key = (class_index, job_index, configuration_index)
        if key not in self._chains:
            self._chains[key] = self._chain(*key)
        return self._chains[key]

    def _chain(self, class_index: int, job_index: int, configuration_index: int) -> Chain:
        job = self.problem.jobs[job_index]
        configuration = job.configurations[configuration_index]
        operators = configuration.operators
        speed = self.problem.devices[class_index].speed
        carry = tuple(operator.carry for operator in operators)
        before = carry[-1:] + carry[:-1]
        into = self._transfers(job, [configuration.resident + size for size in (0, *before)], self.problem.switch.h2d)
        out = self._transfers(job, [configuration.resident + size for size in before], self.problem.switch.d2h)
        return Chain(
            job=job_index,
            configuration=configuration_index,
            job_name=job.name,
            keep=job.keep,
            resident=configuration.resident,
            ticks=tuple(scaled_ticks(operator.duration, speed) for operator in operators),
            memory=tuple(operator.memory for operator in operators),
            carry=carry,
            value=self.value[job_index][configuration_index],
            move_in=into[1:],
            move_in_fresh=into[0],
            move_out=out,
        )

    @staticmethod
    def _transfers(job: Job, sizes: Sequence[int], bandwidth: Fraction | None) -> tuple[int, ...]:
        if job.keep:
            return (0,) * len(sizes)
        if bandwidth is None:
            raise InputError("expected switch.h2d and switch.d2h, for a job with keep: false", value=job.name)
        return tuple(transfer_ticks(size, bandwidth) for size in sizes)

    def device(self, class_index: int, residents: Residents, iterations: int) -> DeviceProblem:
        """The problem of one device of a class with these residents over `iterations` main iterations."""
        slots = tuple(self.chain(class_index, job, configuration) for job, configuration in residents)
        switch = self.problem.switch
        between = switch.between
        table = tuple(
            tuple(between if isinstance(between, int) else between[a.job_name][b.job_name] for b in slots)
            for a in slots
        )
        return DeviceProblem(
            class_index=class_index,
            residents=residents,
            iterations=iterations,
            repeat=self.problem.repeat,
            enter=switch.enter,
            leave=switch.leave,
            rooms=self.rooms(class_index),
            slots=slots,
            between=table,
            resident_free=self.problem.devices[class_index].resident_free,
            unit=self.unit,
        )

    def pattern(self, device: DeviceProblem, plan: DevicePlan, multiplicity: int) -> Pattern:
        """The plan of one device as a pattern of the whole plan."""
        jobs = self.problem.jobs
        slots = tuple(
            Slot(jobs[j].name, jobs[j].configurations[c].name, first)
            for (j, c), first in zip(device.residents, plan.first, strict=True)
        )
        occurrences = tuple(
            Occurrence(v.iteration, v.bubble, tuple(Segment(run.slot, run.first, run.count) for run in v.runs))
            for v in plan.visits
        )
        return Pattern(self.problem.devices[device.class_index].name, multiplicity, (Phase(slots, occurrences),))


def compile_problem(problem: FillProblem) -> Compiled:
    """All values as whole multiples of one unit, the largest there is."""
    exact = [
        [[job.weight * value for value in operator_values(job, c)] for c in job.configurations] for job in problem.jobs
    ]
    values = [value for job in exact for configuration in job for value in configuration if value]
    denominator = lcm(*(value.denominator for value in values))
    numerator = gcd(*(int(value * denominator) for value in values)) or 1
    unit = Fraction(numerator, denominator)
    whole = tuple(tuple(tuple(int(value / unit) for value in c) for c in job) for job in exact)
    return Compiled(problem, unit, whole)
