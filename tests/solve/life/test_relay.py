"""Two copies side by side, and relays: against exhaustive search, and certified."""

from __future__ import annotations

import random
from dataclasses import replace
from itertools import product

import pytest

from pipefill_opt.fill.certify import certify
from pipefill_opt.fill.problem import FillBubble, FillProblem, Objective
from pipefill_opt.solve.device import compile_problem
from pipefill_opt.solve.life.pairs import Pair
from pipefill_opt.solve.life.phases import plan_of
from pipefill_opt.solve.life.relay import Relay
from pipefill_opt.solve.life.shop import Lives, Shop, open_shop
from tests.solve.life.instances import tiny


def shop_of(seed: int, *, most: int = 40) -> Shop:
    """Several jobs with carried bytes that share one device; bubbles of up to `most` ticks."""
    rng = random.Random(f"relay-{seed}")
    problem = tiny(seed, Objective.MAKESPAN)
    bubbles = tuple(
        FillBubble(start=50 * b, length=rng.randint(8, most), free=rng.choice((9, 14, 30)), kind="inner")
        for b in range(2)
    )
    jobs = tuple(
        replace(job, release=0, copies=3, devices=("a",), keep=True, iterations=rng.randint(1, 30))
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


@pytest.mark.parametrize("ahead", [False, True])
def test_relays_are_plans_and_end_when_they_say(ahead: bool) -> None:
    shared = 0
    for seed in range(150):
        shop = shop_of(seed)
        relay = Relay(shop, 0)
        rng = random.Random(seed)
        order = [k for k in range(len(relay.modes)) for _ in range(3)]
        rng.shuffle(order)
        piece = relay.run(order, ahead=ahead)
        if piece is None:
            continue
        shared += any(leg.pair is not None and leg.pair.laps[leg.laps] > 0 for leg in piece.legs)
        verdict = certify(shop.compiled.problem, plan_of(shop, [Lives(0, 1, ((0, piece),))]))
        assert {violation.code for violation in verdict.violations} <= {"unfinished"}
        if len(relay.modes) == len(shop.compiled.problem.jobs):
            assert verdict.objective == max(copy.end for copy in piece.copies) * shop.turn
    assert shared > 40


def test_no_relay_beyond_the_horizon() -> None:
    shop = shop_of(3)
    relay = Relay(shop, 0)
    order = [k for k in range(len(relay.modes)) for _ in range(3)]
    whole = relay.run(order, ahead=True)
    assert whole is not None
    short = relay.within(order, whole.turns - 1, ahead=True)
    assert short is not None
    assert short.turns < whole.turns
    assert len(short.copies) < len(order)
    assert relay.within(order, 0, ahead=True) is None
