"""Lower bounds on what all plans cost, at given prices for copies: each recomputed exactly, whoever found the prices.

Costs are weight x completion in units of `Shares.unit`, minus the on-time value, or for the makespan nothing (then a price above
nothing for copies that do not fit the horizon is the proof that they do not). Per class the gain of a device is bounded by the best walk
(`steps`), where no two copies can work in the same turn and no plan gains by preempting, else by the fluid (`fluid`).
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import Final

import numpy as np
from numpy.typing import NDArray

from pipefill_opt.fill.problem import FillProblem, Objective
from pipefill_opt.fill.values import operator_values
from pipefill_opt.solve.life.fluid import Fluid, Stream
from pipefill_opt.solve.life.generation import Answer, Column
from pipefill_opt.solve.life.shares import Share, Shares
from pipefill_opt.solve.life.steps import BITS, FOREVER, Step, Walks, whole_numbers

Floats = NDArray[np.float64]
WEIGHT_BITS: Final = 24
LEAST_BITS: Final = 8
PRICE_BITS: Final = 44
"""Prices are whole numbers below 2**44 of their unit; a life of up to 2**14 pieces then sums up below 2**60."""
EDGES: Final = 256
"""Parts of the horizon in which a fluid's gains are taken as lines."""


@dataclass(frozen=True, slots=True)
class Prices:
    """Whole prices: one is unit / scale of cost."""

    whole: tuple[int, ...]
    scale: int


