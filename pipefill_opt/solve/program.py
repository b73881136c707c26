"""Integer programs as plain data, between what builds them (one device, the master) and what solves them (CP-SAT, HiGHS)."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

from pipefill_opt.solve.result import Limits, Reason


@dataclass(frozen=True, slots=True)
class Row:
    """least <= sum of coefficient x variable <= most; least equals most or is None."""

    variables: tuple[int, ...]
    coefficients: tuple[int, ...]
    least: int | None
    most: int

    def holds(self, point: Sequence[int]) -> bool:
        """True if a point keeps the row, in exact integers."""
        total = sum(a * point[j] for j, a in zip(self.variables, self.coefficients, strict=True))
        return total <= self.most and (self.least is None or total >= self.least)


@dataclass(frozen=True, slots=True)
class Program:
    """Maximise the sum of value[j] x variable j, each variable a whole number from 0 to upper[j], under all rows."""

    value: tuple[int, ...]
    upper: tuple[int, ...]
    rows: tuple[Row, ...]

    def worth(self, point: Sequence[int]) -> int:
        """The objective of a point, exact."""
        return sum(v * x for v, x in zip(self.value, point, strict=True))

    def trivial_bound(self) -> int:
        """An upper bound that looks at no row."""
        return sum(max(0, v) * u for v, u in zip(self.value, self.upper, strict=True))


@dataclass(frozen=True, slots=True)
class Answer:
    """point: the best found, which keeps all rows exactly, or None. No point is worth more than `bound`.

    reason PROVED with point None: there is no point at all.
    """

    point: tuple[int, ...] | None
    bound: int
    origin: str
    reason: Reason


Maximize = Callable[[Program, Limits, Sequence[int] | None], Answer]
"""Solves a program within limits, from a first point that keeps all rows, if one is known."""
