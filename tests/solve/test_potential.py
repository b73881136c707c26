"""What potentials say of plans that repeat: no start is bounded too low, at its best beginning, for any weights and worths."""

from __future__ import annotations

import random
from collections.abc import Iterator
from dataclasses import replace
from itertools import product

import numpy as np

from pipefill_opt.solve.device import DeviceProblem
from pipefill_opt.solve.grid import AXES, Grid
from pipefill_opt.solve.monotone import relax
from pipefill_opt.solve.potential import Potential, laps_led_to, one_turn, potential, thresholds
from tests.solve.devices import device_of, fill_problem, job


def short(seed: int, iterations: int) -> DeviceProblem:
    rng = random.Random(seed)
    jobs = [job(f"j{s}", tuple(rng.randint(20, 60) for _ in range(rng.randint(2, 4)))) for s in range(2)]
    problem = fill_problem(*jobs, lengths=tuple(rng.randint(50, 190) for _ in range(3)))
    return replace(device_of(problem), iterations=iterations)


def ends(device: DeviceProblem, start: tuple[int, ...]) -> list[tuple[int, ...]]:
    """All that one main iteration leads to, one run a slot."""
    now, path = {start}, relax(device).path
    for room in device.rooms:
        net = room.usable - device.enter - device.leave
        following = set(now)
        for at in now:
            choices = []
            for slot, position in zip(device.slots, at, strict=True):
                ticks, own = 0, [(0, position)]
                for k in range(position, position + 9):
                    ticks += slot.ticks[k % slot.length]
                    if ticks <= net:
                        own.append((ticks, k + 1))
                choices.append(own)
            for chosen in product(*choices):
                moved = sum(1 << s for s, (ticks, _) in enumerate(chosen) if ticks)
                if sum(ticks for ticks, _ in chosen) + path[moved] <= net:
                    following.add(tuple(k for _, k in chosen))
        now = following
    return sorted(now)


def closed_walks(device: DeviceProblem) -> Iterator[list[tuple[int, ...]]]:
    """Positions at the ends of both main iterations of all plans that close."""
    lengths = [slot.length for slot in device.slots]
    led = {start: ends(device, start) for start in product(*(range(n) for n in lengths))}
    for start, middles in led.items():
        for middle in middles:
            place = tuple(k % n for k, n in zip(middle, lengths, strict=True))
            for end in led[place]:
                last = tuple(m + e - p for m, e, p in zip(middle, end, place, strict=True))
                if all((b - a) % n == 0 for a, b, n in zip(start, last, lengths, strict=True)):
                    yield [start, middle, last]


def found_for(device: DeviceProblem, weights: tuple[int, ...], sweeps: int, near: Potential | None = None) -> Potential:
    grid = Grid(one_turn(relax(device)))
    found = potential(grid, device.iterations, weights, lambda: False, sweeps=sweeps, near=near)
    assert found is not None
    return found


def test_no_plan_passes_the_limit_where_it_begins_best() -> None:
    held, tight = 0, 0
    for seed in range(6):
        device = short(seed, 2)
        rng = random.Random(seed)
        lengths = [slot.length for slot in device.slots]
        weights = (rng.randint(1, 50), rng.randint(0, 50))
        first = found_for(device, weights, rng.randint(0, 3))
        near = found_for(device, (weights[1], weights[0] + 7), 1, near=first)
        for found in (first, near):
            best = 0
            for walk in closed_walks(device):
                laps = [(b - a) // n for a, b, n in zip(walk[0], walk[-1], lengths, strict=True)]
                worth = sum(w * n for w, n in zip(found.weights, laps, strict=True))
                at = [(0,) * (AXES - 2) + tuple(k % n for k, n in zip(q, lengths, strict=True)) for q in walk]
                assert worth <= found.whole[at[0]]
                assert any(worth <= found.limit[q] for q in at[:-1])
                best = max(best, worth)
                held += 1
            assert best <= found.bound
            tight += found.bound <= best + max(found.weights)
    assert held > 1000
    assert tight > 6


def test_limits_of_single_iterations_are_no_looser() -> None:
    device = short(1, 4)
    found = found_for(device, (30, 20), 4)
    assert (found.limit <= found.whole).all()
    assert (found.limit < found.whole).any()


def test_worths_go_on_from_others_and_rise() -> None:
    device = short(2, 1)
    near = found_for(device, (50, 1), 3)
    found = found_for(device, (1, 50), 0, near=near)
    grid = Grid(one_turn(relax(device)))
    whole = grid.extended(found.worth, found.weights)
    for axis in range(AXES):
        assert (np.diff(whole, axis=axis) >= 0).all()


def test_what_a_potential_leads_to() -> None:
    device = device_of(fill_problem(job("a", (4,)), job("b", (5,)), lengths=(20,)))
    grid = Grid(one_turn(relax(device)))
    found = potential(grid, 1, (5, 1), lambda: False, sweeps=2)
    assert found is not None
    hopes = grid.before_each_room(found.worth, found.weights, lambda: False)
    assert hopes is not None
    assert laps_led_to(grid, found, hopes) == [5.0, 0.0]


def test_thresholds_are_rounded_up() -> None:
    assert thresholds(7, 3, 2) == [3, 3, 5, 5, 7, 7]


def test_a_stop_ends_it() -> None:
    grid = Grid(one_turn(relax(short(0, 2))))
    assert potential(grid, 2, (1, 1), lambda: True, sweeps=1) is None
