"""Objectives over time on instances that are hard on numbers, or have no plan; and what changes of the data do."""

from __future__ import annotations

from dataclasses import replace
from fractions import Fraction
from pathlib import Path
from typing import Any

import pytest

from pipefill_opt.cli.run import main
from pipefill_opt.fill.problem import FillProblem, Objective
from pipefill_opt.fill.read import instance_from_document
from pipefill_opt.solve.facade import solve
from pipefill_opt.solve.result import Limits, Outcome

OVER_TIME = (Objective.MAKESPAN, Objective.COMPLETION, Objective.ON_TIME)


def queue(objective: Objective, times: int = 1, **changes: Any) -> FillProblem:
    """Three devices, four copies of x (each a device for itself), two of y; all times multiplied."""

    def job(
        name: str, copies: int, weight: int, wanted: int, deadline: int, resident: str, *ticks: int
    ) -> dict[str, Any]:
        operators = [{"name": f"o{t}", "duration": f"{t * times}ms", "memory": "1MB"} for t in ticks]
        return {
            "name": name,
            "copies": copies,
            "weight": weight,
            "iterations": wanted,
            "deadline": f"{deadline * times}ms",
            "configs": [{"name": "c", "resident": resident, "operators": operators}],
        }

    bubble = {"start": "0ms", "length": f"{40 * times}ms", "free": "4GB", "kind": "inner"}
    document = {
        "period": f"{100 * times}ms",
        "objective": objective.value,
        "devices": [{"name": "a", "count": 3, "resident_free": "4GB", "bubbles": [bubble]}],
        "jobs": [job("x", 4, 1, 10, 300, "2.5GB", 3, 5), job("y", 2, 3, 7, 200, "1GB", 7)],
    }
    return instance_from_document(document | changes)


@pytest.mark.parametrize("objective", OVER_TIME)
def test_multiplying_all_times_multiplies_all_results(objective: Objective) -> None:
    one, seven = solve(queue(objective)), solve(queue(objective, 7))
    assert seven.objective is not None
    assert seven.bound is not None
    assert (seven.objective / 7, seven.bound / 7) == (one.objective, one.bound)


def test_a_horizon_of_hundreds_of_millions_of_turns() -> None:
    problem = queue(Objective.COMPLETION)
    long = replace(problem, jobs=(replace(problem.jobs[0], iterations=10**9), problem.jobs[1]))
    found = solve(long)
    assert found.certificate is not None
    assert found.certificate.valid
    assert found.gap is not None
    assert found.gap < Fraction(1, 10)


def test_a_hundred_thousand_copies() -> None:
    problem = queue(Objective.COMPLETION)
    device, job = replace(problem.devices[0], count=10_000), replace(problem.jobs[0], copies=100_000)
    found = solve(replace(problem, devices=(device,), jobs=(job, problem.jobs[1])))
    assert found.gap is not None
    assert found.gap < Fraction(1, 1000)
    assert found.plan is not None
    assert len(found.plan.patterns) < 20


def test_nothing_is_worth_anything_after_its_deadline() -> None:
    problem = queue(Objective.ON_TIME)
    late = replace(problem, jobs=tuple(replace(job, deadline=1_000_000) for job in problem.jobs))
    found = solve(late)
    assert (found.outcome, found.objective, found.bound) == (Outcome.OPTIMAL, Fraction(0), Fraction(0))


@pytest.mark.parametrize("objective", OVER_TIME[:2])
def test_a_job_that_fits_nowhere(objective: Objective) -> None:
    problem = queue(objective)
    found = solve(replace(problem, devices=(replace(problem.devices[0], bubbles=()),)))
    assert found.outcome is Outcome.INFEASIBLE
    assert found.bound_origin == "no device can ever finish a copy of job 'x'"


def test_the_command_line(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    text = """
period: 100ms
objective: makespan
devices: [{name: a, count: 2, resident_free: 4GB, bubbles: [{start: 0ms, length: 40ms, free: FREE, kind: inner}]}]
jobs: [{name: x, copies: 3, iterations: 8, configs: [{name: c, resident: 2.5GB, operators: [{name: o, duration: 5ms, memory: 1MB}]}]}]
"""
    good, bad, plan = tmp_path / "good.yaml", tmp_path / "bad.yaml", tmp_path / "plan.json"
    good.write_text(text.replace("FREE", "4GB"))
    bad.write_text(text.replace("FREE", "1GB"))
    assert main(["solve", str(good), "-o", str(plan)]) == 0
    out = capsys.readouterr().out
    assert "objective  200 ms, makespan (less is better), certified" in out
    assert "no plan is below 200 ms" in out
    assert main(["certify", str(good), str(plan)]) == 0
    assert main(["solve", str(good), "--format", "json"]) == 0
    assert '"sense": "min"' in capsys.readouterr().out
    assert main(["solve", str(good), "--format", "csv"]) == 0
    assert "x,3,3,100000000,400000000/3,200000000," in capsys.readouterr().out
    assert main(["solve", str(bad)]) == 1
    assert "there is no plan (proved, no device can ever finish a copy of job 'x')" in capsys.readouterr().err


@pytest.mark.parametrize("objective", OVER_TIME)
@pytest.mark.parametrize(
    ("period", "first", "second", "iterations"), [("10ms", "4ms", "1ms", 10**7), ("2h", "1h", "20min", 10**9)]
)
def test_operators_of_a_nanosecond_beside_long_ones(
    objective: Objective, period: str, first: str, second: str, iterations: int
) -> None:
    def job(name: str, copies: int, wanted: int, duration: str) -> dict[str, Any]:
        operators = [{"name": "o", "duration": duration, "memory": "1MB"}]
        configs = [{"name": "c", "resident": "1GB", "operators": operators}]
        return {"name": name, "copies": copies, "iterations": wanted, "deadline": "20h", "configs": configs}

    bubble = {"start": "0ms", "length": first, "free": "4GB", "kind": "inner"}
    found = solve(
        instance_from_document(
            {
                "period": period,
                "objective": objective.value,
                "devices": [{"name": "a", "count": 2, "resident_free": "4GB", "bubbles": [bubble]}],
                "jobs": [job("x", 2, iterations, "1ns"), job("y", 3, 10, second)],
            }
        ),
        limits=Limits(time=20),
    )
    assert found.certificate is not None
    assert found.certificate.valid
    assert found.gap is not None
    assert found.gap < 1
