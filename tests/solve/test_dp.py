"""The dynamic program is exact on one device, whatever the fields."""

from __future__ import annotations

from dataclasses import replace
from fractions import Fraction

import pytest

from pipefill_opt.files import data_folder
from pipefill_opt.fill.problem import FillProblem
from pipefill_opt.fill.read import read_instance
from pipefill_opt.solve.device import DevicePlan, DeviceProblem, Run, Visit, compile_problem
from pipefill_opt.solve.dp import solve_dp
from pipefill_opt.solve.result import Limits, Reason
from tests.solve.devices import device_of, fill_problem, job, random_devices, with_table
from tests.solve.plans import broken_rules
from tests.solve.random_instances import random_problem


@pytest.mark.parametrize("first", [0, 100])
def test_equals_brute_force(first: int) -> None:
    checked = 0
    for device, own in random_devices(range(first, first + 50)):
        best = own.best(device.iterations)
        result = solve_dp(device, Limits())
        assert result.proved
        assert result.value * device.unit == (0 if best is None else own.worth_of(best))
        assert result.plan is not None
        assert result.plan.value(device) == result.value
        checked += 1
    assert checked > 100


def test_plans_are_certified() -> None:
    for seed in range(60):
        problem = random_problem(seed)
        compiled = compile_problem(problem)
        for index, own in enumerate(problem.devices):
            for j, any_job in enumerate(problem.jobs):
                if own.name in any_job.devices:
                    device = compiled.device(index, ((j, 0),), problem.iterations or 2)
                    result = solve_dp(device, Limits())
                    if result.value:
                        assert result.plan is not None
                        assert broken_rules(compiled, device, result.plan) == []


def worth(problem: FillProblem) -> Fraction:
    """The optimum of the one device of a problem by hand, with one copy of each job; its plan is certified."""
    device = device_of(problem)
    result = solve_dp(device, Limits())
    assert result.proved
    assert result.plan is not None
    assert broken_rules(compile_problem(problem), device, result.plan) == []
    return result.value * device.unit


def test_carried_bytes_decide_when_another_slot_runs() -> None:
    """b fits only while a stands after its first operator: b, a2, a1, or a1, b, a2."""
    a = replace(job("a", (1, 1), carry=(5, 60), resident=10), weight=Fraction(1, 4))
    b = job("b", (5,), memory=70, resident=10)
    values = [worth(fill_problem(a, b, lengths=(length,), free=100)) for length in (7, 8, 9)]
    assert values == [5, Fraction(11, 2), Fraction(11, 2)]
    values = [worth(fill_problem(a, b, lengths=(length,), free=94)) for length in (5, 8)]
    assert values == [1, 2]  # a alone


def test_a_b_a_in_one_bubble() -> None:
    """As above, but only a2 fits the second bubble, and it must: a1 takes the first, with b behind it, and a2 of the lap before."""
    problem = read_instance(data_folder("instances") / "tiny" / "24-sandwich.yaml")
    compiled = compile_problem(problem)
    residents = tuple((j, 0) for j in range(len(problem.jobs)))
    device = compiled.device(0, residents, 1)
    result = solve_dp(device, Limits())
    assert result.plan is not None
    assert broken_rules(compiled, device, result.plan) == []
    assert any([run.slot for run in visit.runs] in ([0, 1, 0], [1, 0, 1]) for visit in result.plan.visits)


def test_table_without_triangle_inequality() -> None:
    """Once each: from b to c by way of a takes 2 ticks, directly 9."""
    jobs = [job(name, (2, 50)) for name in "abc"]
    table = {x: dict.fromkeys("abc", 9) for x in "abc"}
    table["b"]["a"] = table["a"]["c"] = 1
    problem = fill_problem(*jobs, lengths=(8,), repeat=False)
    assert worth(with_table(problem, table)) == 6
    table["a"]["c"] = 2
    assert worth(with_table(problem, table)) == 4


@pytest.mark.parametrize(("length", "value"), [(11, 5), (10, 4), (9, 4), (8, 2)])
def test_transfers_take_time(length: int, value: int) -> None:
    """a: 2 in (nothing carried yet), 2, 2, 3 out (1 carried); b: 1, and 1 between."""
    a = job("a", (2, 2, 50), resident=2, keep=False)
    assert worth(fill_problem(a, job("b", (1, 50)), lengths=(length,), repeat=False)) == value


@pytest.mark.parametrize("repeat", [True, False])
def test_carried_bytes_decide_where_to_stop(repeat: bool) -> None:
    a = job("a", (2, 2, 2), carry=(90, 1, 1), resident=20)
    assert worth(fill_problem(a, lengths=(2, 4), free=100, repeat=repeat)) == (6 if repeat else 4)


def test_residents_that_do_not_fit_are_worth_nothing() -> None:
    device = device_of(fill_problem(job("a", (2,), resident=200), free=100))
    result = solve_dp(device, Limits())
    assert (result.value, result.bound) == (0, 0)


def test_values_beyond_64_bits() -> None:
    for device, _ in random_devices(range(20)):
        factor = 10**25
        slots = tuple(replace(slot, value=tuple(v * factor for v in slot.value)) for slot in device.slots)
        large = solve_dp(replace(device, slots=slots), Limits())
        assert large.proved
        assert large.value == factor * solve_dp(device, Limits()).value


def _hard() -> DeviceProblem:
    a, b = job("a", (3, 5, 4, 6), carry=(40, 7)), job("b", (5, 7, 2, 5, 3), carry=(9, 60))
    return device_of(fill_problem(a, b, lengths=(19, 11, 23, 14, 17), free=110))


@pytest.mark.parametrize("work", [0, 1, 2_000, 20_000, 100_000])
def test_limits_are_told_truthfully(work: int) -> None:
    device = _hard()
    optimum = solve_dp(device, Limits())
    assert optimum.proved
    result = solve_dp(device, Limits(work=work))
    assert result.value <= optimum.value <= result.bound
    assert result.proved or result.reason is Reason.WORK_LIMIT
    assert result.plan is None or result.plan.value(device) == result.value
    assert solve_dp(device, Limits(work=0)).reason is Reason.WORK_LIMIT


def test_stop_keeps_the_hint() -> None:
    device = _hard()
    optimum = solve_dp(device, Limits())
    limits = Limits()
    limits.stop.set()
    result = solve_dp(device, limits, hint=optimum.plan)
    assert (result.value, result.plan, result.reason) == (optimum.value, optimum.plan, Reason.INTERRUPTED)


def test_a_gap_limit_ends_the_search_of_starts() -> None:
    """One lap of a, worth 18 of 80, is within 4 of its value of the optimum, not within 3."""
    device = _hard()
    one_lap = DevicePlan((0, 0), (Visit(0, 0, (Run(0, 0, 4),)),))
    rough = solve_dp(device, Limits(gap=Fraction(4)), hint=one_lap)
    assert (rough.value, rough.plan, rough.reason) == (18, one_lap, Reason.GAP_LIMIT)
    assert 80 <= rough.bound <= 18 * 5
    fine = solve_dp(device, Limits(gap=Fraction(3)), hint=one_lap)
    assert (fine.value, fine.bound, fine.reason) == (80, 80, Reason.PROVED)
