"""One vector of laps: ruled out by weights or by fronts exactly if no plan does it, else done by a plan."""

from __future__ import annotations

from dataclasses import replace
from itertools import product

import numpy as np
import pytest

from pipefill_opt.solve import aim as module
from pipefill_opt.solve.aim import Aim, Known
from pipefill_opt.solve.bounds import most_laps
from pipefill_opt.solve.device import DeviceProblem
from pipefill_opt.solve.front import Front
from pipefill_opt.solve.grid import Grid
from pipefill_opt.solve.monotone import relax
from pipefill_opt.solve.potential import one_turn, potential
from tests.solve.devices import device_of
from tests.solve.monotone_devices import monotone_problem


def devices(slots: int, iterations: int) -> list[DeviceProblem]:
    found = []
    for seed in range(12):
        problem = monotone_problem(seed, slots=slots, bubbles=3, operators=5)
        device = replace(device_of(problem), iterations=iterations)
        if device.repeat and relax(device).exact:
            found.append(device)
    return found


def done_by_some_plan(device: DeviceProblem, points: np.ndarray) -> np.ndarray:
    """By the front from each start, nothing dropped."""
    relaxed = relax(device)
    grid = Grid(one_turn(relaxed))
    shape = grid.length[grid.pad :]
    worth = grid.table([])
    hopes = np.zeros((len(device.rooms) + 1, *shape), dtype=np.int64)
    front = Front(relaxed, points.max(axis=0).tolist(), [0] * len(shape), worth.reshape(shape), hopes)
    found = np.zeros(len(points), dtype=bool)
    for start in product(*(range(n) for n in shape)):
        table, _ = front.run(start, 0, 0)
        found |= front.passes(table, start, start, points)
    return found


def decided(device: DeviceProblem, point: np.ndarray, known: dict[tuple[int, ...], Known]) -> tuple[bool, int]:
    """(whether a plan does it, cuts tried)."""
    aim, cuts = Aim(relax(device), point, known), 0
    while True:
        cut = aim.step(lambda grid: False, fronts=True)
        assert not aim.stuck
        if cut is not None:
            cuts += 1
            if cut.spread(len(point)) @ point > aim.bound:
                return False, cuts
        if aim.closed is not None:
            assert aim.closed.laps == point[list(aim.slots)].tolist()
            return True, cuts
        if aim.ruled_out:
            return False, cuts


@pytest.mark.parametrize(("slots", "iterations"), [(2, 1), (2, 3), (3, 2)])
@pytest.mark.parametrize("aims", [0, 12])
def test_every_point_is_decided_right(slots: int, iterations: int, aims: int, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(module, "MOST_AIMS", max(1, aims))
    monkeypatch.setattr(module, "FEW", 1 if aims == 0 else module.FEW)
    answers = []
    for device in devices(slots, iterations)[:4]:
        most = [min(4, most_laps(device, slot)) for slot in device.slots]
        points = np.array([p for p in product(*(range(n + 1) for n in most)) if any(p)])
        if not len(points):
            continue
        points = points[:: max(1, len(points) // 12)]
        known: dict[tuple[int, ...], Known] = {}
        for point, expected in zip(points, done_by_some_plan(device, points), strict=True):
            answer, _ = decided(device, point, known)
            assert answer == expected, (point, device)
            answers.append(answer)
    assert True in answers
    assert False in answers


def test_starts_are_searched_one_by_one_or_at_once() -> None:
    for device in devices(2, 2):
        relaxed = relax(device)
        grid = Grid(one_turn(relaxed))
        weights = tuple(sum(slot.value) for slot in device.slots)
        found = potential(grid, 2, weights, lambda: False, sweeps=2)
        assert found is not None
        hopes = grid.before_each_room(found.worth, weights, lambda: False)
        assert hopes is not None
        shape = grid.length[grid.pad :]
        front = Front(relaxed, [1, 1], weights, found.worth.reshape(shape), hopes.reshape(-1, *shape))
        least, point = sum(weights), np.ones((1, 2), dtype=np.int64)
        starts = list(product(*(range(n) for n in shape)))
        bases = [int(front.worth[start]) for start in starts]
        alone = [
            bool(front.passes(front.run(start, base, least)[0], start, start, point)[0])
            for start, base in zip(starts, bases, strict=True)
        ]
        first, _ = front.first_to_do_all(starts, bases, least)
        assert first == (alone.index(True) if True in alone else len(starts))


def test_what_no_time_suffices_for_is_ruled_out_at_once() -> None:
    device = devices(2, 1)[0]
    point = np.array([60, 60])
    aim = Aim(relax(device), point, {})
    cut = aim.step(lambda grid: False, fronts=False)
    assert cut is not None
    assert aim.bound < cut.spread(2) @ point
