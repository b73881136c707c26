"""Plans to start from: nothing of them is lost, and what breaks a rule is refused."""

from __future__ import annotations

from dataclasses import replace
from fractions import Fraction

import pytest

from pipefill_opt.errors import CertificateError, InputError
from pipefill_opt.fill.plan import FillPlan
from pipefill_opt.fill.problem import FillProblem
from pipefill_opt.solve.device import compile_problem
from pipefill_opt.solve.facade import solve
from pipefill_opt.solve.result import Limits, Outcome, Reason
from pipefill_opt.solve.start import start_from
from tests.solve.brute_force import optimum
from tests.solve.devices import fill_problem, job
from tests.solve.random_instances import random_problem
from tests.solve.test_allocate import shared
from tests.solve.test_facade import auto_length

EXACT = pytest.mark.parametrize("name", ["auto", "dp", "cpsat", "milp", "cpsat-direct", "milp-direct"])


def beats_greedy() -> tuple[FillProblem, FillPlan]:
    """A problem whose optimal plan greedy does not find, and that plan."""
    problem = fill_problem(job("a", (4,)), job("b", (3,)), lengths=(8, 11))
    plan = solve(problem, solver="dp").plan
    assert plan is not None
    return problem, plan


def test_a_plan_becomes_what_it_was_made_of() -> None:
    """Random problems have several classes, slots in any order, swapped jobs and plans that run once."""
    for seed in range(60):
        problem = random_problem(seed)
        best, plan = optimum(problem)
        compiled = compile_problem(problem)
        iterations, choices = start_from(compiled, plan)
        value = sum(choice.value * choice.multiplicity for choice in choices)
        assert Fraction(value, iterations) * compiled.unit == best, problem.name
        for choice in choices:
            assert list(choice.device.residents) == sorted(choice.device.residents)


@EXACT
def test_without_time_the_plan_comes_back(name: str) -> None:
    problem, plan = beats_greedy()
    best = solve(problem).objective
    alone = solve(problem, solver=name, limits=Limits(time=0))
    found = solve(problem, solver=name, limits=Limits(time=0), start=plan)
    assert alone.objective is not None
    assert best is not None
    assert alone.objective < best
    assert found.objective == best
    assert found.outcome is Outcome.OPTIMAL or found.reason is Reason.TIME_LIMIT


@EXACT
def test_a_worse_plan_does_no_harm(name: str) -> None:
    empty = solve(shared(), solver="greedy").plan
    found = solve(shared(), solver=name, start=empty)
    assert (found.objective, found.outcome) == (19, Outcome.OPTIMAL)


@EXACT
def test_the_number_of_iterations_is_that_of_the_plan(name: str) -> None:
    first = solve(auto_length()).plan
    assert first is not None
    assert first.iterations == 3
    found = solve(auto_length(), solver=name, limits=Limits(time=0), start=first)
    assert found.objective == 8
    assert found.plan is not None
    assert found.plan.iterations == 3


def test_a_plan_that_breaks_a_rule_is_refused() -> None:
    problem, plan = beats_greedy()
    doubled = FillPlan(tuple(replace(p, multiplicity=2) for p in plan.patterns), plan.iterations)
    with pytest.raises(CertificateError, match=r"the plan to start from breaks a rule: .* count: "):
        solve(problem, start=doubled)


def test_greedy_starts_from_nothing() -> None:
    problem, plan = beats_greedy()
    with pytest.raises(InputError, match="solver: greedy-all: expected an exact solver"):
        solve(problem, solver="greedy-all", start=plan)
