"""The queue of copies and the devices that work it off, in turns; pieces of work, lives of devices, and what they are worth."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import TYPE_CHECKING

from pipefill_opt.fill.problem import Objective
from pipefill_opt.fill.values import operator_values
from pipefill_opt.solve.device import Compiled
from pipefill_opt.solve.life.modes import Mode, single_mode

if TYPE_CHECKING:
    from pipefill_opt.solve.life.layers import Layers
    from pipefill_opt.solve.life.pairs import Pair


@dataclass(frozen=True, slots=True)
class Copy:
    """One copy in a piece: its slot, the turns of the piece in which it works, and the iterations it has done at the end.

    laps: iterations a turn; None where they differ from turn to turn.
    """

    slot: int
    job: int
    configuration: int
    begin: int
    end: int
    done: int
    laps: int | None


@dataclass(frozen=True, slots=True)
class Part:
    """Some turns of a piece of two tracks: the host, if there is one, and the filler, by the numbers of their copies."""

    begin: int
    end: int
    host: Mode | None
    host_copy: int
    filler: int | None
    filler_copy: int


@dataclass(frozen=True, slots=True)
class Leg:
    """Some turns of a relay (`relay`) or of a small queue (`small`): the numbers of the copies at work, in the slots of `mode`, or two as
    `pair` with `laps` of the first."""

    begin: int
    end: int
    copies: tuple[int, ...]
    mode: Mode
    pair: Pair | None = None
    laps: int = 0


@dataclass(frozen=True, slots=True, eq=False)
class Piece:
    """A mode for some turns, and the copies that it works on. `release`: it begins no earlier.

    parts: those of a piece of two tracks (`layers`), which begins at turn 0. legs: those of a relay; between them the device is idle.
    names: of its copies, where they move between devices (`moving`).
    """

    mode: Mode
    turns: int
    copies: tuple[Copy, ...]
    release: int
    parts: tuple[Part, ...] = ()
    layers: Layers | None = None
    legs: tuple[Leg, ...] = ()
    names: tuple[str, ...] = ()


Life = tuple[tuple[int, Piece], ...]
"""(first turn, piece) in order of time, on one device; between them it is idle."""


@dataclass(frozen=True, slots=True)
class Lives:
    """`count` devices of a class that live the same life."""

    class_index: int
    count: int
    life: Life


@dataclass(frozen=True, slots=True, eq=False)
class Shop:
    """The problem for one H. wanted: iterations by job (None: no end); release, deadline in turns; modes by class.

    worth[j][k]: weight x value of an iteration of job j in configuration k. turn: ticks.
    """

    compiled: Compiled
    iterations: int
    turn: int
    wanted: tuple[int | None, ...]
    release: tuple[int, ...]
    deadline: tuple[int | None, ...]
    worth: tuple[tuple[Fraction, ...], ...]
    modes: tuple[tuple[Mode, ...], ...]

    @property
    def objective(self) -> Objective:
        """What is asked for."""
        return self.compiled.problem.objective

    @property
    def counts(self) -> list[int]:
        """Devices by class."""
        return [device.count for device in self.compiled.problem.devices]

    @property
    def copies(self) -> list[int]:
        """Copies by job."""
        return [job.copies for job in self.compiled.problem.jobs]

    @property
    def weights(self) -> list[Fraction]:
        """Weights by job."""
        return [job.weight for job in self.compiled.problem.jobs]

    def cost(self, life: Life) -> Fraction:
        """What one such life costs, exact: weight x completion in turns, minus the on-time value, or nothing for the makespan."""
        if self.objective is Objective.MAKESPAN:
            return Fraction(0)
        total = Fraction(0)
        for start, piece in life:
            for copy in piece.copies:
                if self.objective is Objective.COMPLETION:
                    total += self.compiled.problem.jobs[copy.job].weight * (start + copy.end)
                else:
                    total -= self.on_time(start, piece, copy)
        return total

    def on_time(self, start: int, piece: Piece, copy: Copy) -> Fraction:
        """The on-time value of one copy of a piece that begins at turn `start`."""
        return self.in_time(start, piece, copy) * self.worth[copy.job][copy.configuration]

    def in_time(self, start: int, piece: Piece, copy: Copy) -> int:
        """Its iterations that count."""
        deadline, turns = self.deadline[copy.job], copy.end - copy.begin
        if deadline is not None:
            turns = min(turns, max(0, deadline - start - copy.begin))
        if copy.laps is not None:
            done = min(copy.done, copy.laps * turns)
        elif piece.parts or piece.legs:
            done = copy.done if turns == copy.end - copy.begin else 0
        else:
            done = min(copy.done, piece.mode.iterations(copy.slot, turns))
        return done

    def total(self, lives: Iterable[Lives]) -> Fraction:
        """The objective of all lives: turns, weighted turns, or value."""
        lives = tuple(lives)
        if self.objective is Objective.MAKESPAN:
            return Fraction(max((ends(entry.life) for entry in lives), default=0))
        cost = sum((entry.count * self.cost(entry.life) for entry in lives), Fraction(0))
        return -cost if self.objective is Objective.ON_TIME else cost


def ends(life: Life) -> int:
    """The turn at which the last copy of a life completes."""
    return max((start + copy.end for start, piece in life for copy in piece.copies), default=0)


def used(life: Life, jobs: int) -> list[int]:
    """Copies by job in one life."""
    numbers = [0] * jobs
    for _, piece in life:
        for copy in piece.copies:
            numbers[copy.job] += 1
    return numbers


def settled(pieces: Iterable[Piece]) -> Life:
    """The pieces one after the other, each as early as it may begin."""
    life, clock = [], 0
    for piece in pieces:
        clock = max(clock, piece.release)
        life.append((clock, piece))
        clock += piece.turns
    return tuple(life)


def open_shop(compiled: Compiled, length: int) -> Shop:
    """The shop for H = `length`, with every job alone in its quickest configuration (for the on-time value: in each)."""
    problem = compiled.problem
    turn = length * problem.period
    release = tuple(-(-job.release // turn) for job in problem.jobs)
    deadline = tuple(None if job.deadline is None else job.deadline // turn for job in problem.jobs)
    worth = tuple(
        tuple(job.weight * sum(operator_values(job, entry), Fraction(0)) for entry in job.configurations)
        for job in problem.jobs
    )
    wanted = tuple(job.iterations for job in problem.jobs)
    modes = tuple(
        tuple(_modes_of_class(compiled, c, length, wanted, release, deadline)) for c in range(len(problem.devices))
    )
    return Shop(compiled, length, turn, wanted, release, deadline, worth, modes)


def _modes_of_class(
    compiled: Compiled,
    c: int,
    length: int,
    wanted: Sequence[int | None],
    release: Sequence[int],
    deadline: Sequence[int | None],
) -> list[Mode]:
    problem = compiled.problem
    every = problem.objective is Objective.ON_TIME
    modes = []
    for j, job in enumerate(problem.jobs):
        if problem.devices[c].name not in job.devices:
            continue
        window = deadline[j]
        aim = wanted[j]
        if every and window is not None and window <= release[j]:
            continue
        left = None if window is None or not every else window - release[j]
        found = [single_mode(compiled, c, j, k, length, aim, left) for k in range(len(job.configurations))]
        usable = [mode for mode in found if mode is not None]
        if not every and usable:
            assert aim is not None
            number = aim
            usable = [min(usable, key=lambda mode: mode.turns(0, number))]
        modes += usable
    return modes


def single_piece(shop: Shop, mode: Mode, turns: int | None = None) -> Piece:
    """One copy alone, until it has done all that is wanted, or for so many turns."""
    job = mode.residents[0][0]
    wanted = shop.wanted[job]
    if turns is None:
        assert wanted is not None
        turns = mode.turns(0, wanted)
    if mode.walk is not None:
        turns = min(turns, len(mode.walk.done))
    done = mode.iterations(0, turns)
    done = done if wanted is None else min(done, wanted)
    laps = mode.laps[0] if mode.walk is None else None
    return Piece(mode, turns, (Copy(0, job, mode.residents[0][1], 0, turns, done, laps),), shop.release[job])
