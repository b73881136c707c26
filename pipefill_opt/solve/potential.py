"""Potentials: a worth V of positions, T V, and what they say of plans that repeat, for weights w of laps (their values, or any others).

V goes on by w[s] for a lap of slot s. A plan over H main iterations passes q_0, q_1, .., q_H = q_0 + its laps, and gains
V(q_j) - V(q_(j-1)) in iteration j, its weighted laps X in all. It may as well begin with any of its iterations. With one of them (the one
after which the sum of gains - X / H is least) all its sums are as good as the mean:
    V(q_j) - V(q_0) >= j X / H for every j.
Begun so, (T^j V - V)(q_0) >= j X / H. Only such beginnings need be searched: X is at most the largest, over starts, of the least H / j x
(T^j V - V), and what is reached in iteration j counts only if it can have V(q_0) + j X / H at its end.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from itertools import accumulate
from typing import Final

import numpy as np

from pipefill_opt.solve.device import Chain
from pipefill_opt.solve.grid import Grid, Point, Table
from pipefill_opt.solve.monotone import Relaxed

MOST_STEPS: Final = 800
"""Rooms walked through, about, for the laps that a potential leads to."""
LEAST_TURNS: Final = 1
MOST_TURNS: Final = 40


@dataclass(frozen=True, slots=True)
class Potential:
    """worth: V. limit: by start, weighted laps of H iterations at most, of a plan that begins there as the module says; whole: of any
    plan from there."""

    weights: tuple[int, ...]
    worth: Table
    limit: Table
    whole: Table

    @property
    def bound(self) -> int:
        """No plan of H iterations has more weighted laps."""
        return int(self.limit.max())


def potential(
    grid: Grid,
    iterations: int,
    weights: tuple[int, ...],
    stopped: Callable[[], bool],
    *,
    sweeps: int,
    near: Potential | None = None,
) -> Potential | None:
    """From worths in proportion to time, or those of a potential of weights nearby, after `sweeps` of them; then those that count.

    grid: of one main iteration. None if `stopped` says so before its end.
    """
    old = (0,) * len(weights) if near is None else near.weights
    more = [smooth_values(slot, a - b) for slot, a, b in zip(grid.device.slots, weights, old, strict=True)]
    worth = grid.table(more)
    if near is not None:
        worth = _rising(near.worth + worth, (0,) * grid.pad + weights)
    for _ in range(sweeps):
        swept = grid.sweep(worth, weights, stopped)
        if swept is None:
            return None
        worth = swept
    last, limit = worth, None
    small = iterations * sum(weights) < 2**60  # else only whole plans, that no product leaves 64 bits
    for j in range(1, iterations + 1):
        swept = grid.sweep(last, weights, stopped)
        if swept is None:
            return None
        last = swept
        if small or j == iterations:
            whole, rest = np.divmod(last - worth, j)
            found = whole * iterations + rest * iterations // j
            limit = found if limit is None else np.minimum(limit, found)
    assert limit is not None
    return Potential(weights, worth, limit, last - worth)


def _rising(worth: Table, laps: Sequence[int]) -> Table:
    """The least table above this one that does not fall when a position rises."""
    for axis, lap in enumerate(laps):
        two = np.concatenate([worth - lap, worth], axis=axis)
        worth = np.split(np.maximum.accumulate(two, axis=axis), 2, axis=axis)[1]
    return np.ascontiguousarray(worth)


def smooth_values(slot: Chain, lap: int) -> list[int]:
    """By position: the value `lap` of a lap in proportion to the time before it, rounded down."""
    total = sum(slot.ticks)
    return [lap * elapsed // total for elapsed in accumulate(slot.ticks[:-1], initial=0)]


def one_turn(relaxed: Relaxed) -> Relaxed:
    """The same for one main iteration."""
    return replace(relaxed, device=replace(relaxed.device, iterations=1))


def laps_led_to(grid: Grid, found: Potential, hopes: Table) -> list[float]:
    """By slot: laps a main iteration of the plan that does what is best by `hopes` (V before each room), after some iterations."""
    at: Point = tuple(int(k) for k in np.unravel_index(int(found.limit.argmax()), found.limit.shape))
    turns = max(LEAST_TURNS, min(MOST_TURNS, MOST_STEPS // max(1, len(grid.rooms))))
    passed = [at]
    for _ in range(turns):
        for t, room in enumerate(grid.rooms):
            at = grid.onwards(room, hopes[t + 1], found.weights, at)
        passed.append(at)
    middle = turns // 4
    return [
        (there - here) / n / (turns - middle)
        for here, there, n in zip(passed[middle], passed[-1], grid.length, strict=True)
    ][grid.pad :]


def thresholds(least: int, iterations: int, rooms: int) -> Sequence[int]:
    """By room of H iterations: gain of V up to the end of its iteration, at the least, of a plan of `least` weighted laps."""
    return [-(-(j + 1) * least // iterations) for j in range(iterations) for _ in range(rooms)]
