"""Two copies side by side, and relays: against exhaustive search, and certified."""

from __future__ import annotations

import random
from dataclasses import replace
from functools import cache
from itertools import product
from math import inf

import numpy as np
import pytest
from numpy.typing import NDArray

from pipefill_opt.fill.certify import certify
from pipefill_opt.fill.problem import FillBubble, FillProblem, Objective
from pipefill_opt.solve.device import compile_problem
from pipefill_opt.solve.life.pairs import Pair
from pipefill_opt.solve.life.phases import plan_of
from pipefill_opt.solve.life.relay import Relay
from pipefill_opt.solve.life.shop import Lives, Piece, Shop, open_shop, used
from tests.solve.life.instances import tiny

Floats = NDArray[np.float64]
Ints = NDArray[np.int64]


def shop_of(seed: int, *, most: int = 40, copies: int = 3) -> Shop:
    """Several jobs with carried bytes that share one device; bubbles of up to `most` ticks."""
    rng = random.Random(f"relay-{seed}")
    problem = tiny(seed, Objective.MAKESPAN)
    bubbles = tuple(
        FillBubble(start=50 * b, length=rng.randint(8, most), free=rng.choice((9, 14, 30)), kind="inner")
        for b in range(2)
    )
    jobs = tuple(
        replace(job, release=0, copies=copies, devices=("a",), keep=True, iterations=rng.randint(1, 30))
        for job in problem.jobs
    )
    device = replace(problem.devices[0], name="a", count=1, resident_free=rng.choice((5, 8, 12)), bubbles=bubbles)
    length = rng.choice((1, 2))
    problem = replace(problem, repeat=True, iterations=length, devices=(device,), jobs=jobs)
    return open_shop(compile_problem(problem), length)


