"""What makes a device monotone, each condition alone, and that its relaxation allows no less."""

from __future__ import annotations

from dataclasses import replace

import pytest

from pipefill_opt.solve.dp import solve_dp
from pipefill_opt.solve.monotone import relax
from pipefill_opt.solve.result import Limits
from tests.solve.devices import device_of, fill_problem, job, random_devices, with_table


def test_plain_device_is_monotone() -> None:
    device = device_of(fill_problem(job("a", (3, 4)), job("b", (5,))))
    relaxed = relax(device)
    assert relaxed.exact
    assert relaxed.device == device
    assert relaxed.path == (0, 0, 0, 1)


@pytest.mark.parametrize(("way", "exact"), [(5, True), (4, False)])
def test_ways_between_slots(way: int, exact: bool) -> None:
    """From a to c by way of b, against 5 directly."""
    table = {x: dict.fromkeys("abc", 5) for x in "abc"}
    table["a"]["b"], table["b"]["c"] = 1, way - 1
    device = device_of(with_table(fill_problem(*(job(name, (3,)) for name in "abc")), table))
    relaxed = relax(device)
    assert relaxed.exact is exact
    assert relaxed.device.between[0][2] == way
    assert relaxed.path[0b101] == way
    assert relaxed.order[0b101] == (0, 2)
    assert relaxed.order[0b111] == (0, 1, 2)


@pytest.mark.parametrize(("free", "exact"), [(60, True), (59, False)])
def test_rest_anywhere(free: int, exact: bool) -> None:
    """Rule 5: 5 + 30 and 5 + 20 at the most."""
    problem = fill_problem(job("a", (3, 4), carry=(1, 30)), job("b", (5, 2), carry=(20, 2)), free=60)
    device = replace(device_of(problem), resident_free=free)
    assert relax(device).exact is exact


@pytest.mark.parametrize(("free", "exact"), [(50, True), (40, False), (20, False), (19, True)])
def test_memory_that_others_decide(free: int, exact: bool) -> None:
    """An operator of a needs 10 + 10 and what b carries, none (nothing done yet) to 30; an operator of b the same, 0 for a."""
    a, b = job("a", (3,), carry=(0,)), job("b", (5, 2), memory=0, carry=(0, 30))
    device = replace(device_of(fill_problem(a, b, free=free)), resident_free=1000)
    assert relax(device).exact is exact


@pytest.mark.parametrize(("carry", "exact"), [((0, 0), True), ((3, 0), True), ((4, 0), False)])
def test_transfers_against_operators(carry: tuple[int, int], exact: bool) -> None:
    """Waiting for an operator of 3 ticks may not make the transfer more than 3 ticks longer."""
    device = device_of(fill_problem(job("a", (3, 3), carry=carry, keep=False)))
    relaxed = relax(device)
    assert relaxed.exact is exact
    if not exact:
        assert relaxed.device.slots[0].move_in == relaxed.device.slots[0].move_out == (5, 5)


def test_relaxation_allows_no_less() -> None:
    for device, _ in random_devices(range(25)):
        relaxed = relax(device)
        roomy = replace(relaxed.device, resident_free=10**15)
        slots = tuple(
            replace(slot, carry=(0,) * slot.length, memory=(0,) * slot.length, resident=0) for slot in roomy.slots
        )
        assert solve_dp(replace(roomy, slots=slots), Limits()).value >= solve_dp(device, Limits()).value
