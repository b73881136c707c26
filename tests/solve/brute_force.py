"""Exhaustive search for the throughput optimum of tiny fill problems: the oracle that solvers are held against.

Written from docs/design.md, section 4, with its own arithmetic: of the package it knows the data types only. One bubble is
searched operator by operator; a state of that search (operators done by each slot, the slot that ran last, which swapped
slots are in, which have left) is visited again only with less time used, since all else follows from the state. Bubbles are
then chained over every start, and device plans are combined by a recursion over the devices.
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Iterator
from dataclasses import dataclass
from fractions import Fraction
from typing import NamedTuple

from pipefill_opt.fill.plan import FillPlan, Occurrence, Pattern, Phase, Segment, Slot
from pipefill_opt.fill.problem import DeviceClass, FillProblem, Job, ValueRule

FRESH = -1
"""Position of a slot that has not begun, in a plan that runs once: it stands at operator 0 and carries nothing."""

Residents = tuple[tuple[int, int], ...]
"""The slots of a device: (index of the job, index of its configuration), sorted."""
Positions = tuple[int, ...]
Visit = tuple[tuple[int, int], ...]
"""What runs in one bubble: (slot, number of operators), in order."""


class State(NamedTuple):
    """Inside a bubble, after an operator: operators done here by each slot, where they stand, the value of it all, the slot that ran
    last, the swapped slots that are in, and those that have gone out."""

    counts: Positions
    positions: Positions
    value: int
    last: int
    inside: frozenset[int]
    left: frozenset[int]


@dataclass(frozen=True, slots=True)
class Best:
    """An optimum of one device: value over all H iterations (in 1 / scale), where the slots begin, what runs in each occurrence."""

    value: int
    starts: Positions
    visits: tuple[Visit, ...]


def ceil_div(a: int, b: Fraction) -> int:
    """ceil(a / b)."""
    return -(-a * b.denominator // b.numerator)


def operator_values(job: Job, configuration: int) -> list[Fraction]:
    """What each operator of a configuration is worth, times the job's weight."""
    chain = job.configurations[configuration].operators
    if job.value_rule is ValueRule.FLOPS:
        rule = [operator.flops for operator in chain]
    else:
        per_sample = min(
            Fraction(sum(operator.duration for operator in other.operators)) / other.samples
            for other in job.configurations
        )
        iteration = per_sample * job.configurations[configuration].samples
        length = sum(operator.duration for operator in chain)
        done = [math.floor(iteration * sum(o.duration for o in chain[:i]) / length) for i in range(len(chain) + 1)]
        rule = [Fraction(after - before) for before, after in itertools.pairwise(done)]
    return [job.weight * (own if o.value is None else o.value) for own, o in zip(rule, chain, strict=True)]


def value_scale(problem: FillProblem) -> int:
    """The least number that makes all values of operators whole."""
    chains = ((job, index) for job in problem.jobs for index in range(len(job.configurations)))
    return math.lcm(*(value.denominator for job, index in chains for value in operator_values(job, index)))


