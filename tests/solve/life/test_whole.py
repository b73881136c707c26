"""Bounds by whole laps side by side in every turn, at all kinds of prices, against exhaustive search."""

from __future__ import annotations

import random
from fractions import Fraction
from itertools import product

import numpy as np
import pytest

from pipefill_opt.fill.problem import Objective
from pipefill_opt.solve.device import compile_problem
from pipefill_opt.solve.life.bounds import Bounds
from pipefill_opt.solve.life.levels import Duals
from pipefill_opt.solve.life.mixes import Many, Mixes, mixes_of
from pipefill_opt.solve.life.relaxed import Relaxed
from pipefill_opt.solve.life.shares import shares
from pipefill_opt.solve.life.turns import Turns
from pipefill_opt.solve.life.whole import (
    LEVEL_BITS,
    device_gain,
    late,
    lines_of,
    most_of_many,
    usable,
    whole_bound,
    whole_prices,
)
from pipefill_opt.solve.result import Limits
from pipefill_opt.solve.watch import Watch
from tests.solve.life.brute_force import optimum
from tests.solve.life.instances import crowd, tiny
from tests.solve.life.test_search import HORIZON, SLOW

WATCH = Watch(Limits())
SLOW_CROWDS = {8, 14, 25, 44, 48, 54, 63}
"""Seeds for which the exhaustive search takes long."""


def test_no_prices_prove_more_than_the_optimum() -> None:
    cases = [(tiny(s, Objective.COMPLETION), 3 * HORIZON) for s in range(75) if s not in SLOW[Objective.COMPLETION]]
    cases += [(crowd(seed), 3 * HORIZON) for seed in range(80) if seed not in SLOW_CROWDS]
    checked = tighter = near = shared = 0
    for number, (problem, horizon) in enumerate(cases):
        if not problem.repeat or problem.iterations is None:
            continue
        compiled, length = compile_problem(problem), problem.iterations
        found = shares(compiled, range(length, length + 1), tuple(j.iterations for j in problem.jobs))
        bounds = Bounds(problem, found, horizon)
        if not usable(bounds) or any(not any(j in of for of in found.of) for j in range(len(problem.jobs))):
            continue
        best = optimum(problem, HORIZON)
        if best is None:
            continue
        turns = [Turns(compiled, c, length, WATCH) for c in range(len(problem.devices))]
        weights = np.array([float(job.weight) for job in problem.jobs])
        good = whole_prices(bounds, turns, WATCH)
        assert good is not None
        mixes, duals = good
        rng = random.Random(number)
        for k in range(5):
            tried = duals if k == 0 else _any_duals(rng, weights, mixes)
            least = whole_bound(bounds, mixes, tried, WATCH)
            assert least is not None
            assert least * found.unit <= best
            checked += 1
            tighter += k == 0 and least > bounds.certain(duals.prices * float(bounds.unit))
            near += least * found.unit > best * Fraction(9, 10)
            shared += k == 0 and any((own.pairs[:, 1] >= 0).any() for own in mixes)
    assert checked > 250
    assert tighter > 20
    assert near > 5
    assert shared > 20


def _any_duals(rng: random.Random, weights: np.ndarray, mixes: list[Mixes]) -> Duals:
    prices = np.array([weight * rng.uniform(0.5, HORIZON + 1) for weight in weights])
    levels = tuple(np.array([rng.uniform(0, 4) for _ in range(int(own.most.sum()))]) for own in mixes)
    edges = np.array([0, 1, 2, 5, 3 * HORIZON])
    places = np.array([[weight * rng.choice((0, 0, rng.uniform(0, 1))) for _ in range(4)] for weight in weights])
    return Duals(prices, places, edges, levels, 0.0)


def test_numbers_of_laps_that_cost_most() -> None:
    rng = random.Random(5)
    one = 1 << LEVEL_BITS
    for _ in range(60):
        wanted, numbers = rng.randint(1, 7), [rng.randint(0, 5 * one) for _ in range(rng.randint(1, 3))]
        every = [n for n in product(range(wanted + 1), repeat=len(numbers)) if sum(n) == wanted]
        most = max(sum(k * z - Fraction(k * k * one, 2) for k, z in zip(n, numbers, strict=True)) for n in every)
        assert late(numbers, wanted) == most


