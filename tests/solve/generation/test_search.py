"""Column generation as a whole: exact on small problems, truthful at limits, repeatable, and at home where sets are too many to list."""

from __future__ import annotations

from dataclasses import replace
from fractions import Fraction
from threading import Event

import pytest

from pipefill_opt.fill.problem import FillProblem
from pipefill_opt.solve import columns, facade
from pipefill_opt.solve.columns import list_columns
from pipefill_opt.solve.device import compile_problem
from pipefill_opt.solve.facade import solve
from pipefill_opt.solve.generation import rest, search, sets
from pipefill_opt.solve.result import Limits, Outcome, Progress, Reason
from tests.solve.devices import fill_problem, job
from tests.solve.random_instances import random_problem
from tests.solve.test_allocate import shared


def many(copies: int = 2, kinds: int = 12, *, weights: bool = True) -> FillProblem:
    """Two classes, and jobs of different chains: too many sets of residents to list."""
    names = ("d0", "d1")
    jobs = tuple(
        replace(
            job(f"j{k}", tuple(3 + (k * 7 + i * 5) % 11 for i in range(1 + k % 4))),
            copies=copies,
            devices=names,
            weight=Fraction(10 + k * weights, 10),
        )
        for k in range(kinds)
    )
    problem = fill_problem(*jobs, lengths=(41, 17, 29), free=40)
    device = replace(problem.devices[0], resident_free=24)
    one = replace(device, name="d0", count=4)
    return replace(problem, devices=(one, replace(one, name="d1", count=3, bubbles=device.bubbles[:2])), iterations=3)


@pytest.mark.parametrize("copies", [(2, 2), (1, 3), (0, 1), (5, 5)])
@pytest.mark.parametrize("counts", [(2, 1), (1, 3)])
def test_agrees_with_the_listing_of_all_sets(copies: tuple[int, int], counts: tuple[int, int]) -> None:
    problem = shared(copies, counts)
    found = solve(problem, solver="cg")
    assert (found.outcome, found.objective) == (Outcome.OPTIMAL, solve(problem, solver="dp").objective)


def test_more_sets_than_can_be_listed(monkeypatch: pytest.MonkeyPatch) -> None:
    problem = many(copies=1, kinds=9)
    truth = solve(problem, solver="dp")
    assert truth.outcome is Outcome.OPTIMAL
    compiled = compile_problem(problem)
    assert len(list_columns(compiled, 3).columns) > 200
    monkeypatch.setattr(columns, "MAX_COLUMNS", 40)
    monkeypatch.setattr(rest, "MAX_COLUMNS", 40)
    assert any(list_columns(compiled, 3).rest)
    found = solve(problem, solver="cg", limits=Limits(gap=Fraction(1, 1000)))
    assert truth.objective is not None
    assert found.objective is not None
    assert found.bound is not None
    assert found.objective <= truth.objective <= found.bound
    assert found.gap is not None
    assert found.gap <= Fraction(1, 100)


