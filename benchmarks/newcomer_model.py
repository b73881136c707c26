"""The plain assignment model that a newcomer would write for a fill problem of kept jobs: which operator runs in which bubble.

Devices are written out one by one; a device has at most one copy of each configuration of each job. An *instance* k of a slot is its
k-th operator in a row, with as many of them as its bubbles could hold. Binary variables:

    use[d, s]       slot s (a job in a configuration) lives on device d
    first[d, s, k]  it begins at operator k
    x[d, s, k, o]   its instance k runs in occurrence o
    seen[d, s, o]   it runs in o             visit[d, o]  the device leaves main work in o
    laps[d, s]      whole laps (a whole number)

    maximise  sum of the values of what runs
    once      an instance runs once at most, and only if its slot lives here
    order     an instance runs no earlier than the one before it, unless it is the first
    laps      what a slot runs is whole laps
    time      operators + changes between the slots seen + enter and leave fit the bubble
    memory    an operator runs only beside residents that leave it the bytes; residents fit between the bubbles
    copies    no job lives on more devices than it has copies

Carried bytes of other slots count with their largest, `between` with its largest entry: both on the safe side, so that every answer
is a plan. Nothing here knows what the solvers of the package know: no network, no columns, no positions, no bound.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from fractions import Fraction
from math import gcd

from pipefill_opt.fill.plan import FillPlan, Occurrence, Pattern, Phase, Segment, Slot
from pipefill_opt.fill.problem import FillProblem
from pipefill_opt.solve.device import Chain, compile_problem
from pipefill_opt.solve.program import Program, Row

Key = tuple[object, ...]
MOST_VARIABLES = 400_000


class TooLargeError(Exception):
    """More variables than a model file can sensibly hold."""


@dataclass(frozen=True, slots=True)
class _Device:
    """One device: class, the slots it may have as (job, configuration, chain), net ticks and free bytes by occurrence."""

    class_index: int
    slots: tuple[tuple[int, int, Chain], ...]
    net: tuple[int, ...]
    free: tuple[int, ...]


class NewcomerModel:
    """The model of a problem whose plans repeat and whose jobs are kept, for H = `iterations`."""

    def __init__(self, problem: FillProblem, iterations: int) -> None:
        if not problem.repeat or not all(job.keep for job in problem.jobs):
            raise ValueError("the newcomer's model is for plans that repeat and kept jobs")
        self.problem = problem
        self.iterations = iterations
        self.compiled = compile_problem(problem)
        between = problem.switch.between
        self.between = between if isinstance(between, int) else max(t for row in between.values() for t in row.values())
        self.index: dict[Key, int] = {}
        self.upper: list[int] = []
        self.value: list[int] = []
        self.rows: list[Row] = []
        self.devices = [device for g in range(len(problem.devices)) for device in self._devices(g)]
        for d in range(len(self.devices)):
            self._add_device(d)
        for j, job in enumerate(problem.jobs):
            own = [index for key, index in self.index.items() if key[0] == "use" and key[3] == j]
            self._row([(index, 1) for index in own], job.copies)

    def program(self) -> Program:
        """The model as rows of whole numbers."""
        return Program(tuple(self.value), tuple(self.upper), tuple(self.rows))

    @property
    def unit(self) -> Fraction:
        """What one unit of the model's objective is worth per main iteration."""
        return self.compiled.unit / self.iterations

    def _devices(self, g: int) -> Iterator[_Device]:
        own, switch = self.problem.devices[g], self.problem.switch
        rooms = self.compiled.rooms(g) * self.iterations
        slots = tuple(
            (j, c, self.compiled.chain(g, j, c))
            for j, job in enumerate(self.problem.jobs)
            if own.name in job.devices
            for c in range(len(job.configurations))
        )
        net = tuple(room.usable - switch.enter - switch.leave for room in rooms)
        for _ in range(own.count):
            yield _Device(g, slots, net, tuple(room.free for room in rooms))

    def _variable(self, key: Key, upper: int = 1, value: int = 0) -> int:
        if len(self.upper) >= MOST_VARIABLES:
            raise TooLargeError(f"more than {MOST_VARIABLES} variables")
        self.index[key] = len(self.upper)
        self.upper.append(upper)
        self.value.append(value)
        return self.index[key]

    def _row(self, terms: Sequence[tuple[int, int]], most: int, least: int | None = None) -> None:
        """One row, divided by what divides all its coefficients: solvers in floating point like small numbers."""
        terms = [(j, a) for j, a in terms if a]
        if terms:
            g = gcd(*(a for _, a in terms))
            assert least is None or least == most == 0
            self.rows.append(Row(tuple(j for j, _ in terms), tuple(a // g for _, a in terms), least, most // g))

    def _add_device(self, d: int) -> None:
        device = self.devices[d]
        resident_free = self.problem.devices[device.class_index].resident_free
        visits = [self._variable(("visit", d, o)) for o in range(len(device.net))]
        time: list[list[tuple[int, int]]] = [[] for _ in device.net]
        uses, xs = [], []
        for s, (j, _, chain) in enumerate(device.slots):
            use = self._variable(("use", d, s, j))
            uses.append((use, chain.resident + max(chain.carry)))
            xs.append(self._add_slot(d, s, use, visits, time))
        self._row(uses, resident_free)
        for o, net in enumerate(device.net):
            self._row([*time[o], (visits[o], -(max(0, net) + self.between))], 0)
        for s, row in enumerate(xs):
            for k, o, x in row:
                self._add_memory(d, s, k, o, x, uses)

    def _add_slot(
        self, d: int, s: int, use: int, visits: list[int], time: list[list[tuple[int, int]]]
    ) -> list[tuple[int, int, int]]:
        """The variables and rows of one slot; (instance, occurrence, variable) of each x."""
        device = self.devices[d]
        chain = device.slots[s][2]
        n = chain.length
        held = [max(0, net) // min(chain.ticks) for net in device.net]
        reached = [sum(held[: o + 1]) for o in range(len(held))]
        instances = (reached[-1] if reached else 0) + n - 1
        firsts = [self._variable(("first", d, s, k)) for k in range(n)]
        self._row([*((first, 1) for first in firsts), (use, -1)], 0, 0)
        laps = self._variable(("laps", d, s), max(1, instances // n))
        xs: list[dict[int, int]] = [{} for _ in range(instances)]
        for k in range(instances):
            i = k % n
            for o, net in enumerate(device.net):
                fits = chain.ticks[i] <= net and chain.resident + chain.memory[i] <= device.free[o]
                if fits and k < reached[o] + n - 1:
                    xs[k][o] = self._variable(("x", d, s, k, o), 1, chain.value[i])
                    time[o].append((xs[k][o], chain.ticks[i]))
            self._row([*((x, 1) for x in xs[k].values()), (use, -1)], 0)
        for k in range(instances):
            for o in sorted(xs[k]):
                terms = [(x, 1) for at, x in xs[k].items() if at <= o]
                terms += [(x, -1) for at, x in (xs[k - 1] if k else {}).items() if at <= o]
                self._row([*terms, *([(firsts[k], -1)] if k < n else [])], 0)
        self._row([*((x, 1) for row in xs for x in row.values()), (laps, -n)], 0, 0)
        for o, most in enumerate(held):
            own = [(row[o], 1) for row in xs if o in row]
            if own:
                seen = self._variable(("seen", d, s, o))
                self._row([*own, (seen, -most)], 0)
                self._row([(seen, 1), (visits[o], -1)], 0)
                time[o].append((seen, self.between))
        return [(k, o, x) for k, row in enumerate(xs) for o, x in row.items()]

    def _add_memory(self, d: int, s: int, k: int, o: int, x: int, uses: list[tuple[int, int]]) -> None:
        """The others that live here leave the operator its bytes, if it runs."""
        chain = self.devices[d].slots[s][2]
        left = self.devices[d].free[o] - chain.resident - chain.memory[k % chain.length]
        others = [entry for number, entry in enumerate(uses) if number != s]
        excess = sum(size for _, size in others) - left
        if excess > 0:
            self._row([*others, (x, excess)], left + excess)

    def plan(self, point: Sequence[int]) -> FillPlan:
        """What a point of the model says."""
        names = {index: key for key, index in self.index.items()}
        ran: defaultdict[tuple[int, int], list[tuple[int, int]]] = defaultdict(list)
        for index, value in enumerate(point):
            key = names[index]
            if value and key[0] == "x":
                _, d, s, k, o = key
                ran[d, s].append((o, k))  # type: ignore[index, arg-type]
        patterns = [
            self._pattern(d, {s: runs for (at, s), runs in ran.items() if at == d}) for d in range(len(self.devices))
        ]
        return FillPlan(tuple(patterns), self.iterations)

    def _pattern(self, d: int, ran: dict[int, list[tuple[int, int]]]) -> Pattern:
        device = self.devices[d]
        own = self.problem.devices[device.class_index]
        slots: list[Slot] = []
        segments: defaultdict[int, list[Segment]] = defaultdict(list)
        for s, runs in sorted(ran.items()):
            j, c, chain = device.slots[s]
            job = self.problem.jobs[j]
            for o in sorted({o for o, _ in runs}):
                here = sorted(k for at, k in runs if at == o)
                segments[o].append(Segment(len(slots), here[0] % chain.length, len(here)))
            slots.append(Slot(job.name, job.configurations[c].name, min(k for _, k in runs) % chain.length))
        occurrences = [Occurrence(*divmod(o, len(own.bubbles)), tuple(row)) for o, row in sorted(segments.items())]
        return Pattern(own.name, 1, (Phase(tuple(slots), tuple(occurrences)),))
