"""Programs, and replays of them on the host backend. Real devices sleep, so that times hold on a machine that others use as well."""

from __future__ import annotations

import json
from dataclasses import replace
from fractions import Fraction
from pathlib import Path
from typing import Any

import pytest

from pipefill_opt.errors import InputError
from pipefill_opt.fill.certify import certify
from pipefill_opt.fill.plan import FillPlan
from pipefill_opt.fill.plan_file import plan_from_document
from pipefill_opt.fill.problem import FillProblem
from pipefill_opt.harness.build import Backend
from pipefill_opt.harness.compare import Quantity, compare
from pipefill_opt.harness.inject import inject, parse_injection
from pipefill_opt.harness.program import Iterations, durations, request, scenario
from pipefill_opt.harness.replay import ReplayOptions, WorkKind, replay
from pipefill_opt.harness.run import run_together
from pipefill_opt.timeline.compute import timeline
from pipefill_opt.workload.costs import Communication, Mode
from tests.harness.results import instance, planned

Document = dict[str, Any]
OPTIONS = ReplayOptions(work=WorkKind.SLEEP, iterations=Iterations(1, 3, 3), play_switches=True)


@pytest.fixture(scope="module")
def problem(tmp_path_factory: pytest.TempPathFactory) -> FillProblem:
    return instance(tmp_path_factory.mktemp("small"))


@pytest.fixture(scope="module")
def plan(problem: FillProblem) -> FillPlan:
    return planned(problem)


def test_the_program_holds_all_work_and_messages(problem: FillProblem, plan: FillPlan) -> None:
    assert problem.main is not None
    computed = timeline(problem.main)
    found = scenario(problem, plan, ("device0", "device2"), scale=Fraction(1, 10))
    program = request(found, Iterations(1, 2, 1), {})
    assert [device["real"] for device in program["devices"]] == [True, False, True]
    for number, device in enumerate(program["devices"]):
        loops = [action["work"]["loops"] for action in device["actions"]]
        assert sum(loops) == int(computed.busy[number]) // 10
    messages = len(program["lags"])
    assert sorted(m for d in program["devices"] for a in d["actions"] for m in a.get("sends", [])) == [*range(messages)]
    assert sorted(m for d in program["devices"] for a in d["actions"] for m in a.get("waits", [])) == [*range(messages)]
    assert messages == 2 * 2 * 4  # two borders, four micro-batches, there and back
    assert set(program["lags"]) == {50_000}
    assert program["iterations"] == [False, False, False, True, True]
    real = program["devices"][0]
    assert sum(a["takes"] for a in real["actions"]) == sum(a["gives"] for a in real["actions"]) > 0
    done = sum(len(visit["operators"]) for turn in real["turns"] for visit in turn)
    pattern = next(p for p in plan.patterns if p.device == "device0")
    assert done == sum(s.count for o in pattern.phases[0].occurrences for s in o.segments)


def test_memory_beside_an_operator_is_what_the_certificate_counts(problem: FillProblem, plan: FillPlan) -> None:
    found = scenario(problem, plan, ("device0",)).devices[0]
    for visit in found.visits:
        assert all(o.held == 2**30 and o.memory == 2**30 for o in visit.operators if o.job == "long")
        assert all(o.held + o.memory <= visit.free for o in visit.operators)
    assert found.main_peak == 4 * 2**30 + 3 * 512 * 2**20 + 64 * 2**20


def test_replay_on_the_host_is_the_timeline(problem: FillProblem, plan: FillPlan) -> None:
    """Nothing starts early, nothing is left out, and memory is what was predicted; how late things are is for `compare` to say."""
    document = replay(problem, plan, Backend.HOST, OPTIONS, watched=("device0", "device1", "device2"))
    json.dumps(document)
    assert document["failure"] is None
    found = compare(document)
    rows = {(row.quantity, row.place): row for row in found.rows}
    period = rows[Quantity.PERIOD, "without fill"]
    assert period.measured >= period.predicted
    assert period.p5 is not None
    assert period.p5 < 1.5 * period.predicted
    for row in found.rows:
        if row.quantity in (Quantity.ACTION, Quantity.OPERATOR):
            assert row.measured >= row.predicted
        if row.quantity is Quantity.MEMORY:
            assert row.measured == row.predicted
        if row.quantity is Quantity.SWITCH and row.place == "enter":
            assert row.measured >= row.predicted == 1_000_000
    ran = [len(spans) for entry in document["measured"] for spans in entry["fills"]]
    assert any(ran)


def test_each_injected_error_is_found_in_a_run(problem: FillProblem, plan: FillPlan) -> None:
    """An error is far larger than what a busy machine does to the median."""
    base = {(row.quantity, row.place): row.measured for row in compare(_run(problem, plan)).rows}

    slow = {(row.quantity, row.place): row for row in compare(_run(problem, plan, "switch:3")).rows}
    enter = slow[Quantity.SWITCH, "enter"]
    assert enter.finding
    assert enter.measured >= 3_000_000 == 3 * enter.predicted

    long = compare(_run(problem, plan, "operator:long:3"))
    wrong = {row.place for row in long.rows if row.quantity is Quantity.OPERATOR and row.finding}
    assert {"long/c operator 0", "long/c operator 1", "long/c operator 2"} <= wrong

    short = compare(_run(problem, plan, "bubble:0:0.4"))
    bubble = next(row for row in short.rows if (row.quantity, row.place) == (Quantity.BUBBLE, "device0 bubble 0"))
    assert bubble.p5 is not None
    assert bubble.p5 < 0.8 * base[Quantity.BUBBLE, "device0 bubble 0"]
    assert "device0 bubble 0 is" in bubble.finding

    full = compare(_run(problem, plan, "memory:long:20"))
    assert full.failure.startswith("memory: operator 0 of long/c, in the bubble before action")
    assert not full.holds


