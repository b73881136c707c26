"""Simple bounds hold, and are tight where they should be."""

from __future__ import annotations

from fractions import Fraction
from itertools import product

from pipefill_opt.solve.bounds import capacity, fractional_knapsack, most_laps, most_operators, simple_bound
from pipefill_opt.solve.dp import solve_dp
from pipefill_opt.solve.reach import reach_alone
from pipefill_opt.solve.result import Limits
from tests.solve.devices import device_of, fill_problem, job, random_devices
from tests.solve.monotone_devices import monotone_problem


def test_bound_holds_on_random_devices() -> None:
    tight = 0
    for device, _ in random_devices(range(60)):
        bound, value = simple_bound(device), solve_dp(device, Limits()).value
        assert value <= bound
        tight += value == bound > 0
    assert tight


def test_capacity_counts_what_is_left_for_operators() -> None:
    problem = fill_problem(job("a", (4,), keep=False, resident=2), job("b", (5,)), lengths=(10, 3))
    assert capacity(device_of(problem)) == 10  # no operator fits 3 ticks; b needs no transfers
    alone = fill_problem(job("a", (4,), carry=(0,), keep=False, resident=2), lengths=(10, 3))
    assert capacity(device_of(alone)) == 10 - 2 - 2


def test_most_laps_holds_and_is_nearly_tight() -> None:
    for seed in range(40):
        device = device_of(monotone_problem(seed, slots=1, bubbles=6, operators=9))
        if not device.repeat:
            continue
        lap = sum(device.slots[0].value)
        laps = solve_dp(device, Limits()).value // lap if lap else 0
        assert laps <= most_laps(device, device.slots[0]) <= laps + 1


def test_most_operators_over_periods() -> None:
    device = device_of(fill_problem(job("a", (3, 4)), lengths=(8, 4)))
    assert [most_operators(device, device.slots[0], periods) for periods in (1, 2)] == [3, 6]


def test_reach_stops_at_what_never_fits() -> None:
    device = device_of(fill_problem(job("a", (3, 4, 2)), lengths=(20,)))
    room = device.rooms[0]
    assert reach_alone(device, device.slots[0], room) == (6, 6, 7)
    assert reach_alone(device, device.slots[0], room, [False, True, False]) == (1, 0, 2)


def test_fractional_knapsack_is_above_every_whole_choice() -> None:
    items = [(7, 3, 2), (5, 2, 3), (9, 5, 1), (0, 1, 4)]
    for room in range(20):
        best = max(
            sum(v * k for (v, _, _), k in zip(items, counts, strict=True))
            for counts in product(*(range(most + 1) for _, _, most in items))
            if sum(s * k for (_, s, _), k in zip(items, counts, strict=True)) <= room
        )
        bound = fractional_knapsack(items, room)
        assert best <= bound <= best + max(v for v, _, _ in items)
    assert fractional_knapsack([(10**30, 3, 1)], 2) == Fraction(2 * 10**30, 3) // 1
