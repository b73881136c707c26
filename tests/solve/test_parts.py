"""Many slots by few: the optimum of all at once, plans that keep every rule, the truth where tables are too large or limits end it."""

from __future__ import annotations

from dataclasses import replace
from fractions import Fraction
from threading import Event

import pytest

from pipefill_opt.solve import parts
from pipefill_opt.solve.device import DeviceProblem, compile_problem
from pipefill_opt.solve.dp import solve_dp
from pipefill_opt.solve.exact import solve_exact
from pipefill_opt.solve.monotone import relax
from pipefill_opt.solve.parts import solve_parts, takes_parts
from pipefill_opt.solve.result import Limits, Reason
from pipefill_opt.solve.value_iteration import solve_value_iteration
from tests.solve.devices import device_of, fill_problem, job
from tests.solve.monotone_devices import monotone_problem
from tests.solve.plans import broken_rules


def long_chains(slots: int) -> DeviceProblem:
    """A few laps of the slots together, so that some slots are left out."""
    jobs = [job(f"j{s}", tuple(20 + (7 * k + 11 * s) % 40 for k in range(8 + s))) for s in range(slots)]
    return device_of(fill_problem(*jobs, lengths=tuple(90 + 31 * k % 70 for k in range(9))))


@pytest.mark.parametrize(("slots", "bubbles", "operators"), [(3, 3, 4), (3, 5, 4), (4, 3, 3)])
def test_equals_dynamic_program(slots: int, bubbles: int, operators: int, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(parts, "SMALL", 0)
    taken = 0
    for seed in range(25):
        problem = monotone_problem(seed, slots=slots, bubbles=bubbles, operators=operators)
        device = device_of(problem)
        relaxed = relax(device)
        if not takes_parts(device, relaxed):
            continue
        taken += 1
        found = solve_parts(device, relaxed, Limits())
        assert found.value == found.bound == solve_dp(device, Limits()).value
        assert found.plan is not None
        assert found.plan.value(device) == found.value
        assert broken_rules(compile_problem(problem), device, found.plan) == []
    assert taken >= 5


def test_equals_all_slots_at_once() -> None:
    device = long_chains(4)
    found = solve_exact(device, Limits())
    assert takes_parts(device, relax(device))
    assert found.proved
    assert found.value == solve_value_iteration(device, relax(device), Limits()).value


def test_a_plan_that_needs_all_slots() -> None:
    device = device_of(fill_problem(*(job(f"j{s}", (30 + s,) * 8) for s in range(4)), lengths=(252, 252, 252, 252)))
    short = replace(device, iterations=1)
    found = solve_parts(short, relax(short), Limits())
    assert found.proved
    assert found.value == solve_value_iteration(short, relax(short), Limits()).value


def test_too_large_for_a_table_of_all_leaves_a_bound(monkeypatch: pytest.MonkeyPatch) -> None:
    device = long_chains(3)
    truth = solve_value_iteration(device, relax(device), Limits()).value
    monkeypatch.setattr(parts, "fits_grid", lambda device: len(device.slots) < 3)
    found = solve_parts(device, relax(device), Limits())
    assert found.value <= truth <= found.bound
    assert found.plan is not None
    assert found.proved or found.reason is Reason.WORK_LIMIT
    monkeypatch.setattr(parts, "fits_grid", lambda device: False)
    blind = solve_parts(device, relax(device), Limits())
    assert (blind.value, blind.reason) == (0, Reason.WORK_LIMIT)
    assert blind.bound >= truth


def test_limits_and_hint() -> None:
    device = long_chains(4)
    best = solve_parts(device, relax(device), Limits())
    again = solve_parts(device, relax(device), Limits(gap=Fraction(1, 2)), hint=best.plan)
    assert again.value == best.value <= again.bound
    stop = Event()
    stop.set()
    stopped = solve_parts(device, relax(device), Limits(stop=stop))
    assert stopped.value <= best.value <= stopped.bound
    assert stopped.reason in (Reason.INTERRUPTED, Reason.PROVED)
    short = solve_parts(device, relax(device), Limits(work=1))
    assert short.value <= best.value <= short.bound
