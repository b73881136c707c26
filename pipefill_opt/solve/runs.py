"""All runs of consecutive operators of one slot: from every position, as far as a room lets it go."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import accumulate

import numpy as np

from pipefill_opt.solve.device import Chain
from pipefill_opt.solve.stairs import Index, Numbers


@dataclass(frozen=True, slots=True)
class Runs:
    """By run: the position it begins at, the one it ends at (laps counted on), its ticks with the slot's transfers."""

    first: Index
    last: Index
    ticks: Index


def runs_of(slot: Chain, counts: Sequence[int], most: int, *, repeat: bool) -> Runs:
    """The runs of at most counts[p] operators from position p that take at most `most` ticks."""
    n = slot.length
    number = np.array(counts, dtype=np.int64)
    first = np.repeat(np.arange(n), number)
    begin = np.repeat(np.cumsum(number) - number, number)
    last = first + np.arange(len(first)) - begin + 1
    elapsed = along(list(accumulate(slot.ticks, initial=0)), int(last.max(initial=n)), np.int64)
    begins = slot.move_in[0] if repeat else min(slot.move_in[0], slot.move_in_fresh)
    into = np.array((begins, *slot.move_in[1:]), dtype=np.int64)
    out = np.array(slot.move_out, dtype=np.int64)
    ticks = elapsed[last] - elapsed[first] + into[first] + out[last % n]
    fits = np.flatnonzero(ticks <= most)
    return Runs(first[fits], last[fits], ticks[fits])


def along(lap: Sequence[int], last: int, kind: type) -> Numbers:
    """A sum along the chain for positions 0 to `last`, from its values lap[0] = 0 to lap[n] on the first lap."""
    once: Numbers = np.array(lap, dtype=kind)
    n = len(lap) - 1
    position = np.arange(last + 1)
    whole: Numbers = once[position % n] + (position // n).astype(kind) * once[n]
    return whole
