"""Numbers of copies by job as one array, and devices that share them out: exact, by dynamic programming over all numbers."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from math import prod
from typing import Final

import numpy as np
from numpy.typing import NDArray

Ints = NDArray[np.int64]
NEVER: Final = 2**60
"""Costs that cannot be; real ones are far below."""


class Lattice:
    """All numbers from none to `copies`. counts[i]: those of number i; strides: by job."""

    def __init__(self, copies: Sequence[int]) -> None:
        self.copies = tuple(copies)
        self.shape = tuple(n + 1 for n in copies)
        self.size = prod(self.shape)
        self.strides = [prod(self.shape[j + 1 :]) for j in range(len(copies))]
        self.counts: Ints = np.stack(np.unravel_index(np.arange(self.size), self.shape), axis=1).astype(np.int64)
        total = self.counts.sum(axis=1)
        self._levels = [np.flatnonzero(total == n) for n in range(int(total.max(initial=0)) + 1)]

    def levels(self) -> Iterator[Ints]:
        """The numbers by their sum, the smallest first, without none."""
        yield from self._levels[1:]

    def shared(self, before: Ints, cost: Ints, *, most: bool) -> Ints:
        """Least costs with one device more. before: by numbers, without it; cost: its own. most: the larger of both counts, not the sum."""
        after = np.full(self.shape, NEVER, dtype=np.int64)
        old = before.reshape(self.shape)
        for i in np.flatnonzero(cost < NEVER).tolist():
            own = self.counts[i]
            into = after[tuple(slice(int(n), None) for n in own)]
            left = old[tuple(slice(None, int(size - n)) for size, n in zip(self.shape, own, strict=True))]
            np.minimum(into, np.maximum(left, cost[i]) if most else left + cost[i], out=into)
        return np.minimum(after, NEVER).ravel()

    def share(self, costs: Sequence[Ints], wanted: int, *, most: bool) -> tuple[int, list[int]]:
        """(least cost, numbers of each device) with which the devices take exactly `wanted` together. costs: one array a device."""
        layers = [np.full(self.size, NEVER, dtype=np.int64)]
        layers[0][0] = 0
        for k, cost in enumerate(costs):
            layers.append(self.shared(layers[k], cost, most=most))
        chosen = []
        left = wanted
        if layers[-1][wanted] >= NEVER:
            return NEVER, []
        for k in range(len(costs) - 1, -1, -1):
            inside = np.flatnonzero((self.counts <= self.counts[left]).all(axis=1))
            before = layers[k][left - inside]
            total = np.maximum(before, costs[k][inside]) if most else before + costs[k][inside]
            best = int(inside[int(np.minimum(total, NEVER).argmin())])
            chosen.append(best)
            left -= best
        chosen.reverse()
        return int(layers[-1][wanted]), chosen