def test_a_copy_completes_so_much_after_the_mean_time_of_its_laps() -> None:
    rng = random.Random(6)
    for _ in range(300):
        laps = [rng.randint(0, 4) for _ in range(rng.randint(1, 8))]
        laps += [rng.randint(1, 4)]
        wanted = sum(laps)
        mean = sum(x * (u + Fraction(1, 2)) for u, x in enumerate(laps)) / wanted
        numbers = [sum(x >= i for x in laps) for i in range(1, 5)]
        assert len(laps) - mean >= Fraction(sum(n * n for n in numbers), 2 * wanted)
        levels = [rng.randint(0, 8 << LEVEL_BITS) for _ in range(4)]
        cost = sum(sum(levels[:x]) for x in laps) - late(levels, wanted)
        assert len(laps) - mean >= cost / wanted / (1 << LEVEL_BITS)


@pytest.mark.parametrize("seed", range(6))
def test_a_turn_gains_no_more_than_all_sets_say(seed: int) -> None:
    """Three and more residents, gone through one by one; gains of a device against the sum of its turns."""
    problem = crowd(seed, kinds=4)
    compiled = compile_problem(problem)
    found = shares(compiled, range(1, 2), tuple(j.iterations for j in problem.jobs))
    own = Turns(compiled, 0, 1, WATCH)
    mixes = mixes_of(compiled, 0, 1, own.kinds, found.of[0])
    assert mixes is not None
    rng = random.Random(seed)
    level = np.array([rng.uniform(0, 4) for _ in range(int(mixes.most.sum()))])
    prices = [rng.randint(1, 40) for _ in problem.jobs]
    lines = lines_of(mixes, level, prices, [1] * len(prices))
    edges = np.array([0, 2, 3, 9])
    places = np.array([[rng.choice((0, 0, 1, 3)) for _ in range(3)] for _ in mixes.jobs])
    total = Fraction(0)
    for turn in range(lines.end):
        value = lines.high - lines.fall * turn
        part = sum(turn >= edge for edge in edges.tolist()) - 1
        for first, most, cost in zip(mixes.first, mixes.most, places, strict=True):
            own = value[first : first + most] - (int(cost[part] / lines.unit) if part < 3 else 0)
            value[first : first + most] = np.maximum.accumulate(np.maximum(own, 0))
        by_hand = _sets(mixes.many, value)
        assert most_of_many(mixes.many, value, 0) >= by_hand
        pairs = max(int(value[a]) + (int(value[b]) if b >= 0 else 0) for a, b in mixes.pairs)
        total += max(by_hand, pairs) * lines.unit
    gain = device_gain(mixes, lines, places, edges)
    assert total <= gain <= total * Fraction(6, 5)


def _sets(many: Many, value: np.ndarray) -> int:
    """The best of three and more kinds that fit together, with one change in a turn."""
    best = 0
    copies = [k for k in range(len(many.first)) for _ in range(1 + int(many.again[k]))]
    for laps in product(*(range(int(many.most[k]) + 1) for k in copies)):
        there = [k for k, number in zip(copies, laps, strict=True) if number]
        stays = sum(int(many.stays[k]) for k in there)
        if len(there) < 3 or any(stays > many.cap[k] for k in there):
            continue
        changes = many.between * max(0, len(there) - many.free)
        done = [(k, number) for k, number in zip(copies, laps, strict=True) if number]
        if sum(number * int(many.ticks[k]) for k, number in done) + changes <= many.room:
            best = max(best, sum(int(value[many.first[k] + number - 1]) for k, number in done))
    return best


def test_prices_and_the_relaxed_plan_meet() -> None:
    problem = crowd(3, kinds=4)
    compiled = compile_problem(problem)
    found = shares(compiled, range(1, 2), tuple(j.iterations for j in problem.jobs))
    turns = [Turns(compiled, c, 1, WATCH) for c in range(len(problem.devices))]
    mixes = [mixes_of(compiled, c, 1, own.kinds, found.of[c]) for c, own in enumerate(turns)]
    known = [own for own in mixes if own is not None]
    weights = np.array([float(job.weight) for job in problem.jobs])
    copies = np.array([float(job.copies) for job in problem.jobs])
    relaxed = Relaxed(known, [d.count for d in problem.devices], copies, weights, weights * 6, 40)
    duals = relaxed.improve(WATCH)
    assert duals.bound > 0
    assert duals.bound <= relaxed.cost() <= duals.bound * 1.05
    assert relaxed.job[:, 5] == pytest.approx(copies, rel=0.05)
