"""Column generation over every H that a problem allows."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from fractions import Fraction
from functools import partial
from math import floor
from typing import Final

from pipefill_opt.solve.allocate import DeviceSolver, MasterSolver
from pipefill_opt.solve.device import Compiled, DeviceProblem, DeviceResult
from pipefill_opt.solve.generation.search import generate
from pipefill_opt.solve.greedy import Choice, every_kind, greedy
from pipefill_opt.solve.lengths import GREEDY_SECONDS, Answer, lengths, rate
from pipefill_opt.solve.result import Reason
from pipefill_opt.solve.watch import Watch

SHORTEST_SHARE: Final = 1.0
"""Seconds that one H gets at the least."""
GREEDY_ROOMS: Final = 20_000
"""Rooms x configurations up to which greedy's plans are found at once; with more the first columns are as good and sooner there."""


def search_generation(
    compiled: Compiled,
    solve_device: DeviceSolver,
    solve_master: MasterSolver,
    watch: Watch,
    known: tuple[int, Sequence[Choice]] | None = None,
) -> Answer:
    """The best plan over every H, from `known` (H, devices) on. Where H is open, the longest one comes first, with a bound for all."""
    every_length = list(lengths(compiled))[::-1]
    longest = every_length[0]
    search = _Lengths(compiled, solve_device, solve_master, watch, known)
    if len(every_length) == 1:
        return search.attempt(longest, watch, every=False)
    begun = watch.seconds()
    search.attempt(longest, _share(watch, 2), every=True)
    usual = max(SHORTEST_SHARE, watch.seconds() - begun)
    search.bounds = dict.fromkeys(every_length, search.bounds[longest])
    left = every_length
    while left and not search.met() and watch.ended() is None:
        turn = left if watch.limits.time is None else left[: max(1, int((watch.limits.time - watch.seconds()) / usual))]
        left = left[len(turn) :]
        for position, iterations in enumerate(turn):
            if search.met() or watch.ended() is not None:
                left = turn[position:] + left
                break
            found = search.attempt(iterations, _share(watch, len(turn) - position), every=False)
            if found.reason is Reason.TIME_LIMIT:
                left.append(iterations)
    return search.answer(watch.ended() or (Reason.GAP_LIMIT if search.met() else search.reason))


class _Lengths:
    """The best plan so far, and by H a proven bound on value per main iteration with its origin."""

    def __init__(
        self,
        compiled: Compiled,
        solve_device: DeviceSolver,
        solve_master: MasterSolver,
        watch: Watch,
        known: tuple[int, Sequence[Choice]] | None,
    ) -> None:
        self.compiled = compiled
        self.solvers = (solve_device, solve_master)
        self.watch = watch
        self.known = known
        self.proved: dict[DeviceProblem, DeviceResult] = {}
        self.bounds: dict[int, tuple[Fraction, str]] = {}
        self.iterations, self.choices = known if known is not None else (lengths(compiled)[0], ())
        self.value = rate(self.choices, self.iterations)
        self.reason = Reason.PROVED

    def attempt(self, iterations: int, part: Watch, *, every: bool) -> Answer:
        """Search one H within a part of the time; every: for a bound on all."""
        found = generate(
            self.compiled,
            iterations,
            *self.solvers,
            part,
            start=self.start(iterations),
            known=self.proved,
            beat=floor(self.value * iterations),
            tell=partial(self.tell, iterations),
            every=every,
        )
        if rate(found.choices, iterations) > self.value:
            self.iterations, self.choices = iterations, found.choices
            self.value = rate(found.choices, iterations)
        bound = (Fraction(found.bound, iterations), found.origin)
        self.bounds[iterations] = min(self.bounds.get(iterations, bound), bound)
        if found.reason is not Reason.PROVED:
            self.reason = found.reason
        return self.answer(found.reason)

    def start(self, iterations: int) -> tuple[Choice, ...]:
        """Devices known already: of the plan to start from, and greedy's where they are quick to find."""
        own = tuple(self.known[1]) if self.known is not None and self.known[0] == iterations else ()
        problem = self.compiled.problem
        rooms = sum(len(device.bubbles) for device in problem.devices) * iterations
        if rooms * sum(len(job.configurations) for job in problem.jobs) > GREEDY_ROOMS:
            return own
        return (*own, *greedy(self.compiled, iterations, every_kind, self.watch.at_least(GREEDY_SECONDS)))

    def met(self) -> bool:
        """Whether the value is near enough to the bound."""
        bound = max(self.bounds.values())[0]
        return bound - self.value <= self.watch.limits.gap * max(1 / self.compiled.unit, self.value)

    def answer(self, reason: Reason) -> Answer:
        """The best plan with the bound for every H."""
        bound, origin = max(self.bounds.values())
        return Answer(tuple(self.choices), self.iterations, self.value, max(bound, self.value), origin, reason)

    def tell(self, iterations: int, value: int, bound: int, note: str) -> None:
        """Reports progress in the objective's own measure, over every H."""
        news = max(self.value, Fraction(value, iterations))
        others = max((own for h, (own, _) in self.bounds.items() if h != iterations), default=Fraction(0))
        top = max(news, others, Fraction(bound, iterations))
        self.watch.report(news * self.compiled.unit, top * self.compiled.unit, f"H = {iterations}, {note}")


def _share(watch: Watch, parts: int) -> Watch:
    """A watch over one of `parts` parts of the time that is left."""
    limits = watch.left(gap=watch.limits.gap)
    if limits.time is not None and parts > 1:
        limits = replace(limits, time=max(SHORTEST_SHARE, limits.time / parts))
    return Watch(limits)
