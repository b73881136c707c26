"""The devices behind the columns: their results, each searched as far as it pays, and quick bounds by rate."""

from __future__ import annotations

from dataclasses import dataclass, replace
from fractions import Fraction
from math import ceil, floor
from typing import Final

from pipefill_opt.solve.allocate import DeviceSolver
from pipefill_opt.solve.device import Compiled, DevicePlan, DeviceProblem, DeviceResult
from pipefill_opt.solve.generation.groups import Group, anonymous
from pipefill_opt.solve.generation.rates import rate_limit
from pipefill_opt.solve.generation.sets import Sets
from pipefill_opt.solve.result import Limits, Reason
from pipefill_opt.solve.watch import Watch

ROUGH: Final = (Fraction(1, 200), Fraction(1, 2000), Fraction(0))
"""Gaps at which the search of a device ends, the first, the second and any further time."""
SHORTEST_SHARE: Final = 0.5
"""Seconds that a device search gets at the least, of a limited time."""

Key = tuple[int, tuple[int, ...]]


@dataclass(slots=True)
class _Known:
    """What is known of a column: the best result, and how often its device has been searched. closed: further searches are of no use."""

    result: DeviceResult | None = None
    times: int = 0
    closed: bool = False


class Devices:
    """results: by column. every: bounds are to hold for every number of iterations. origins: what proved bounds."""

    def __init__(
        self,
        compiled: Compiled,
        iterations: int,
        groups: tuple[Group, ...],
        solve_device: DeviceSolver,
        watch: Watch,
        known: dict[DeviceProblem, DeviceResult],
        *,
        every: bool,
    ) -> None:
        self.compiled = compiled
        self.iterations = iterations
        self.groups = groups
        self.solve_device = solve_device
        self.watch = watch
        self.known = known
        self.every = every
        self.sets = [Sets(compiled, group.classes[0], iterations, every=every) for group in groups]
        self.facts: dict[Key, _Known] = {}
        self.rated: dict[Key, int] = {}
        self.origins: set[str] = {"capacity"}

    def problem(self, key: Key) -> DeviceProblem:
        """The device of a column, as one of its group's first class."""
        g, row = key
        return self.compiled.device(self.groups[g].classes[0], self.sets[g].table.residents(row), self.iterations)

    def keep(self, key: Key, result: DeviceResult) -> None:
        """A plan of a column is known."""
        known = self.facts.setdefault(key, _Known())
        if known.result is None or result.value >= known.result.value:
            known.result = result

    def lower(self, key: Key) -> int:
        """The best value found of a column."""
        known = self.facts.get(key)
        return 0 if known is None or known.result is None or known.result.plan is None else known.result.value

    def is_open(self, key: Key) -> bool:
        """Whether solving a column's device may tell more."""
        known = self.facts.get(key)
        return known is None or (not known.closed and self.lower(key) < self.sets[key[0]].upper(key[1]))

    def evaluate(self, key: Key, watch: Watch, parts: int) -> None:
        """Solve a column's device, within one of `parts` parts of the time that is left; rougher at first."""
        g, row = key
        known = self.facts.setdefault(key, _Known())
        device = self.problem(key)
        gap = max(self.watch.limits.gap / 2, ROUGH[min(known.times, len(ROUGH) - 1)])
        limits = watch.left(gap=gap)
        if limits.time is not None:
            limits = replace(limits, time=min(limits.time, max(SHORTEST_SHARE, limits.time / parts)))
        known.times += 1
        hint = known.result.plan if known.result is not None else None
        result = self.solved(device, limits, hint)
        known.closed = result.proved or result.reason not in (Reason.GAP_LIMIT, Reason.TIME_LIMIT)
        known.closed = known.closed or known.times >= (2 if self.every else len(ROUGH))
        self.keep(key, result)
        if self.every:
            self.rated[key] = 1
            self.rate(key, Fraction(0))
        elif result.bound < self.sets[g].upper(row):
            self.sets[g].tighten(row, result.bound)
            self.origins.add(result.origin)

    def solved(self, device: DeviceProblem, limits: Limits, hint: DevicePlan | None) -> DeviceResult:
        """The result of a device, known already if an equal one was proved."""
        key = anonymous(device)
        result = self.known.get(key)
        if result is None:
            result = self.solve_device(device, limits, hint=hint)
            if result.proved:
                self.known[key] = result
        return result

    def rate(self, key: Key, target: Fraction) -> None:
        """Bound what a set is worth an iteration, the first time with a quick look down to `target`, the second time as far as it goes."""
        times = self.rated.get(key, 0)
        if times == 2 or not self.compiled.problem.repeat:
            return
        self.rated[key] = times + 1
        limit = rate_limit(self.problem(key), Fraction(0) if times else target, self.watch.ended, quick=not times)
        sets, row = self.sets[key[0]], key[1]
        if limit is not None and limit * self.iterations < sets.upper(row):
            total = limit * self.iterations
            sets.tighten(row, ceil(total) if self.every else floor(total))
            self.origins.add("value iteration")
