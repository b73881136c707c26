"""The state of a search over time: the best lives so far, the best bound, the limits."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction
from math import gcd, lcm

from pipefill_opt.fill.problem import FillProblem, Objective
from pipefill_opt.fill.values import operator_values
from pipefill_opt.solve.life.shop import Lives, Shop
from pipefill_opt.solve.watch import Watch


def grain(problem: FillProblem, unit: int) -> Fraction:
    """Every plan's objective is a whole multiple of this; completions lie on multiples of `unit` ticks."""
    if problem.objective is Objective.MAKESPAN:
        return Fraction(unit)
    if problem.objective is Objective.COMPLETION:
        return common([job.weight for job in problem.jobs]) * unit
    return common(
        [
            job.weight * sum(operator_values(job, entry), Fraction(0))
            for job in problem.jobs
            for entry in job.configurations
        ]
    )


def common(values: Sequence[Fraction]) -> Fraction:
    """The largest number of which all are multiples; 0 if all are 0."""
    below = lcm(*(value.denominator for value in values))
    return Fraction(gcd(*(int(value * below) for value in values)), below)


@dataclass(slots=True)
class Incumbent:
    """Objective and bound in ticks (or value). `tell` reports them; a bound counts only if it is better, rounded to what plans can have."""

    problem: FillProblem
    watch: Watch
    grain: Fraction
    value: Fraction | None = None
    bound: Fraction | None = None
    origin: str = ""
    shop: Shop | None = None
    lives: tuple[Lives, ...] = ()

    @property
    def minimised(self) -> bool:
        """Whether less is better."""
        return self.problem.objective is not Objective.ON_TIME

    def keep(self, shop: Shop, lives: Sequence[Lives] | None, note: str) -> None:
        """Remember lives that are better."""
        if lives is None:
            return
        value = shop.total(lives) * (shop.turn if self.minimised else 1)
        if self.value is None or (value < self.value if self.minimised else value > self.value):
            self.value, self.shop, self.lives = value, shop, tuple(lives)
        self.tell(note)

    def prove(self, bound: Fraction, origin: str) -> None:
        """Remember a bound that is better."""
        if self.grain:
            steps = bound / self.grain
            whole = -(-steps.numerator // steps.denominator) if self.minimised else int(steps // 1)
            bound = whole * self.grain
        if self.bound is None or (bound > self.bound if self.minimised else bound < self.bound):
            self.bound, self.origin = bound, origin
        self.tell(origin)

    def tell(self, note: str) -> None:
        """Report to whoever listens."""
        self.watch.report(self.value, self.bound, note)

    @property
    def proved(self) -> bool:
        """Whether the best lives are known to be the best there are."""
        return self.value is not None and self.value == self.bound

    def near(self) -> bool:
        """Whether the gap is within the limit."""
        if self.value is None or self.bound is None:
            return False
        return abs(self.bound - self.value) <= self.watch.limits.gap * max(Fraction(1), abs(self.value))

    def over(self) -> bool:
        """Whether to stop: proved, close enough, or a limit."""
        return self.proved or self.near() or self.watch.ended() is not None
