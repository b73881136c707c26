"""Over every number of iterations: bounds that hold for all of them, also when the time ends early."""

from __future__ import annotations

from dataclasses import replace
from fractions import Fraction
from typing import Any

from pipefill_opt.fill.problem import FillProblem
from pipefill_opt.solve.allocate import Allocation, allocate
from pipefill_opt.solve.device import compile_problem
from pipefill_opt.solve.dp import solve_dp
from pipefill_opt.solve.greedy import every_kind
from pipefill_opt.solve.lengths import Answer, lengths, search_exact, search_greedy
from pipefill_opt.solve.result import Limits, Progress, Reason
from pipefill_opt.solve.watch import Watch
from tests.solve.devices import fill_problem, job
from tests.solve.test_allocate import every_choice


def pair(iterations: int | None) -> FillProblem:
    problem = fill_problem(job("a", (5, 4)), job("b", (6, 3, 2)), lengths=(12, 9))
    return replace(problem, iterations=iterations, max_iterations=5)


def best_of(problem: FillProblem, limits: Limits) -> Answer:
    """`search_exact` with the dynamic program."""
    compiled = compile_problem(problem)

    def solve_length(iterations: int, watch: Watch, **others: Any) -> Allocation:
        return allocate(compiled, iterations, solve_dp, every_choice, watch, **others)

    return search_exact(compiled, solve_length, Watch(limits))


def test_lengths() -> None:
    assert list(lengths(compile_problem(pair(3)))) == [3]
    assert list(lengths(compile_problem(pair(None)))) == [1, 2, 3, 4, 5]


def test_auto_is_the_best_of_all() -> None:
    each = {}
    for h in range(1, 6):
        each[h] = best_of(pair(h), Limits())
        assert each[h].value == each[h].bound
    news: list[Progress] = []
    compiled = compile_problem(pair(None))
    found = best_of(pair(None), Limits(on_progress=news.append))
    assert found.value == found.bound == max(answer.value for answer in each.values())
    assert found.reason is Reason.PROVED
    for progress in news:
        assert progress.value is not None
        assert progress.bound is not None
        assert progress.value <= found.value * compiled.unit <= progress.bound
    greedy = search_greedy(compiled, every_kind, Watch(Limits()))
    assert greedy.value <= found.value <= greedy.bound


def test_no_time_leaves_a_bound_for_every_length() -> None:
    best = best_of(pair(None), Limits()).value
    found = best_of(pair(None), Limits(time=0))
    assert found.reason is Reason.TIME_LIMIT
    assert Fraction(0) <= found.value <= best <= found.bound
