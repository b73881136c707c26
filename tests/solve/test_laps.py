"""Vectors of laps in a window of values: all of them, cut by bounds, and rounding down to them."""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from pipefill_opt.solve.bounds import most_laps
from pipefill_opt.solve.laps import lap_points
from tests.solve.devices import device_of, fill_problem, job

DEVICE = device_of(fill_problem(job("a", (3, 4)), job("b", (5,)), lengths=(20, 13)))


def test_window_holds_all_sums_and_no_other() -> None:
    most = [most_laps(DEVICE, slot) for slot in DEVICE.slots]
    expected = sorted((a, b) for a in range(most[0] + 1) for b in range(most[1] + 1) if 11 < 7 * a + 5 * b <= 24)
    points = lap_points(DEVICE, 11, 24)
    assert points.points is not None
    assert sorted(map(tuple, points.points.tolist())) == expected
    assert points.high == 24


def test_rounding_down() -> None:
    points = lap_points(DEVICE, 11, 18)  # 12, 14, 15, 17
    assert points.floor(np.array([3, 11, 12, 13, 14, 16, 18, 99])).tolist() == [11, 11, 12, 12, 14, 15, 17, 17]


def test_cuts_and_better_plans_lower_the_top() -> None:
    points = lap_points(DEVICE, 11, 18)
    best = points.best()
    assert best is not None
    assert best.tolist() == [1, 2]
    points.cut(np.array([0, 1]), 1)  # b at most once
    assert points.high == 14
    points.raise_low(14)
    assert (points.high, points.best()) == (14, None)


def test_slots_of_no_value() -> None:
    device = device_of(fill_problem(job("a", (3,)), job("b", (5,)), lengths=(9,)))
    worthless = replace(device.slots[0], value=(0,))
    points = lap_points(replace(device, slots=(worthless, device.slots[1])), 0, 9)
    assert points.points is not None
    assert points.points.tolist() == [[0, 1]]
