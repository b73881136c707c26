"""Bounds of sets of residents hold, priced or not, and no set that may matter is missed."""

from __future__ import annotations

import random
from dataclasses import replace
from fractions import Fraction

import pytest

from pipefill_opt.solve.columns import list_columns
from pipefill_opt.solve.device import compile_problem
from pipefill_opt.solve.dp import solve_dp
from pipefill_opt.solve.generation import sets as sets_module
from pipefill_opt.solve.generation.prices import Prices
from pipefill_opt.solve.generation.sets import Sets
from pipefill_opt.solve.result import Limits
from tests.solve import brute_force
from tests.solve.devices import fill_problem, job
from tests.solve.random_instances import random_problem

Residents = tuple[tuple[int, int], ...]


def priced(residents: Residents, prices: Prices) -> Fraction:
    return sum((prices.exact[j] for j, _ in residents), Fraction(0))


@pytest.mark.parametrize("first", [0, 40, 80])
def test_no_plan_is_worth_more_than_its_price_and_the_proven_top(first: int) -> None:
    for seed in range(first, first + 40):
        problem = random_problem(seed)
        compiled = compile_problem(problem)
        iterations = problem.iterations or 2
        rng = random.Random(seed)
        for index, own in enumerate(problem.devices):
            values = {
                residents: solve_dp(compiled.device(index, residents, iterations), Limits()).value
                for residents in brute_force.residents_of(problem, own)
            }
            scale = max(values.values(), default=0) or 1
            for _ in range(3):
                prices = Prices.rounded([rng.choice((0.0, rng.random() * scale / 2)) for _ in problem.jobs])
                sets = Sets(compiled, index, iterations)
                threshold = rng.random() * scale
                top, offers = sets.price(prices, threshold, lambda: None)
                for residents, value in values.items():
                    assert value - priced(residents, prices) <= top
                for offer in offers:
                    assert sets.upper(offer.row) >= values.get(sets.table.residents(offer.row), 0)
                if offers:
                    continue
                assert all(
                    value - priced(residents, prices) <= threshold * (1 + 1e-9) for residents, value in values.items()
                )


def test_all_sets_worth_more_are_found() -> None:
    found = 0
    for seed in range(60):
        problem = random_problem(seed)
        compiled = compile_problem(problem)
        iterations = problem.iterations or 2
        listed = list_columns(compiled, iterations)
        rng = random.Random(seed)
        for index in range(len(problem.devices)):
            sets = Sets(compiled, index, iterations)
            bounds = {
                c.residents: b for c, b in zip(listed.columns, listed.bounds, strict=True) if c.class_index == index
            }
            scale = max(bounds.values(), default=0) or 1
            prices = Prices.rounded([rng.random() * scale / 3 for _ in problem.jobs])
            threshold = Fraction(scale, 4)
            rows = sets.worth_more(prices, threshold, 10_000)
            assert rows is not None
            near = {sets.table.residents(row) for row in rows}
            for residents in bounds:
                row = sets.row(residents)
                worth = 0 if row is None else sets.upper(row)
                assert (worth - priced(residents, prices) >= threshold) == (residents in near)
            found += len(near)
            if near:
                assert sets.worth_more(prices, threshold, len(near) - 1) is None
    assert found > 100


def test_bounds_of_any_length_hold_for_every_length() -> None:
    for seed in range(40):
        problem = random_problem(seed)
        if not problem.repeat:
            continue
        compiled = compile_problem(problem)
        for index in range(len(problem.devices)):
            sets = Sets(compiled, index, 3, every=True)
            sets.list_single()
            for row in sets.levels[1].rows.tolist() if len(sets.levels) > 1 else []:
                for iterations in (1, 2, 3):
                    device = compiled.device(index, sets.table.residents(row), iterations)
                    value = solve_dp(device, Limits()).value
                    assert Fraction(value, iterations) <= Fraction(sets.upper(tuple(row)), 3)


def test_a_bound_for_what_is_not_listed(monkeypatch: pytest.MonkeyPatch) -> None:
    jobs = [replace(job(f"j{k}", (2, 3)), copies=4) for k in range(3)]
    compiled = compile_problem(fill_problem(*jobs, lengths=(30,)))
    free = Prices.rounded([0.0] * 3)
    every = Sets(compiled, 0, 1)
    every.price(free, 29.0, lambda: None)
    full = max(every.upper(row) for row in every.exact)
    monkeypatch.setattr(sets_module, "MOST_ROWS", 3)
    few = Sets(compiled, 0, 1)
    top, offers = few.price(free, 29.0, lambda: None)
    assert few.count() <= 3 * (1 + sets_module.OPENED)
    assert top >= full
    stopped = Sets(compiled, 0, 1)
    top, offers = stopped.price(free, 0.0, lambda: "time")
    assert (stopped.count(), offers) == (0, [])
    assert top >= 30  # all of the room


def test_a_tighter_bound_counts() -> None:
    compiled = compile_problem(fill_problem(job("a", (2, 3)), job("b", (4,)), lengths=(30,)))
    sets = Sets(compiled, 0, 1)
    row = sets.row(((0, 0), (1, 0)))
    assert row is not None
    free = Prices.rounded([0.0, 0.0])
    first, _ = sets.price(free, 0.0, lambda: None)
    for single in sets.levels[1].rows.tolist():
        sets.tighten(tuple(single), 3)
    sets.tighten(row, 7)
    sets.tighten(row, 9)
    sets.price(free, 8.0, lambda: None)  # none is worth more, so all are listed
    second, offers = sets.price(free, 0.0, lambda: None)
    assert (first > 7, second) == (True, 7)
    assert offers[0].row == row
    assert sets.row(((0, 0), (0, 0))) is None  # one copy
    assert sets.row(((5, 0),)) is None
