"""`compare` and `recalibrate` on results made by arithmetic: exact where nothing is off, and each error found and named."""

from __future__ import annotations

import copy
import json
import random
from pathlib import Path
from typing import Any

import pytest

from pipefill_opt.errors import InputError
from pipefill_opt.fill.plan import FillPlan
from pipefill_opt.fill.problem import FillProblem
from pipefill_opt.harness.compare import Quantity, Thresholds, compare
from pipefill_opt.harness.guard import recalibrate
from pipefill_opt.harness.overlay import overlay_trace
from pipefill_opt.report.comparison import comparison_csv, comparison_json, comparison_text
from pipefill_opt.report.comparison_page import comparison_page
from tests.harness.results import ideal, instance, planned
from tests.traces.rules import read_trace

WATCHED = ("device0", "device1")


@pytest.fixture(scope="module")
def problem(tmp_path_factory: pytest.TempPathFactory) -> FillProblem:
    return instance(tmp_path_factory.mktemp("small"))


@pytest.fixture(scope="module")
def plan(problem: FillProblem) -> FillPlan:
    return planned(problem)


@pytest.mark.parametrize("device", ["device0", "device1", "device2"])
def test_a_device_without_noise_is_as_predicted(problem: FillProblem, plan: FillPlan, device: str) -> None:
    found = compare(ideal(problem, plan, (device,)), Thresholds(noise=0))
    assert found.holds, found.findings
    assert found.overruns == 0
    assert {row.error for row in found.rows} <= {0.0, None}
    assert {row.quantity for row in found.rows} == set(Quantity)
    assert found.visits > 0


