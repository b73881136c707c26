"""Column generation for one H: prices of copies from a linear master, sets of residents priced with proven bounds, devices solved last.

Each round solves the master over the listed sets, each with its upper bound, asks every group for sets that are worth more than their
price, and tightens the bounds of those in turn. Where there are none the master's value is a bound on the problem. Then the devices that
it uses are solved, which lowers their bounds or confirms them; their plans make the incumbent.
"""

from __future__ import annotations

import logging
from collections.abc import Callable, Sequence
from dataclasses import replace
from fractions import Fraction
from math import ceil, floor, gcd
from typing import Final

from pipefill_opt.solve.allocate import Allocation, DeviceSolver, MasterSolver, allocate
from pipefill_opt.solve.device import Compiled, DeviceProblem, DeviceResult
from pipefill_opt.solve.generation.devices import Devices, Key
from pipefill_opt.solve.generation.groups import Group, groups, spread
from pipefill_opt.solve.generation.incumbent import Incumbent
from pipefill_opt.solve.generation.master import Relaxed, Used, relax
from pipefill_opt.solve.generation.prices import Prices, proven_bound
from pipefill_opt.solve.generation.rest import list_rest
from pipefill_opt.solve.generation.sets import Sets
from pipefill_opt.solve.greedy import Choice
from pipefill_opt.solve.result import Reason
from pipefill_opt.solve.watch import Watch

ORIGIN: Final = "prices of copies, every set of residents bounded"
LOOKED_AT: Final = 100
"""Offers of a group whose bounds are tightened before its offers are sorted anew."""
TAKEN: Final = 8
"""Sets of a group that enter the master in one round."""
SLACK: Final = (0.01, 0.002, 1e-9)
"""Relative: by how much more than its price a set must be worth to enter the master; less and less, each time nothing enters any more."""
PLANS_EVERY: Final = 5
"""Rounds after which the devices in use are solved, though the prices still move: for an incumbent. The first time before any round."""
IMPROVED_EVERY: Final = 50
"""Devices solved after which a better incumbent is looked for."""
FIRST_SECONDS: Final = 1.0
"""Seconds that the first plans get at the least, however short the limit."""
_log = logging.getLogger(__name__)


def generate(
    compiled: Compiled,
    iterations: int,
    solve_device: DeviceSolver,
    solve_master: MasterSolver,
    watch: Watch,
    *,
    start: Sequence[Choice] = (),
    known: dict[DeviceProblem, DeviceResult] | None = None,
    beat: int = 0,
    tell: Callable[[int, int, str], None] | None = None,
    every: bool = False,
) -> Allocation:
    """The best choice for H = `iterations`, proved unless a limit ends the search first; arguments as of `allocate`.

    every: the bound holds for plans of any number of iterations (per `iterations` of them); the plan has H.
    """
    search = Search(
        compiled, iterations, solve_device, solve_master, watch, {} if known is None else known, tell, every
    )
    search.begin(start)
    return search.answer(search.run(beat))


