"""The way that a device takes: every way gives the same optimum, or says that it has only a bound."""

from __future__ import annotations

import pytest

from pipefill_opt.solve import exact
from pipefill_opt.solve.device import DeviceProblem
from pipefill_opt.solve.exact import solve_auto, solve_exact
from pipefill_opt.solve.result import Limits, Reason
from tests.solve.devices import device_of, fill_problem, job


def plain() -> DeviceProblem:
    return device_of(fill_problem(job("a", (3, 4, 2)), job("b", (5, 2)), lengths=(9, 14, 8, 21)))


def coupled() -> DeviceProblem:
    a, b = job("a", (3, 4, 2), carry=(40, 1, 30)), job("b", (5, 2), carry=(50, 3))
    return device_of(fill_problem(a, b, lengths=(9, 14, 8, 21), free=99))


def test_small_devices_are_for_the_dynamic_program() -> None:
    assert solve_exact(plain(), Limits()).origin == "dynamic program"


def test_larger_monotone_devices_are_for_value_iteration(monkeypatch: pytest.MonkeyPatch) -> None:
    optimum = solve_exact(plain(), Limits())
    monkeypatch.setattr(exact, "FEW_TRANSITIONS", 0)
    result = solve_exact(plain(), Limits())
    assert (result.origin, result.value, result.proved) == ("value iteration", optimum.value, True)
    assert solve_exact(coupled(), Limits()).origin == "dynamic program"


def _nothing_is_small(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(exact, "FEW_TRANSITIONS", 0)
    monkeypatch.setattr(exact, "MOST_TRANSITIONS", 0)


def test_too_large_a_device_gets_a_bound(monkeypatch: pytest.MonkeyPatch) -> None:
    optimum = solve_exact(coupled(), Limits())
    _nothing_is_small(monkeypatch)
    monkeypatch.setattr(exact, "fits_coupled", lambda device: False)
    for grid in (True, False):
        monkeypatch.setattr(exact, "fits_grid", lambda device, fits=grid: fits)
        result = solve_exact(coupled(), Limits(), hint=optimum.plan)
        assert (result.value, result.plan, result.reason) == (optimum.value, optimum.plan, Reason.WORK_LIMIT)
        assert result.bound >= optimum.value
        assert solve_exact(coupled(), Limits()).value == 0


def test_coupled_devices_are_for_their_own_value_iteration(monkeypatch: pytest.MonkeyPatch) -> None:
    optimum = solve_exact(coupled(), Limits())
    _nothing_is_small(monkeypatch)
    result = solve_exact(coupled(), Limits())
    assert (result.value, result.proved, result.reason) == (optimum.value, True, Reason.PROVED)
    assert result.origin in ("value iteration", "value iteration with carried bytes")


def test_auto_goes_on_to_cp_sat(monkeypatch: pytest.MonkeyPatch) -> None:
    optimum = solve_exact(coupled(), Limits())
    _nothing_is_small(monkeypatch)
    monkeypatch.setattr(exact, "fits_coupled", lambda device: False)
    result = solve_auto(coupled(), Limits())
    assert (result.value, result.proved, result.reason) == (optimum.value, True, Reason.PROVED)


def test_auto_keeps_to_the_limits(monkeypatch: pytest.MonkeyPatch) -> None:
    _nothing_is_small(monkeypatch)
    result = solve_auto(coupled(), Limits(time=0))
    assert result.value == 0
    assert not result.proved
