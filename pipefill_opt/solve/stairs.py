"""What fits into a stretch of time: (ticks, value) pairs of which none is beaten, and how two such lists join.

All of it is exact, or rounded to the safe side: a thinned list offers more value for less time, never the reverse.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Final

import numpy as np
from numpy.typing import NDArray

from pipefill_opt.kernels import kernel

Index = NDArray[np.int64]
Numbers = NDArray[Any]
"""int64, or Python integers in an object array where int64 might overflow."""
THICK: Final = 1_000
"""Longest lists that are joined as they are, if not told otherwise; longer ones are thinned."""


@dataclass(frozen=True, slots=True)
class Stairs:
    """ticks and value, both strictly ascending, beginning with (0, 0): standing still. source[k]: what step k stands for, -1: nothing."""

    ticks: Index
    value: Numbers
    source: Index

    def at(self, net: Index) -> Index:
        """By net ticks (0 or more each): the best step that fits."""
        place: Index = np.searchsorted(self.ticks, net, side="right") - 1
        return place


def stairs(ticks: Index, value: Numbers, source: Index | None = None) -> Stairs:
    """The steps that matter of a list of choices; doing nothing is one of them. source: by choice, default its index."""
    order = np.lexsort((-value, ticks)) if value.dtype != object else _order(ticks, value)
    best = np.maximum.accumulate(np.concatenate([_zero(value), value[order]]))
    rising = np.flatnonzero(best[1:] > best[:-1])
    chosen = order[rising]
    own = chosen if source is None else source[chosen]
    return Stairs(
        np.concatenate([np.zeros(1, dtype=np.int64), ticks[chosen]]),
        np.concatenate([_zero(value), value[chosen]]),
        np.concatenate([np.full(1, -1, dtype=np.int64), own.astype(np.int64)]),
    )


def joined(a: Stairs, b: Stairs, extra: int, most: int, thick: int = THICK) -> Stairs:
    """What a step of each list is worth together: `extra` ticks more if both do something; nothing above `most` ticks.

    Lists of more than `thick` steps are thinned first. source: index in a x length of b + index in b, as they are after thinning.
    """
    a, b = thinned(a, most, thick), thinned(b, most, thick)
    both = (a.ticks > 0)[:, None] & (b.ticks > 0)[None, :]
    ticks = (a.ticks[:, None] + b.ticks[None, :] + extra * both).ravel()
    value = (a.value[:, None] + b.value[None, :]).ravel()
    fits = np.flatnonzero(ticks <= most)
    return stairs(ticks[fits], value[fits], fits)


def thinned(whole: Stairs, most: int, thick: int) -> Stairs:
    """At most about `thick` steps: of those close together the least ticks with the largest value, so that nothing gets worth less."""
    if len(whole.ticks) <= thick:
        return whole
    ticks, value, source = whole.ticks[1:], whole.value[1:], whole.source[1:]
    cell = ticks // max(1, most // thick)
    first = np.flatnonzero(np.concatenate([[True], cell[1:] != cell[:-1]]))
    last = np.append(first[1:] - 1, len(cell) - 1)
    return Stairs(
        np.concatenate([whole.ticks[:1], ticks[first]]),
        np.concatenate([whole.value[:1], value[last]]),
        np.concatenate([whole.source[:1], source[last]]),
    )


def best_pairs(a: Stairs, b: Stairs, nets: Index) -> tuple[Numbers, Index, Index]:
    """By net ticks: the most that a step of `a` and a step of `b` are worth that fit together, and which ones. Negative nets: -1."""
    value = np.full(len(nets), -1, dtype=a.value.dtype)
    left, right = np.zeros(len(nets), dtype=np.int64), np.zeros(len(nets), dtype=np.int64)
    plain = a.value.dtype == object
    run: Any = two_pointers if plain else kernel(two_pointers, len(nets) * (len(a.ticks) + len(b.ticks)))
    run(a.ticks, a.value, b.ticks, b.value, nets, value, left, right)
    return value, left, right


def two_pointers(
    ticks_a: Any, value_a: Any, ticks_b: Any, value_b: Any, nets: Any, value: Any, left: Any, right: Any
) -> None:
    """The compiled heart of `best_pairs`."""
    for k in range(len(nets)):
        j = len(ticks_b) - 1
        for i in range(len(ticks_a)):
            room = nets[k] - ticks_a[i]
            if room < 0:
                break
            while ticks_b[j] > room:
                j -= 1
            found = value_a[i] + value_b[j]
            if found > value[k]:
                value[k] = found
                left[k] = i
                right[k] = j


def _zero(value: Numbers) -> Numbers:
    return np.zeros(1, dtype=value.dtype)


def _order(ticks: Sequence[int] | Index, value: Numbers) -> Index:
    """Sorted by ticks, the larger value first, for Python integers."""
    return np.array(sorted(range(len(ticks)), key=lambda k: (int(ticks[k]), -value[k])), dtype=np.int64)
