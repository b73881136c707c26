"""Causes in words and numbers."""

from __future__ import annotations

import csv
import io
import json
from fractions import Fraction

from pipefill_opt.report.causes import MOST_GROUPS, causes, causes_csv, causes_json, causes_text
from pipefill_opt.schedule.actions import Kind
from pipefill_opt.schedule.families import build_family
from pipefill_opt.timeline.compute import timeline
from pipefill_opt.workload.costs import Communication, Durations, MainJob
from tests.timeline.jobs import half_tick_job, rows_job


def slow_last_stage(devices: int, microbatches: int, lag: int = 0) -> MainJob:
    """1F1B, F = 10, B = 20, B = 26 on the last stage."""
    schedule = build_family("1f1b", devices, microbatches)
    times = {Kind.F: (10,) * devices, Kind.B: (*(20,) * (devices - 1), 26)}
    return MainJob(schedule, Durations(times), Communication(lag))


def test_text_groups_bubbles_with_the_same_chain() -> None:
    """Device 0 waits for every backward but the first in the same way; 3B is where it comes from."""
    text = causes_text(causes(timeline(slow_last_stage(4, 8))))
    assert "critical path: 22 actions, 378 ns of work, 0 ns of messages" in text
    (line,) = (line for line in text.splitlines() if "3B1 ... 1B1 -> 0B1" in line)
    assert line.split()[:4] == ["0", "inner", "7", "72"]
    assert "idle time by origin, where its chain of causes begins: 3B " in text
    assert "||" in text  # the iteration's boundary


def test_text_counts_what_it_leaves_out() -> None:
    found = causes(timeline(slow_last_stage(16, 32, lag=1)))
    lines = causes_text(found).splitlines()
    shown = [
        line
        for line in lines
        if line.startswith("  ") and ("inner" in line or "fwd-bwd" in line or "fill-drain" in line)
    ]
    assert len(shown) == MOST_GROUPS
    counted = sum(int(line.split()[2]) for line in shown)
    rest = lines[-1].split()
    assert rest[:2] == ["...", "and"]
    assert counted + int(rest[rest.index("with") + 1]) == len(found.bubbles)


def test_json_is_complete() -> None:
    result = timeline(slow_last_stage(3, 4, lag=2))
    document = json.loads(causes_json(causes(result)))
    assert document["period"] == result.period
    assert sum(step["work"] + step["message"] for step in document["critical_path"]) == result.makespan
    assert len(document["bubbles"]) == len(result.bubble_table.start)
    for bubble in document["bubbles"]:
        assert sum(step["work"] for step in bubble["chain"]) == bubble["work"]
        assert bubble["work"] + bubble["message"] == bubble["length"]
    by = {entry["action"]: entry for entry in document["releases"]}
    assert len(by) == result.main.schedule.size
    for bubble in document["bubbles"]:  # the origin is found again by following the releases
        at = bubble["chain"][0]["action"]
        device = {str(result.main.schedule.action(i)): d for i, d in enumerate(result.main.schedule.device().tolist())}
        while by[at]["edge"] == "data" and device[by[at]["by"]] != device[at]:
            at = by[at]["by"]
        assert at == bubble["origin"]


def test_csv() -> None:
    rows = list(csv.DictReader(io.StringIO(causes_csv(causes(timeline(rows_job("0F0 0B0", "1F0 1B0", lag=1)))))))
    assert [(row["device"], row["next_action"], row["work"], row["message"], row["chain"]) for row in rows] == [
        ("0", "0B0", "3", "2", "0F0 1F0 1B0"), ("1", "1F0", "3", "2", "1B0 0B0 0F0"),
    ]  # fmt: skip


def test_a_device_without_work_and_a_job_without_bubbles() -> None:
    text = causes_text(causes(timeline(rows_job("0F0 0B0", "", placement=[0]))))
    assert "no work on this device" in text
    document = json.loads(causes_json(causes(timeline(rows_job("0F0 0B0", "", placement=[0])))))
    assert document["bubbles"] == [
        {"device": 1, "start": 0, "length": 3, "kind": "fill-drain", "phase": "steady", "slack": 3,
         "next_action": None, "origin": None, "work": 0, "message": 0, "chain": []},
    ]  # fmt: skip
    assert causes_text(causes(timeline(rows_job("0F0 0B0")))).endswith("no bubbles\n")
    assert "no bubbles" in causes_text(causes(timeline(rows_job("", placement=[0], pipes=[[0]]))))


def test_times_of_flow_are_ticks_and_fractions() -> None:
    found = causes(timeline(half_tick_job()))
    text = causes_text(found)
    assert "period 3.5 ns" in text
    assert "critical cycle: 4 actions over 2 iterations, 5 ns of work, 2 ns of messages" in text
    document = json.loads(causes_json(found))
    assert document["period"] == "7/2"
    assert sum(Fraction(step["work"]) + step["message"] for step in document["critical_path"]) == 7
    rows = list(csv.DictReader(io.StringIO(causes_csv(found))))
    assert {Fraction(row["length"]) for row in rows} == {Fraction(1, 2), Fraction(3, 2)}
