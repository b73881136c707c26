"""Loose tables lose no plan, strict ones hold only plans, and what compiled code sweeps is what the definition says."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from math import prod

import numpy as np
import pytest

from pipefill_opt.fill.problem import FillProblem
from pipefill_opt.solve.coupled import NEVER, Coupled
from pipefill_opt.solve.device import DeviceProblem, compile_problem
from pipefill_opt.solve.dp import solve_dp
from pipefill_opt.solve.grid import Point, Table, fits_grid
from pipefill_opt.solve.monotone import relax
from pipefill_opt.solve.result import Limits
from tests.solve.devices import device_of, fill_problem, job
from tests.solve.plans import broken_rules
from tests.solve.random_instances import random_problem


def coupled_devices(seeds: range) -> Iterator[tuple[FillProblem, DeviceProblem]]:
    """Devices of random problems that repeat and are not monotone, each with the first two or three kinds of slots it may have."""
    for seed in seeds:
        problem = random_problem(seed)
        for c, device_class in enumerate(problem.devices):
            kinds = [(j, 0) for j, job in enumerate(problem.jobs) if device_class.name in job.devices and job.copies]
            device = compile_problem(problem).device(c, tuple(kinds[:3]), problem.iterations or 2)
            if device.repeat and kinds and fits_grid(device) and not relax(device).exact:
                yield problem, device


def closed(table: Coupled, start: Point, kept: dict[int, Table] | None = None) -> int:
    """The most that a plan from `start` is worth on these tables."""
    core = np.full(table.length, NEVER)
    core[start] = 0
    swept = table.sweep(core, [sum(slot.value) for slot in table.device.slots], lambda: False, kept)
    assert swept is not None
    return int(swept[start])


def test_between_them_lies_the_optimum() -> None:
    tried = 0
    for problem, device in coupled_devices(range(150)):
        loose, strict = (Coupled(device, relax(device), strict=strict) for strict in (False, True))
        best = solve_dp(device, Limits()).value
        lap = [sum(slot.value) for slot in device.slots]
        starts = [tuple(start) for start in np.argwhere(loose.allowed > 0).tolist()]
        assert max((closed(loose, start) for start in starts), default=0) >= best
        for start in starts:
            kept: dict[int, Table] = {}
            value = closed(strict, start, kept)
            assert value <= best
            if value:
                way = strict.walk(kept, lap, start, lambda: False)
                assert way is not None
                plan = strict.plan(way)
                assert plan.value(device) == value
                assert broken_rules(compile_problem(problem), device, plan) == []
                tried += 1
    assert tried > 30


def by_hand(table: Coupled, after: Table) -> Table:
    """One room backwards, every choice tried from every position by the definition of `order_of`."""
    found = np.full(table.length, NEVER)
    for here in np.argwhere(table.allowed > 0).tolist():
        best = after[tuple(here)]
        limit = [own[k] for own, k in zip(table.limit[table.rooms[0]], here, strict=True)]
        for moved in np.ndindex(*(most - k + 1 for most, k in zip(limit, here, strict=True))):
            there = tuple(k + more for k, more in zip(here, moved, strict=True))
            if table.order_of(table.rooms[0], here, there) is not None:
                best = max(best, after[there])
        found[tuple(here)] = best
    return found


@pytest.mark.parametrize("strict", [True, False])
def test_compiled_sweep_is_the_definition(strict: bool) -> None:
    tried = 0
    for _, device in coupled_devices(range(60)):
        one = replace(device, rooms=device.rooms[:1], iterations=1)
        table = Coupled(one, relax(one), strict=strict)
        if prod(table.length) > 60:
            continue
        rng = np.random.default_rng(1)
        lap = rng.integers(50, 90, len(one.slots)).tolist()
        core = table.where_allowed(rng.integers(0, 50, table.length))
        swept = table.sweep(core, lap, lambda: False)
        expected = by_hand(table, table.extended(core, lap))
        assert swept is not None
        forbidden = table.allowed == 0
        assert (swept[forbidden] < NEVER // 2).all()
        fine = ~forbidden
        assert (swept[fine] == expected[fine]).all() if strict else (swept[fine] >= expected[fine]).all()
        tried += 1
    assert tried > 5


def test_rule_5_and_rule_4_count() -> None:
    """a may rest after its first operator only while b carries little; b's operator fits only while a carries little."""
    a, b = job("a", (3, 4), carry=(40, 1)), job("b", (5, 2), carry=(1, 50))
    device = replace(device_of(fill_problem(a, b, lengths=(9, 14), free=75)), resident_free=70)
    strict = Coupled(device, relax(device), strict=True)
    place = (0,) * strict.pad
    # resident 10; a at 1 carries 40, b at 0 carries 50: 100 > 70
    assert strict.allowed[(*place, 1, 0)] == 0
    assert strict.allowed[(*place, 1, 1)] == 1
    room = device.rooms[1]
    # both operators of a and the first of b: a first (10 + 10 + 50 bytes), then b (10 + 10 + 1)
    assert strict.order_of(room, (*place, 0, 0), (*place, 2, 1)) == (0, 1)
    # only the first of a: b would run beside 40 carried bytes, which fits, but a beside b's 50 as well: 70 <= 75
    assert strict.order_of(room, (*place, 0, 0), (*place, 1, 1)) in ((0, 1), (1, 0))
    tight = replace(device, rooms=tuple(replace(r, free=69) for r in device.rooms))
    table = Coupled(tight, relax(tight), strict=True)
    assert table.order_of(tight.rooms[1], (*place, 0, 0), (*place, 2, 1)) == (1, 0)
    assert table.order_of(tight.rooms[0], (*place, 0, 0), (*place, 2, 1)) is None  # 14 + 1 ticks in 9
