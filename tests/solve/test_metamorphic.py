"""Changes with a known effect on the optimum: exact solvers show it. docs/metamorphic.md states what holds and what does not."""

from __future__ import annotations

import logging
import random
from collections.abc import Iterator
from dataclasses import replace
from fractions import Fraction
from functools import cache

import pytest

from pipefill_opt.files import data_folder
from pipefill_opt.fill.problem import Configuration, FillProblem, Guard, Operator
from pipefill_opt.fill.read import read_instance
from pipefill_opt.solve.facade import SOLVERS, solve
from pipefill_opt.solve.result import Limits, Outcome
from tests.solve.brute_force import optimum
from tests.solve.devices import fill_problem, job
from tests.solve.metamorphic import BEFORE, CHANGES, even, longer
from tests.solve.random_instances import random_problem

SEEDS = {"dp": range(24), "cpsat": range(30, 32), "cg": range(200, 203)}
SELDOM = ("rotated_period", "doubled_horizon", "open_horizon", "merged_bubbles")
"""Changes that not every problem allows."""
SUITE = ("tiny/09-swapped", "tiny/12-pair", "tiny/21-residents", "tiny/23-inner-bubbles", "freeride/3.6b-m4-mix")


@pytest.fixture(autouse=True)
def _quiet(caplog: pytest.LogCaptureFixture) -> Iterator[None]:
    """Jobs that fit nowhere are among the instances."""
    with caplog.at_level(logging.ERROR):
        yield


def optimum_by(solver: str, problem: FillProblem) -> Fraction:
    """The optimum as a solver proves it."""
    found = solve(problem, solver=solver, limits=Limits(seed=1))
    assert found.outcome is Outcome.OPTIMAL, (problem.name, found.reason)
    assert found.objective is not None
    return found.objective


@cache
def before(solver: str, seed: int, name: str) -> Fraction:
    """The optimum before a change; `name`: what was done to it first, or nothing."""
    problem = random_problem(seed)
    return optimum_by(solver, BEFORE[name](problem) if name else problem)


@pytest.mark.parametrize("name", CHANGES)
@pytest.mark.parametrize("solver", [name for name in SEEDS if name in SOLVERS])
def test_changes(solver: str, name: str) -> None:
    change = CHANGES[name]
    told = 0
    for seed in SEEDS[solver]:
        changed = change.transform(random_problem(seed), random.Random(f"{name}-{seed}"))
        if changed is None:
            continue
        told += 1
        old, new = before(solver, seed, name if name in BEFORE else ""), optimum_by(solver, changed)
        assert change.holds(old, new), (seed, old, new)
    assert told or (name in SELDOM and solver != "dp")


@pytest.mark.parametrize("file", SUITE)
def test_changes_of_the_suite(file: str) -> None:
    problem = replace(read_instance(data_folder("instances") / f"{file}.yaml"), main=None)
    for name, change in CHANGES.items():
        changed = change.transform(problem, random.Random(name))
        if changed is not None:
            first = BEFORE[name](problem) if name in BEFORE else problem
            old, new = optimum_by("dp", first), optimum_by("dp", changed)
            assert change.holds(old, new), (name, old, new)


def test_every_change_of_limits_matters_somewhere() -> None:
    """A relation that holds because nothing ever changes would test nothing."""
    for name in ("more_bubbles", "more_memory", "more_copies", "faster_devices", "stricter_margin", "larger_carry"):
        change = CHANGES[name]
        moved = 0
        for seed in SEEDS["dp"]:
            changed = change.transform(random_problem(seed), random.Random(f"{name}-{seed}"))
            assert changed is not None
            moved += optimum_by("dp", changed) != before("dp", seed, "")
        assert moved >= 2, name


# What sounds right and is wrong: each with a problem that shows it


def both(first: FillProblem, second: FillProblem) -> tuple[Fraction, Fraction]:
    """The optima by brute force; the dynamic program has to agree."""
    found = optimum(first)[0], optimum(second)[0]
    assert found == (optimum_by("dp", first), optimum_by("dp", second))
    return found


def test_merging_bubbles_may_lose_to_a_change() -> None:
    """a and b fill a bubble each; one after the other in a bubble of 20 ticks they need a change of 1 tick more."""
    two = fill_problem(job("a", (10, 99)), job("b", (10, 99)), lengths=(10, 10), repeat=False)
    one = fill_problem(job("a", (10, 99)), job("b", (10, 99)), lengths=(20,), repeat=False)
    assert both(two, one) == (20, 10)


def test_a_faster_configuration_may_lower_the_worth_of_the_others() -> None:
    """An iteration is worth the job's least time: where the new configuration fits nowhere, the old one is paid by it all the same."""
    slow = fill_problem(job("a", (10,)), lengths=(10,))
    fast = Configuration("fast", Fraction(1), 10_000, (Operator("o", 4, 1, 0, Fraction(0), None),))
    own = slow.jobs[0]
    more = replace(slow, jobs=(replace(own, configurations=(*own.configurations, fast)),))
    assert both(slow, more) == (10, 4)


def test_a_longer_plan_that_runs_once_may_be_worth_less_an_iteration() -> None:
    """An operator that fits, then one that never does: one operator in all, however many iterations there are."""
    once = fill_problem(job("a", (5, 50)), lengths=(10,), repeat=False)
    assert both(once, replace(once, iterations=2)) == (5, Fraction(5, 2))


def test_a_plan_that_runs_once_has_a_first_bubble() -> None:
    """Operator 0 fits one of the bubbles only, operator 1 both: after operator 0."""
    one = fill_problem(job("a", (8, 4)), lengths=(9, 5), repeat=False)
    other = fill_problem(job("a", (8, 4)), lengths=(5, 9), repeat=False)
    assert both(one, other) == (12, 8)


def test_rounded_times_may_grow_by_more_than_the_factor() -> None:
    """3 ticks at speed 0.8 take ceil(3.75) = 4, too long for 3.75 usable ones; 12 take 15 and fit 15."""
    problem = fill_problem(job("a", (3,)), lengths=(7,))
    problem = replace(problem, guard=Guard(Fraction(15, 28), 0))
    problem = replace(problem, devices=tuple(replace(d, speed=Fraction(4, 5)) for d in problem.devices))
    assert both(problem, longer(problem, 4)) == (0, 12)
    assert both(even(problem), longer(even(problem), 4)) == (3, 12)
