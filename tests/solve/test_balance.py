"""The position-balance bound: no plan of any H is worth more, patterns against every choice, and what balance is good for."""

from __future__ import annotations

from dataclasses import replace
from itertools import product

import numpy as np
import pytest

from pipefill_opt.solve.balance import Patterns, balance_bound
from pipefill_opt.solve.device import DeviceProblem
from pipefill_opt.solve.dp import solve_dp
from pipefill_opt.solve.monotone import relax
from pipefill_opt.solve.result import Limits
from tests.solve.devices import device_of, fill_problem, job, random_devices
from tests.solve.monotone_devices import monotone_problem


def test_no_plan_of_any_length_is_worth_more() -> None:
    tried = 0
    for device, _ in random_devices(range(10)):
        bound = balance_bound(relax(device))
        if bound is None:
            assert not device.repeat or len(device.slots) > 4
            continue
        for iterations in (1, 3):
            best = solve_dp(replace(device, iterations=iterations), Limits()).value
            assert best <= bound * iterations
        tried += 1
    assert tried > 15


def most_gained(device: DeviceProblem, worth: list[list[int]], room: int) -> int:
    """The best pattern of a room by trying every run of every slot."""
    relaxed = relax(device)
    net = device.rooms[room].usable - device.enter - device.leave
    choices = []
    for slot, own, walls in zip(relaxed.device.slots, worth, relaxed.never[device.rooms[room]], strict=True):
        found = [(0, 0)]
        n = slot.length
        for first in range(n):
            ticks = slot.move_in[first]
            for last in range(first + 1, first + 4 * n):
                if walls[(last - 1) % n]:
                    break
                ticks += slot.ticks[(last - 1) % n]
                gain = own[last % n] + last // n * own[n] - own[first]
                found.append((ticks + slot.move_out[last % n], gain))
        choices.append([choice for choice in found if choice[0] <= net])
    best = 0
    for chosen in product(*choices):
        path = relaxed.path[sum(1 << s for s, (ticks, _) in enumerate(chosen) if ticks)]
        if sum(ticks for ticks, _ in chosen) + path <= net:
            best = max(best, sum(gain for _, gain in chosen))
    return best


@pytest.mark.parametrize("slots", [1, 2, 3, 4])
def test_patterns_are_the_best_ones(slots: int) -> None:
    rng = np.random.default_rng(slots)
    for seed in range(8):
        device = device_of(monotone_problem(seed, slots=slots, bubbles=3, operators=3))
        worth = [[0, *rng.integers(0, 90, slot.length - 1).tolist(), 100] for slot in device.slots]
        expected = sum(most_gained(device, worth, room) for room in range(len(device.rooms)))
        patterns = Patterns(relax(device))
        arrays = [np.array(own, dtype=np.int64) for own in worth]
        assert patterns.total(arrays) == expected
        for number, gain, pattern in patterns.best(arrays):
            assert number > 0
            gained = 0
            for s, first, last in pattern:
                n = device.slots[s].length
                gained += worth[s][last % n] + last // n * worth[s][n] - worth[s][first]
            assert gained == gain


def test_balance_keeps_a_short_operator_from_running_alone() -> None:
    """Bubbles of 3 take the operator of 3, that of 5 fits nowhere: patterns alone would run the one again and again."""
    device = device_of(fill_problem(job("a", (3, 5)), lengths=(3, 3, 4)))
    relaxed = relax(device)
    patterns = Patterns(relaxed)
    assert patterns.total(patterns.smooth(1)) == 9
    assert balance_bound(relaxed) == 0
