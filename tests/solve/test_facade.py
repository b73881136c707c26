"""`solve`: certified answers, truthful status, limits, versions, and clear refusals."""

from __future__ import annotations

import json
import time
from dataclasses import replace
from fractions import Fraction
from pathlib import Path
from typing import Any

import pytest

from pipefill_opt.errors import CertificateError, InputError
from pipefill_opt.fill.problem import FillProblem, Objective
from pipefill_opt.fill.read import read_instance
from pipefill_opt.solve import facade
from pipefill_opt.solve.facade import SOLVERS, solve, solver_names
from pipefill_opt.solve.lengths import Answer, search_exact
from pipefill_opt.solve.result import Limits, Outcome, Progress, Reason
from tests.cases import cases_folder
from tests.solve.devices import fill_problem, job
from tests.solve.test_allocate import shared


def _cases() -> list[tuple[Path, Fraction]]:
    folder = Path(__file__).parents[3] / "shared" / "cases" / "fill"
    if not folder.is_dir():
        return []
    expected = json.loads((folder / "expected.json").read_text(encoding="utf-8"))
    return [(folder / f"{name}.yaml", Fraction(entry["optimum"])) for name, entry in expected.items()]


@pytest.mark.filterwarnings("ignore")
def test_every_case_has_its_optimum() -> None:
    cases_folder("fill")
    for path, optimum in _cases():
        problem = read_instance(path)
        found = {name: solve(problem, solver=name) for name in ("auto", "dp", "greedy", "greedy-all")}
        for name in ("auto", "dp"):
            assert (found[name].objective, found[name].outcome) == (optimum, Outcome.OPTIMAL), path.name
        for name in ("greedy", "greedy-all"):
            greedy = found[name]
            assert greedy.objective is not None
            assert greedy.bound is not None
            assert greedy.objective <= optimum <= greedy.bound, path.name


def test_own_problem_with_every_solver() -> None:
    values = {name: solve(shared(), solver=name).objective for name in solver_names()}
    assert values == {
        "auto": 19,
        "greedy": 0,
        "greedy-all": 19,
        "dp": 19,
        "cg": 19,
        "cpsat": 19,
        "milp": 19,
        "cpsat-direct": 19,
        "milp-direct": 19,
    }


def test_answer_is_complete() -> None:
    found = solve(shared(), limits=Limits(seed=7))
    assert found.certificate is not None
    assert found.certificate.valid
    assert found.certificate.objective == found.objective == found.bound
    assert found.gap == 0
    assert (found.outcome, found.reason, found.solver, found.seed) == (Outcome.OPTIMAL, Reason.PROVED, "dp", 7)
    assert found.bound_origin
    assert found.seconds > 0
    assert found.notes[0].startswith("auto chose dp")
    assert {"python", "pipefill_opt", *SOLVERS["dp"].packages} == set(found.versions)
    assert found.plan is not None
    assert sum(pattern.multiplicity for pattern in found.plan.patterns) == 3


def test_greedy_says_that_it_proves_nothing() -> None:
    found = solve(shared(), solver="greedy")
    assert (found.outcome, found.reason) == (Outcome.FEASIBLE, Reason.HEURISTIC)


def test_no_work_at_all_is_a_plan() -> None:
    found = solve(fill_problem(job("a", (50,))))
    assert (found.objective, found.outcome) == (0, Outcome.OPTIMAL)
    assert found.plan is not None
    assert found.plan.patterns[0].phases[0].occurrences == ()


def test_weights_and_iterations_are_exact() -> None:
    problem = fill_problem(replace(job("a", (3, 4, 5)), weight=Fraction(1, 3)), lengths=(10,))
    assert solve(problem).objective == 0
    assert solve(replace(problem, iterations=3)).objective == Fraction(12, 3) * 2 / 3


def auto_length() -> FillProblem:
    """12 ticks a lap, 10 a bubble: 7 + 5 or 3 + 4 | 5 + 3: two laps in three bubbles."""
    return replace(fill_problem(job("a", (3, 4, 5)), lengths=(10,)), iterations=None, max_iterations=7)


@pytest.mark.parametrize("name", ["dp", "cpsat", "greedy-all"])
def test_number_of_iterations_is_chosen(name: str) -> None:
    found = solve(auto_length(), solver=name)
    each = [solve(replace(auto_length(), iterations=h), solver="dp").objective for h in range(1, 8)]
    assert found.objective == max(value for value in each if value is not None) == 8
    assert found.plan is not None
    assert found.plan.iterations == 3
    assert found.bound is not None
    assert found.bound >= 8
    assert (found.outcome is Outcome.OPTIMAL) == (found.bound == 8)


