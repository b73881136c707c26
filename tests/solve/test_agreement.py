"""All solvers agree with brute force. Every seed with every solver: `python -m tests.solve.agreement --seeds 2000`."""

from __future__ import annotations

import json
import logging
from collections.abc import Iterator
from dataclasses import replace
from fractions import Fraction
from pathlib import Path

import pytest

from pipefill_opt.files import data_folder
from pipefill_opt.fill.problem import FillProblem, Objective
from pipefill_opt.fill.read import read_instance
from pipefill_opt.fill.suite import read_suite
from tests.cases import cases_folder
from tests.solve.agreement import DIRECT, EXACT, GREEDY, checked_optimum, disagreements
from tests.solve.brute_force import optimum
from tests.solve.random_instances import random_problem

TINY = [entry for entry in read_suite() if entry.family == "tiny" and entry.objective == Objective.THROUGHPUT]


@pytest.fixture(autouse=True)
def _quiet(caplog: pytest.LogCaptureFixture) -> Iterator[None]:
    """Jobs that fit nowhere are among the instances."""
    with caplog.at_level(logging.ERROR):
        yield


@pytest.mark.parametrize("first", range(0, 2000, 200))
def test_greedy_and_dynamic_program_on_random_problems(first: int) -> None:
    for seed in range(first, first + 200):
        problem = random_problem(seed)
        assert disagreements(problem, checked_optimum(problem), (*GREEDY, "dp")) == []


@pytest.mark.parametrize(("name", "seeds"), [("cg", 15), ("cpsat", 40), ("milp", 20)])
@pytest.mark.parametrize("first", [0, 500, 1000, 1500])
def test_other_solvers_on_random_problems(first: int, name: str, seeds: int) -> None:
    for seed in range(first, first + seeds):
        problem = random_problem(seed)
        assert disagreements(problem, optimum(problem)[0], [name]) == []


def small_horizon(problem: FillProblem) -> FillProblem:
    """The problem, with a number of iterations that the brute force can try out."""
    return problem if problem.iterations else replace(problem, max_iterations=min(4, problem.max_iterations))


def test_the_tiny_suite_is_there() -> None:
    assert len(TINY) >= 20


@pytest.mark.parametrize("entry", TINY, ids=lambda entry: Path(entry.file).stem)
def test_tiny_instances(entry: object) -> None:
    assert entry in TINY
    file, best = entry.file, entry.best  # type: ignore[attr-defined]
    problem = read_instance(data_folder("instances") / file)
    assert disagreements(problem, best, (*GREEDY, *EXACT)) == []
    short = small_horizon(problem)
    assert disagreements(short, checked_optimum(short), EXACT) == []
    assert short != problem or optimum(problem)[0] == best


@pytest.mark.parametrize("entry", TINY, ids=lambda entry: Path(entry.file).stem)
def test_tiny_instances_as_one_model(entry: object) -> None:
    assert entry in TINY
    file, best = entry.file, entry.best  # type: ignore[attr-defined]
    assert disagreements(read_instance(data_folder("instances") / file), best, DIRECT) == []


EXPECTED = Path(__file__).parent.parent.parent.parent / "shared" / "cases" / "fill" / "expected.json"
CASES = sorted(json.loads(EXPECTED.read_text())) if EXPECTED.exists() else ["none"]
"""Of the shared cases; without that folder the test skips."""


@pytest.mark.parametrize("name", CASES)
def test_shared_cases(name: str) -> None:
    folder = cases_folder("fill")
    best = Fraction(json.loads((folder / "expected.json").read_text())[name]["optimum"])
    problem = read_instance(folder / f"{name}.yaml")
    solvers = EXACT if name != "random-3669" else ("dp", "cpsat")  # HiGHS takes ten seconds on this one
    assert disagreements(problem, best, (*GREEDY, *solvers)) == []
    if name != "hand-06-counts-copies":
        assert checked_optimum(problem) == best
        return
    devices = tuple(replace(d, count=n) for d, n in zip(problem.devices, (3, 2), strict=True))
    fewer = replace(problem, devices=devices, jobs=tuple(replace(job, copies=2) for job in problem.jobs))
    assert disagreements(fewer, checked_optimum(fewer), EXACT) == []
