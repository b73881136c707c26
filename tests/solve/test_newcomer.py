"""The plain model of benchmarks/newcomer_model.py: what it finds is a plan, and where it leaves nothing out, the best one."""

from __future__ import annotations

import logging
from collections.abc import Iterator
from dataclasses import replace

import pytest

from benchmarks import newcomer_model
from benchmarks.newcomer import SOLVERS
from benchmarks.newcomer_model import NewcomerModel, TooLargeError
from pipefill_opt.fill.certify import certify
from pipefill_opt.fill.problem import FillProblem
from pipefill_opt.solve.cpsat import maximize
from pipefill_opt.solve.result import Limits, Reason
from tests.solve.brute_force import optimum
from tests.solve.metamorphic import each_job
from tests.solve.random_instances import random_problem


@pytest.fixture(autouse=True)
def _quiet(caplog: pytest.LogCaptureFixture) -> Iterator[None]:
    """Jobs that fit nowhere are among the instances."""
    with caplog.at_level(logging.ERROR):
        yield


def plain(problem: FillProblem) -> FillProblem:
    """Kept jobs of one copy and one configuration without carried bytes, one time for all changes: the plain model leaves nothing out."""
    between = problem.switch.between
    cost = between if isinstance(between, int) else min(ticks for row in between.values() for ticks in row.values())
    kept = each_job(
        problem,
        lambda job: replace(
            job,
            keep=True,
            copies=1,
            configurations=tuple(
                replace(c, operators=tuple(replace(o, carry=0) for o in c.operators)) for c in job.configurations[:1]
            ),
        ),
    )
    return replace(kept, switch=replace(kept.switch, between=cost), iterations=kept.iterations or 1)


def seeds(most: int) -> list[int]:
    """Random problems that repeat."""
    return [seed for seed in range(most) if random_problem(seed).repeat]


def test_it_is_the_optimum_of_plain_problems() -> None:
    for seed in seeds(60):
        problem = plain(random_problem(seed))
        model = NewcomerModel(problem, problem.iterations or 1)
        answer = maximize(model.program(), Limits(seed=1), None)
        assert answer.reason is Reason.PROVED
        assert answer.point is not None
        certificate = certify(problem, model.plan(answer.point))
        assert certificate.valid, (seed, certificate.violations)
        best = optimum(problem)[0]
        assert certificate.objective == best == answer.bound * model.unit, seed


def test_it_is_on_the_safe_side_of_others() -> None:
    for seed in seeds(60):
        problem = each_job(random_problem(seed), lambda job: replace(job, keep=True))
        problem = replace(problem, iterations=problem.iterations or 1)
        model = NewcomerModel(problem, problem.iterations or 1)
        answer = maximize(model.program(), Limits(seed=1), None)
        assert answer.point is not None
        certificate = certify(problem, model.plan(answer.point))
        assert certificate.valid, (seed, certificate.violations)
        assert certificate.objective is not None
        assert certificate.objective == answer.bound * model.unit <= optimum(problem)[0], seed


def test_the_three_solvers_agree() -> None:
    for seed in seeds(20):
        problem = plain(random_problem(seed))
        model = NewcomerModel(problem, problem.iterations or 1)
        if not any(model.value):
            continue
        program = model.program()
        points = [run(program, 30.0) for run in SOLVERS.values()]
        assert len({program.worth(point) for point in points if point is not None}) == 1, seed
        assert None not in points


def test_what_it_is_not_for(monkeypatch: pytest.MonkeyPatch) -> None:
    problem = plain(random_problem(seeds(20)[0]))
    with pytest.raises(ValueError, match="kept jobs"):
        NewcomerModel(replace(problem, repeat=False), 1)
    monkeypatch.setattr(newcomer_model, "MOST_VARIABLES", 10)
    with pytest.raises(TooLargeError):
        NewcomerModel(problem, 1)
