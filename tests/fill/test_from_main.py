"""`main: {file: ...}`: device classes from a main job."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from pipefill_opt.errors import InputError
from pipefill_opt.fill.problem import FillProblem
from pipefill_opt.fill.read import instance_from_document
from tests.fill.samples import operator

MAIN: dict[str, Any] = {
    "schedule": {"family": "gpipe", "devices": 2, "microbatches": 2},
    "durations": {"unit": "ms", "F": 10, "B": 20},
    "memory": {"capacity": "8GB", "reserve": "1GB", "static": ["3GB", "2GB"], "activation": "1GB"},
}
JOB = {"name": "j", "configs": [{"name": "c", "resident": 0, "operators": [operator("o", 1, 0)]}]}


def build(folder: Path, main: dict[str, Any] | None = None, **entry: Any) -> FillProblem:
    (folder / "main.json").write_text(json.dumps(MAIN if main is None else main))
    return instance_from_document({"main": {"file": "main.json", **entry}, "jobs": [JOB]}, folder=folder)


def test_classes_bubbles_and_memory(tmp_path: Path) -> None:
    """GPipe, p = 2, m = 2, F = 10, B = 20 ms: period 90. Device 0 idles from 20 to 50 ms, device 1 from 70 to 10."""
    found = build(tmp_path, count=3, speed=0.5)
    assert found.period == 90_000_000
    assert found.main is not None
    zero, one = found.devices
    assert [(device.name, device.count, device.main_device) for device in found.devices] == [
        ("device0", 3, 0),
        ("device1", 3, 1),
    ]
    assert zero.speed * 2 == 1
    assert [(b.start, b.length, b.kind, b.free) for b in zero.bubbles] == [
        (20_000_000, 30_000_000, "fwd-bwd", 8_000_000_000 - 1_000_000_000 - 5_000_000_000)
    ]
    assert [(b.start, b.length, b.kind, b.free) for b in one.bubbles] == [
        (70_000_000, 30_000_000, "fill-drain", 8_000_000_000 - 1_000_000_000 - 2_000_000_000)
    ]
    assert (zero.resident_free, one.resident_free) == (2_000_000_000, 3_000_000_000)
    assert found.jobs[0].devices == ("device0", "device1")


def test_kinds(tmp_path: Path) -> None:
    found = build(tmp_path, kinds=["fill-drain"])
    assert [len(device.bubbles) for device in found.devices] == [0, 1]


def test_a_main_job_that_does_not_fit_leaves_nothing(tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    found = build(tmp_path, MAIN | {"memory": MAIN["memory"] | {"capacity": "5GB"}})
    assert [device.resident_free for device in found.devices] == [0, 0]
    assert [bubble.free for device in found.devices for bubble in device.bubbles] == [0, 2_000_000_000]
    assert "device 0" in caplog.text


def test_memory_must_be_known(tmp_path: Path) -> None:
    main = {key: value for key, value in MAIN.items() if key != "memory"}
    with pytest.raises(InputError, match=r"main\.file: .*main\.json: expected a main job with memory"):
        build(tmp_path, main)


def test_without_a_barrier_it_is_refused(tmp_path: Path) -> None:
    with pytest.raises(InputError, match=r"main\.file: .*main\.json: expected a main job with boundary barrier"):
        build(tmp_path, MAIN | {"boundary": "flow"})


def test_a_bad_main_file_is_named(tmp_path: Path) -> None:
    with pytest.raises(InputError, match=r"main\.json: durations"):
        build(tmp_path, MAIN | {"durations": {"F": "1ms"}})
    with pytest.raises(InputError, match="expected a readable file"):
        instance_from_document({"main": {"file": "none.json"}, "jobs": [JOB]}, folder=tmp_path)


def test_a_name_that_no_file_can_have(tmp_path: Path) -> None:
    with pytest.raises(InputError, match="expected a readable file"):
        instance_from_document({"main": {"file": "\x00"}, "jobs": [JOB]}, folder=tmp_path)
