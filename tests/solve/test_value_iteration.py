"""Value iteration is exact on monotone devices, a bound on others, truthful at limits, and good on large ones."""

from __future__ import annotations

from dataclasses import replace
from fractions import Fraction

import pytest

from pipefill_opt.solve.device import DeviceProblem, compile_problem
from pipefill_opt.solve.dp import solve_dp
from pipefill_opt.solve.grid import fits_grid
from pipefill_opt.solve.monotone import relax
from pipefill_opt.solve.result import Limits, Reason
from pipefill_opt.solve.value_iteration import solve_value_iteration
from tests.solve.devices import device_of, fill_problem, job, random_devices
from tests.solve.monotone_devices import monotone_problem
from tests.solve.plans import broken_rules


@pytest.mark.parametrize(("slots", "bubbles", "operators"), [(1, 6, 9), (2, 5, 6), (3, 3, 4)])
def test_equals_dynamic_program(slots: int, bubbles: int, operators: int) -> None:
    exact = 0
    for seed in range(40):
        problem = monotone_problem(seed, slots=slots, bubbles=bubbles, operators=operators)
        device = device_of(problem)
        relaxed = relax(device)
        best = solve_dp(device, Limits())
        result = solve_value_iteration(device, relaxed, Limits())
        assert best.proved
        assert result.value <= best.value <= result.bound
        if relaxed.exact:
            exact += 1
            assert result.value == best.value == result.bound
            assert result.plan is not None
            assert broken_rules(compile_problem(problem), device, result.plan) == []
    assert exact >= 15


def test_equals_brute_force_or_bounds_it() -> None:
    exact = 0
    for device, own in random_devices(range(120)):
        if not fits_grid(device):
            continue
        best = own.best(device.iterations)
        value = 0 if best is None else own.worth_of(best)
        relaxed = relax(device)
        result = solve_value_iteration(device, relaxed, Limits())
        assert result.bound * device.unit >= value
        if relaxed.exact:
            exact += 1
            assert result.value * device.unit == value
    assert exact > 50


def medium(*, slots: int = 2, bubbles: int = 40) -> DeviceProblem:
    """Short bubbles, where pairing matters, and many laps."""
    chains = [(31, 47, 25, 52, 38, 29, 44), (53, 27, 41, 36, 22, 58), (35, 49, 28, 57)]
    jobs = [job(f"j{s}", chain) for s, chain in enumerate(chains[:slots])]
    lengths = tuple(60 + 17 * k % 83 for k in range(bubbles))
    return device_of(fill_problem(*jobs, lengths=lengths))


@pytest.mark.parametrize("slots", [2, 3])
def test_medium_device_agrees_with_dynamic_program(slots: int) -> None:
    device = medium(slots=slots)
    relaxed = relax(device)
    assert relaxed.exact
    result = solve_value_iteration(device, relaxed, Limits())
    assert result.proved
    assert result.value == solve_dp(device, Limits()).value
    twice = replace(device, iterations=2)
    longer = solve_value_iteration(twice, relax(twice), Limits())
    assert longer.value >= 2 * result.value


@pytest.mark.parametrize("work", [0, 100, 3_000, 10_000, 30_000])
def test_limits_are_told_truthfully(work: int) -> None:
    device = medium()
    relaxed = relax(device)
    optimum = solve_value_iteration(device, relaxed, Limits())
    assert optimum.proved
    result = solve_value_iteration(device, relaxed, Limits(work=work))
    assert result.value <= optimum.value <= result.bound
    assert result.plan is not None
    assert result.plan.value(device) == result.value
    assert result.proved or result.reason is Reason.WORK_LIMIT


def test_gap_limit() -> None:
    device = medium()
    result = solve_value_iteration(device, relax(device), Limits(gap=Fraction(1, 10)))
    assert 10 * result.bound <= 11 * result.value
    assert result.proved or result.reason is Reason.GAP_LIMIT


def test_stop_keeps_the_hint() -> None:
    device = medium()
    relaxed = relax(device)
    optimum = solve_value_iteration(device, relaxed, Limits())
    limits = Limits()
    limits.stop.set()
    result = solve_value_iteration(device, relaxed, limits, hint=optimum.plan)
    assert (result.value, result.plan, result.reason) == (optimum.value, optimum.plan, Reason.INTERRUPTED)


def test_bound_of_a_coupled_device() -> None:
    """Two jobs that cannot rest together: the relaxation does not see it, and says so by no proof."""
    device = device_of(
        fill_problem(job("a", (3, 4), carry=(40,)), job("b", (5,), carry=(60,)), lengths=(12, 9), free=100)
    )
    relaxed = relax(device)
    assert not relaxed.exact
    result = solve_value_iteration(device, relaxed, Limits())
    assert result.plan is None
    assert result.bound >= solve_dp(device, Limits()).value
    assert not result.proved
