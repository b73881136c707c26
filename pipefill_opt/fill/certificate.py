"""`Certificate` and `Violation`: what `certify` returns."""

from __future__ import annotations

from dataclasses import dataclass, field
from fractions import Fraction


@dataclass(frozen=True, slots=True)
class Violation:
    """One broken rule: its code (see docs/fill.md), the place in the plan, and the numbers in words."""

    code: str
    place: str
    message: str
    numbers: dict[str, int | str] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class Certificate:
    """The verdict on a plan, recomputed from the data. `objective` is exact, and None while a rule is broken."""

    violations: tuple[Violation, ...]
    objective: Fraction | None

    @property
    def valid(self) -> bool:
        """True if no rule is broken."""
        return not self.violations
