"""Value iteration for coupled slots: agrees with the dynamic program, bounds truly at limits, and does what the old bound could not."""

from __future__ import annotations

from dataclasses import replace

import pytest

from pipefill_opt.solve.device import DeviceProblem, compile_problem
from pipefill_opt.solve.dp import solve_dp
from pipefill_opt.solve.grid import fits_grid
from pipefill_opt.solve.monotone import relax
from pipefill_opt.solve.result import Limits, Reason
from pipefill_opt.solve.value_iteration_coupled import fits_coupled, solve_coupled
from tests.solve.devices import device_of, fill_problem, job, random_devices
from tests.solve.plans import broken_rules


def test_bounds_the_optimum_of_random_devices_and_proves_nearly_all() -> None:
    proved = tried = 0
    for device, own in random_devices(range(100)):
        if relax(device).exact or not fits_grid(device):
            continue
        assert fits_coupled(device)
        best = own.best(device.iterations)
        value = 0 if best is None else own.worth_of(best)
        result = solve_coupled(device, relax(device), Limits())
        assert result.value * device.unit <= value <= result.bound * device.unit
        assert (result.reason is Reason.PROVED) == result.proved
        tried += 1
        proved += result.proved
    assert tried > 60
    assert proved > 0.9 * tried


def carriers(bubbles: int = 12) -> DeviceProblem:
    """Two jobs that cannot rest together everywhere, and do not fit beside each other everywhere."""
    a = job("a", (31, 47, 25, 52, 38, 29), carry=(40, 5, 60, 20, 55, 0))
    b = job("b", (53, 27, 41, 36), carry=(30, 60, 10, 45))
    lengths = tuple(60 + 17 * k % 83 for k in range(bubbles))
    return device_of(fill_problem(a, b, lengths=lengths, free=90))


def test_agrees_with_the_dynamic_program() -> None:
    for iterations in (1, 2):
        device = replace(carriers(), iterations=iterations)
        assert not relax(device).exact
        best = solve_dp(device, Limits())
        result = solve_coupled(device, relax(device), Limits())
        assert best.proved
        assert result.value == best.value == result.bound
        assert result.plan is not None
        assert result.plan.value(device) == result.value


def test_swapped_slots_whose_transfers_grow() -> None:
    a = job("a", (13, 14, 12), carry=(40, 0, 20), keep=False)
    b = job("b", (15, 12), carry=(30, 0), keep=False)
    problem = fill_problem(a, b, lengths=(60, 95, 71, 120))
    device = device_of(problem)
    assert not relax(device).exact
    best = solve_dp(device, Limits())
    result = solve_coupled(device, relax(device), Limits())
    assert result.value == best.value == result.bound
    assert result.plan is not None
    assert broken_rules(compile_problem(problem), device, result.plan) == []


def test_a_sandwich_is_bounded_not_found() -> None:
    """a runs, then b while a carries little, then a again: two segments of a, which strict tables do not hold."""
    a, b = job("a", (4, 4), carry=(0, 50), memory=0), job("b", (8,), carry=(0,), memory=60)
    device = device_of(fill_problem(a, b, lengths=(18,), free=75))
    best = solve_dp(device, Limits())
    result = solve_coupled(device, relax(device), Limits())
    assert result.value <= best.value <= result.bound


@pytest.mark.parametrize("work", [0, 500, 2_000, 8_000])
def test_limits_are_told_truthfully(work: int) -> None:
    device = carriers()
    best = solve_dp(device, Limits()).value
    result = solve_coupled(device, relax(device), Limits(work=work))
    assert result.value <= best <= result.bound
    assert result.proved or result.reason is Reason.WORK_LIMIT
    again = solve_coupled(device, relax(device), Limits(work=work))
    assert again == result


def test_stop_keeps_the_hint() -> None:
    device = carriers()
    hint = solve_dp(device, Limits()).plan
    limits = Limits()
    limits.stop.set()
    result = solve_coupled(device, relax(device), limits, hint=hint)
    assert (result.plan, result.reason) == (hint, Reason.INTERRUPTED)


def test_once() -> None:
    problem = replace(
        fill_problem(job("a", (3, 4), carry=(40, 30)), job("b", (5,), carry=(60,)), lengths=(12, 9), free=100),
        repeat=False,
    )
    device = device_of(problem)
    assert not relax(device).exact
    best = solve_dp(device, Limits()).value
    result = solve_coupled(device, relax(device), Limits())
    assert result.value <= best <= result.bound
    assert result.plan is not None
    assert broken_rules(compile_problem(problem), device, result.plan) == []
