"""Prices of job copies, and the bound that they prove: no solver, floats only to find them."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import Final

import numpy as np
from numpy.typing import NDArray

BITS: Final = 40
"""Bits of the largest price; smaller ones have as many after the same point."""
LONG: Final = 32
"""More slots than a device has, about: for the size of float errors."""


@dataclass(frozen=True, slots=True)
class Prices:
    """exact[j] >= 0: the price of a copy of job j. near: the same as floats, not above. most: at least the price of any set, about."""

    exact: tuple[Fraction, ...]
    near: NDArray[np.float64]
    most: float

    @staticmethod
    def rounded(duals: Sequence[float] | NDArray[np.float64]) -> Prices:
        """Prices near these numbers, each a multiple of one power of two; negative ones count as 0."""
        top = max((float(dual) for dual in duals), default=0.0)
        if top <= 0:
            return Prices((Fraction(0),) * len(duals), np.zeros(len(duals)), 0.0)
        unit = Fraction(2) ** (int(np.frexp(top)[1]) - BITS)
        exact = tuple(max(0, round(Fraction(float(dual)) / unit)) * unit for dual in duals)
        near = np.array([float(price) for price in exact])  # exact: BITS bits at most
        return Prices(exact, near, LONG * top)

    def of(self, usage: Mapping[int, int]) -> Fraction:
        """The price of these copies (number by job)."""
        return sum((self.exact[job] * number for job, number in usage.items()), Fraction(0))


def proven_bound(prices: Prices, copies: Sequence[int], counts: Sequence[int], tops: Sequence[Fraction]) -> Fraction:
    """An upper bound on the worth of any choice of devices: each copy sold at its price, each device worth what it can make of the rest.

    counts, tops: by group, its devices, and a proven bound, at least 0, on value - price of any residents. For any prices >= 0 a choice x
    is worth sum x value <= sum x (value - price) + sum of copies x price (Lagrange; the prices need not be optimal).
    """
    sold = sum((price * number for price, number in zip(prices.exact, copies, strict=True)), Fraction(0))
    return sold + sum((count * top for count, top in zip(counts, tops, strict=True)), Fraction(0))
