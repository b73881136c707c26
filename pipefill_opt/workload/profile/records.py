"""What a profile measured of a module: operators with all samples, one configuration for each batch size."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction
from statistics import median, median_high


@dataclass(frozen=True, slots=True)
class Operator:
    """One part of an iteration. ns, bytes.

    `times` were measured in whole iterations, `replayed` with a stop after each operator. `memory` is the most in use while it
    runs, `carry` what is in use after it, both beyond the resident bytes.
    """

    name: str
    times: tuple[int, ...]
    replayed: tuple[int, ...]
    memory: int
    carry: int
    flops: int

    @property
    def duration(self) -> int:
        """The median; at least 1, as an operator of a fill job must take time."""
        return max(1, median_high(self.times))

    @property
    def replay_error(self) -> Fraction:
        """|replayed / measured - 1| of the medians."""
        return abs(Fraction(median_high(self.replayed), self.duration) - 1)


@dataclass(frozen=True, slots=True)
class Configuration:
    """A batch size: resident bytes, operators in order, ns to hand over from the main work to the job and back."""

    batch: int
    resident: int
    operators: tuple[Operator, ...]
    handover: int

    @property
    def duration(self) -> int:
        """ns of an iteration."""
        return sum(operator.duration for operator in self.operators)

    @property
    def replay_error(self) -> Fraction:
        """The median of its operators'."""
        return median_of([operator.replay_error for operator in self.operators])


@dataclass(frozen=True, slots=True)
class Profile:
    """All configurations of a module, and where and how they were measured."""

    name: str
    kind: str
    device: str
    version: str
    memory_source: str
    configurations: tuple[Configuration, ...]


def median_of(values: Sequence[Fraction]) -> Fraction:
    """The exact median."""
    return Fraction(median(values))
