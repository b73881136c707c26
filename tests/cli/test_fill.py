"""`solve`, `certify`, `explain`, end to end, on an instance whose optimum is worked out in samples.py."""

from __future__ import annotations

import csv
import io
import json

import pytest

from tests.cli.samples import OPTIMUM, PLAN, Shell
from tests.traces.rules import read_trace

SOLVERS = ["auto", "greedy", "greedy-all", "dp", "cg", "cpsat", "milp", "cpsat-direct", "milp-direct"]


@pytest.mark.parametrize("solver", SOLVERS)
def test_solve_json_and_plan_file(shell: Shell, solver: str) -> None:
    ran = shell("solve", "instance.yaml", "--solver", solver, "-o", "out/plan.json", "--format", "json")
    assert ran.code == 0, ran.err
    document = json.loads(ran.out)
    contiguous = 50_000_000
    assert document["objective"] == str(contiguous if solver == "greedy" else OPTIMUM)
    assert document["comparison"]["greedy, contiguous bubbles"] == str(contiguous)
    assert document["comparison"]["greedy, all bubbles"] == str(OPTIMUM)
    if not solver.startswith("greedy"):
        assert document["outcome"] == "optimal"
        assert document["bound"] == str(OPTIMUM)
        assert document["gap"] == "0"
    assert document["utilisation"]["before"] == pytest.approx(0.49)
    certified = shell("certify", "instance.yaml", "out/plan.json", "--format", "json")
    assert certified.code == 0
    assert json.loads(certified.out) == {"valid": True, "objective": document["objective"], "violations": []}


def test_solve_text_and_csv(shell: Shell) -> None:
    text = shell("solve", "instance.yaml")
    for part in ("optimal (proved)", "80 ms", "bound", "49.00 % before", "89.00 % after", "2 of 2"):
        assert part in text.out
    assert "slowdown" not in text.out  # the main job is not known
    rows = list(csv.DictReader(io.StringIO(shell("solve", "instance.yaml", "--format", "csv").out)))
    assert rows[-1] == {"plan": "bound", "value": str(OPTIMUM), "of_bound": "1.000000"}


def test_solve_with_a_main_job_times_it_again(shell: Shell) -> None:
    ran = shell("solve", "with_main.yaml", "--gantt", "plan.svg", "--format", "json", "--seed", "7")
    assert ran.code == 0
    slowdown = json.loads(ran.out)["slowdown"]
    assert slowdown["stated"] == 0.0
    assert slowdown["seed"] == 7
    assert 0 <= slowdown["mean"] <= slowdown["worst"]
    assert b"<svg" in (shell.folder / "plan.svg").read_bytes()


def test_a_limit_is_said_to_be_one(shell: Shell) -> None:
    ran = shell("solve", "instance.yaml", "--solver", "dp", "--time-limit", "0.000000001", "--format", "json")
    assert ran.code == 0
    document = json.loads(ran.out)
    assert document["reason"] == ("proved" if document["outcome"] == "optimal" else "time limit")


@pytest.mark.parametrize(
    ("old", "new", "code"),
    [
        ("count: 5", "count: 6", "fit"),
        ("multiplicity: 2", "multiplicity: 1", "count"),
        ("iteration: 0, bubble: 1", "iteration: 0, bubble: 2", "reference"),
        ("count: 3}", "count: 3, start: 1}", "start"),
    ],
)
def test_certify_refuses_a_broken_plan(shell: Shell, old: str, new: str, code: str) -> None:
    assert old in PLAN
    shell.write("broken.yaml", PLAN.replace(old, new))
    ran = shell("certify", "instance.yaml", "broken.yaml", "--format", "json")
    assert ran.code == 4
    document = json.loads(ran.out)
    assert document["objective"] is None
    assert {violation["code"] for violation in document["violations"]} == {code}
    assert code in shell("certify", "instance.yaml", "broken.yaml").out
    assert shell("certify", "instance.yaml", "broken.yaml", "--format", "csv").out.count("\n") == 2
    explained = shell("explain", "instance.yaml", "broken.yaml")
    assert explained.code == 4
    assert explained.out == ""
    assert len(explained.lines) == 1


def test_certify_a_valid_plan(shell: Shell) -> None:
    ran = shell("certify", "instance.yaml", "plan.yaml")
    assert ran.code == 0
    assert ran.out == f"valid: every rule holds; objective {OPTIMUM}\n"


