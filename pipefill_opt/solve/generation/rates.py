"""How much a device is worth a main iteration at most, whatever the number of iterations: a bound by value iteration, without a plan.

T is one main iteration backwards over a table V of positions that goes on by the value of a lap for each lap, on the monotone relaxation
of the device, or on its loose tables where slots couple (`coupled`). A plan that repeats every H iterations goes from s to s plus whole
laps, so that its value is at most H x max(T V - V) and at most H / k x max(T^k V - V); that holds for every H.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from fractions import Fraction
from itertools import accumulate
from typing import Final

import numpy as np

from pipefill_opt.solve.coupled import NEVER, Coupled
from pipefill_opt.solve.device import Chain, DeviceProblem
from pipefill_opt.solve.grid import AXES, MOST_ENTRIES, Grid, fits_digits, grid_size, reaches
from pipefill_opt.solve.monotone import relax
from pipefill_opt.solve.value_iteration_coupled import choices

QUICK: Final = 8
"""Main iterations swept at a first look."""
LONG: Final = 64
"""Main iterations swept at most."""
STILL: Final = Fraction(9999, 10_000)
"""A bound that twice as many sweeps lower by less stays as it is."""
MOST_STEPS: Final = 200_000_000
"""Steps of one sweep, about half a second; devices that need more are left alone."""
LONG_STEPS: Final = 1_000_000_000
"""Steps of all sweeps at most, where they are more than a first look."""


def rate_limit(
    device: DeviceProblem, target: Fraction, ended: Callable[[], object | None], *, quick: bool = False
) -> Fraction | None:
    """A bound on value / H over all H; None where it would take too long. The search stops early once the bound is at most `target`.

    quick: a first look only.
    """
    device = replace(device, iterations=1)
    if not device.repeat or not device.rooms or len(device.slots) > AXES or not fits_digits(device):
        return None
    relaxed = relax(device)
    reach = reaches(relaxed)
    entries, steps = grid_size(device, reach)
    if steps > MOST_STEPS or entries > MOST_ENTRIES:
        return None
    sweeps = QUICK if quick else max(QUICK, min(LONG, LONG_STEPS // max(1, steps)))
    coupled = not relaxed.exact and choices(device) <= MOST_STEPS
    grid = Coupled(device, relaxed, strict=False) if coupled else Grid(relaxed, reach)
    allowed = grid.allowed > 0 if isinstance(grid, Coupled) else np.full(grid.length, True)
    if not allowed.any():
        return Fraction(0)
    lap = tuple(sum(slot.value) for slot in device.slots)
    first = grid.table([_smooth(slot) for slot in device.slots])
    first = last = np.where(allowed, first, NEVER)
    best: Fraction | None = None
    before: Fraction | None = None
    for k in range(1, sweeps + 1):
        swept = grid.sweep(last, lap, lambda: ended() is not None)
        if swept is None:
            break
        gains = (swept - last)[allowed], (swept - first)[allowed]
        found = min(Fraction(int(gains[0].max())), Fraction(int(gains[1].max()), k))
        best = found if best is None else min(best, found)
        last = np.where(allowed, swept, NEVER)
        if best <= target:
            break
        if k & (k - 1) == 0:
            if before is not None and best > before * STILL:
                break
            before = best
    return best


def _smooth(slot: Chain) -> list[int]:
    """By position: the value of a lap in proportion to the time before it, rounded down."""
    total, worth = sum(slot.ticks), sum(slot.value)
    return [worth * elapsed // total for elapsed in accumulate(slot.ticks[:-1], initial=0)]
