"""What a device can do for a while: modes, one plan of H main iterations each, and how fast its copies come along in them.

All times here are counted in *turns*, repetitions of H main iterations, of H x period ticks each: phases begin and end between two.
"""

from __future__ import annotations

from bisect import bisect_left
from dataclasses import dataclass, replace
from fractions import Fraction
from functools import lru_cache
from typing import Final

from pipefill_opt.solve.device import Compiled, DevicePlan, DeviceProblem, Residents
from pipefill_opt.solve.exact import solve_exact
from pipefill_opt.solve.life.alone import LONGEST_WALK, Closed, Once, closed, closed_plan, once
from pipefill_opt.solve.result import Limits

WORK: Final = 1_000_000
"""Work of the exact solver for one mode."""
MOST_TURNS: Final = 200
"""Up to so many turns a copy of a plan that runs once is walked turn by turn, where closing its cycle in each turn is possible too."""


@dataclass(frozen=True, slots=True)
class Mode:
    """Residents of a class and what they do: `laps` of each slot a turn with the closed plan `plan`, or `walk`, turn by turn, of one slot.

    start: where the one slot begins, for a plan that is not written out yet (None).
    """

    class_index: int
    device: DeviceProblem
    laps: tuple[int, ...]
    plan: DevicePlan | None = None
    start: int = 0
    walk: Once | None = None

    @property
    def residents(self) -> Residents:
        """(job, configuration) of each slot."""
        return self.device.residents

    def turns(self, slot: int, wanted: int) -> int:
        """Turns until a copy in this slot has done so many iterations."""
        if self.walk is None:
            return -(-wanted // self.laps[slot])
        return bisect_left(self.walk.done, wanted * self.device.slots[0].length) + 1

    def iterations(self, slot: int, turns: int) -> int:
        """Iterations that a copy has done after so many turns in this slot."""
        if self.walk is None:
            return self.laps[slot] * turns
        done = self.walk.done
        return done[min(turns, len(done)) - 1] // self.device.slots[0].length if turns else 0

    def written(self) -> DevicePlan:
        """The closed plan."""
        return closed_plan(self.device, self.start) if self.plan is None else self.plan


def single_mode(
    compiled: Compiled, c: int, job: int, configuration: int, length: int, wanted: int | None, window: int | None
) -> Mode | None:
    """The quickest way found to run one copy alone with H = `length`; None if there is none. For plans that run once: the iterations
    wanted, or None; the turns in which what is not finished counts too, or None if all must be finished."""
    device = compiled.device(c, ((job, configuration),), length)
    if compiled.problem.repeat:
        found = closed_alone(device)
        if found.laps < found.most:
            return _searched(c, device, found)
        return Mode(c, device, (found.laps,), start=found.start) if found.laps else None
    return _once_mode(c, device, wanted, window)


def _searched(c: int, device: DeviceProblem, found: Closed) -> Mode | None:
    """A mode of one slot for which greedy's steps may fall short: the exact solver's plan, if it is better within its limit of work."""
    hint = closed_plan(device, found.start) if found.laps else None
    result = solve_exact(counting(device), Limits(work=WORK), hint=hint)
    if result.plan is not None and result.value > found.laps:
        return Mode(c, device, (result.value,), plan=result.plan)
    return Mode(c, device, (found.laps,), start=found.start) if found.laps else None


def counting(device: DeviceProblem) -> DeviceProblem:
    """The device with a lap of each slot worth 1."""
    slots = tuple(replace(slot, value=(1,) + (0,) * (slot.length - 1)) for slot in device.slots)
    return replace(device, slots=slots, unit=Fraction(1))


def _once_mode(c: int, device: DeviceProblem, wanted: int | None, window: int | None) -> Mode | None:
    """A walk, or a plan from operator 0 that closes its cycle in each turn where the walk is long."""
    chain = device.slots[0]
    most = LONGEST_WALK if window is None else min(window, LONGEST_WALK)
    operators = (LONGEST_WALK if wanted is None else wanted) * chain.length
    walk = _once(replace(device, class_index=0), operators, min(most, MOST_TURNS))
    whole = bool(walk.done) and (walk.done[-1] >= operators or len(walk.done) == window)
    steady = None if whole else _closed_from_fresh(c, device)
    if steady is None and not whole:
        walk = _once(replace(device, class_index=0), operators, most)
        whole = bool(walk.done) and (walk.done[-1] >= operators or window is not None)
    return Mode(c, device, (0,), walk=walk) if whole else steady


def _closed_from_fresh(c: int, device: DeviceProblem) -> Mode | None:
    """A plan from operator 0 that closes its cycle, for a slot that carries nothing at first and the chain's end later on."""
    chain = device.slots[0]
    steady = replace(device, repeat=True, slots=(replace(chain, move_in_fresh=chain.move_in[0]),))
    plan = closed_plan(steady, 0)
    laps = sum(run.count for visit in plan.visits for run in visit.runs) // chain.length
    return Mode(c, device, (laps,), plan=plan) if laps else None


_closed = lru_cache(maxsize=2**14)(closed)
_once = lru_cache(maxsize=2**12)(once)


def closed_alone(device: DeviceProblem) -> Closed:
    """`closed`, remembered for devices that are alike but for their class."""
    return _closed(replace(device, class_index=0))
