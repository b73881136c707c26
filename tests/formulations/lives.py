"""Tiny problems with an objective over time: the modes of a device, the data of lives.mod, an exhaustive search, and plans from turns.

A mode is what one device does in one repetition: which slots, from which state to which. All are found by the brute force of single bubbles
(tests/solve/brute_force.py) on chains that are written out so often that the number of operators done is told by the position.
"""

from __future__ import annotations

import itertools
import math
from collections import Counter, defaultdict
from collections.abc import Iterator
from dataclasses import dataclass, replace
from fractions import Fraction
from functools import cached_property

from pipefill_opt.fill.plan import FillPlan, Occurrence, Pattern, Phase, Segment, Slot
from pipefill_opt.fill.problem import FillProblem, Objective
from tests.formulations.data import divisor, members, parameter, section
from tests.formulations.glpk import Optimum
from tests.formulations.plans import chosen
from tests.solve.brute_force import FRESH, Device, Positions, Visit, operator_values, residents_of

Kind = tuple[int, int]
"""(job, configuration)."""
Turn = tuple[Kind, int, int, int]
"""(kind, state before, state after, operators done); state `length` of the chain: fresh."""


@dataclass(frozen=True, slots=True)
class Mode:
    """What a device does in a repetition: the turn of each slot, and what runs in each occurrence as (slot, operators)."""

    turns: tuple[Turn, ...]
    visits: tuple[Visit, ...]


@dataclass(frozen=True, slots=True)
class Copy:
    """One copy of a job: in repetitions after `after` it may work; work up to the end of repetition `by` is in time (None: all is)."""

    job: int
    name: str
    after: int
    by: int | None


Life = tuple[int | None, Kind | None, int, int]
"""A copy so far: device, kind, state, operators done. The device is None while it has none, or where it may migrate."""