class Search:
    """The state of the search. bound: proved, on value over H iterations; `simple` holds before there is one."""

    def __init__(
        self,
        compiled: Compiled,
        iterations: int,
        solve_device: DeviceSolver,
        solve_master: MasterSolver,
        watch: Watch,
        known: dict[DeviceProblem, DeviceResult],
        tell: Callable[[int, int, str], None] | None,
        every: bool,
    ) -> None:
        self.compiled = compiled
        self.iterations = iterations
        self.solve_master = solve_master
        self.watch = watch
        self.tell = tell
        self.every = every
        self.groups: tuple[Group, ...] = groups(compiled)
        self.devices = Devices(compiled, iterations, self.groups, solve_device, watch, known, every=every)
        self.sets = self.devices.sets
        self.counts = [group.count for group in self.groups]
        self.copies = [job.copies for job in compiled.problem.jobs]
        self.columns: dict[Key, Used] = {}
        self.bound: Fraction | None = None
        self.prices = Prices.rounded([0.0] * len(self.copies))
        self.tops = [Fraction(0)] * len(self.groups)
        self.best = Incumbent(self.counts, self.copies, solve_master)
        self.rounds = 0
        self.stage = 0
        self.step = _step(compiled)
        self.simple = sum(n * own.upper_of_any() for n, own in zip(self.counts, self.sets, strict=True))

    # Setting out

    def begin(self, start: Sequence[Choice]) -> None:
        """All single residents, and the sets of plans that are known."""
        for g, sets in enumerate(self.sets):
            sets.list_single()
            for level in sets.levels[1:2]:
                for row in level.rows.tolist():
                    self.enter((g, tuple(row)))
        place = {c: g for g, group in enumerate(self.groups) for c in group.classes}
        for choice in start:
            if choice.device.class_index not in place:
                continue
            g = place[choice.device.class_index]
            row = self.sets[g].row(choice.device.residents)
            if row is not None:
                self.enter((g, row))
                self.devices.keep((g, row), DeviceResult(choice.value, self.sets[g].upper(row), choice.plan, "greedy"))
        self.improve()

    def enter(self, key: Key) -> None:
        """A set becomes a column of the master."""
        if key not in self.columns:
            self.columns[key] = Used(key[0], self.sets[key[0]].table.usage(key[1]))

    # Rounds

    def run(self, beat: int) -> Reason:
        """Rounds until the bound is met or a limit is reached."""
        while True:
            ended = self.finished(beat)
            if ended is not None:
                return ended
            relaxed = self.relaxed()
            if relaxed is None:
                return self.finish(beat)
            moved = self.rounds % PLANS_EVERY == 0 and self.evaluated(relaxed, fresh=True)
            self.rounds += 1
            new = self.priced(relaxed)
            self.news(f"round {self.rounds}: {new} new of {len(self.columns)} sets of residents")
            if new or moved:  # the master is not what it was
                continue
            ended = self.finished(beat)
            if ended is not None:
                return ended
            if not self.evaluated(relaxed):
                if self.stage + 1 == len(SLACK):
                    return self.finish(beat)
                self.stage += 1

    def finished(self, beat: int) -> Reason | None:
        """Why to stop now, if so."""
        if self.whole_bound() <= max(beat, self.best.value):
            return Reason.PROVED
        if self.bound is None:  # some round must say what the bound is
            return None
        one = self.iterations / self.compiled.unit
        if self.bound - self.best.value <= self.watch.limits.gap * max(one, Fraction(self.best.value)):
            return Reason.GAP_LIMIT
        return self.watch.ended()

    def whole_bound(self) -> int:
        """The bound as a whole number: values are whole, and of plans that repeat sums of laps, for plans of H iterations."""
        bound = self.simple if self.bound is None else self.bound
        return ceil(bound) if self.every else floor(bound) // self.step * self.step

    def relaxed(self) -> Relaxed | None:
        """The linear master over the columns, with their bounds."""
        values = [float(self.sets[g].float_upper(row)) for g, row in self.columns]
        return relax(values, list(self.columns.values()), self.counts, self.copies)

    def priced(self, relaxed: Relaxed) -> int:
        """How many columns are new or have a better bound; the bound is proved anew."""
        prices = Prices.rounded(relaxed.copy)
        tops: list[Fraction] = []
        new = 0
        for g, sets in enumerate(self.sets):
            threshold = float(relaxed.device[g]) * (1 + SLACK[self.stage]) + SLACK[-1]
            top, fresh = self.offered(g, sets, prices, threshold)
            new += fresh
            tops.append(top)
        bound = proven_bound(prices, self.copies, self.counts, tops)
        if self.bound is None or bound < self.bound:
            self.bound, self.prices, self.tops = bound, prices, tops
        return new

    def offered(self, g: int, sets: Sets, prices: Prices, threshold: float) -> tuple[Fraction, int]:
        """Tighten what a group offers until some of it holds, or there is none; (its top, columns that are new or better)."""
        fresh = 0
        while True:
            top, offers = sets.price(prices, threshold, self.watch.ended)
            for offer in offers[:LOOKED_AT]:
                before = sets.float_upper(offer.row)
                key = (g, offer.row)
                holds = self.still_offered(key, prices, threshold)
                if key in self.columns and sets.float_upper(offer.row) < before:
                    fresh += 1
                elif holds and key not in self.columns:
                    self.enter(key)
                    fresh += 1
                if fresh >= TAKEN:
                    break
            if fresh or not offers or self.watch.ended():
                return top, fresh
            if all(
                sets.float_upper(offer.row) - float(prices.of(sets.table.usage(offer.row))) > threshold
                for offer in offers
            ):
                return top, fresh

    def still_offered(self, key: Key, prices: Prices, threshold: float) -> bool:
        """Whether a set is worth more than its price and `threshold` by bounds that are quick to prove."""
        sets, row = self.sets[key[0]], key[1]
        price = prices.of(sets.table.usage(row))
        if sets.upper(row) - price <= threshold:
            return False
        self.devices.rate(key, (price + Fraction(threshold)) / self.iterations)
        return float(sets.upper(row) - price) > threshold

    def news(self, note: str) -> None:
        """Tell the best value and the bound."""
        _log.info("%s; value %d, bound %d", note, self.best.value, self.whole_bound())
        if self.tell is not None:
            self.tell(self.best.value, max(self.best.value, self.whole_bound()), note)

    # Devices

    def evaluated(self, relaxed: Relaxed, *, fresh: bool = False) -> bool:
        """Solve the devices that the master uses; False if none is left to solve. fresh: only those that never were."""
        weight = {
            key: float(number)
            for key, number in zip(self.columns, relaxed.number.tolist(), strict=True)
            if number > 1e-9
        }
        wanted = [key for key in weight if self.devices.is_open(key) and not (fresh and key in self.devices.facts)]
        watch = self.watch if self.rounds else self.watch.at_least(FIRST_SECONDS)
        wanted.sort(key=lambda key: (-weight[key] * self.sets[key[0]].float_upper(key[1]), key))
        for position, key in enumerate(wanted):
            if watch.ended() is None:
                self.devices.evaluate(key, watch, len(wanted) - position)
            if position % IMPROVED_EVERY == IMPROVED_EVERY - 1:
                self.improve()
                self.news(f"{position + 1} of {len(wanted)} devices in use solved")
        if wanted:
            self.improve()
        return bool(wanted)

    def improve(self) -> None:
        """A better incumbent from the plans known by now, if there is one."""
        found = {key: self.devices.lower(key) for key in self.devices.facts if self.devices.lower(key) > 0}
        limits = self.watch.left()
        self.best.improve({key: Used(key[0], self.sets[key[0]].table.usage(key[1])) for key in found}, found, limits)

    # The end

    def finish(self, beat: int) -> Reason:
        """The linear bound is what it can be: search the choices that may be worth more than the incumbent, one column exact at a time."""
        bound = self.bound
        if bound is None or self.every:
            return Reason.WORK_LIMIT
        target = max(beat, self.best.value)
        surplus = bound - target // self.step * self.step - self.step
        classes = len(self.compiled.problem.devices)
        listed = list_rest(self.groups, self.sets, self.prices, self.tops, surplus, classes)
        if listed is None:
            return Reason.WORK_LIMIT
        self.news(f"{len(listed.columns)} sets of residents may be in a better plan")
        found = allocate(
            self.compiled,
            self.iterations,
            lambda device, limits, *, hint=None: self.devices.solved(device, limits, hint),
            self.solve_master,
            self.watch,
            start=self.choices(),
            beat=target,
            tell=self.tell,
            listed=listed,
            ceiling=floor(bound),
        )
        self.bound = min(bound, Fraction(max(found.bound, target)))
        self.devices.origins.add(found.origin)
        if found.value > self.best.value:
            self.final = found
        return found.reason

    final: Allocation | None = None

    def choices(self) -> tuple[Choice, ...]:
        """The incumbent as devices with their plans."""
        chosen: list[Choice] = []
        for g, group in enumerate(self.groups):
            own = []
            for key, number in self.best.multiplicity.items():
                known = self.devices.facts[key]
                if key[0] == g and number and known.result is not None and known.result.plan is not None:
                    own.append(Choice(self.devices.problem(key), known.result.plan, self.best.values[key], number))
            chosen += spread(self.compiled, group, own)
        return tuple(chosen)

    def answer(self, reason: Reason) -> Allocation:
        """The incumbent with the bound."""
        origin = f"{ORIGIN}: {' and '.join(sorted(self.devices.origins - {'greedy'}))}"
        bound = self.whole_bound()
        if self.final is not None:
            return replace(self.final, bound=max(bound, self.final.value), origin=origin, reason=reason)
        return Allocation(self.choices(), self.best.value, max(bound, self.best.value), origin, reason)


def _step(compiled: Compiled) -> int:
    """A number that divides the value of every plan of given H: what repeats does whole laps."""
    if not compiled.problem.repeat:
        return 1
    return gcd(*(sum(own) for job in compiled.value for own in job)) or 1
