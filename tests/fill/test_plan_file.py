"""PLAN files: read, refused, written."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from pipefill_opt.errors import InputError
from pipefill_opt.fill.certify import certify
from pipefill_opt.fill.hash import instance_hash
from pipefill_opt.fill.plan import Occurrence, Phase, Segment, Slot
from pipefill_opt.fill.plan_file import plan_document, plan_from_document, plan_text, read_plan
from tests.fill.samples import PLAN, Change, changed, drop, plan, problem, put


def test_read_from_a_file(tmp_path: Path) -> None:
    of = problem()
    (tmp_path / "p.json").write_text(json.dumps(PLAN))
    found = read_plan(tmp_path / "p.json", of)
    assert found == plan(of)
    assert found.patterns[0].phases == (
        Phase(
            (Slot("kept", "c"), Slot("swapped", "c")),
            (Occurrence(0, 0, (Segment(0, 0, 2, 1_000_000),)), Occurrence(0, 1, (Segment(1, 0, 1, 2_500_000),))),
        ),
    )


def test_no_patterns_is_a_plan_that_certify_refuses(tmp_path: Path) -> None:
    (tmp_path / "p.yaml").write_text("patterns:\n")
    assert read_plan(tmp_path / "p.yaml", problem()).patterns == ()


REFUSED: dict[str, tuple[Change, str]] = {
    "no device": (drop("patterns.0.device"), r"patterns\[0\]: missing key 'device'"),
    "no multiplicity": (drop("patterns.0.multiplicity"), r"patterns\[0\]: missing key 'multiplicity'"),
    "multiplicity 0": (put("patterns.0.multiplicity", 0), r"patterns\[0\].multiplicity: 0: expected a number of at least 1"),
    "unknown key": (put("patterns.0.colour", 1), r"patterns\[0\].colour: 1: unknown key"),
    "no count": (drop("patterns.0.occurrences.0.segments.0.count"), "missing key 'count'"),
    "count as text": (put("patterns.0.occurrences.0.segments.0.count", "2"), "expected a number"),
    "slot 0.5": (put("patterns.0.occurrences.0.segments.0.slot", 0.5), "expected a whole number"),
    "start as text": (put("patterns.0.occurrences.0.segments.0.start", "1ms"), "expected a whole number"),
    "phases beside slots": (put("patterns.0.phases", []), "expected either phases, or slots and occurrences"),
    "repetitions 0": (put("patterns.1", {"device": "d", "multiplicity": 1, "phases": [{"repetitions": 0}]}), "at least 1"),
    "no hash": (put("instance", "sha256:12"), "instance: \"sha256:12\": expected a hash"),
    "hash of another": (put("instance", "sha256:" + "0" * 64), "expected a plan for this instance, sha256:"),
}  # fmt: skip


@pytest.mark.parametrize("name", REFUSED)
def test_refused(name: str, tmp_path: Path) -> None:
    change, message = REFUSED[name]
    path = tmp_path / "p.json"
    path.write_text(json.dumps(changed(PLAN, change)))
    with pytest.raises(InputError, match=message) as caught:
        read_plan(path, problem())
    assert str(caught.value).startswith(str(path))


def test_the_right_hash_is_accepted() -> None:
    of = problem()
    assert plan(of, put("instance", instance_hash(of))).instance == instance_hash(of)


def without_starts(document: dict[str, Any]) -> None:
    for pattern in document["patterns"]:
        for occurrence in pattern["occurrences"]:
            for segment in occurrence["segments"]:
                segment.pop("start", None)


def test_written_with_starts_and_hash() -> None:
    of = problem()
    document = plan_document(of, plan(of, without_starts))
    assert document == {"iterations": 1, "instance": instance_hash(of)} | changed(
        PLAN, put("patterns.0.slots.0.first", 0), put("patterns.0.slots.1.first", 0)
    )
    again = plan_from_document(json.loads(plan_text(of, plan(of, without_starts))), of)
    assert again.patterns == plan(of).patterns
    assert certify(of, again).valid


def test_phases_are_written_and_read() -> None:
    of = problem(put("objective", "makespan"), put("jobs.0.iterations", 2), put("jobs.1.iterations", 1))
    life = {
        "device": "d",
        "multiplicity": 1,
        "phases": [
            {
                "repetitions": 2,
                "slots": [{"job": "swapped", "config": "c", "first": 0, "copy": "s"}],
                "occurrences": [{"iteration": 0, "bubble": 1, "segments": [{"slot": 0, "first": 0, "count": 1}]}],
            },
            {"slots": [], "occurrences": []},
        ],
    }
    found = plan(of, put("patterns.1", life))
    document = plan_document(of, found)
    expected = changed(life, put("phases.0.occurrences.0.segments.0.start", 2_500_000))
    assert document["patterns"][1] == expected
    (first, last) = plan_from_document(document, of).patterns[1].phases
    assert (first.repetitions, last.repetitions) == (2, None)


@pytest.mark.parametrize("count", ["1e900", "-1e900", "9" * 900])
def test_refuses_a_count_that_no_bubble_could_hold(tmp_path: Path, count: str) -> None:
    path = tmp_path / "plan.yaml"
    path.write_text(
        "patterns: [{device: s0, multiplicity: 1, slots: [{job: a, config: c}], "
        f"occurrences: [{{iteration: 0, bubble: 0, segments: [{{slot: 0, first: 0, count: {count}}}]}}]}}]"
    )
    with pytest.raises(InputError, match=r"plan.yaml: patterns\[0\].occurrences\[0\].segments\[0\].count: .*10{18}"):
        read_plan(path, problem())