def test_explain(shell: Shell) -> None:
    """2 ms and 3 ms are left in the bubbles of two devices: 5 ms operators are too long for them."""
    ran = shell("explain", "instance.yaml", "plan.yaml")
    assert ran.code == 0
    assert "10 ms of bubble time per iteration stays empty" in ran.out
    document = json.loads(shell("explain", "instance.yaml", "plan.yaml", "--format", "json").out)
    assert [(rest["bubble"], rest["rest"]) for rest in document["rests"]] == [(0, 2_000_000), (1, 3_000_000)]
    rows = list(csv.DictReader(io.StringIO(shell("explain", "instance.yaml", "plan.yaml", "--format", "csv").out)))
    assert [row["rest"] for row in rows] == ["2000000", "3000000"]
    assert {row["reason"] for row in rows} <= {"time", "switch"}


def test_shadow_prices(shell: Shell) -> None:
    ran = shell("explain", "instance.yaml", "plan.yaml", "--prices")
    assert ran.code == 0
    assert "against 80 ms (optimal), each solved again" in ran.out
    document = json.loads(shell("explain", "instance.yaml", "plan.yaml", "--prices", "--format", "json").out)
    shadow = document["shadow_prices"]
    assert shadow["base"] == {"outcome": "optimal", "objective": str(OPTIMUM), "bound": str(OPTIMUM)}
    table = shell("explain", "instance.yaml", "plan.yaml", "--prices", "--format", "csv").out
    rows = list(csv.DictReader(io.StringIO(table)))
    assert [{**row, "units": int(row["units"])} for row in rows] == shadow["prices"]
    assert "--prices" in shell("explain", "with_main.yaml", "--prices").err


def test_explain_tells_of_the_main_job_where_it_is_known(shell: Shell) -> None:
    assert shell("solve", "with_main.yaml", "-o", "plan.json").code == 0
    assert "critical path: 6 actions" in shell("explain", "with_main.yaml", "plan.json").out
    document = json.loads(shell("explain", "with_main.yaml", "plan.json", "--format", "json").out)
    assert len(document["main"]["critical_path"]) == 6
    assert json.loads(shell("explain", "instance.yaml", "plan.yaml", "--format", "json").out)["main"] is None


def test_traces_of_plans(shell: Shell) -> None:
    assert shell("certify", "instance.yaml", "plan.yaml", "--trace", "plan-trace.json").code == 0
    events = read_trace((shell.folder / "plan-trace.json").read_text(encoding="utf-8"))
    assert [event["name"] for event in events if event.get("cat") == "fill"].count("layer") == 5 + 3
    assert shell("solve", "with_main.yaml", "--trace", "main-trace.json").code == 0
    events = read_trace((shell.folder / "main-trace.json").read_text(encoding="utf-8"))
    assert {event["cat"] for event in events if event["ph"] == "X"} == {"main", "bubble", "fill", "switch"}
    assert len([event for event in events if event["ph"] == "s"]) == 4


def test_a_plan_that_breaks_a_rule_gets_no_trace(shell: Shell) -> None:
    shell.write("broken.yaml", PLAN.replace("count: 5", "count: 6"))
    assert shell("certify", "instance.yaml", "broken.yaml", "--trace", "out.json").code == 4
    assert not (shell.folder / "out.json").exists()


def test_a_warm_start_is_never_lost(shell: Shell) -> None:
    shell("solve", "instance.yaml", "-o", "best.json")
    for solver in ("auto", "dp", "milp", "cpsat-direct"):
        ran = shell("solve", "instance.yaml", "--solver", solver, "--warm-start", "best.json", "--format", "json")
        assert ran.code == 0, ran.err
        assert json.loads(ran.out)["objective"] == str(OPTIMUM)


def test_a_warm_start_that_does_not_belong_is_refused(shell: Shell) -> None:
    shell("solve", "instance.yaml", "-o", "best.json")
    document = json.loads((shell.folder / "best.json").read_text())
    (shell.folder / "other.json").write_text(json.dumps(document | {"instance": "sha256:" + "0" * 64}))
    ran = shell("solve", "instance.yaml", "--warm-start", "other.json")
    assert (ran.code, ran.out) == (2, "")
    assert "other.json: instance: sha256:000" in ran.err
    for pattern in document["patterns"]:
        pattern["multiplicity"] += 1
    (shell.folder / "broken.json").write_text(json.dumps(document))
    ran = shell("solve", "instance.yaml", "--warm-start", "broken.json")
    assert (ran.code, ran.out) == (4, "")
    assert "the plan to start from breaks a rule" in ran.err
    ran = shell("solve", "instance.yaml", "--solver", "greedy", "--warm-start", "best.json")
    assert (ran.code, ran.out) == (2, "")
    assert "greedy: expected an exact solver" in ran.err


def test_the_model_is_written(shell: Shell) -> None:
    ran = shell("solve", "instance.yaml", "--write-model", "out/model.mps")
    assert ran.code == 0, ran.err
    text = (shell.folder / "out" / "model.mps").read_text()
    assert text.startswith("* Fill problem sha256:")
    assert text.endswith("ENDATA\n")
