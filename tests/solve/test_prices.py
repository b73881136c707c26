"""Shadow prices against exhaustive search of both problems."""

from __future__ import annotations

from dataclasses import replace
from fractions import Fraction

import pytest

from pipefill_opt.errors import InfeasibleError, LimitError
from pipefill_opt.fill.certify import certify
from pipefill_opt.fill.problem import FillProblem
from pipefill_opt.report.prices import prices_text
from pipefill_opt.solve.facade import solve
from pipefill_opt.solve.prices import MILLISECOND, Prices, Scarce, changes, shadow_prices
from pipefill_opt.solve.result import Limits, Outcome
from tests.solve.brute_force import optimum
from tests.solve.random_instances import random_problem

SEEDS = (3, 17, 40, 58, 71)
SEARCHABLE = ("switch", "copy", "memory")
"""Changes after which the exhaustive search is still short."""


def against_exhaustive_search(problem: FillProblem, prices: Prices) -> int:
    """Holds every price against the true one; returns how many are not 0."""
    base, _ = optimum(problem)
    changed = 0
    for price in prices.prices:
        if price.change.what in SEARCHABLE:
            after, _ = optimum(price.change.problem)
            assert price.least <= after - base <= price.most, price.change
            assert not price.proved or price.found == after - base
            changed += after != base
    return changed


@pytest.mark.parametrize("seed", SEEDS)
def test_prices_are_the_differences_of_optima(seed: int) -> None:
    problem = random_problem(seed)
    prices = shadow_prices(problem, Limits())
    assert prices.left_out == 0
    assert all(price.proved for price in prices.prices)
    against_exhaustive_search(problem, prices)


def test_some_of_these_prices_are_not_zero() -> None:
    found = [price for seed in SEEDS for price in shadow_prices(random_problem(seed), Limits()).prices if price.found]
    assert {price.change.what for price in found} == set(Scarce)


@pytest.mark.parametrize("seed", SEEDS)
def test_an_interval_holds_the_true_price_where_a_search_was_cut_short(seed: int) -> None:
    problem = random_problem(seed)
    against_exhaustive_search(problem, shadow_prices(problem, Limits(), solver="greedy"))


def test_a_stopped_run_says_what_it_left_out() -> None:
    problem = random_problem(SEEDS[0])
    limits = Limits()
    limits.stop.set()
    prices = shadow_prices(problem, limits)
    assert prices.prices == ()
    assert prices.left_out == len(list(changes(problem)))


def test_changes_change_one_thing() -> None:
    problem = random_problem(SEEDS[1])
    for change in changes(problem):
        if change.what is Scarce.TIME:
            before = sum(b.length for d in problem.devices for b in d.bubbles)
            after = sum(b.length for d in change.problem.devices for b in d.bubbles)
            count = problem.device(change.of).count
            assert (after - before) * count == change.units * MILLISECOND
            assert change.problem.jobs == problem.jobs
        elif change.what is Scarce.COPY:
            assert change.problem.devices == problem.devices
            assert sum(job.copies for job in change.problem.jobs) == sum(job.copies for job in problem.jobs) + 1
        if change.relaxes and change.what is not Scarce.DEVICE:
            _, plan = optimum(problem)
            assert certify(change.problem, plan).valid


def test_worth_for_one_unit() -> None:
    prices = shadow_prices(random_problem(SEEDS[0]), Limits()).prices
    assert all(price.each * price.change.units == price.found for price in prices)
    assert all(price.found >= Fraction(0) for price in prices)


def test_a_change_after_which_no_plan_is_found_has_no_price(monkeypatch: pytest.MonkeyPatch) -> None:
    problem = random_problem(SEEDS[0])
    base = solve(problem)
    lost = replace(base, outcome=Outcome.UNKNOWN, plan=None, objective=None)
    monkeypatch.setattr("pipefill_opt.solve.prices.solve", lambda asked, **_: base if asked is problem else lost)
    prices = shadow_prices(problem, Limits())
    assert prices.prices == ()
    assert prices.without_plan == tuple(changes(problem))
    assert prices.left_out == 0
    assert "no plan found for" in prices_text(problem, prices)


def test_without_a_plan_there_is_nothing_to_price(monkeypatch: pytest.MonkeyPatch) -> None:
    problem = random_problem(SEEDS[0])
    base = replace(solve(problem), plan=None, objective=None)
    for outcome, error in ((Outcome.UNKNOWN, LimitError), (Outcome.INFEASIBLE, InfeasibleError)):
        found = replace(base, outcome=outcome)
        monkeypatch.setattr("pipefill_opt.solve.prices.solve", lambda *_, found=found, **__: found)
        with pytest.raises(error):
            shadow_prices(problem, Limits())
