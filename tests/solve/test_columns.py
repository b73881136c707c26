"""Sets of residents: all that can matter, bounds that hold, and one bound for those that are too many to list."""

from __future__ import annotations

from dataclasses import replace
from fractions import Fraction

import pytest

from pipefill_opt.solve import columns
from pipefill_opt.solve.columns import list_columns, rate_bound
from pipefill_opt.solve.device import compile_problem
from pipefill_opt.solve.dp import solve_dp
from pipefill_opt.solve.result import Limits
from tests.solve import brute_force
from tests.solve.devices import fill_problem, job
from tests.solve.random_instances import random_problem


@pytest.mark.parametrize("first", [0, 40])
def test_no_set_that_matters_is_missing(first: int) -> None:
    for seed in range(first, first + 40):
        problem = random_problem(seed)
        compiled = compile_problem(problem)
        iterations = problem.iterations or 2
        listed = list_columns(compiled, iterations)
        bounds = {(c.class_index, c.residents): b for c, b in zip(listed.columns, listed.bounds, strict=True)}
        for index, own in enumerate(problem.devices):
            best = {}
            for residents in brute_force.residents_of(problem, own):
                best[residents] = solve_dp(compiled.device(index, residents, iterations), Limits()).value
            for residents, value in best.items():
                if (index, residents) in bounds:
                    assert value <= bounds[index, residents]
                else:  # as good without one of its slots
                    fewer = [residents[:k] + residents[k + 1 :] for k in range(len(residents))]
                    assert value <= max((best[less] for less in fewer), default=0)


def test_copies_and_memory_limit_the_sets() -> None:
    a, b = replace(job("a", (2,), resident=40), copies=3), replace(job("b", (2,), resident=10), copies=1)
    listed = list_columns(compile_problem(fill_problem(a, b, lengths=(20,), free=95)), 1)
    assert [column.residents for column in listed.columns] == [
        ((0, 0),),
        ((1, 0),),
        ((0, 0), (0, 0)),
        ((0, 0), (1, 0)),
    ]  # a, a, b holds 90, and 3 carried, and runs 10
    assert listed.columns[2].usage == ((0, 2),)
    assert listed.rest == (None,)


def test_too_many_sets_leave_a_bound_for_the_rest(monkeypatch: pytest.MonkeyPatch) -> None:
    jobs = [replace(job(f"j{k}", (2, 3)), copies=4) for k in range(3)]
    compiled = compile_problem(fill_problem(*jobs, lengths=(30,)))
    every = list_columns(compiled, 1)
    assert every.rest == (None,)
    monkeypatch.setattr(columns, "MAX_COLUMNS", 12)
    few = list_columns(compiled, 1)
    assert few.columns == every.columns[:12]
    assert few.rest[0] is not None
    bound, least = few.rest[0]
    assert bound >= max(every.bounds)
    assert least == 3
    assert all(len(column.residents) >= 3 for column in every.columns[12:])


def test_rate_bound_holds_for_every_number_of_iterations() -> None:
    for seed in range(60):
        problem = random_problem(seed)
        if not problem.repeat:
            continue
        bound = rate_bound(compile_problem(replace(problem, iterations=None, max_iterations=6)))
        for iterations in (1, 2, 3):
            compiled = compile_problem(replace(problem, iterations=iterations))
            total = Fraction(0)
            for index, own in enumerate(problem.devices):
                values = [
                    solve_dp(compiled.device(index, residents, iterations), Limits()).value
                    for residents in brute_force.residents_of(problem, own)
                ]
                total += Fraction(own.count * max(values), iterations)
            assert total <= bound
