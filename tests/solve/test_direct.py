"""The whole problem as one program: its points are plans, and it has the optimum that columns, dynamic program and brute force have."""

from __future__ import annotations

from dataclasses import replace
from fractions import Fraction

import pytest

from pipefill_opt.fill.problem import FillProblem
from pipefill_opt.solve import direct_program
from pipefill_opt.solve.cpsat import maximize
from pipefill_opt.solve.device import compile_problem
from pipefill_opt.solve.direct import solve_directly
from pipefill_opt.solve.direct_program import DirectProgram
from pipefill_opt.solve.facade import solve
from pipefill_opt.solve.network import TooLargeError
from pipefill_opt.solve.result import Limits, Outcome, Progress, Reason
from pipefill_opt.solve.start import start_from
from pipefill_opt.solve.watch import Watch
from tests.solve.agreement import DIRECT, disagreements
from tests.solve.brute_force import optimum
from tests.solve.devices import fill_problem, job
from tests.solve.random_instances import random_problem
from tests.solve.test_allocate import shared

SEVERAL = [seed for seed in range(400) if sum(device.count for device in random_problem(seed).devices) > 2]
"""Seeds of random problems with three devices or more: of several classes, or equal ones."""


def whole_of(problem: FillProblem) -> DirectProgram:
    return DirectProgram(compile_problem(problem), problem.iterations or problem.max_iterations)


def test_blocks_make_up_every_number_of_devices() -> None:
    """Three devices and two copies: at most two with one a, at most one with two of them; 8 ticks hold two."""
    problem = shared(copies=(2, 0), counts=(3, 1))
    blocks = [(b.device.class_index, b.device.residents, b.devices) for b in whole_of(problem).blocks]
    one, two = ((0, 0),), ((0, 0), (0, 0))
    assert blocks == [(0, one, 1), (0, one, 2), (0, two, 1), (1, one, 1)]


def test_points_of_optimal_plans_keep_all_rows() -> None:
    for seed in SEVERAL[:25]:
        problem = random_problem(seed)
        if problem.iterations is None:
            continue
        best, plan = optimum(problem)
        compiled = compile_problem(problem)
        whole = whole_of(problem)
        _, choices = start_from(compiled, plan)
        point = whole.point([choice for choice in choices if choice.value])
        assert point is not None
        program = whole.program()
        assert all(row.holds(point) for row in program.rows)
        assert Fraction(program.worth(point), problem.iterations) * compiled.unit == best
        found = whole.choices(point)
        assert sum(choice.value * choice.multiplicity for choice in found) == program.worth(point)


def test_counts_and_copies_are_rows() -> None:
    """More devices than there are, or more copies, keep no point."""
    problem = shared(copies=(2, 2), counts=(2, 1))
    whole = whole_of(problem)
    plan = solve(problem).plan
    assert plan is not None
    _, choices = start_from(compile_problem(problem), plan)
    program = whole.program()
    for changed in (
        replace(problem, jobs=shared(copies=(1, 2)).jobs),
        replace(problem, devices=shared(counts=(1, 1)).devices),
    ):
        fewer = whole_of(changed)
        assert fewer.point(choices) is None or not all(
            row.holds(fewer.point(choices) or ()) for row in fewer.program().rows
        )
    point = whole.point(choices)
    assert point is not None
    assert all(row.holds(point) for row in program.rows)


@pytest.mark.parametrize("name", DIRECT)
def test_several_classes_and_devices_agree_with_brute_force_and_columns(name: str) -> None:
    assert len(SEVERAL) >= 40
    for seed in SEVERAL[: 40 if name == "cpsat-direct" else 20]:
        problem = random_problem(seed)
        assert disagreements(problem, optimum(problem)[0], [name, "dp"]) == []


@pytest.mark.parametrize("name", DIRECT)
def test_many_equal_devices_with_scarce_copies(name: str) -> None:
    problem = shared(copies=(150, 77), counts=(300, 45))
    expected = solve(problem, solver="dp")
    found = solve(problem, solver=name)
    assert expected.outcome is found.outcome is Outcome.OPTIMAL
    assert found.objective == expected.objective


def test_a_problem_that_is_too_large_keeps_its_start(monkeypatch: pytest.MonkeyPatch) -> None:
    problem = fill_problem(job("a", (4, 3)), job("b", (3, 6)), lengths=(11, 9, 13))
    compiled = compile_problem(problem)
    plan = solve(problem, solver="greedy-all").plan
    assert plan is not None
    _, start = start_from(compiled, plan)
    monkeypatch.setattr(direct_program, "MAX_VARIABLES", 10)
    with pytest.raises(TooLargeError):
        whole_of(problem)
    found = solve_directly(compiled, 1, maximize, Watch(Limits()), start=start)
    assert found.value == sum(choice.value * choice.multiplicity for choice in start)
    assert found.value < found.bound
    assert (found.reason, found.origin) == (Reason.WORK_LIMIT, "capacity")


def test_no_residents_can_work() -> None:
    found = solve(fill_problem(job("a", (2,), memory=2000)), solver="cpsat-direct")
    assert (found.objective, found.outcome) == (0, Outcome.OPTIMAL)


def test_progress_brackets_the_answer() -> None:
    news: list[Progress] = []
    problem = fill_problem(job("a", (4, 3)), job("b", (3, 6)), lengths=(11, 9, 13))
    found = solve(problem, solver="cpsat-direct", limits=Limits(on_progress=news.append))
    assert news
    assert found.objective is not None
    for progress in news:
        assert progress.value is not None
        assert progress.bound is not None
        assert progress.value <= found.objective <= progress.bound