def runs_of(problem: FillProblem, pair: Pair, a: int) -> int:
    """Laps of the second slot beside `a` of the first: every split of the first one's operators, operator by operator."""
    device = pair.first.device
    own, other = device.slots[0], pair.second.device.slots[0]
    between = problem.switch.between
    assert isinstance(between, int)
    rooms = device.rooms * device.iterations
    best = -1
    most = a * own.length
    for split in product(range(most + 1), repeat=len(rooms)):
        if sum(split) != most:
            continue
        p, q, fits = pair.first.start, 0, True
        for room, count in zip(rooms, split, strict=True):
            left = room.usable - device.enter - device.leave
            held = own.resident + other.resident
            for _ in range(count):
                fits = fits and held + max(other.carry) + own.memory[p % own.length] <= room.free
                left -= own.ticks[p % own.length]
                p += 1
            fits = fits and left >= 0
            left -= between if count else 0
            while True:
                k = (pair.second.start + q) % other.length
                if other.ticks[k] > left or held + max(own.carry) + other.memory[k] > room.free:
                    break
                left -= other.ticks[k]
                q += 1
        if fits:
            best = max(best, q // other.length)
    return best


def test_pairs_do_as_much_as_every_split_does() -> None:
    checked = 0
    for seed in range(120):
        shop = shop_of(seed, most=14)
        relay = Relay(shop, 0)
        for i, k in product(range(len(relay.modes)), repeat=2):
            pair = relay.pair(i, k)
            if pair is None or pair.length * (len(pair.laps) - 1) > 7:
                continue
            checked += 1
            assert [runs_of(shop.compiled.problem, pair, a) for a in range(len(pair.laps))] == pair.laps
    assert checked > 60


def prices_of(shop: Shop, rng: random.Random) -> tuple[Floats, Floats]:
    """Prices of copies, and weights: none in half of the cases, as for the makespan."""
    jobs = len(shop.copies)
    slope = rng.choice((0, 1))
    prices = np.array([rng.randint(0, 60) for _ in range(jobs)], dtype=np.float64)
    return prices, np.array([slope * rng.randint(1, 3) for _ in range(jobs)], dtype=np.float64)


def test_relays_are_plans_gain_and_end_as_they_say() -> None:
    shared = late = 0
    for seed in range(150):
        shop = shop_of(seed)
        relay = Relay(shop, 0)
        rng = random.Random(seed)
        prices, weights = prices_of(shop, rng)
        horizon = rng.randint(1, 40)
        for gained, piece in relay.best(prices, weights, horizon, 3):
            shared += any(leg.pair is not None and leg.pair.laps[leg.laps] > 0 for leg in piece.legs)
            late += len(piece.copies) > 3
            assert piece.turns <= horizon
            assert gained == sum(prices[copy.job] - weights[copy.job] * copy.end for copy in piece.copies)
            assert [leg.begin for leg in piece.legs] == [0, *(leg.end for leg in piece.legs[:-1])]
            assert all(
                number <= n for number, n in zip(used(((0, piece),), len(shop.copies)), shop.copies, strict=True)
            )
            assert all(copy.begin == first(piece, number) for number, copy in enumerate(piece.copies))
            problem = shop.compiled.problem
            verdict = certify(problem, plan_of(shop, [Lives(0, 1, ((0, piece),))]))
            assert {violation.code for violation in verdict.violations} <= {"unfinished"}
            finished = used(((0, piece),), len(shop.copies)) == shop.copies
            assert finished == verdict.valid
            if finished:
                assert verdict.objective == max(copy.end for copy in piece.copies) * shop.turn
    assert shared > 40
    assert late > 40


def first(piece: Piece, number: int) -> int:
    """The turn in which a copy does its first lap."""
    for leg in piece.legs:
        if leg.copies[0] == number:
            return leg.begin
        if number in leg.copies and leg.pair is not None and leg.pair.laps[leg.laps]:
            return leg.begin
    raise AssertionError(number)


def exhaustive(relay: Relay, prices: Floats, weights: Floats, horizon: int, options: Ints) -> float:
    """The most that any relay gains that has no other turns than `options`, and last turns that just end a copy."""
    jobs, wanted = relay.jobs.tolist(), [relay.shop.wanted[job] or 0 for job in relay.jobs]

    def worth(k: int, t: int) -> float:
        return float(prices[jobs[k]] - weights[jobs[k]] * t)

    @cache
    def best(t: int, front: int, left: int, copies: tuple[int, ...]) -> float:
        """From here on; copies: not yet begun."""
        if front < 0:
            return max([0.0, *(best(t, i, wanted[i], less(copies, i)) for i, n in enumerate(copies) if n)])
        found = []
        alone = t + -(-left // relay.modes[front].laps[0])
        if alone <= horizon and worth(front, alone) > 0:
            found.append(worth(front, alone) + best(alone, -1, 0, copies))
        for k, n in enumerate(copies):
            pair = relay.pair(front, k)
            for a in {int(a) for a in options[front, k]} - {0} if n and pair is not None else ():
                assert pair is not None
                mine, yours, now = left, wanted[k], t
                while mine > a and yours > pair.laps[a]:
                    mine, yours, now = mine - a, yours - pair.laps[a], now + 1
                now += 1
                if mine <= a:
                    x = next(x for x in range(mine, a + 1) if pair.laps[x] >= 0)
                    mine, yours = 0, yours - pair.laps[x]
                else:
                    mine, yours = mine - max(x for x in range(a, len(pair.laps)) if pair.laps[x] >= yours), 0
                gain = sum(worth(c, now) for c, rest in ((front, mine), (k, yours)) if rest <= 0)
                if now > horizon or any(worth(c, now) <= 0 for c, rest in ((front, mine), (k, yours)) if rest <= 0):
                    continue
                after = (-1, 0) if mine <= 0 and yours <= 0 else (front, mine) if mine > 0 else (k, yours)
                found.append(gain + best(now, *after, less(copies, k)))
        return max(found, default=-inf)

    return best(0, -1, 0, tuple(relay.shop.copies[job] for job in jobs))


def less(copies: tuple[int, ...], k: int) -> tuple[int, ...]:
    """One copy of kind k less."""
    return (*copies[:k], copies[k] - 1, *copies[k + 1 :])


def test_no_relay_gains_more(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("pipefill_opt.solve.life.relay.BEAM", 24)
    monkeypatch.setattr("pipefill_opt.solve.life.relay.SLACK", 1e9)
    several = 0
    for seed in range(60):
        shop = shop_of(seed, copies=99)  # the walk is a heuristic where copies run out
        relay = Relay(shop, 0)
        if not relay.modes:
            continue
        rng = random.Random(seed)
        prices, weights = prices_of(shop, rng)
        horizon = rng.randint(1, 12)
        found = relay.best(prices, weights, horizon, 1)
        options = relay.options(prices, weights, horizon)
        aim = exhaustive(relay, prices, weights, horizon, options)
        assert (found[0][0] if found else 0.0) == pytest.approx(aim)
        several += bool(found) and len(found[0][1].copies) > 2
    assert several > 15
