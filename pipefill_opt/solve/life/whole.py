"""What the devices of a class gain at most if each turn holds whole laps of copies that fit beside each other: exact.

At prices of copies and of laps by their number in a turn (`levels`) a turn gains no more than the best mix of laps (`mixes`): one copy or
two of the list, or more, of which a search over sets says the most. What a mix gains falls with the turn along a line, so the best
falls along a convex curve, as long as places keep their prices: between two turns it is no higher than the straight line. All in whole
numbers, rounded up.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction
from itertools import pairwise
from math import ceil, floor
from typing import Any, Final

import numpy as np

from pipefill_opt.fill.problem import Objective
from pipefill_opt.kernels import kernel
from pipefill_opt.solve.life.bounds import Bounds, Floats
from pipefill_opt.solve.life.levels import Duals
from pipefill_opt.solve.life.mixes import FINEST, Ints, Many, Mixes, mixes_of
from pipefill_opt.solve.life.relaxed import Relaxed
from pipefill_opt.solve.life.turns import Turns
from pipefill_opt.solve.watch import Watch

LEVEL_BITS: Final = 12
"""The numbers z of laps are whole multiples of one part in 2**12."""
GAIN_BITS: Final = 52
"""Gains of rows are whole numbers below 2**52: a turn of up to 2**8 copies sums up below 2**60."""
DEPTH: Final = 64
NODES: Final = 200_000
"""Most copies in such a set, and most sets looked at in one turn: beyond, the table alone bounds."""
TURNS: Final = 2048
EDGES: Final = 48
"""Most turns for which the best of one or two copies is found, and of more."""
CLOSE: Final = Fraction(99, 100)
"""Sets of three and more are told apart from this part of the best of two on."""
ORIGIN: Final = "whole laps side by side in every turn, prices checked exactly"


def usable(bounds: Bounds) -> bool:
    """Whether turns hold whole laps, from the beginning on, and copies stay on their devices."""
    problem = bounds.problem
    return (
        problem.objective is Objective.COMPLETION
        and problem.repeat
        and not problem.migrate
        and problem.iterations is not None
        and bounds.shares.unit == problem.period * problem.iterations
        and not any(bounds.release)
    )


def whole_prices(bounds: Bounds, turns: Sequence[Turns], watch: Watch) -> tuple[list[Mixes], Duals] | None:
    """Good prices; None where turns hold too many mixes, or a limit was reached before all were listed."""
    mixes = []
    for own in turns:
        found = mixes_of(own.compiled, own.c, own.length, own.kinds, bounds.jobs_of(own.c))
        if found is None or watch.ended() is not None:
            return None
        mixes.append(found)
    weights = np.array(bounds.weight, dtype=np.float64)
    relaxed = Relaxed(mixes, bounds.counts, bounds.copies, weights, weights * bounds.horizon / 2, bounds.horizon)
    return mixes, relaxed.improve(watch)


def whole_bound(bounds: Bounds, mixes: Sequence[Mixes], duals: Duals, watch: Watch) -> Fraction | None:
    """No plan costs less, in the unit of `Bounds.certain`: exact. None where a limit was reached before that."""
    whole = bounds.whole_prices(duals.prices * float(bounds.unit))
    total = Fraction(sum(int(n) * price for n, price in zip(bounds.copies, whole.whole, strict=True)))
    weights = [weight * whole.scale for weight in bounds.weight]
    places = np.floor(duals.places * whole.scale).astype(np.int64)
    for n, row in zip(bounds.copies, places, strict=True):
        total -= int(n) * sum(int(price) * int(size) for price, size in zip(row, np.diff(duals.edges), strict=True))
    for own, level, count in zip(mixes, duals.levels, bounds.counts, strict=True):
        if watch.ended() is not None:
            return None
        lines = lines_of(own, level, whole.whole, weights)
        total -= count * device_gain(own, lines, places[own.jobs], duals.edges)
    return total * bounds.unit / whole.scale


@dataclass(frozen=True, slots=True, eq=False)
class Lines:
    """By row: in turn u so many laps gain at most (high - fall x u) x unit. end: from this turn on nothing gains."""

    high: Ints
    fall: Ints
    unit: Fraction
    end: int


def lines_of(mixes: Mixes, level: Floats, prices: Sequence[int], weights: Sequence[int]) -> Lines:
    """The lines at these prices and weights of jobs and numbers z of rows; any z will do (`levels`)."""
    high: list[Fraction] = []
    fall: list[Fraction] = []
    for j, wanted, most, first in zip(mixes.jobs, mixes.wanted, mixes.most, mixes.first, strict=True):
        numbers = [round(float(z) * (1 << LEVEL_BITS)) for z in level[first : first + most]]
        spare = Fraction(late(numbers, int(wanted)), int(wanted))
        sum_of = Fraction(0)
        for x, z in enumerate(numbers, start=1):
            sum_of += prices[j] - weights[j] * (Fraction(1, 2) + (z - spare) / (1 << LEVEL_BITS))
            high.append(sum_of / int(wanted))
            fall.append(Fraction(x * weights[j], int(wanted)))
    end = max((ceil(a / b) for a, b in zip(high, fall, strict=True) if a > 0 and b > 0), default=0)
    top = max([Fraction(1), *(abs(a) for a in high), *(b * max(end, 1) for b in fall)])
    bits = GAIN_BITS - ceil(top).bit_length()
    unit = Fraction(1, 1 << bits) if bits >= 0 else Fraction(1 << -bits)
    return Lines(
        np.array([ceil(a / unit) for a in high], dtype=np.int64),
        np.array([floor(b / unit) for b in fall], dtype=np.int64),
        unit,
        end,
    )


def late(numbers: Sequence[int], wanted: int) -> Fraction:
    """The most that the sum of n z - n^2 / 2 can be for whole n with sum `wanted`; z and the answer in parts of 2**LEVEL_BITS.

    One more of a number n gains z - n - 1/2, less and less: so the largest gains are taken, whatever their order.
    """
    one = 1 << LEVEL_BITS
    taken = [max(0, z // one) for z in numbers]
    while sum(taken) > wanted:
        i = min(range(len(taken)), key=lambda i: (numbers[i] - taken[i] * one if taken[i] else max(numbers) + one, i))
        taken[i] -= 1
    while sum(taken) < wanted:
        i = max(range(len(taken)), key=lambda i: (numbers[i] - taken[i] * one, -i))
        taken[i] += 1
    return sum((n * z - Fraction(n * n * one, 2) for n, z in zip(taken, numbers, strict=True)), Fraction(0))


def device_gain(mixes: Mixes, lines: Lines, places: Ints, edges: Ints) -> Fraction:
    """The most that a device of the class gains in all turns. places: what a copy's place costs, by entry and part between edges."""
    if not lines.end:
        return Fraction(0)
    points, size = _points(lines.end, edges)
    part = np.searchsorted(edges, points, side="right") - 1
    most = 1 << GAIN_BITS
    cost = [
        [min(most, price * lines.unit.denominator // lines.unit.numerator) for price in row] for row in places.tolist()
    ]
    place = np.array([[*row, 0] for row in cost], dtype=np.int64)[:, part]
    best = np.zeros(len(points), dtype=np.int64)
    entries = np.stack([mixes.first, mixes.first + mixes.most], axis=1)
    value = np.zeros(len(lines.high), dtype=np.int64)
    kernel(best_of_two, len(points) * len(mixes.pairs))(
        best, points, lines.high, lines.fall, entries, mixes.pairs, place, value
    )
    best = np.maximum(best, _of_many(mixes, lines, points, place, best))
    return Fraction(sum(int(gain) * int(turns) for gain, turns in zip(best, size, strict=True)), 2) * lines.unit


def _points(end: int, edges: Ints) -> tuple[Ints, Ints]:
    """Turns, and how many half turns each stands for: all, or the first and last one of each part, between which gains are convex."""
    if end <= TURNS:
        return np.arange(end, dtype=np.int64), np.full(end, 2, dtype=np.int64)
    marks = [*edges[edges < end].tolist(), end]
    points, size = [], []
    for a, b in pairwise(marks):
        points += [a, b - 1] if b > a + 1 else [a]
        size += [b - a] * 2 if b > a + 1 else [2]
    return np.array(points, dtype=np.int64), np.array(size, dtype=np.int64)


def best_of_two(best: Any, points: Any, high: Any, fall: Any, entries: Any, pairs: Any, place: Any, value: Any) -> None:
    """best[k]: what the best listed mix gains in turn points[k], its places at their prices. value: scratch, by row."""
    for k in range(len(points)):
        for e in range(len(entries)):
            top = 0
            for r in range(entries[e, 0], entries[e, 1]):
                top = max(top, high[r] - fall[r] * points[k] - place[e, k])
                value[r] = top
        top = 0
        for i in range(len(pairs)):
            gain = value[pairs[i, 0]]
            if pairs[i, 1] >= 0:
                gain += value[pairs[i, 1]]
            top = max(top, gain)
        best[k] = top


def _of_many(mixes: Mixes, lines: Lines, points: Ints, place: Ints, best: Ints) -> Ints:
    """By point: three and more copies gain no more in a turn. Where places keep their prices, lines between points bound those between."""
    many = mixes.many
    found = np.zeros(len(points), dtype=np.int64)
    if not len(many.first) or not many.room:
        return found
    news = [0, *(np.flatnonzero((place[:, 1:] != place[:, :-1]).any(axis=0)) + 1).tolist(), len(points)]
    for first, end in pairwise(news):
        number = min(end - first, 2 + EDGES * (end - first) // len(points))
        edges = np.unique(np.linspace(first, end - 1, number).astype(np.int64)).tolist()
        for k in edges:
            values = _values(mixes, lines, int(points[k]), place[:, k])
            found[k] = most_of_many(many, values, int(best[k] * CLOSE))
        for a, b in pairwise(edges):
            low, high, x, y = int(found[a]), int(found[b]), int(points[a]), int(points[b])
            for k in range(a + 1, b):
                u = int(points[k])
                found[k] = -(-(low * (y - u) + high * (u - x)) // (y - x))
    return found


def _values(mixes: Mixes, lines: Lines, turn: int, place: Ints) -> Ints:
    """By row: what so many laps, or fewer, gain in a turn."""
    values = lines.high - lines.fall * turn
    for first, most, cost in zip(mixes.first, mixes.most, place, strict=True):
        values[first : first + most] = np.maximum.accumulate(np.maximum(values[first : first + most] - cost, 0))
    return values


def most_of_many(many: Many, value: Ints, known: int) -> int:
    """The most that three and more copies gain, or `known`, if that is more. value: by row, rising within an entry."""
    if many.apart:
        each = [
            [
                value[f + min(m, room // t) - 1]
                for f, m, t in zip(many.first, many.most, many.ticks, strict=True)
                if room >= t
            ]
            for room in many.apart
        ]
        known = max(known, sum(int(max(own, default=0)) for own in each))
    size = many.ticks * FINEST // many.room
    table = np.zeros((len(size) + 1, FINEST + 1), dtype=np.int64)
    kernel(fill_table, int(many.most.sum()) * FINEST)(table, size, many.most, many.first, many.again, value)
    stack = np.zeros((DEPTH, 6), dtype=np.int64)
    best = kernel(search_sets, NODES)(
        known,
        table,
        value,
        many.first,
        many.most,
        many.ticks,
        many.stays,
        many.cap,
        many.again,
        many.room,
        many.between,
        many.free,
        stack,
        NODES,
    )
    return int(best)


def fill_table(table: Any, size: Any, most: Any, first: Any, again: Any, value: Any) -> None:
    """table[k, s]: the most that laps of kinds k, k + 1, ... of total size s are worth, whoever fits in memory."""
    for k in range(len(size) - 1, -1, -1):
        for s in range(1, table.shape[1]):
            top = max(table[k + 1, s], table[k, s - 1])
            for x in range(1, min(most[k], s // size[k]) + 1):
                top = max(top, table[k + 1 - again[k], s - x * size[k]] + value[first[k] + x - 1])
            table[k, s] = top


def search_sets(
    known: int,
    table: Any,
    value: Any,
    first: Any,
    most: Any,
    ticks: Any,
    stays: Any,
    cap: Any,
    again: Any,
    room: int,
    between: int,
    free: int,
    stack: Any,
    nodes: int,
) -> int:
    """The most that three and more copies gain together, or `known`. stack[d]: kind and laps to try next, ticks left, bytes held and
    allowed, worth so far."""
    best = known
    parts = table.shape[1] - 1
    depth = 0
    stack[0, 0], stack[0, 1], stack[0, 2] = 0, 1, room
    stack[0, 3], stack[0, 4], stack[0, 5] = 0, 1 << 62, 0
    while depth >= 0:
        k, x, left = stack[depth, 0], stack[depth, 1], stack[depth, 2]
        if k == len(ticks) or stack[depth, 5] + table[k, left * parts // room] <= best:
            depth -= 1
            continue
        if depth >= free:
            left -= between
        held, allowed = stack[depth, 3] + stays[k], min(stack[depth, 4], cap[k])
        if held > allowed or x > most[k] or x * ticks[k] > left:
            stack[depth, 0], stack[depth, 1] = k + 1, 1
            continue
        stack[depth, 1] = x + 1
        worth = stack[depth, 5] + value[first[k] + x - 1]
        if depth >= 2 and worth > best:
            best = worth
        left -= x * ticks[k]
        if worth + table[k + 1 - again[k], left * parts // room] <= best:
            continue
        nodes -= 1
        depth += 1
        if nodes < 0 or depth == len(stack):
            return int(max(best, table[0, parts]))
        stack[depth, 0], stack[depth, 1], stack[depth, 2] = k + 1 - again[k], 1, left
        stack[depth, 3], stack[depth, 4], stack[depth, 5] = held, allowed, worth
    return int(best)
