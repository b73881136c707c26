"""Devices' lives: phases one after the other, copies that go on, releases, migration. Worked out by hand."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest

from pipefill_opt.fill.certificate import Certificate
from pipefill_opt.fill.certify import certify
from pipefill_opt.fill.plan_file import plan_from_document
from pipefill_opt.fill.read import instance_from_document
from tests.fill.samples import codes, operator

LIFE: dict[str, Any] = {
    "period": "10ms",
    "objective": "makespan",
    "devices": [
        {
            "name": "d",
            "count": 2,
            "resident_free": "1GB",
            "bubbles": [{"start": "1ms", "length": "4ms", "free": "1GB", "kind": "inner"}],
        }
    ],
    "switch": {"h2d": "100GB/s", "d2h": "100GB/s"},
    "jobs": [
        {
            "name": "x",
            "copies": 2,
            "weight": 3,
            "iterations": 5,
            "deadline": "25ms",
            "configs": [{"name": "c", "resident": 0, "operators": [operator("a", 1, 1, 1), operator("b", 1, 1, 2)]}],
        },
        {
            "name": "y",
            "iterations": 3,
            "release": "20ms",
            "deadline": "45ms",
            "configs": [{"name": "c", "resident": 0, "operators": [operator("o", 2, 1)]}],
        },
    ],
}

Phase = dict[str, Any]


def phase(repetitions: int | None, *work: tuple[str, str, int, int]) -> Phase:
    """A phase with slots (job, copy, first, operators in the bubble)."""
    slots = [{"job": job, "config": "c", "copy": name, "first": first} for job, name, first, _ in work]
    segments = [{"slot": i, "first": first, "count": count} for i, (*_, first, count) in enumerate(work) if count]
    entry: Phase = {"slots": slots, "occurrences": [{"iteration": 0, "bubble": 0, "segments": segments}]}
    return entry if repetitions is None else entry | {"repetitions": repetitions}


def judge(*devices: list[Phase], **changes: Any) -> Certificate:
    """The certificate of one pattern for each list of phases, on LIFE with other top-level values."""
    of = instance_from_document(LIFE | {"repeat": True} | changes)
    patterns = [{"device": "d", "multiplicity": 1, "phases": phases} for phases in devices]
    return certify(of, plan_from_document({"patterns": patterns}, of))


FIRST = [phase(3, ("x", "x1", 0, 4)), phase(2, ("y", "y1", 0, 2))]
"""x1: two passes a repetition, five of six by 30 ms. y1 from 30 ms on: two passes a repetition, three of four by 50 ms."""
SECOND = [phase(2, ("x", "x2", 0, 2)), phase(2, ("x", "x2", 0, 4))]
"""x2: 1 + 1 + 2 + 2 passes; five by 40 ms."""


@pytest.mark.parametrize(
    ("objective", "value"),
    [
        ("makespan", 50_000_000),
        ("weighted-completion", 3 * (30_000_000 + 40_000_000) + 50_000_000),
        # by 25 ms: x1 four passes, x2 two; by 45 ms: y1 two; a pass is worth 2 ms
        ("on-time-value", 3 * (4 + 2) * 2_000_000 + 2 * 2_000_000),
    ],
)
def test_objectives_over_time(objective: str, value: int) -> None:
    found = judge(FIRST, SECOND, objective=objective)
    assert found.violations == ()
    assert found.objective == value


def test_on_time_counts_no_more_than_is_wanted() -> None:
    late = [job | {"deadline": "1s"} for job in LIFE["jobs"]]
    found = judge(FIRST, SECOND, objective="on-time-value", jobs=late)
    assert found.objective == 3 * (5 + 5) * 2_000_000 + 3 * 2_000_000


def test_on_time_without_a_number_of_iterations() -> None:
    jobs = [{key: value for key, value in job.items() if key != "iterations"} for job in LIFE["jobs"]]
    endless = [phase(None, ("x", "x1", 0, 4))]
    found = judge(endless, [], objective="on-time-value", jobs=jobs)
    assert found.objective == 3 * 4 * 2_000_000
    jobs[0].pop("deadline")
    jobs[0]["iterations"] = 7
    found = judge(endless, [], objective="on-time-value", jobs=jobs)
    assert found.objective == 3 * 7 * 2_000_000


def test_a_last_phase_may_have_no_end() -> None:
    found = judge([phase(3, ("x", "x1", 0, 4)), phase(None, ("y", "y1", 0, 1))], SECOND)
    assert found.objective == 60_000_000  # y1: one pass a repetition from 30 ms on


def test_an_endless_phase_in_which_a_copy_does_nothing() -> None:
    jobs = [job | {"deadline": "1s"} for job in LIFE["jobs"]]
    idle = [phase(1, ("x", "x1", 0, 4)), phase(None, ("x", "x1", 0, 0))]
    assert judge(idle, [], objective="on-time-value", jobs=jobs).objective == 3 * 2 * 2_000_000
    jobs = [{key: value for key, value in job.items() if key != "deadline"} for job in jobs]
    assert judge(idle, [], objective="on-time-value", jobs=jobs).objective == 3 * 2 * 2_000_000


def test_on_time_without_any_end() -> None:
    """Such a problem is refused when it is read; built in Python it has plans without a value."""
    of = instance_from_document(LIFE | {"objective": "on-time-value"})
    of = replace(of, jobs=tuple(replace(job, deadline=None, iterations=None) for job in of.jobs))

    def found(entry: Phase) -> Certificate:
        patterns = [{"device": "d", "multiplicity": 1, "phases": phases} for phases in ([entry], [])]
        return certify(of, plan_from_document({"patterns": patterns}, of))

    assert found(phase(3, ("x", "x1", 0, 4))).objective == 3 * 6 * 2_000_000
    assert codes(found(phase(None, ("x", "x1", 0, 4)))) == {"unfinished"}


def test_unfinished() -> None:
    assert codes(judge(FIRST, SECOND[:1])) == {"unfinished"}
    assert codes(judge(FIRST, [])) == {"unfinished"}
    assert judge(FIRST, SECOND[:1], objective="on-time-value").valid


def test_release() -> None:
    late = [phase(2, ("x", "x1", 0, 4)), phase(1, ("x", "x1", 0, 2), ("y", "y1", 0, 1)), phase(1, ("y", "y1", 0, 2))]
    assert judge(late, SECOND).valid
    both = ("x", "x1", 0, 2), ("y", "y1", 0, 1)
    early = [phase(1, ("x", "x1", 0, 4)), phase(2, *both), phase(1, *both)]
    assert codes(judge(early, SECOND)) == {"release"}
    idle = [phase(2, ("x", "x1", 0, 4), ("y", "y1", 0, 0)), phase(1, ("x", "x1", 0, 4)), phase(2, ("y", "y1", 0, 2))]
    assert judge(idle, SECOND).valid  # a slot that does nothing may be there before


def test_copies_are_counted_over_the_whole_life() -> None:
    another = [phase(2, ("x", "x2", 0, 2)), phase(3, ("x", "x3", 0, 4))]
    assert codes(judge(FIRST, another)) == {"copies"}


def test_a_slot_without_name_is_a_copy_of_its_phase() -> None:
    nameless = [phase(2, ("x", "x2", 0, 2)), phase(3, ("x", "x3", 0, 4))]
    for entry in nameless:
        del entry["slots"][0]["copy"]
    assert codes(judge(FIRST, nameless)) == {"copies"}
    jobs = [LIFE["jobs"][0] | {"copies": 3}, LIFE["jobs"][1]]
    assert codes(judge(FIRST, nameless, jobs=jobs)) == {"unfinished"}


def test_a_copy_goes_on_where_it_stands() -> None:
    shifted = [phase(2, ("x", "x2", 1, 2)), phase(2, ("x", "x2", 1, 4))]
    assert judge(FIRST, shifted).objective == 50_000_000
    jump = [phase(2, ("x", "x2", 1, 2)), phase(2, ("x", "x2", 0, 4))]
    assert codes(judge(FIRST, jump)) == {"order"}


def test_every_repetition_closes_the_cycle() -> None:
    assert codes(judge(FIRST, [phase(1, ("x", "x2", 0, 3)), *SECOND])) == {"cycle", "order"}
    assert codes(judge(FIRST, [phase(1, ("x", "x2", 0, 3)), phase(4, ("x", "x2", 1, 4))])) == {"cycle"}


def test_a_plan_that_runs_once_goes_on_in_the_middle_of_the_chain() -> None:
    halves = [phase(1, ("x", "x2", 0, 3)), phase(1, ("x", "x2", 1, 3)), phase(1, ("x", "x2", 0, 4))]
    assert judge(FIRST, halves, repeat=False).valid
    assert codes(judge(FIRST, [phase(2, ("x", "x2", 0, 3)), *halves[1:]], repeat=False)) >= {"cycle"}
    assert codes(judge(FIRST, [phase(1, ("x", "x2", 1, 3)), phase(2, ("x", "x2", 0, 4))], repeat=False)) == {"first"}


def test_later_repetitions_of_a_plan_that_runs_once_carry() -> None:
    """The second repetition moves in the 2 MB that b carries: 20 us more than the first, which moves in nothing."""
    swapped = [LIFE["jobs"][0] | {"keep": False, "copies": 1}]

    def with_length(length: str, *phases: Phase) -> Certificate:
        device = LIFE["devices"][0] | {"bubbles": [LIFE["devices"][0]["bubbles"][0] | {"length": length}]}
        changes = {"repeat": False, "jobs": swapped, "devices": [device], "objective": "on-time-value"}
        return judge(list(phases), [], **changes)

    assert with_length("2040us", phase(5, ("x", "x1", 0, 2))).valid  # 20 us in, 2 ms, 20 us out
    assert codes(with_length("2039999ns", phase(5, ("x", "x1", 0, 2)))) == {"fit"}
    assert with_length("2020us", phase(1, ("x", "x1", 0, 2))).valid
    assert codes(with_length("2020us", phase(1, ("x", "x1", 0, 2)), phase(1, ("x", "x1", 0, 2)))) == {"fit"}


def test_nothing_is_on_time() -> None:
    early = [job | {"deadline": "9999999ns"} for job in LIFE["jobs"]]
    assert judge(FIRST, SECOND, objective="on-time-value", jobs=early).objective == 0
    in_time = [job | {"deadline": "10ms"} for job in LIFE["jobs"]]
    assert judge(FIRST, SECOND, objective="on-time-value", jobs=in_time).objective == 3 * (2 + 1) * 2_000_000


def test_places_name_the_phase() -> None:
    found = judge([phase(1, ("x", "x1", 0, 5))], SECOND, objective="on-time-value")
    assert {v.place for v in found.violations if v.code == "fit"} == {"patterns[0] (d).phases[0].occurrences[0]"}


def test_migrate() -> None:
    moved = [phase(2, ("x", "x1", 0, 4))], [phase(2, ("x", "x2", 0, 4)), phase(1, ("x", "x1", 0, 2))]
    rest = [phase(3, ("x", "x2", 0, 2)), phase(2, ("y", "y1", 0, 2))]
    devices = [moved[0] + rest[1:], moved[1]]
    assert codes(judge(*devices)) == {"migrate"}
    found = judge(*devices, migrate=True)
    assert codes(found) == {"unfinished"}  # x2 did four passes only
    devices = [
        [*moved[0], phase(2, ("y", "y1", 0, 2))],
        [phase(2, ("x", "x2", 0, 4)), phase(1, ("x", "x1", 0, 2), ("x", "x2", 0, 2))],
    ]
    assert judge(*devices, migrate=True).objective == 40_000_000
    both_at_once = [[phase(3, ("x", "x1", 0, 4)), phase(2, ("y", "y1", 0, 2))], devices[1]]
    assert codes(judge(*both_at_once, migrate=True)) == {"migrate"}


def test_multiplicity_stands_for_as_many_copies() -> None:
    of = instance_from_document(LIFE | {"objective": "weighted-completion"} | {"jobs": LIFE["jobs"][:1]})
    pattern = {"device": "d", "multiplicity": 2, "phases": [phase(3, ("x", "x", 0, 4))]}
    found = certify(of, plan_from_document({"patterns": [pattern]}, of))
    assert found.objective == 2 * 3 * 30_000_000