@pytest.mark.parametrize(("copies", "kinds"), [(1, 9), (2, 6)])
def test_prices_are_no_end_while_sets_are_offered(copies: int, kinds: int, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(search, "LOOKED_AT", 1)
    monkeypatch.setattr(rest, "MAX_COLUMNS", 5)  # so that no search one by one makes up for it
    found = solve(many(copies=copies, kinds=kinds), solver="cg")
    assert found.outcome is Outcome.OPTIMAL


def test_splitting_a_class_changes_nothing() -> None:
    problem = many(copies=1, kinds=6)
    first, second = problem.devices
    parts = (replace(first, count=1), replace(first, name="d2", count=3), second)
    jobs = tuple(replace(own, devices=("d0", "d1", "d2")) for own in problem.jobs)
    split = solve(replace(problem, devices=parts, jobs=jobs), solver="cg")
    whole = solve(problem, solver="cg")
    assert split.outcome is whole.outcome is Outcome.OPTIMAL
    assert split.objective == whole.objective


def test_the_same_plan_bit_for_bit() -> None:
    for limits in (Limits(seed=3, work=1000), Limits(seed=3, gap=Fraction(1, 50))):
        one, two = (solve(many(copies=1, kinds=5), solver="cg", limits=limits) for _ in range(2))
        assert one.plan == two.plan
        assert (one.objective, one.bound, one.bound_origin, one.reason) == (
            two.objective,
            two.bound,
            two.bound_origin,
            two.reason,
        )


def test_limits_keep_the_incumbent_and_tell_the_truth() -> None:
    problem = many(kinds=8)
    best = solve(problem, solver="cg", limits=Limits(gap=Fraction(1, 500)))
    assert best.gap is not None
    assert best.gap <= Fraction(1, 500)
    assert best.objective is not None
    assert best.bound is not None
    stop = Event()
    stop.set()
    for limits, reason in ((Limits(time=0.0), Reason.TIME_LIMIT), (Limits(stop=stop), Reason.INTERRUPTED)):
        found = solve(problem, solver="cg", limits=limits)
        assert (found.outcome, found.reason) == (Outcome.FEASIBLE, reason)
        assert found.objective is not None
        assert found.bound is not None
        assert found.objective <= best.bound
        assert found.bound >= best.objective
        if reason is Reason.TIME_LIMIT:
            assert found.objective > 0


def test_a_stop_in_the_middle_keeps_what_was_found() -> None:
    stop = Event()
    values: list[Fraction] = []

    def listen(news: Progress) -> None:
        if news.value:
            values.append(news.value)
            stop.set()

    found = solve(many(), solver="cg", limits=Limits(stop=stop, on_progress=listen))
    assert found.reason is Reason.INTERRUPTED
    assert found.objective is not None
    assert found.objective >= values[0] > 0


def test_progress_brackets_the_answer() -> None:
    news: list[Progress] = []
    found = solve(many(copies=1, kinds=6), solver="cg", limits=Limits(on_progress=news.append))
    assert found.outcome is Outcome.OPTIMAL
    assert found.objective is not None
    assert news
    for line in news:
        assert line.value is not None
        assert line.bound is not None
        assert line.value <= found.objective <= line.bound
    assert "sets of residents" in news[0].note


def test_a_plan_to_start_from_is_never_lost() -> None:
    problem = many(copies=1, kinds=6)
    best = solve(problem, solver="dp")
    again = solve(problem, solver="cg", start=best.plan, limits=Limits(time=0.0))
    assert again.objective == best.objective


def test_a_limit_on_sets_leaves_a_bound(monkeypatch: pytest.MonkeyPatch) -> None:
    problem = many(copies=1, kinds=6)
    best = solve(problem, solver="dp").objective
    monkeypatch.setattr(sets, "MOST_ROWS", 5)
    found = solve(problem, solver="cg")
    assert best is not None
    assert found.objective is not None
    assert found.bound is not None
    assert found.objective <= best <= found.bound


@pytest.mark.parametrize("iterations", [2, None])
def test_every_length(iterations: int | None) -> None:
    for seed in (3, 8, 12, 40):
        problem = replace(random_problem(seed), repeat=True, iterations=iterations, max_iterations=4)
        found, truth = (solve(problem, solver=name) for name in ("cg", "dp"))
        assert found.outcome is truth.outcome is Outcome.OPTIMAL
        assert found.objective == truth.objective


def test_auto_takes_it_where_sets_are_many(monkeypatch: pytest.MonkeyPatch) -> None:
    problem = many(copies=1, kinds=6)
    few = solve(problem, limits=Limits(gap=Fraction(1, 50)))
    assert (few.solver, "sets of residents" in few.notes[0]) == ("dp", True)
    monkeypatch.setattr(facade, "MANY", 10)
    many_sets = solve(problem, limits=Limits(gap=Fraction(1, 50)))
    assert many_sets.solver == "cg"
    assert many_sets.notes[0].startswith("auto chose cg: ")
    assert "more than 10" in many_sets.notes[0]
    monkeypatch.setattr(columns, "MAX_COLUMNS", 5)
    assert "2 classes with more than" in solve(problem, limits=Limits(gap=Fraction(1, 50))).notes[0]


def test_no_worse_than_greedy_without_time() -> None:
    for seed in range(12):
        problem = random_problem(seed)
        simple = solve(problem, solver="greedy-all")
        found = solve(problem, solver="cg", limits=Limits(time=0.0))
        assert simple.objective is not None
        assert found.objective is not None
        assert found.objective >= simple.objective
