"""The three reports on bubbles say what the timeline says."""

from __future__ import annotations

import csv
import io
import json
from fractions import Fraction
from typing import Any

import pytest

from pipefill_opt.errors import ScheduleError
from pipefill_opt.report.bubbles import action_texts, bubbles_csv, bubbles_json, bubbles_text
from pipefill_opt.timeline.compute import timeline
from pipefill_opt.timeline.timeline import Timeline
from tests.timeline.jobs import memory_of, rows_job
from tests.timeline.random_jobs import random_job


def timelines() -> list[Timeline]:
    found = []
    for seed in range(120):
        try:
            found.append(timeline(random_job(seed)))
        except ScheduleError:
            continue
    assert len(found) > 80
    return found


def text_of(result: Timeline, action: int | None) -> str | None:
    return None if action is None else str(result.main.schedule.action(action))


def bubble_objects(result: Timeline, device: int) -> list[dict[str, Any]]:
    return [
        {
            "start": bubble.start,
            "length": bubble.length,
            "kind": bubble.kind,
            "phase": bubble.phase,
            "cause": {
                "edge": bubble.cause.edge,
                "action": text_of(result, bubble.cause.action),
                "device": bubble.cause.device,
            },
            "next_action": text_of(result, bubble.next_action),
            "slack": bubble.slack,
            "free_bytes": bubble.free,
        }
        for bubble in result.bubbles[device]
    ]


def test_json_equals_the_timeline() -> None:
    for result in timelines():
        document = json.loads(bubbles_json(result))
        assert list(document) == [
            "derived",
            "boundary",
            "period",
            "makespan",
            "span",
            "flow_period",
            "bubble_ratio",
            "bubble_ratio_exact",
            "devices",
        ]
        assert [document[key] for key in ("period", "makespan", "span")] == [
            result.period,
            result.makespan,
            result.span,
        ]
        assert Fraction(document["bubble_ratio_exact"]) == result.bubble_ratio
        assert document["bubble_ratio"] == float(result.bubble_ratio)
        assert result.peak is not None
        for number, device in enumerate(document["devices"]):
            assert device["device"] == number
            assert device["busy"] == result.busy[number]
            assert device["idle"] == result.period - device["busy"] == sum(b["length"] for b in device["bubbles"])
            assert device["peak_bytes"] == result.peak[number]
            assert device["bubbles"] == bubble_objects(result, number)


def test_json_lists_the_actions() -> None:
    rows = ("0F0 0F1 (0F2;0B0)OVERLAP_F_B 0B1 0B2 STEP", "1F0 1B0 1F1 1B1 1F2 1B2 1REDUCE_GRAD STEP")
    apart = json.loads(bubbles_json(timeline(rows_job(*rows))))
    assert [action["text"] for action in apart["devices"][0]["actions"]] == [
        "0F0",
        "0F1",
        "0F2",
        "0B0",
        "0B1",
        "0B2",
        "STEP",
    ]
    block = json.loads(bubbles_json(timeline(rows_job(*rows, overlap=3))))
    assert [action["text"] for action in block["devices"][0]["actions"]] == rows[0].split()
    assert block["devices"][0]["actions"][2] == {"text": "(0F2;0B0)OVERLAP_F_B", "start": 4, "end": 7}
    assert block["devices"][1]["actions"][-2:] == [
        {"text": "1REDUCE_GRAD", "start": 10, "end": 10},
        {"text": "STEP", "start": 10, "end": 10},
    ]


def test_json_without_memory_or_work() -> None:
    document = json.loads(bubbles_json(timeline(rows_job("0F0 0B0", "", placement=[0]))))
    assert [device["peak_bytes"] for device in document["devices"]] == [None, None]
    assert document["devices"][1]["actions"] == []
    assert document["devices"][1]["bubbles"] == [
        {
            "start": 0,
            "length": 3,
            "kind": "fill-drain",
            "phase": "steady",
            "cause": {"edge": "barrier", "action": None, "device": None},
            "next_action": None,
            "slack": 3,
            "free_bytes": None,
        }
    ]


def test_csv_has_a_row_for_each_bubble() -> None:
    for result in timelines()[:40]:
        rows = list(csv.DictReader(io.StringIO(bubbles_csv(result))))
        expected = [
            {
                "device": device,
                **{k: v for k, v in bubble.items() if k != "cause"},
                **{f"cause_{k}": v for k, v in bubble["cause"].items()},
            }
            for device in range(result.main.schedule.devices)
            for bubble in bubble_objects(result, device)
        ]
        assert rows == [{k: "" if v is None else str(v) for k, v in row.items()} for row in expected]


def test_action_texts() -> None:
    for result in timelines()[:40]:
        schedule = result.main.schedule
        assert action_texts(schedule) == [str(schedule.action(index)) for index in range(schedule.size)]


@pytest.mark.parametrize("memory", [True, False])
def test_text_is_a_table(memory: bool) -> None:
    model = memory_of(2, 2, capacity=2**20, static=2**10, activation=2**9) if memory else None
    lines = bubbles_text(timeline(rows_job("0F0 0F1 0B0 0B1", "1F0 1B0 1F1 1B1", memory=model))).splitlines()
    assert lines[:2] == ["custom: 2 devices, 8 actions", "period 9 ns, span 9 ns, bubble ratio 33.33 %"]
    assert lines[3].split("  ")[0] == "device"
    cells = [" ".join(line.split()) for line in lines[3:]]
    assert cells[0] == "device busy idle fill-drain fwd-bwd sync inner bubbles" + (" peak least free" if memory else "")
    assert cells[1] == "0 6 ns 3 ns 0 ns 2 ns 0 ns 1 ns 2" + (" 2 KiB 1022 KiB" if memory else "")
    assert cells[2] == "1 6 ns 3 ns 3 ns 0 ns 0 ns 0 ns 1" + (" 1.5 KiB 1023 KiB" if memory else "")
    assert cells[3] == "all 12 ns 6 ns 3 ns 2 ns 0 ns 1 ns 3"
    assert not any(line != line.rstrip() for line in lines)
