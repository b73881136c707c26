"""The report of a solution, on a plan worked out by hand."""

from __future__ import annotations

import csv
import io
import json
from dataclasses import replace
from fractions import Fraction

import pytest

from pipefill_opt.files import check
from pipefill_opt.fill.certify import certify
from pipefill_opt.fill.plan import FillPlan
from pipefill_opt.report.solution import (
    comparison,
    report,
    solution_csv,
    solution_document,
    solution_json,
    solution_text,
)
from pipefill_opt.solve.result import Outcome, Reason, Solution
from tests.report.samples import MS, plan, problem


def solution(made: FillPlan | None, bound: int, outcome: Outcome = Outcome.FEASIBLE) -> Solution:
    value = None if made is None else certify(problem(), made).objective
    return Solution(outcome, Reason.TIME_LIMIT, made, value, Fraction(bound), "a stated bound", "by hand", 1.25, 3)


EMPTY = FillPlan((replace(plan().patterns[1], multiplicity=3),), 1)
BASELINES = (
    replace(solution(EMPTY, 30 * MS), reason=Reason.HEURISTIC),
    replace(solution(plan(), 30 * MS), reason=Reason.HEURISTIC),
)


def test_text_says_what_a_reader_asks() -> None:
    text = solution_text(report(problem(), solution(plan(), 40 * MS), BASELINES))
    for part in (
        "small: 3 devices in 1 class, period 100 ms, H = 1",
        "feasible (time limit), solver by hand, 1.2 s",
        "30 ms of useful GPU time per main iteration, certified",
        "40 ms, from a stated bound",
        "gap        33.333 %",
        "greedy, contiguous bubbles   0 ns    0.00 %",
        "greedy, all bubbles         30 ms   75.00 %",
        "50.00 % before, 60.00 % after",
        "0.3 exclusive GPUs (of 3)",
        "2 of 2",
        "stays empty",
    ):
        assert part in text, part


def test_the_comparison_names_an_optimum_only_where_it_is_proved() -> None:
    best = report(problem(), solution(plan(), 30 * MS, Outcome.OPTIMAL), BASELINES)
    assert comparison(best)[2] == ("optimum", Fraction(30 * MS))
    assert comparison(report(problem(), solution(plan(), 40 * MS), BASELINES))[2][0] == "this plan"


def test_json_is_exact_and_its_plan_is_a_plan_file() -> None:
    result = report(problem(), solution(plan(), 40 * MS), BASELINES)
    document = json.loads(solution_json(result))
    assert document == json.loads(json.dumps(solution_document(result)))
    assert (document["objective"], document["bound"], document["gap"]) == ("30000000", "40000000", "1/3")
    assert document["outcome"] == "feasible"
    assert (document["objective_kind"], document["sense"]) == ("throughput", "max")
    assert "slowdown" not in document
    check(document["plan"], "plan")


def test_csv_has_a_row_for_each_plan_and_the_bound() -> None:
    rows = list(csv.DictReader(io.StringIO(solution_csv(report(problem(), solution(plan(), 40 * MS), BASELINES)))))
    assert [(row["value"], row["of_bound"]) for row in rows] == [
        ("0", "0.000000"), ("30000000", "0.750000"), ("30000000", "0.750000"), ("40000000", "1.000000"),
    ]  # fmt: skip


def test_values_that_are_no_time_are_not_shown_as_one() -> None:
    given = problem()
    weighted = replace(given, jobs=(replace(given.jobs[0], weight=Fraction(2)), given.jobs[1]))
    text = solution_text(report(weighted, solution(plan(), 80 * MS), BASELINES))
    assert "3e+07 of value per main iteration" in text


def test_a_solution_without_a_plan_cannot_be_reported() -> None:
    with pytest.raises(ValueError, match="without a plan"):
        report(problem(), solution(None, 1), BASELINES)