def test_a_shorter_bubble_is_named(problem: FillProblem, plan: FillPlan) -> None:
    document = ideal(problem, plan, ("device0",), bubble=lambda index, ns: ns * 8 // 10 if index == 1 else ns)
    found = compare(document)
    bubbles = [row for row in found.rows if row.quantity is Quantity.BUBBLE and row.finding]
    assert [row.place for row in bubbles] == ["device0 bubble 1"]
    assert bubbles[0].error == pytest.approx(-0.2)
    assert "device0 bubble 1 is 0.8 times as long as predicted" in bubbles[0].finding


def test_a_longer_switch_is_named_and_measured(problem: FillProblem, plan: FillPlan) -> None:
    document = ideal(problem, plan, ("device0",), enter=lambda _, ns: 2 * ns)
    found = compare(document)
    assert any(finding.startswith("switch enter is 2 times as long as predicted") for finding in found.findings)
    assert not [row for row in found.rows if row.quantity is Quantity.OPERATOR and row.finding]
    assert recalibrate(document).switch["enter"] == 2 * problem.switch.enter


def test_a_longer_operator_is_named_and_what_it_costs(problem: FillProblem, plan: FillPlan) -> None:
    document = ideal(problem, plan, ("device0",), operator=lambda job, ns: 2 * ns if job == "long" else ns)
    found = compare(document)
    wrong = {row.place for row in found.rows if row.quantity is Quantity.OPERATOR and row.finding}
    assert wrong
    assert all(place.startswith("long/c operator") for place in wrong)
    assert found.overruns > 0
    assert any("the main job is slowed down by" in finding for finding in found.findings)
    slow = next(row for row in found.rows if row.quantity is Quantity.SLOWDOWN)
    assert slow.measured > 0.02


def test_a_longer_action_is_named(problem: FillProblem, plan: FillPlan) -> None:
    document = ideal(problem, plan, ("device1",), action=lambda text, ns: 2 * ns if text == "1F2" else ns)
    wrong = [row.place for row in compare(document).rows if row.quantity is Quantity.ACTION and row.finding]
    assert wrong == ["device1 1F2"]


def test_more_memory_is_named(problem: FillProblem, plan: FillPlan) -> None:
    document = ideal(problem, plan, ("device0",))
    document["measured"][0]["fill_high"] += 1
    assert [finding for finding in compare(document).findings if "device0 fill memory reaches" in finding]


def test_a_broken_memory_cap_is_named_with_its_operator(problem: FillProblem, plan: FillPlan) -> None:
    document = ideal(problem, plan, ("device0",))
    visit = document["predicted"]["devices"][0]["visits"][0]
    document["failure"] = {
        "kind": "memory", "device": "device0", "pool": "fill", "iteration": 3, "action": visit["before"],
        "operator": 0, "asked": 12, "used": 0, "limit": 11,
    }  # fmt: skip
    found = compare(document)
    job, index, *_ = visit["operators"][0]
    assert found.findings == (
        f"memory: operator {index} of {job}, in the bubble before action {visit['before']} on device0 needs 12 bytes "
        "beside 0 in use, 11 are there",
    )
    with pytest.raises(InputError, match="ended well"):
        recalibrate(document)


def test_a_broken_memory_cap_is_named_in_the_main_iteration_that_broke_it(problem: FillProblem, plan: FillPlan) -> None:
    document = ideal(problem, plan, ("device0",))
    device = document["predicted"]["devices"][0]
    first = device["visits"][0]
    other = copy.deepcopy(first) | {"iteration": 1}
    other["operators"][0][:2] = ["other/c", 7]
    device["visits"].append(other)
    document["predicted"]["turns"] = 2
    filled = [i for i, flag in enumerate(document["with_fill"]) if flag]
    document["failure"] = {
        "kind": "memory", "device": "device0", "pool": "fill", "iteration": filled[1], "action": first["before"],
        "operator": 0, "asked": 12, "used": 0, "limit": 11,
    }  # fmt: skip
    assert "operator 7 of other/c" in compare(document).failure


def test_the_guard_keeps_the_slowdown_at_the_least_loss(problem: FillProblem, plan: FillPlan) -> None:
    """Where nothing is off, nothing is lost; where operators take longer, the guard gives up what they do."""
    fine = recalibrate(ideal(problem, plan, ("device0",)))
    assert (fine.slowdown, fine.slowdown_now) == (0.0, 0.0)
    assert fine.kept == 1.0
    late = ideal(problem, plan, ("device0",), operator=lambda _, ns: ns * 3 // 2)
    guard = recalibrate(late, slowdown=0.02)
    assert guard.slowdown <= 0.02 < guard.slowdown_now
    assert 0.4 < guard.kept < 1.0
    assert recalibrate(late, slowdown=0.0).kept < guard.kept
    estimate = next(row.measured for row in compare(late).rows if row.quantity is Quantity.SLOWDOWN)
    assert guard.slowdown_now == pytest.approx(estimate, rel=0.35)


def test_the_guard_counts_a_slowdown_per_main_iteration(tmp_path: Path) -> None:
    """A plan of several main iterations delays each of them by its own visits, not by those of all."""
    problem = instance(tmp_path, iterations=2)
    document = ideal(problem, planned(problem), ("device0",), operator=lambda _, ns: ns * 3 // 2)
    assert document["predicted"]["turns"] == 2
    measured = next(row.measured for row in compare(document).rows if row.quantity is Quantity.SLOWDOWN)
    assert recalibrate(document).slowdown_now == pytest.approx(measured, rel=0.35)


def test_both_timelines_in_one_trace(problem: FillProblem, plan: FillPlan) -> None:
    document = ideal(problem, plan, WATCHED)
    events = read_trace(overlay_trace(document))
    tracks = [e["args"]["name"] for e in events if e["ph"] == "M" and e["name"] == "thread_name"]
    assert tracks == [f"{name} {kind}" for name in WATCHED for kind in ("predicted", "measured")]
    slices: dict[int, list[tuple[str, float]]] = {}
    for event in events:
        if event["ph"] == "X" and event["cat"] == "fill":
            slices.setdefault(event["tid"], []).append((event["name"], event["dur"]))
    assert sorted(slices[1]) == sorted(slices[2])


def test_the_page_stands_alone(problem: FillProblem, plan: FillPlan) -> None:
    document = ideal(problem, plan, ("device0",), operator=lambda _, ns: 2 * ns)
    page = comparison_page(document, compare(document), recalibrate(document, slowdown=0.5))
    assert page.count("<svg") == 1
    assert "not as predicted" in page
    assert "http" not in page
    assert page.count("<rect") > 20


def test_text_json_and_csv_say_the_same(problem: FillProblem, plan: FillPlan) -> None:
    document = ideal(problem, plan, ("device0",), enter=lambda _, ns: 3 * ns)
    found, guard = compare(document), recalibrate(document, slowdown=0.5)
    text, data = comparison_text(document, found, guard), json.loads(comparison_json(document, found, guard))
    assert all(finding in text for finding in data["findings"])
    assert data["holds"] is False
    assert data["recalibrated"]["switch"]["enter"] == 3 * problem.switch.enter
    assert len(comparison_csv(found).splitlines()) == 1 + len(data["rows"])


@pytest.mark.parametrize("damage", ["kind", "format", "predicted", "measured", "with_fill", "iterations"])
def test_what_is_no_result_is_refused(problem: FillProblem, plan: FillPlan, damage: str, tmp_path: Path) -> None:
    document = copy.deepcopy(ideal(problem, plan, ("device0",)))
    document[damage] = 7
    with pytest.raises(InputError):
        compare(document)


def test_iterations_that_were_not_run_are_refused(problem: FillProblem, plan: FillPlan) -> None:
    document = ideal(problem, plan, ("device0",))
    document["iterations"]["rounds"] = 10**30
    with pytest.raises(InputError, match=r"iterations\.rounds"):
        compare(document)


def test_a_damaged_result_gets_one_line(problem: FillProblem, plan: FillPlan) -> None:
    """Values of another kind, missing keys and shortened lists, anywhere: an InputError, or an answer."""
    whole = ideal(problem, plan, ("device0",))
    draws = random.Random(5)
    refused = 0
    for _ in range(400):
        document = copy.deepcopy(whole)
        _damage(document, draws)
        try:
            found = compare(document)
            recalibrate(document, slowdown=0.5)
            overlay_trace(document)
            comparison_page(document, found)
        except InputError:
            refused += 1
    assert refused > 200


def _damage(document: Any, draws: random.Random) -> None:
    """One change, at a random depth."""
    place = document
    while True:
        keys = [*place] if isinstance(place, dict) else [*range(len(place))]
        key = draws.choice(keys)
        inner = place[key]
        if isinstance(inner, dict | list) and inner and draws.random() < 0.8:
            place = inner
            continue
        if draws.random() < 0.5:
            del place[key]
        else:
            place[key] = draws.choice([None, "x", -1, 0, 1.5, 10**30, [], {}, True])
        return