def hard() -> FillProblem:
    """Three coupled jobs with two copies each: more sets of residents than a second can search."""
    jobs = [
        replace(job(f"j{k}", tuple(3 + (5 * k + 7 * i) % 11 for i in range(6)), carry=(5, 30), resident=9), copies=2)
        for k in range(3)
    ]
    return fill_problem(*jobs, lengths=(31, 17, 40, 23), free=130)


def test_time_limit_is_never_optimal() -> None:
    begun = time.monotonic()
    found = solve(hard(), solver="dp", limits=Limits(time=0.3))
    assert time.monotonic() - begun < 20
    assert found.bound is not None
    assert found.objective is not None
    assert found.objective <= found.bound
    assert (found.outcome is Outcome.OPTIMAL) == (found.objective == found.bound)
    assert found.outcome is Outcome.OPTIMAL or found.reason is Reason.TIME_LIMIT


def test_no_time_at_all_still_gives_a_plan_and_a_bound() -> None:
    found = solve(hard(), limits=Limits(time=0))
    assert (found.outcome, found.reason) == (Outcome.FEASIBLE, Reason.TIME_LIMIT)
    assert found.bound is not None
    assert found.objective is not None
    assert found.objective <= found.bound


def test_stop_before_the_search() -> None:
    limits = Limits()
    limits.stop.set()
    found = solve(hard(), limits=limits)
    assert (found.outcome, found.reason) == (Outcome.FEASIBLE, Reason.INTERRUPTED)
    assert found.plan is not None


def test_stop_during_the_search_keeps_the_incumbent() -> None:
    limits = Limits(time=60)
    news: list[Progress] = []

    def hear(progress: Progress) -> None:
        news.append(progress)
        limits.stop.set()

    found = solve(hard(), solver="dp", limits=replace(limits, on_progress=hear))
    assert found.reason is Reason.INTERRUPTED
    assert found.objective is not None
    assert news[0].value is not None
    assert found.objective >= news[0].value


def test_gap_limit() -> None:
    found = solve(hard(), solver="dp", limits=Limits(gap=Fraction(1, 2)))
    assert found.gap is not None
    assert found.gap <= Fraction(1, 2)
    assert found.reason in (Reason.GAP_LIMIT, Reason.PROVED)


def test_same_answer_again() -> None:
    first, second = (solve(shared(copies=(3, 1)), solver="dp") for _ in range(2))
    assert first.plan == second.plan


def test_progress_brackets_the_answer() -> None:
    news: list[Progress] = []
    problem = fill_problem(job("a", (4, 3)), job("b", (3, 6)), lengths=(11, 9, 13))
    found = solve(problem, limits=Limits(on_progress=news.append))
    assert news
    assert found.objective is not None
    for progress in news:
        assert progress.value is not None
        assert progress.bound is not None
        assert progress.value <= found.objective <= progress.bound


def test_unknown_solver() -> None:
    with pytest.raises(
        InputError, match=r"solver: gurobi: expected one of auto, greedy, greedy-all, dp, cg, cpsat, milp"
    ):
        solve(shared(), solver="gurobi")


def test_objectives_over_time_have_one_solver() -> None:
    with pytest.raises(InputError, match="solver: dp: expected auto, for objective makespan"):
        solve(replace(shared(), objective=Objective.MAKESPAN), solver="dp")
    with pytest.raises(InputError, match=r"jobs\[0\].iterations: expected a number, for objective makespan"):
        solve(replace(shared(), objective=Objective.MAKESPAN))


def test_a_bound_that_its_own_plan_refutes_never_leaves(monkeypatch: pytest.MonkeyPatch) -> None:
    search = search_exact

    def wrong(*arguments: Any) -> Answer:
        found = search(*arguments)
        return replace(found, bound=found.value - 1)

    monkeypatch.setattr(facade, "search_exact", wrong)
    with pytest.raises(CertificateError, match="is refuted by a plan"):
        solve(shared(), solver="dp")


def test_a_plan_that_breaks_a_rule_never_leaves(monkeypatch: pytest.MonkeyPatch) -> None:
    def wrong(*arguments: object) -> Answer:
        return Answer((), 1, Fraction(5), Fraction(5), "nowhere", Reason.PROVED)

    monkeypatch.setattr(facade, "search_exact", wrong)
    with pytest.raises(CertificateError, match="a bug of ours"):
        solve(shared())


@pytest.mark.parametrize("name", ["auto", "dp", "cpsat", "milp", "cpsat-direct"])
def test_greedy_is_the_first_incumbent_however_short_the_limit(name: str) -> None:
    problem = shared()
    greedy = solve(problem, solver="greedy-all").objective
    found = solve(problem, solver=name, limits=Limits(time=1e-6))
    assert greedy
    assert found.objective is not None
    assert found.objective >= greedy
