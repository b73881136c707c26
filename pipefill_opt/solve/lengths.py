"""Over the numbers of main iterations H that a problem allows: one, or all up to `max_iterations` (`iterations: auto`)."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from fractions import Fraction
from math import floor

from pipefill_opt.solve.allocate import DeviceSolver, MasterSolver, allocate
from pipefill_opt.solve.columns import rate_bound
from pipefill_opt.solve.device import Compiled
from pipefill_opt.solve.greedy import Choice, Kinds, every_kind, greedy
from pipefill_opt.solve.result import Reason
from pipefill_opt.solve.watch import Watch


@dataclass(frozen=True, slots=True)
class Answer:
    """Devices chosen for H = `iterations`; value and bound in units per main iteration.

    The bound holds for every H that the problem allows.
    """

    choices: tuple[Choice, ...]
    iterations: int
    value: Fraction
    bound: Fraction
    origin: str
    reason: Reason


def lengths(compiled: Compiled) -> Sequence[int]:
    """The numbers of main iterations that a plan may have."""
    fixed = compiled.problem.iterations
    return [fixed] if fixed is not None else range(1, compiled.problem.max_iterations + 1)


def search_greedy(compiled: Compiled, kinds: Kinds, watch: Watch) -> Answer:
    """The best greedy plan over every H."""
    best = _Best(compiled)
    reason = Reason.HEURISTIC
    for iterations in lengths(compiled):
        best.keep(greedy(compiled, iterations, kinds, watch), iterations)
        reason = watch.ended() or reason
        if reason is not Reason.HEURISTIC:
            break
    return best.answer(rate_bound(compiled), "capacity", reason)


def search_exact(compiled: Compiled, solve_device: DeviceSolver, solve_master: MasterSolver, watch: Watch) -> Answer:
    """The best plan over every H, each H solved exactly, in rising order. A bound that holds for every H covers those left at a limit."""
    best = _Best(compiled)
    every = rate_bound(compiled)
    bound, origin = Fraction(0), "capacity"
    reason = Reason.PROVED
    for iterations in lengths(compiled):
        if best.value >= every:
            break
        ended = watch.ended()
        if ended is not None:
            bound, origin, reason = every, "capacity", ended
            break
        start = greedy(compiled, iterations, every_kind, watch)
        best.keep(start, iterations)
        found = allocate(
            compiled,
            iterations,
            solve_device,
            solve_master,
            watch,
            start=start,
            beat=floor(best.value * iterations),
            tell=_teller(compiled, watch, best, iterations, bound, every),
        )
        best.keep(found.choices, iterations)
        if Fraction(found.bound, iterations) > bound:
            bound, origin = Fraction(found.bound, iterations), found.origin
        if found.reason is not Reason.PROVED:
            reason = found.reason
    if bound >= every:
        bound, origin = every, "capacity"
    return best.answer(max(bound, best.value), origin, reason)


def _teller(
    compiled: Compiled, watch: Watch, best: _Best, iterations: int, bound: Fraction, every: Fraction
) -> Callable[[int, int, str], None]:
    """Reports progress in the objective's own measure: bounds of the H before, of this one, and of those to come."""
    last = iterations == lengths(compiled)[-1]

    def tell(value: int, limit: int, note: str) -> None:
        news = max(best.value, Fraction(value, iterations))
        top = min(every, max(bound, Fraction(limit, iterations))) if last else every
        watch.report(news * compiled.unit, max(news, top) * compiled.unit, f"H = {iterations}, {note}")

    return tell


class _Best:
    """The best choice of devices so far, by value per main iteration."""

    def __init__(self, compiled: Compiled) -> None:
        self.choices: tuple[Choice, ...] = ()
        self.iterations = lengths(compiled)[0]
        self.value = Fraction(0)

    def keep(self, choices: Sequence[Choice], iterations: int) -> None:
        """Remember a choice that is better."""
        value = Fraction(sum(choice.value * choice.multiplicity for choice in choices), iterations)
        if value > self.value:
            self.choices, self.iterations, self.value = tuple(choices), iterations, value

    def answer(self, bound: Fraction, origin: str, reason: Reason) -> Answer:
        """The best choice with a bound on all."""
        return Answer(self.choices, self.iterations, self.value, bound, origin, reason)
