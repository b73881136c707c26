"""Column generation over every H that a problem allows."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace
from fractions import Fraction
from math import floor
from typing import Final

from pipefill_opt.solve.allocate import Allocation, DeviceSolver, MasterSolver
from pipefill_opt.solve.device import Compiled, DeviceProblem, DeviceResult
from pipefill_opt.solve.generation.search import generate
from pipefill_opt.solve.greedy import Choice
from pipefill_opt.solve.lengths import Answer, lengths, rate
from pipefill_opt.solve.result import Reason
from pipefill_opt.solve.watch import Watch

SHORTEST_SHARE: Final = 1.0
"""Seconds that one H gets at the least."""


def search_generation(
    compiled: Compiled,
    solve_device: DeviceSolver,
    solve_master: MasterSolver,
    watch: Watch,
    known: tuple[int, Sequence[Choice]] | None = None,
) -> Answer:
    """The best plan over every H, from `known` (H, devices) on. Where H is open, the longest one comes first, with a bound for all."""
    proved: dict[DeviceProblem, DeviceResult] = {}
    best = Answer((), lengths(compiled)[0], Fraction(0), Fraction(0), "", Reason.PROVED)
    if known is not None:
        best = replace(best, choices=tuple(known[1]), iterations=known[0], value=rate(known[1], known[0]))

    def attempt(iterations: int, part: Watch, *, every: bool) -> Allocation:
        return generate(
            compiled,
            iterations,
            solve_device,
            solve_master,
            part,
            start=known[1] if known is not None and known[0] == iterations else (),
            known=proved,
            beat=floor(best.value * iterations),
            tell=_teller(compiled, watch, best.value, iterations),
            every=every,
        )

    open_lengths = list(lengths(compiled))[::-1]
    if len(open_lengths) == 1:
        return _better(best, attempt(open_lengths[0], watch, every=False), open_lengths[0])
    longest = open_lengths[0]
    first = attempt(longest, _share(watch, 2), every=True)
    best = _better(best, first, longest)
    every, origin = Fraction(first.bound, longest), first.origin
    bounds = dict.fromkeys(open_lengths, (every, origin))
    reason = Reason.PROVED
    while open_lengths and best.value < every and watch.ended() is None:
        if every - best.value <= watch.limits.gap * max(1 / compiled.unit, best.value):
            reason = Reason.GAP_LIMIT
            break
        left = []
        for position, iterations in enumerate(open_lengths):
            if watch.ended() is not None:
                left += open_lengths[position:]
                break
            found = attempt(iterations, _share(watch, len(open_lengths) - position), every=False)
            best = _better(best, found, iterations)
            bounds[iterations] = min(bounds[iterations], (Fraction(found.bound, iterations), found.origin))
            if found.reason is Reason.TIME_LIMIT:
                left.append(iterations)
            elif found.reason is not Reason.PROVED:
                reason = found.reason
        open_lengths = left
        every, origin = max(bounds.values())
    reason = watch.ended() or reason if open_lengths else reason
    return replace(best, bound=max(every, best.value), origin=origin, reason=reason)


def _better(best: Answer, found: Allocation, iterations: int) -> Answer:
    """The better of an answer and what was found for one H; the bound is the latter's."""
    value, bound = Fraction(found.value, iterations), Fraction(found.bound, iterations)
    if value >= best.value:
        best = replace(best, choices=found.choices, iterations=iterations, value=value)
    return replace(best, bound=max(bound, best.value), origin=found.origin, reason=found.reason)


def _share(watch: Watch, parts: int) -> Watch:
    """A watch over one of `parts` parts of the time that is left."""
    limits = watch.left(gap=watch.limits.gap)
    if limits.time is not None and parts > 1:
        limits = replace(limits, time=max(SHORTEST_SHARE, limits.time / parts))
    return Watch(limits)


def _teller(compiled: Compiled, watch: Watch, value: Fraction, iterations: int) -> Callable[[int, int, str], None]:
    """Reports progress in the objective's own measure."""

    def tell(own: int, bound: int, note: str) -> None:
        news = max(value, Fraction(own, iterations))
        top = max(news, Fraction(bound, iterations))
        watch.report(news * compiled.unit, top * compiled.unit, f"H = {iterations}, {note}")

    return tell