class Device:
    """One device of a class with given residents: visits of single bubbles, then whole plans."""

    def __init__(self, problem: FillProblem, device: DeviceClass, residents: Residents, scale: int) -> None:
        self.problem = problem
        self.device = device
        self.residents = residents
        self.scale = scale
        jobs = [problem.jobs[job] for job, _ in residents]
        configurations = [problem.jobs[job].configurations[index] for job, index in residents]
        self.names = [job.name for job in jobs]
        self.kept = [job.keep for job in jobs]
        self.resident = [configuration.resident for configuration in configurations]
        self.memory = [[operator.memory for operator in c.operators] for c in configurations]
        carry = [[operator.carry for operator in c.operators] for c in configurations]
        self.holds = [
            [resident + size for size in (*sizes[-1:], *sizes[:-1], 0)]
            for resident, sizes in zip(self.resident, carry, strict=True)
        ]
        """Resident and carried bytes by position; FRESH, the last entry: nothing carried."""
        self.move_in = [self.moves(slot, problem.switch.h2d) for slot in range(len(residents))]
        self.move_out = [self.moves(slot, problem.switch.d2h) for slot in range(len(residents))]
        self.usable = [
            max(0, math.floor(problem.guard.fraction * bubble.length) - problem.guard.margin)
            for bubble in device.bubbles
        ]
        self.ticks = [[ceil_div(o.duration, device.speed) for o in c.operators] for c in configurations]
        exact = [operator_values(problem.jobs[job], index) for job, index in residents]
        self.value = [[int(value * scale) for value in values] for values in exact]
        self.slots = range(len(residents))
        assert all(sum(ticks) > 0 for ticks in self.ticks)
        self._visits: dict[tuple[int, Positions], dict[Positions, tuple[int, Visit]]] = {}

    def moves(self, slot: int, rate: Fraction | None) -> list[int]:
        """Ticks to move a slot, by position."""
        if self.kept[slot]:
            return [0 for _ in self.holds[slot]]
        assert rate is not None
        return [ceil_div(size * 10**9, rate) for size in self.holds[slot]]

    def after(self, slot: int, position: int, count: int) -> int:
        return position if count == 0 else (max(position, 0) + count) % len(self.ticks[slot])

    def between(self, a: int, b: int) -> int:
        cost = self.problem.switch.between
        return cost if isinstance(cost, int) else cost[self.names[a]][self.names[b]]

    def rests(self, positions: Positions) -> bool:
        """Kept slots fit outside the bubbles."""
        kept = (self.holds[s][positions[s]] for s in self.slots if self.kept[s])
        return sum(kept) <= self.device.resident_free

    def runs(self, bubble: int, slot: int, positions: Positions, inside: frozenset[int]) -> bool:
        """The next operator of `slot` fits the memory of the bubble while the swapped slots `inside` are in."""
        need = self.resident[slot] + self.memory[slot][max(positions[slot], 0)]
        for other in self.slots:
            if other != slot and (self.kept[other] or other in inside):
                need += self.holds[other][positions[other]]
        return need <= self.device.bubbles[bubble].free

    def visits(self, bubble: int, positions: Positions) -> dict[Positions, tuple[int, Visit]]:
        """Each position tuple that one bubble can lead to, with the largest value on the way and what to run for it."""
        key = (bubble, positions)
        if key not in self._visits:
            self._visits[key] = self._search(bubble, positions)
        return self._visits[key]

    def _search(self, bubble: int, begin: Positions) -> dict[Positions, tuple[int, Visit]]:
        """Operator by operator: every state after one more operator, with the least time used and a path to it."""
        switch, usable = self.problem.switch, self.usable[bubble]
        found: dict[Positions, tuple[int, Visit]] = {begin: (0, ())}
        layer: dict[State, tuple[int, Visit]] = {}

        def run(slot: int, state: State, time: int, inside: frozenset[int], left: frozenset[int], path: Visit) -> None:
            """Run one operator of `slot`, if it fits."""
            positions = state.positions
            time += self.ticks[slot][max(positions[slot], 0)]
            if time + switch.leave > usable or not self.runs(bubble, slot, positions, inside):
                return
            moved = (*positions[:slot], self.after(slot, positions[slot], 1), *positions[slot + 1 :])
            gain = state.value + self.value[slot][max(positions[slot], 0)]
            counts = (*state.counts[:slot], state.counts[slot] + 1, *state.counts[slot + 1 :])
            reached = State(counts, moved, gain, slot, inside, left)
            if reached not in following or following[reached][0] > time:
                last = path[-1][1] if path and path[-1][0] == slot else 0
                following[reached] = (time, (*(path[:-1] if last else path), (slot, last + 1)))

        def finish(state: State, time: int, path: Visit) -> None:
            """Leave the bubble here, if nothing but the last slot is in."""
            end = state.positions
            time += self.move_out[state.last][end[state.last]] + switch.leave
            alone = state.inside <= {state.last}
            if alone and time <= usable and self.rests(end) and (end not in found or found[end][0] < state.value):
                found[end] = (state.value, path)

        def change(state: State, time: int, path: Visit) -> None:
            """Go on with another slot; a swapped slot goes out for good, or stays in and has to come again."""
            last, positions = state.last, state.positions
            for other in self.slots:
                if other == last or other in state.left:
                    continue
                later = time + self.between(last, other)
                later += 0 if other in state.inside else self.move_in[other][positions[other]]
                inside = state.inside if self.kept[other] else state.inside | {other}
                run(other, state, later, inside, state.left, path)
                if not self.kept[last]:
                    out = self.move_out[last][positions[last]]
                    run(other, state, later + out, inside - {last}, state.left | {last}, path)

        following: dict[State, tuple[int, Visit]] = {}
        nobody: frozenset[int] = frozenset()
        for slot in self.slots:
            state = State((0,) * len(begin), begin, 0, slot, nobody, nobody)
            inside = nobody if self.kept[slot] else frozenset({slot})
            run(slot, state, switch.enter + self.move_in[slot][begin[slot]], inside, nobody, ())
        while following:
            layer, following = following, {}
            for state, (time, path) in layer.items():
                finish(state, time, path)
                run(state.last, state, time, state.inside, state.left, path)
                change(state, time, path)
        return found

    def starts(self) -> Iterator[Positions]:
        """Every position tuple at which a plan may begin."""
        once = [[FRESH]] * len(self.slots)
        every = [range(len(ticks)) for ticks in self.ticks]
        return (start for start in itertools.product(*(every if self.problem.repeat else once)) if self.rests(start))

    def worth_of(self, best: Best) -> Fraction:
        """The value of a plan over all its iterations."""
        return Fraction(best.value, self.scale)

    def best(self, iterations: int) -> Best | None:
        """The best plan of H = `iterations`, or None where the residents fit nowhere."""
        best: Best | None = None
        for start in self.starts():
            layer: dict[Positions, tuple[int, tuple[Visit, ...]]] = {start: (0, ())}
            for _, bubble in itertools.product(range(iterations), range(len(self.device.bubbles))):
                following: dict[Positions, tuple[int, tuple[Visit, ...]]] = {}
                for positions, (value, past) in layer.items():
                    for end, (gain, visit) in self.visits(bubble, positions).items():
                        if end not in following or following[end][0] < value + gain:
                            following[end] = (value + gain, (*past, visit))
                layer = following
            ends = [start] if self.problem.repeat else list(layer)
            for end in ends:
                if end in layer and (best is None or best.value < layer[end][0]):
                    best = Best(layer[end][0], start, layer[end][1])
        return best


