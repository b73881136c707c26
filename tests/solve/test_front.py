"""Fronts against plain search: what is reached from one start, boxes of starts, dropped states, and the way there."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import pairwise, product
from math import prod

import numpy as np
import pytest

from pipefill_opt.solve import front as front_module
from pipefill_opt.solve.bounds import most_laps
from pipefill_opt.solve.device import DeviceProblem, compile_problem
from pipefill_opt.solve.dp import solve_dp
from pipefill_opt.solve.front import Front, fits_front
from pipefill_opt.solve.grid import AXES, Grid
from pipefill_opt.solve.monotone import relax
from pipefill_opt.solve.result import Limits
from tests.solve.devices import device_of
from tests.solve.monotone_devices import monotone_problem
from tests.solve.plans import broken_rules

NEVER = -(2**60)


def monotone_devices(slots: int, seeds: range) -> Iterator[DeviceProblem]:
    for seed in seeds:
        device = device_of(monotone_problem(seed, slots=slots, bubbles=4, operators=4))
        if relax(device).exact and device.repeat and device.iterations == 1:
            yield device


def front_of(device: DeviceProblem, laps: list[int]) -> Front:
    """With the hopes of values in proportion to time."""
    relaxed = relax(device)
    grid = Grid(relaxed)
    lap = [sum(slot.value) for slot in device.slots]
    worth = grid.table(
        [
            [w * sum(s.ticks[:k]) // sum(s.ticks) for k in range(s.length)]
            for s, w in zip(device.slots, lap, strict=True)
        ]
    )
    hopes = grid.before_each_room(worth, lap, lambda: False)
    assert hopes is not None
    shape = grid.length[grid.pad :]
    return Front(relaxed, laps, lap, worth.reshape(shape), hopes.reshape(-1, *shape))


def reached(device: DeviceProblem, start: tuple[int, ...]) -> set[tuple[int, ...]]:
    """All that rooms lead to, one run a slot, by trying every choice."""
    relaxed = relax(device)
    now = {start}
    for room in device.rooms:
        net = room.usable - device.enter - device.leave
        following = set(now)
        for at in now:
            choices = []
            for slot, position, walls in zip(device.slots, at, relaxed.never[room], strict=True):
                own = [(0, position)]
                ticks = slot.move_in[position % slot.length]
                for k in range(position, position + 3 * slot.length):
                    if walls[k % slot.length]:
                        break
                    ticks += slot.ticks[k % slot.length]
                    own.append((ticks + slot.move_out[(k + 1) % slot.length], k + 1))
                choices.append(own)
            for chosen in product(*choices):
                moved = sum(1 << s for s, (ticks, _) in enumerate(chosen) if ticks)
                if sum(ticks for ticks, _ in chosen) + relaxed.path[moved] <= net:
                    following.add(tuple(k for _, k in chosen))
        now = following
    return now


@pytest.mark.parametrize("slots", [1, 2, 3])
def test_front_passes_what_is_reached_and_no_more(slots: int) -> None:
    tried = 0
    for device in monotone_devices(slots, range(24)):
        front = front_of(device, [2] * slots)
        starts = list(product(*(range(slot.length) for slot in device.slots)))
        for start in (starts[0], starts[len(starts) // 2], starts[-1]):
            table, states = front.run(start, NEVER, 0)
            assert states > 0
            ends = reached(device, start)
            points = np.array(list(product(range(3), repeat=slots)))
            for laps, passes in zip(points.tolist(), front.passes(table, start, start, points), strict=True):
                goal = [s + k * slot.length for s, k, slot in zip(start, laps, device.slots, strict=True)]
                assert passes == any(all(a >= b for a, b in zip(end, goal, strict=True)) for end in ends)
                tried += 1
    assert tried > 100


def test_a_box_is_bounded_and_hope_drops_no_plan() -> None:
    for device in monotone_devices(2, range(40)):
        best = solve_dp(device, Limits()).value
        most = [most_laps(device, slot) for slot in device.slots]
        front = front_of(device, most)
        points = np.array(list(product(*(range(laps + 1) for laps in most))))
        worth = points @ np.array([sum(slot.value) for slot in device.slots])
        low, top = (0, 0), tuple(slot.length - 1 for slot in device.slots)
        table, _ = front.run(top, int(front.worth[low]), best)
        assert worth[front.passes(table, top, low, points)].max() >= best
        found = []
        for start in product(*(range(slot.length) for slot in device.slots)):
            table, _ = front.run(start, int(front.worth[start]), best)
            found.append(worth[front.passes(table, start, start, points)].max(initial=0))
        assert max(found) == best


def test_the_way_is_a_plan_that_keeps_every_rule() -> None:
    for seed in range(30):
        problem = monotone_problem(seed, slots=3, bubbles=4, operators=4)
        device = device_of(problem)
        if not (relax(device).exact and device.repeat):
            continue
        front = front_of(device, [2, 2, 2])
        points = np.array(list(product(range(3), repeat=3)))
        start = (0, 0, 0)
        table, _ = front.run(start, NEVER, 0)
        grid = Grid(relax(device))
        for laps in points[front.passes(table, start, start, points)].tolist():
            way = front.way(start, NEVER, 0, laps)
            assert all(a <= b for here, there in pairwise(way) for a, b in zip(here, there, strict=True))
            plan = grid.plan([(*(0,) * (AXES - 3), *point) for point in way])
            assert plan.value(device) == sum(k * sum(slot.value) for k, slot in zip(laps, device.slots, strict=True))
            assert broken_rules(compile_problem(problem), device, plan) == []


def test_what_fits(monkeypatch: pytest.MonkeyPatch) -> None:
    device = next(monotone_devices(2, range(40)))
    relaxed = relax(device)
    lengths = sorted(slot.length for slot in device.slots)
    monkeypatch.setattr(front_module, "MOST_STATES", (len(device.rooms) + 1) * (3 * lengths[0] + 1))
    assert fits_front(relaxed, [3, 3])
    assert not fits_front(relaxed, [4, 4])
    monkeypatch.setattr(front_module, "MOST_HOPES", (len(device.rooms) + 1) * prod(lengths) - 1)
    assert not fits_front(relaxed, [3, 3])
