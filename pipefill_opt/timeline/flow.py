"""`flow` boundary: iterations follow each other on every device without a barrier. Exact steady period and earliest 1-periodic schedule.

The last action of a device is followed by its first one of the next iteration. In the long run an iteration takes T, the maximum over
all cycles through such borders of (ticks around the cycle / borders crossed). With T known, the earliest schedule that repeats every T
ticks starts each action at the longest way to it from the beginnings of all devices at 0, each border counted with -T.

Both are found together, in units in which T is whole: ways are lengthened over one border more in each round, as in Bellman and Ford's
algorithm, with T too small until a cycle shows up that is longer than T times its borders; that cycle gives the next T. The end proves
T: the ready times found are potentials under which no cycle is longer, and T is the mean of a cycle.
"""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction

import numpy as np

from pipefill_opt.errors import InputError
from pipefill_opt.kernels import kernel
from pipefill_opt.schedule.precedence import Precedence
from pipefill_opt.schedule.schedule import Int32, Int64
from pipefill_opt.timeline.longest_path import longest_path

_LARGEST = 2**62


@dataclass(frozen=True, slots=True, eq=False)
class Steady:
    """The earliest 1-periodic schedule in units of 1 / scale tick: `period`, and start: int64[n] of iteration 0, 0 or later.

    Iteration i runs i x period later. A device's own row takes no longer than the period, but may pass it.
    """

    scale: int
    period: int
    start: Int64


def steady(precedence: Precedence, duration: Int64, lag: Int64) -> Steady:
    """Period and starts; arguments as in `longest_path`. Raises InputError if the times do not fit 64 bits in such units."""
    schedule = precedence.schedule
    rows = np.flatnonzero(np.diff(schedule.row_start) > 0)
    ends = schedule.row_start[rows + 1] - 1
    number = np.cumsum(np.diff(schedule.row_start) > 0) - 1
    row = number[schedule.device()].astype(np.int32)
    period = Fraction(0)
    longest = int((longest_path(precedence, duration, lag) + duration).max(initial=0)) * len(rows)
    while True:
        if longest * period.denominator >= _LARGEST:
            raise InputError(
                f"expected shorter times: in units of 1/{period.denominator} ns they do not fit 64 bits",
                where="durations",
            )
        found = _round(precedence, duration * period.denominator, lag * period.denominator, row, ends, period)
        if isinstance(found, Steady):
            return found
        period = found


def _round(
    precedence: Precedence, duration: Int64, lag: Int64, row: Int32, ends: Int64, period: Fraction
) -> Steady | Fraction:
    """The schedule for a period, all in its units, or the mean of a cycle that is longer than the period allows.

    row: int32[n], number of each action's row among those with actions. ends: int64[rows], the last action of each.
    """
    ready, parent, weight = (np.full(len(ends), value, dtype=np.int64) for value in (0, -1, 0))
    reach = kernel(_reach, len(duration))
    while True:
        end, origin = reach(precedence.order, precedence.first, precedence.pred, row, duration, lag, ready)
        again = end[ends] - period.numerator
        late = np.flatnonzero(again > ready)
        if not len(late):
            return Steady(period.denominator, period.numerator, end - duration)
        source = origin[ends[late]]
        parent[late] = source
        weight[late] = end[ends[late]] - ready[source]
        ready[late] = again[late]
        cycle = _heaviest_cycle(parent.tolist(), weight.tolist())
        if cycle is not None:
            return cycle / period.denominator


def _heaviest_cycle(parent: list[int], weight: list[int]) -> Fraction | None:
    """The largest mean weight of a cycle in a graph where each node has at most one parent (-1: none)."""
    best = None
    seen = [-1] * len(parent)
    for root in range(len(parent)):
        node = root
        while node >= 0 and seen[node] < 0:
            seen[node] = root
            node = parent[node]
        if node < 0 or seen[node] != root:
            continue
        total, length, at = weight[node], 1, parent[node]
        while at != node:
            total, length, at = total + weight[at], length + 1, parent[at]
        mean = Fraction(total, length)
        best = mean if best is None else max(best, mean)
    return best


def _reach(
    order: Int32, first: Int64, pred: Int32, row: Int32, duration: Int64, lag: Int64, ready: Int64
) -> tuple[Int64, Int32]:
    """Kernel: ends of all actions with each row ready at its time, int64[n], and the row whose readiness decides each, int32[n]."""
    end = np.empty(len(order), dtype=np.int64)
    origin = np.empty(len(order), dtype=np.int32)
    for action in order:
        start, source = np.int64(0), row[action]
        if action == 0 or row[action - 1] != row[action]:
            start = ready[row[action]]
        for edge in range(first[action], first[action + 1]):
            arrival = end[pred[edge]] + lag[edge]
            if arrival > start:
                start, source = arrival, origin[pred[edge]]
        end[action] = start + duration[action]
        origin[action] = source
    return end, origin
