"""Over the numbers of main iterations H that a problem allows: one, or all up to `max_iterations` (`iterations: auto`)."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from fractions import Fraction
from math import floor
from typing import Final, Protocol

from pipefill_opt.solve.allocate import Allocation
from pipefill_opt.solve.columns import rate_bound
from pipefill_opt.solve.device import Compiled
from pipefill_opt.solve.greedy import Choice, Kinds, every_kind, greedy
from pipefill_opt.solve.result import Reason
from pipefill_opt.solve.watch import Watch

SHORTEST_SHARE: Final = 1.0
"""Seconds that one H gets at the least."""
GREEDY_SECONDS: Final = 1.0
"""Seconds that greedy gets at the least, however short the limit: its plans are the first incumbents."""


class LengthSolver(Protocol):
    """Solves the whole problem for one H: `allocate` by columns, `solve_directly` by one program."""

    def __call__(
        self,
        iterations: int,
        watch: Watch,
        *,
        start: Sequence[Choice],
        beat: int,
        tell: Callable[[int, int, str], None],
    ) -> Allocation: ...


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


def search_exact(
    compiled: Compiled, solve_length: LengthSolver, watch: Watch, known: tuple[int, Sequence[Choice]] | None = None
) -> Answer:
    """The best plan over every H, each H solved exactly, those with the best known plan first: greedy's, or `known` (H, devices).

    With a time limit each H gets a share of what is left, and those that are still open get another round.
    """
    best = _Best(compiled)
    starts: dict[int, Sequence[Choice]] = {}
    patient = watch.at_least(GREEDY_SECONDS)
    for iterations in lengths(compiled):
        starts[iterations] = greedy(compiled, iterations, every_kind, patient)
        if known is not None and known[0] == iterations:
            starts[iterations] = max(starts[iterations], known[1], key=lambda choices: rate(choices, iterations))
        best.keep(starts[iterations], iterations)
    every = rate_bound(compiled)
    bounds = dict.fromkeys(starts, (every, "capacity"))
    open_lengths = sorted(starts, key=lambda h: (-rate(starts[h], h), h))
    reason = Reason.PROVED
    while open_lengths and best.value < every and watch.ended() is None:
        left = []
        for position, iterations in enumerate(open_lengths):
            if watch.ended() is not None:
                left += open_lengths[position:]
                break
            found = solve_length(
                iterations,
                _share(watch, len(open_lengths) - position),
                start=starts[iterations],
                beat=floor(best.value * iterations),
                tell=_teller(compiled, watch, best, bounds, iterations),
            )
            best.keep(found.choices, iterations)
            bounds[iterations] = min(bounds[iterations], (Fraction(found.bound, iterations), found.origin))
            if found.reason is Reason.TIME_LIMIT:
                left.append(iterations)
            elif found.reason is not Reason.PROVED:
                reason = found.reason
        open_lengths = left
    reason = watch.ended() or reason if open_lengths else reason
    bound, origin = max(bounds.values())
    return best.answer(max(bound, best.value), origin, reason)


def rate(choices: Sequence[Choice], iterations: int) -> Fraction:
    """Value per main iteration."""
    return Fraction(sum(choice.value * choice.multiplicity for choice in choices), iterations)


def _share(watch: Watch, parts: int) -> Watch:
    """A watch over one of `parts` parts of the time that is left; over all limits as they are, if it is the only one."""
    limits = watch.left(gap=watch.limits.gap)
    if limits.time is not None and parts > 1:
        limits = replace(limits, time=max(SHORTEST_SHARE, limits.time / parts))
    return Watch(limits)


def _teller(
    compiled: Compiled, watch: Watch, best: _Best, bounds: dict[int, tuple[Fraction, str]], iterations: int
) -> Callable[[int, int, str], None]:
    """Reports progress in the objective's own measure, over every H."""
    others = max((bound for h, (bound, _) in bounds.items() if h != iterations), default=Fraction(0))

    def tell(value: int, limit: int, note: str) -> None:
        news = max(best.value, Fraction(value, iterations))
        top = max(news, others, Fraction(limit, iterations))
        watch.report(news * compiled.unit, top * compiled.unit, f"H = {iterations}, {note}")

    return tell


class _Best:
    """The best choice of devices so far, by value per main iteration."""

    def __init__(self, compiled: Compiled) -> None:
        self.choices: tuple[Choice, ...] = ()
        self.iterations = lengths(compiled)[0]
        self.value = Fraction(0)

    def keep(self, choices: Sequence[Choice], iterations: int) -> None:
        """Remember a choice that is better."""
        value = rate(choices, iterations)
        if value > self.value:
            self.choices, self.iterations, self.value = tuple(choices), iterations, value

    def answer(self, bound: Fraction, origin: str, reason: Reason) -> Answer:
        """The best choice with a bound on all."""
        return Answer(self.choices, self.iterations, self.value, bound, origin, reason)
