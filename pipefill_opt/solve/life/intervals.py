"""The interval-indexed linear program for weighted completion: when which part of the copies is worked on, where.

Beside the time of devices it knows that a copy is in one place at a time: on class c it does at most 1 / quick of its work in a unit, so
that the C copies of a job do at most C / quick. That matters where queues are shallow. Its prices, of copies and of a job's presence
in each interval, give a bound that is formed again exactly by `Fluid`: any prices do.
"""

from __future__ import annotations

from fractions import Fraction
from itertools import pairwise
from typing import Final

import numpy as np

from pipefill_opt.solve.life.bounds import PRICE_BITS, Bounds
from pipefill_opt.solve.life.fluid import Fluid, Stream
from pipefill_opt.solve.linear import INFINITE, LinearProgram, LinearStatus, minimize

PARTS: Final = 24
"""Intervals, beside those between release dates."""
MOST_CELLS: Final = 60_000
"""Largest number of (class, job, interval)."""
ORIGIN: Final = "interval-indexed linear program, prices checked exactly"


def edges_of(bounds: Bounds, last: int) -> list[int]:
    """Edges of the intervals: finer at the beginning, with the release dates, up to the horizon."""
    cells = sum(len(bounds.jobs_of(c)) for c in range(len(bounds.counts)))
    parts = max(4, min(PARTS, MOST_CELLS // max(1, cells)))
    inner = {round(last * (k / parts) ** 1.5) for k in range(parts + 1)}
    early = {release for release in bounds.release if release < bounds.horizon}
    return sorted({0, bounds.horizon, *inner, *(early if len(early) <= parts else set())})


def interval_bound(bounds: Bounds, last: int, time: float | None) -> Fraction | None:
    """A lower bound on weighted completion (in units), or None where the program was not solved. last: when most is done."""
    edges = edges_of(bounds, last)
    found = _solve(bounds, edges, time)
    if found is None:
        return None
    prices, presence = found
    return certain(bounds, edges, prices, presence)


def _solve(bounds: Bounds, edges: list[int], time: float | None) -> tuple[list[float], list[list[float]]] | None:
    """Prices of copies, and of a job's presence by interval, in weight units."""
    jobs, classes, parts = len(bounds.copies), len(bounds.counts), len(edges) - 1
    rows: list[int] = []
    columns: list[int] = []
    values: list[float] = []
    cost: list[float] = []
    scale = max(1.0, float(max(bounds.weight, default=1)) * edges[-1])
    for c in range(classes):
        for j, share in bounds.jobs_of(c).items():
            for i in range(parts):
                if edges[i + 1] <= bounds.release[j]:
                    continue
                rows += [j, jobs + c * parts + i, jobs + classes * parts + j * parts + i]
                columns += [len(cost)] * 3
                values += [1.0, float(share.share), float(share.quick)]
                middle = (max(edges[i], bounds.release[j]) + edges[i + 1]) / 2
                cost.append(bounds.weight[j] * (middle + float(share.tail)) / scale)
    length = [float(b - a) for a, b in pairwise(edges)]
    upper = [float(n) for n in bounds.copies]
    upper += [count * size for count in bounds.counts for size in length]
    upper += [float(n) * size for n in bounds.copies for size in length]
    lower = [float(n) for n in bounds.copies] + [-INFINITE] * (classes + jobs) * parts
    found = minimize(
        LinearProgram(cost, rows, columns, values, lower, upper, [0.0] * len(cost), [INFINITE] * len(cost)), time=time
    )
    if found.status is not LinearStatus.OPTIMAL:
        return None
    duals = found.duals * scale
    presence = -np.minimum(duals[jobs + classes * parts :], 0.0).reshape(jobs, parts)
    return duals[:jobs].tolist(), presence.tolist()


def certain(bounds: Bounds, edges: list[int], prices: list[float], presence: list[list[float]]) -> Fraction:
    """The bound at these prices, exact, in units x weight."""
    top = max(1.0, *prices)
    scale = 1 << max(0, min(12, PRICE_BITS - int(np.ceil(np.log2(top)))))
    whole = [
        min(max(0, round(price * scale)), weight * scale * bounds.horizon)
        for price, weight in zip(prices, bounds.weight, strict=True)
    ]
    there = [[max(0, round(price * scale)) for price in row] for row in presence]
    total = Fraction(sum(int(n) * price for n, price in zip(bounds.copies, whole, strict=True)))
    for n, row in zip(bounds.copies, there, strict=True):
        total -= int(n) * sum(price * (b - a) for price, a, b in zip(row, edges[:-1], edges[1:], strict=True))
    for c, count in enumerate(bounds.counts):
        streams = []
        for j, share in bounds.jobs_of(c).items():
            slope = Fraction(bounds.weight[j] * scale)
            for i, (a, b) in enumerate(pairwise(edges)):
                begin = max(a, bounds.release[j])
                if begin < b:
                    cost = slope * share.tail + there[j][i] * share.quick
                    streams.append(Stream(j, begin, b, share.share, cost, slope))
        total -= count * Fluid(streams, edges, len(whole)).certain(whole)
    return total * bounds.unit / scale