class Bounds:
    """The bounds of a problem over a horizon (units), by which plans must end, for the makespan, or work stops to count, for the on-time
    value (jobs without deadline are left out). Completion times have no horizon: prices are kept below what counts after it.
    """

    def __init__(self, problem: FillProblem, shares: Shares, horizon: int) -> None:
        self.problem = problem
        self.shares = shares
        self.horizon = horizon
        self.copies = np.array([job.copies for job in problem.jobs], dtype=np.float64)
        self.counts = [device.count for device in problem.devices]
        self.release = [-(-job.release // shares.unit) for job in problem.jobs]
        self.deadline = [None if job.deadline is None else job.deadline // shares.unit for job in problem.jobs]
        on_time = problem.objective is Objective.ON_TIME
        worth = [
            [job.weight * sum(operator_values(job, entry), Fraction(0)) for entry in job.configurations]
            for job in problem.jobs
        ]
        bits = min(WEIGHT_BITS, max(LEAST_BITS, PRICE_BITS - horizon.bit_length()))
        rounded = (
            whole_numbers([value for job in worth for value in job], WEIGHT_BITS, up=True)
            if on_time
            else whole_numbers([job.weight for job in problem.jobs], bits)
        )
        self.unit, self.exact = rounded.unit, rounded.exact
        numbers = iter(rounded.numbers)
        self.worth = [[next(numbers) for _ in job] for job in worth] if on_time else []
        self._exact_worth = worth
        self.weight = [] if on_time else list(rounded.numbers)
        self.walks = [self._walks(c) for c in range(len(self.counts))]
        self.fluids: list[tuple[int, Fluid] | None] = [None] * len(self.counts)

    def window(self, job: int) -> int:
        """The units in which work on a copy counts."""
        end = self.deadline[job] if self.problem.objective is Objective.ON_TIME else None
        return max(0, (self.horizon if end is None else min(end, self.horizon)) - self.release[job])

    def most(self, c: int, job: int) -> int:
        """No copy does more iterations on class c in its window (at most those wanted)."""
        wanted = self.problem.jobs[job].iterations
        share = self.shares.of[c][job]
        fastest = max((most for _, _, most in share.kinds), default=0)
        inside = self.window(job) * fastest
        return inside if wanted is None else min(wanted, inside)

    def jobs_of(self, c: int) -> dict[int, Share]:
        """What counts on class c."""
        jobs = self.shares.of[c]
        if self.problem.objective is Objective.ON_TIME:
            return {job: share for job, share in jobs.items() if self.deadline[job] is not None}
        return jobs

    def _walks(self, c: int) -> Walks | None:
        """The walks that bound class c, if they do: alone in each turn, and no use in preempting, as nothing is released later (but for
        the makespan, where work in order of release is as good)."""
        problem = self.problem
        if not self.shares.own[c]:
            return None
        jobs = self.jobs_of(c)
        if problem.objective is not Objective.MAKESPAN and any(self.release[job] for job in jobs):
            return None
        steps = []
        cut = problem.objective is Objective.ON_TIME
        for job, share in jobs.items():
            first, alone = self.release[job], share.alone
            if problem.objective is Objective.MAKESPAN:
                steps.append(Step(alone, first, FOREVER, ((job, 1),)))
            elif not cut:
                steps.append(Step(alone, first, FOREVER, ((job, 1),), slope=self.weight[job]))
            elif problem.repeat and problem.iterations is not None:
                wanted = problem.jobs[job].iterations
                last = self.deadline[job] or 0
                for k, _, most in share.kinds:
                    turns = self.window(job) if wanted is None else -(-wanted // most)
                    full = self.worth[job][k] * (turns * most if wanted is None else wanted)
                    if turns:
                        steps.append(Step(turns, 0, last, ((job, 1),), rate=self.worth[job][k] * most, full=full))
            else:
                return None
        walks = Walks(steps, self.horizon, len(problem.jobs), cut=cut)
        return walks if walks.sound and not (cut and walks.grid > 1) else None

    def fluid(self, c: int, scale: int) -> Fluid:
        """The fluid of class c with costs in 1 / scale of a unit."""
        known = self.fluids[c]
        if known is None or known[0] != scale:
            known = self.fluids[c] = (scale, Fluid(self._streams(c, scale), self._edges(), len(self.copies)))
        return known[1]

    def _edges(self) -> Sequence[int]:
        parts = min(EDGES, max(1, self.horizon))
        return [self.horizon * k // parts for k in range(parts + 1)]

    def _streams(self, c: int, scale: int) -> list[Stream]:
        streams = []
        nothing = Fraction(0)
        for job, share in self.jobs_of(c).items():
            first = self.release[job]
            if self.problem.objective is Objective.MAKESPAN:
                if share.alone <= self.horizon - first:
                    streams.append(Stream(job, first, self.horizon, share.share, nothing, nothing))
            elif self.problem.objective is Objective.COMPLETION:
                slope = Fraction(self.weight[job] * scale)
                if first < self.horizon:
                    streams.append(Stream(job, first, self.horizon, share.share, slope * share.tail, slope))
            elif self.most(c, job):
                part = Fraction(1, self.most(c, job))
                for k, lap, _ in share.kinds:
                    gain = Fraction(-self.worth[job][k] * scale)
                    streams.append(Stream(job, first, first + self.window(job), lap, gain, nothing, part))
        return [stream for stream in streams if stream.begin < stream.end]

    def whole_prices(self, prices: Floats) -> Prices:
        """The prices (in costs) as whole numbers."""
        own = prices / float(self.unit)
        top = max(1.0, float(np.abs(own).max(initial=0.0)))
        scale = 1 << max(0, min(12, PRICE_BITS - int(np.ceil(np.log2(top)))))
        whole = [round(float(price) * scale) for price in own]
        if self.problem.objective is Objective.COMPLETION:  # above, a device would still gain after the horizon
            whole = [min(p, weight * scale * self.horizon) for p, weight in zip(whole, self.weight, strict=True)]
        return Prices(tuple(whole), scale)

    def simple(self) -> Fraction:
        """No plan costs less: each copy by itself, on the class where it does best. Jobs without deadline are left out, as ever."""
        total = Fraction(0)
        for job, number in enumerate(self.copies):
            places = [c for c in range(len(self.counts)) if job in self.jobs_of(c)]
            if not places:
                continue
            if self.problem.objective is Objective.COMPLETION:
                alone = min(self.shares.of[c][job].alone for c in places)
                total += int(number) * self.weight[job] * (self.release[job] + alone)
            elif self.problem.objective is Objective.ON_TIME:
                worth = max(self._exact_worth[job][k] for c in places for k, _, _ in self.shares.of[c][job].kinds)
                total -= int(number) * worth * max(self.most(c, job) for c in places) / self.unit
        return total * self.unit

    def oracle(self, c: int, prices: Floats) -> Answer:
        """The most that a device of class c may gain, and what it would do for it."""
        walks = self.walks[c]
        if walks is None:
            gain, usage, cost = self.fluid(c, 1).best(prices / float(self.unit))
            size = float(self.unit)
            return Answer(gain * size, (Column(c, usage, cost * size),))
        whole = self.whole_prices(prices)
        value, way = walks.best(np.array(whole.whole, dtype=np.int64), whole.scale)
        used = walks.used[[i for _, i, _ in way]].sum(axis=0) if way else np.zeros(len(prices))
        usage = used.astype(np.float64)
        gained = value / whole.scale * float(self.unit)
        return Answer(gained, (Column(c, usage, float(prices @ usage) - gained),))

    def certain(self, prices: Floats) -> Fraction:
        """No plan costs less: exact."""
        whole = self.whole_prices(prices)
        total = Fraction(sum(int(n) * price for n, price in zip(self.copies, whole.whole, strict=True)))
        array = np.array(whole.whole, dtype=np.int64)
        for c, count in enumerate(self.counts):
            walks = self.walks[c]
            gain = (
                Fraction(walks.best(array, whole.scale)[0])
                if walks is not None
                else self.fluid(c, whole.scale).certain(whole.whole)
            )
            total -= count * max(Fraction(0), gain)
        return total * self.unit / whole.scale


assert PRICE_BITS + 14 < BITS