def residents_of(problem: FillProblem, device: DeviceClass) -> Iterator[Residents]:
    """Every choice of copies and configurations that may live on a device of the class."""
    choices: list[list[tuple[tuple[int, int], ...]]] = []
    for index, job in enumerate(problem.jobs):
        most = job.copies if device.name in job.devices else 0
        own = [(index, c) for c in range(len(job.configurations))]
        sets = (itertools.combinations_with_replacement(own, size) for size in range(most + 1))
        choices.append([tuple(chosen) for chosen in itertools.chain.from_iterable(sets)])
    for parts in itertools.product(*choices):
        residents = tuple(itertools.chain.from_iterable(parts))
        kept = (problem.jobs[j].configurations[c].resident for j, c in residents if problem.jobs[j].keep)
        if sum(kept) <= device.resident_free:
            yield residents


def devices_of(problem: FillProblem, device: DeviceClass) -> list[Device]:
    """Every device that the class can be."""
    scale = value_scale(problem)
    return [Device(problem, device, residents, scale) for residents in residents_of(problem, device)]


Column = tuple[Device, Best]


def columns(problem: FillProblem, devices: list[Device], iterations: int) -> dict[tuple[int, ...], Column]:
    """For each number of copies used of each job, the best that one of `devices` can do with them."""
    best: dict[tuple[int, ...], Column] = {}
    for device in devices:
        used = tuple(sum(job == index for job, _ in device.residents) for index in range(len(problem.jobs)))
        found = device.best(iterations)
        if found is not None and (used not in best or best[used][1].value < found.value):
            best[used] = (device, found)
    return best


def _with_iterations(problem: FillProblem, classes: list[list[Device]], iterations: int) -> tuple[Fraction, FillPlan]:
    """The optimum per main iteration for one H, and a plan that attains it: device by device, over the copies left."""
    layer: dict[tuple[int, ...], tuple[int, tuple[Column, ...]]]
    layer = {tuple(job.copies for job in problem.jobs): (0, ())}
    for device, devices in zip(problem.devices, classes, strict=True):
        options = columns(problem, devices, iterations)
        for _ in range(device.count):
            following: dict[tuple[int, ...], tuple[int, tuple[Column, ...]]] = {}
            for left, (value, chosen) in layer.items():
                for used, column in options.items():
                    rest = tuple(a - b for a, b in zip(left, used, strict=True))
                    total = value + column[1].value
                    if min(rest, default=0) >= 0 and (rest not in following or following[rest][0] < total):
                        following[rest] = (total, (*chosen, column))
            layer = following
    value, chosen = max(layer.values(), key=lambda entry: entry[0])
    patterns = tuple(Pattern(device.device.name, 1, (_phase(device, best),)) for device, best in chosen)
    return Fraction(value, value_scale(problem) * iterations), FillPlan(patterns, iterations)


def _phase(device: Device, best: Best) -> Phase:
    """One device's plan as the package writes it."""
    jobs = device.problem.jobs
    at = [max(start, 0) for start in best.starts]
    slots = tuple(
        Slot(jobs[j].name, jobs[j].configurations[c].name, first)
        for (j, c), first in zip(device.residents, at, strict=True)
    )
    occurrences = []
    for index, visit in enumerate(best.visits):
        segments = []
        for slot, count in visit:
            segments.append(Segment(slot, at[slot], count))
            at[slot] = device.after(slot, at[slot], count)
        if segments:
            occurrences.append(Occurrence(*divmod(index, len(device.device.bubbles)), tuple(segments)))
    return Phase(slots, tuple(occurrences))


def optimum(problem: FillProblem) -> tuple[Fraction, FillPlan]:
    """The largest throughput per main iteration, and a plan that attains it; the first best H with `iterations: auto`."""
    classes = [devices_of(problem, device) for device in problem.devices]
    tried = [problem.iterations] if problem.iterations is not None else range(1, problem.max_iterations + 1)
    return max((_with_iterations(problem, classes, h) for h in tried), key=lambda entry: entry[0])