class Lives:
    """A tiny problem for one H, looked at for R repetitions."""

    def __init__(self, problem: FillProblem, repetitions: int) -> None:
        assert problem.iterations is not None
        self.problem = problem
        self.repetitions = repetitions
        self.turn = problem.iterations * problem.period
        self.devices = [(g, k) for g, own in enumerate(problem.devices) for k in range(own.count)]
        self.modes = [list(modes(problem, g)) for g in range(len(problem.devices))]
        self.copies = [
            Copy(
                j,
                f"{job.name}.{n}",
                -(-job.release // self.turn),
                None if job.deadline is None else job.deadline // self.turn,
            )
            for j, job in enumerate(problem.jobs)
            for n in range(job.copies)
        ]

    @cached_property
    def turns(self) -> list[Turn]:
        """Every turn of some mode."""
        return sorted({turn for own in self.modes for mode in own for turn in mode.turns})

    def length(self, kind: Kind) -> int:
        """Operators of a chain."""
        return len(self.problem.jobs[kind[0]].configurations[kind[1]].operators)

    def wanted(self, copy: Copy) -> int:
        """Iterations; where none are named, more than can be done."""
        named = self.problem.jobs[copy.job].iterations
        most = max((turn[3] for turn in self.turns), default=1) * self.repetitions
        return most if named is None else named

    def worth(self, kind: Kind) -> Fraction:
        """Weight x value of an iteration."""
        return sum(operator_values(self.problem.jobs[kind[0]], kind[1]), Fraction(0))

    # The data of lives.mod

    def data(self) -> tuple[str, Fraction]:
        """The data section, and what a unit of the objective is worth."""
        kinds = [(j, c) for j, job in enumerate(self.problem.jobs) for c in range(len(job.configurations))]
        objective = {Objective.MAKESPAN: "makespan", Objective.COMPLETION: "completion", Objective.ON_TIME: "on_time"}
        weights = [job.weight for job in self.problem.jobs]
        exact = [self.worth(kind) for kind in kinds] if self.problem.objective is Objective.ON_TIME else weights
        scale = math.lcm(*(number.denominator for number in exact))
        unit = divisor(int(number * scale) for number in exact)
        on_time = self.problem.objective is Objective.ON_TIME
        names = {kind: f"k{kind[0]}_{kind[1]}" for kind in kinds}
        all_modes = [(g, mode) for g, own in enumerate(self.modes) for mode in own]
        number = {turn: k for k, turn in enumerate(self.turns)}
        uses = [Counter(number[turn] for turn in mode.turns) for _, mode in all_modes]
        lines = [
            f"param objective := {objective[self.problem.objective]};",
            parameter("migrate", int(self.problem.migrate)),
            parameter("repeat", int(self.problem.repeat)),
            parameter("R", self.repetitions),
            members("DEVICE", range(len(self.devices))),
            members("CLASS", range(len(self.modes))),
            parameter("class", {(d,): g for d, (g, _) in enumerate(self.devices)}),
            members("KIND", names.values()),
            parameter("length", {(names[kind],): self.length(kind) for kind in kinds}),
            parameter("worth", {(names[k],): int(self.worth(k) * scale) // unit if on_time else 0 for k in kinds}),
            members("COPY", range(len(self.copies))),
            members("MAY", [(q, names[k]) for q, copy in enumerate(self.copies) for k in kinds if k[0] == copy.job]),
            parameter(
                "weight",
                {(q,): 0 if on_time else int(weights[copy.job] * scale) // unit for q, copy in enumerate(self.copies)},
            ),
            parameter("wanted", {(q,): self.wanted(copy) for q, copy in enumerate(self.copies)}),
            parameter("after", {(q,): copy.after for q, copy in enumerate(self.copies)}),
            parameter("due", {(q,): self.repetitions if c.by is None else c.by for q, c in enumerate(self.copies)}),
            members("TURN", range(len(self.turns))),
            "param kind :=" + "".join(f" {t} {names[turn[0]]}" for t, turn in enumerate(self.turns)) + ";",
            parameter("from", {(t,): turn[1] for t, turn in enumerate(self.turns)}),
            parameter("to", {(t,): turn[2] for t, turn in enumerate(self.turns)}),
            parameter("work", {(t,): turn[3] for t, turn in enumerate(self.turns)}),
            members("MODE", range(len(all_modes))),
            parameter("of", {(m,): g for m, (g, _) in enumerate(all_modes)}),
            parameter("turns", {(m, t): n for m, row in enumerate(uses) for t, n in row.items()}),
        ]
        if self.problem.objective is Objective.MAKESPAN:
            return section(lines), Fraction(self.turn)
        if on_time:
            return section(lines), Fraction(-unit, scale)
        return section(lines), Fraction(unit, scale) * self.turn

    def plan_of(self, optimum: Optimum) -> FillPlan:
        """What GLPK found."""
        all_modes = [mode for own in self.modes for mode in own]
        who: defaultdict[tuple[int, int], list[tuple[Turn, int]]] = defaultdict(list)
        for d, r, t, q in (map(int, entry) for entry in chosen(optimum, "b")):
            who[d, r].append((self.turns[t], q))
        chosen_modes = {(d, r): all_modes[m] for d, r, m in (map(int, entry) for entry in chosen(optimum, "z"))}
        return self.plan({key: (mode, tuple(_matched(mode, who[key]))) for key, mode in chosen_modes.items()})

    # Exhaustive search

    def best(self) -> tuple[Fraction, FillPlan] | None:
        """The optimum, and a plan of it; None where not all can finish in R repetitions."""
        layer: dict[tuple[Life, ...], tuple[Fraction, tuple[dict[int, tuple[Mode, tuple[int, ...]]], ...]]]
        layer = {((None, None, 0, 0),) * len(self.copies): (Fraction(0), ())}
        finished: list[tuple[Fraction, tuple[dict[int, tuple[Mode, tuple[int, ...]]], ...]]] = []
        for r in range(1, self.repetitions + 1):
            following: dict[tuple[Life, ...], tuple[Fraction, tuple[dict[int, tuple[Mode, tuple[int, ...]]], ...]]] = {}
            for lives, (cost, past) in layer.items():
                for reached, did in self._repetition(lives, r, 0, {}):
                    total = cost + self._cost(lives, reached, r)
                    if reached not in following or following[reached][0] > total:
                        following[reached] = (total, (*past, did))
            layer = following
            finished += [entry for lives, entry in layer.items() if self._all_done(lives)]
        if self.problem.objective is Objective.ON_TIME:
            finished = list(layer.values())
        if not finished:
            return None
        cost, past = min(finished, key=lambda entry: entry[0])
        plan = self.plan({(d, r + 1): choice for r, did in enumerate(past) for d, choice in did.items()})
        return (-cost if self.problem.objective is Objective.ON_TIME else cost), plan

    def _repetition(
        self, lives: tuple[Life, ...], r: int, d: int, did: dict[int, tuple[Mode, tuple[int, ...]]]
    ) -> Iterator[tuple[tuple[Life, ...], dict[int, tuple[Mode, tuple[int, ...]]]]]:
        """Every way in which the devices from d on spend repetition r."""
        if d == len(self.devices):
            yield lives, did
            return
        yield from self._repetition(lives, r, d + 1, did)
        busy = {q for _, who in did.values() for q in who}
        for mode in self.modes[self.devices[d][0]]:
            for who in self._assigned(lives, mode, r, d, busy):
                after = list(lives)
                for turn, q in zip(mode.turns, who, strict=True):
                    where = None if self.problem.migrate else d
                    most = self.wanted(self.copies[q]) * self.length(turn[0])
                    after[q] = (where, turn[0], turn[2], min(most, lives[q][3] + turn[3]))
                yield from self._repetition(tuple(after), r, d + 1, {**did, d: (mode, who)})

    def _assigned(
        self, lives: tuple[Life, ...], mode: Mode, r: int, d: int, busy: set[int], who: tuple[int, ...] = ()
    ) -> Iterator[tuple[int, ...]]:
        """Copies for the turns of a mode."""
        if len(who) == len(mode.turns):
            yield who
            return
        turn = mode.turns[len(who)]
        for q, copy in enumerate(self.copies):
            where, kind, state, _ = lives[q]
            if q in busy or q in who or copy.job != turn[0][0] or r <= copy.after:
                continue
            if kind is None:
                begins = self.problem.repeat or turn[1] == self.length(turn[0])
            else:
                begins = kind == turn[0] and state == turn[1] and where in (None, d)
            if begins:
                yield from self._assigned(lives, mode, r, d, busy, (*who, q))

    def _done(self, life: Life, copy: Copy) -> bool:
        return life[1] is not None and life[3] >= self.wanted(copy) * self.length(life[1])

    def _all_done(self, lives: tuple[Life, ...]) -> bool:
        return all(self._done(life, copy) for life, copy in zip(lives, self.copies, strict=True))

    def _cost(self, before: tuple[Life, ...], after: tuple[Life, ...], r: int) -> Fraction:
        """What a repetition adds to the objective, to be minimised."""
        open_copies = [c for life, c in zip(before, self.copies, strict=True) if not self._done(life, c)]
        if self.problem.objective is Objective.MAKESPAN:
            return Fraction(self.turn if open_copies else 0)
        if self.problem.objective is Objective.COMPLETION:
            return sum((self.problem.jobs[copy.job].weight for copy in open_copies), Fraction(0)) * self.turn
        gained = Fraction(0)
        for old, new, copy in zip(before, after, self.copies, strict=True):
            if new[1] is not None and (copy.by is None or r <= copy.by):
                n = self.length(new[1])
                gained += self.worth(new[1]) * (new[3] // n - old[3] // n)
        return -gained

    # Plans

    def plan(self, did: dict[tuple[int, int], tuple[Mode, tuple[int, ...]]]) -> FillPlan:
        """A plan of one phase for each repetition; did[d, r]: the mode of device d, and the copy of each of its turns."""
        patterns = []
        for d, (g, _) in enumerate(self.devices):
            own = self.problem.devices[g]
            phases = [
                self._phase(*did.get((d, r), (Mode((), ()), ())), len(own.bubbles))
                for r in range(1, self.repetitions + 1)
            ]
            patterns.append(Pattern(own.name, 1, tuple(phases)))
        return FillPlan(tuple(patterns), iterations=self.problem.iterations)

    def _phase(self, mode: Mode, who: tuple[int, ...], bubbles: int) -> Phase:
        slots, at = [], []
        for turn, q in zip(mode.turns, who, strict=True):
            job = self.problem.jobs[turn[0][0]]
            at.append(turn[1] % self.length(turn[0]))
            slots.append(Slot(job.name, job.configurations[turn[0][1]].name, at[-1], self.copies[q].name))
        occurrences = []
        for index, visit in enumerate(mode.visits):
            segments = []
            for slot, count in visit:
                segments.append(Segment(slot, at[slot], count))
                at[slot] = (at[slot] + count) % self.length(mode.turns[slot][0])
            if segments:
                occurrences.append(Occurrence(*divmod(index, bubbles), tuple(segments)))
        return Phase(tuple(slots), tuple(occurrences), repetitions=1)


def _matched(mode: Mode, who: list[tuple[Turn, int]]) -> Iterator[int]:
    """The copies of a mode's turns, in their order."""
    left = list(who)
    for turn in mode.turns:
        k = next(k for k, (own, _) in enumerate(left) if own == turn)
        yield left.pop(k)[1]


def modes(problem: FillProblem, g: int) -> Iterator[Mode]:
    """Every mode of a class in which every slot works; with `repeat: true` only those that no other one exceeds."""
    assert problem.iterations is not None
    for residents in residents_of(problem, problem.devices[g]):
        if residents:
            yield from _modes_of(problem, g, residents)


def _modes_of(problem: FillProblem, g: int, residents: tuple[Kind, ...]) -> Iterator[Mode]:
    assert problem.iterations is not None
    lengths = [len(problem.jobs[j].configurations[c].operators) for j, c in residents]
    device = _unrolled(problem, g, residents)
    states = [range(n) if problem.repeat else (*range(n), FRESH) for n in lengths]
    found: dict[tuple[Turn, ...], Mode] = {}
    for start in itertools.product(*states):
        if not device.rests(start):
            continue
        layer: dict[Positions, tuple[Visit, ...]] = {start: ()}
        for _, bubble in itertools.product(range(problem.iterations), range(len(device.device.bubbles))):
            following: dict[Positions, tuple[Visit, ...]] = {}
            for positions, past in layer.items():
                for end, (_, visit) in device.visits(bubble, positions).items():
                    following.setdefault(end, (*past, visit))
            layer = following
        for end, visits in layer.items():
            turns = []
            for kind, n, a, b in zip(residents, lengths, start, end, strict=True):
                done = 0 if b == a else b - max(a, 0)
                turns.append((kind, n if a == FRESH else a, b % n if done else a, done))
            closed = all(
                done and (not problem.repeat or done % turns_n == 0)
                for (_, _, _, done), turns_n in zip(turns, lengths, strict=True)
            )
            if closed:
                found.setdefault(tuple(turns), Mode(tuple(turns), visits))
    for key, mode in found.items():
        if not (problem.repeat and any(_exceeds(other, key) for other in found)):
            yield mode


def _exceeds(other: tuple[Turn, ...], own: tuple[Turn, ...]) -> bool:
    """From the same states, no less of anything, and more of something."""
    same = all(a[:3] == b[:3] for a, b in zip(other, own, strict=True))
    return same and other != own and all(a[3] >= b[3] for a, b in zip(other, own, strict=True))


def _unrolled(problem: FillProblem, g: int, residents: tuple[Kind, ...]) -> Device:
    """The device with chains written out so often that no plan comes to their end."""
    assert problem.iterations is not None
    own = problem.devices[g]
    total = problem.iterations * sum(bubble.length for bubble in own.bubbles)
    jobs = []
    for job in problem.jobs:
        configurations = []
        for c in job.configurations:
            least = min(math.ceil(operator.duration / own.speed) for operator in c.operators)
            times = 2 + total // least // len(c.operators)
            configurations.append(replace(c, operators=c.operators * (times + 1)))
        jobs.append(replace(job, configurations=tuple(configurations)))
    unrolled = replace(problem, jobs=tuple(jobs))
    return Device(unrolled, own, residents, 1)