def _run(problem: FillProblem, plan: FillPlan, *errors: str) -> dict[str, object]:
    return replay(
        problem, plan, Backend.HOST, OPTIONS, watched=("device0",), injections=[parse_injection(text) for text in errors]
    )  # fmt: skip


def test_calibrated_work_and_processes_apart(problem: FillProblem, plan: FillPlan) -> None:
    options = ReplayOptions(scale=Fraction(1, 4), iterations=Iterations(1, 2, 1), apart=True, claim=False)
    document = replay(problem, plan, Backend.HOST, options, watched=("device0", "device1"))
    found = scenario(problem, plan, ("device0", "device1"), scale=Fraction(1, 4))
    assert [entry["target"] for entry in document["tuned"]] == durations(found)
    assert all(entry["work"]["kind"] == "tiles" for entry in document["tuned"])
    assert {entry["name"] for entry in document["measured"]} == {"device0", "device1", "device2"}
    assert compare(document).visits > 0


@pytest.mark.parametrize("block", [2, 3, 5])
@pytest.mark.parametrize("turns", [1, 2, 3, 4, 6, 12, 64])
def test_every_main_iteration_of_the_plan_counts(block: int, turns: int) -> None:
    iterations = Iterations(warmup=2, block=block, rounds=2).covering(turns)
    flags = iterations.with_fill()
    assert {sum(flags[:i]) % turns for i in iterations.counted() if flags[i]} == set(range(turns))
    assert Iterations().covering(1) == Iterations()


def test_spans_of_several_devices_stand_on_one_clock(
    problem: FillProblem, plan: FillPlan, monkeypatch: pytest.MonkeyPatch
) -> None:
    def shifted(*arguments: Any, **named: Any) -> list[Document]:
        results = run_together(*arguments, **named)
        results[1]["clock"]["host_offset_ns"] = 10**15
        for entry in results[1]["replay"]["devices"]:
            for key in ("actions", "fills"):
                entry[key] = [[[edge + 10**15 for edge in span] for span in spans] for spans in entry[key]]
        return results

    monkeypatch.setattr("pipefill_opt.harness.replay.run_together", shifted)
    document = replay(problem, plan, Backend.HOST, replace(OPTIONS, apart=True), watched=("device0", "device1"))
    edges = [edge for entry in document["measured"] for spans in entry["actions"] for span in spans for edge in span]
    assert max(edges) - min(edges) < 10**12


@pytest.mark.parametrize(
    "text", ["bubble:0.8", "bubble:x:0.8", "switch:a:2", "operator:2", "memory:long:0", "rain:2", "switch:", ""]
)
def test_injections_that_make_no_sense(text: str) -> None:
    with pytest.raises(InputError):
        parse_injection(text)


def test_an_injection_needs_its_place(problem: FillProblem, plan: FillPlan) -> None:
    found = scenario(problem, plan, ("device0",))
    program = request(found, Iterations(1, 2, 1), {})
    for text in ("operator:nobody:2", "bubble:99:0.5"):
        with pytest.raises(InputError, match="a place that the watched devices have"):
            inject(found, program, parse_injection(text))


def test_what_cannot_be_replayed_is_refused(problem: FillProblem, plan: FillPlan) -> None:
    assert problem.main is not None
    with pytest.raises(InputError, match="expected a class of the main job"):
        scenario(problem, plan, ("elsewhere",))
    alone = replace(problem, main=None)
    with pytest.raises(InputError, match=r"main: \{file"):
        scenario(alone, plan)
    blocking = replace(problem.main, communication=Communication(lag=5, mode=Mode.BLOCKING))
    with pytest.raises(InputError, match=r"communication\.mode"):
        scenario(replace(problem, main=blocking), plan)


def test_a_plan_that_keeps_more_than_the_main_job_leaves_fails(tmp_path: Path) -> None:
    """Rule 5: what fits into every bubble that is visited may still be too much between them."""
    job = {
        "name": "big",
        "devices": ["device0"],
        "configs": [
            {
                "name": "c",
                "resident": "10133438464B",
                "operators": [{"name": "o", "duration": "1ms", "memory": 0, "carry": "1B"}],
            }
        ],
    }
    problem = instance(tmp_path, jobs=[job])
    visit = {"iteration": 0, "bubble": 0, "segments": [{"slot": 0, "first": 0, "count": 1}]}
    slots = [{"job": "big", "config": "c", "first": 0}]
    patterns = [{"device": "device0", "multiplicity": 1, "slots": slots, "occurrences": [visit]}]
    patterns += [{"device": f"device{k}", "multiplicity": 1, "slots": [], "occurrences": []} for k in (1, 2)]
    plan = plan_from_document({"iterations": 1, "patterns": patterns}, problem)
    assert {violation.code for violation in certify(problem, plan).violations} == {"resident"}
    found = compare(replay(problem, plan, Backend.HOST, OPTIONS, watched=("device0",)))
    assert found.failure.startswith("memory: action ")
