"""The instance's hash: the same for the same data however they are written, another for any change."""

from __future__ import annotations

import json
import re
from pathlib import Path

import pytest

from pipefill_opt.fill.hash import instance_hash
from pipefill_opt.fill.read import read_instance
from tests.fill.samples import Change, document, problem, put


def test_form() -> None:
    assert re.fullmatch(r"sha256:[0-9a-f]{64}", instance_hash(problem()))


SAME: dict[str, list[Change]] = {
    "units": [put("period", "0.1s"), put("devices.0.bubbles.0.free", "600000kB")],
    "numbers": [put("jobs.1.weight", 2.0), put("guard", {"fraction": 1.0})],
    "defaults": [
        put("iterations", 1), put("objective", "throughput"), put("jobs.0.keep", True), put("migrate", False),
        put("devices.0.speed", 1), put("jobs.1.devices", ["other", "d"]), put("max_iterations", 7),
        put("guard", {"fraction": 1, "margin": 0}),
    ],
    "name": [put("name", "another")],
    "order of keys": [lambda tree: tree.update(dict(reversed(list(tree.items()))))],
}  # fmt: skip


@pytest.mark.parametrize("name", SAME)
def test_the_same_data_have_the_same_hash(name: str) -> None:
    assert instance_hash(problem(*SAME[name])) == instance_hash(problem())


def test_repeat_is_the_same_as_writing_it_out() -> None:
    operators = document()["jobs"][0]["configs"][0]["operators"]
    path = "jobs.0.configs.0.operators"
    twice = problem(put(path, [operators[0], operators[0], operators[1]]))
    assert instance_hash(problem(put(f"{path}.0.repeat", 2))) == instance_hash(twice)


DIFFERENT: dict[str, Change] = {
    "period": put("period", "100000001ns"),
    "iterations": put("iterations", 2),
    "repeat": put("repeat", False),
    "objective": lambda tree: tree.update(
        objective="on-time-value", jobs=[job | {"iterations": 1} for job in tree["jobs"]]
    ),
    "migrate": put("migrate", True),
    "guard": put("guard", {"fraction": 0.999}),
    "margin": put("guard", {"margin": "1ns"}),
    "enter": put("switch.enter", "1000001ns"),
    "leave": put("switch.leave", "1000001ns"),
    "between": put("switch.between", "1000001ns"),
    "h2d": put("switch.h2d", "101GB/s"),
    "d2h": put("switch.d2h", "51GB/s"),
    "class name": put("devices.1.name", "others"),
    "class count": put("devices.0.count", 3),
    "class speed": put("devices.0.speed", 0.999),
    "resident_free": put("devices.0.resident_free", "401MB"),
    "bubble start": put("devices.0.bubbles.0.start", "1ns"),
    "bubble length": put("devices.0.bubbles.0.length", "9ms"),
    "bubble free": put("devices.0.bubbles.0.free", "601MB"),
    "bubble kind": put("devices.0.bubbles.0.kind", "inner"),
    "job name": put("jobs.1.name", "moved"),
    "copies": put("jobs.0.copies", 3),
    "weight": put("jobs.0.weight", 1.001),
    "wanted": put("jobs.0.iterations", 5),
    "release": put("jobs.0.release", "1ns"),
    "deadline": put("jobs.0.deadline", "1ns"),
    "allowed": put("jobs.0.devices", ["d", "other"]),
    "keep": put("jobs.0.keep", False),
    "samples": put("jobs.0.configs.0.samples", 2),
    "resident": put("jobs.0.configs.0.resident", "101MB"),
    "operator name": put("jobs.0.configs.0.operators.0.name", "z"),
    "duration": put("jobs.0.configs.0.operators.0.duration", "3000001ns"),
    "memory": put("jobs.0.configs.0.operators.0.memory", "301MB"),
    "carry": put("jobs.0.configs.0.operators.0.carry", "101MB"),
    "flops": put("jobs.0.configs.0.operators.0.flops", 1),
    "value": put("jobs.0.configs.0.operators.0.value", 0),
}


def test_any_change_of_the_data_changes_the_hash() -> None:
    hashes = {instance_hash(problem(change)) for change in DIFFERENT.values()}
    assert len(hashes | {instance_hash(problem())}) == len(DIFFERENT) + 1


def test_the_canonical_form_does_not_drift(tmp_path: Path) -> None:
    """A plan that states a hash stays good with later versions."""
    (tmp_path / "i.json").write_text(json.dumps(document()))
    expected = "sha256:e840d5151ec1d11c8a8bcc00af107f3c766166fcea35bbecb0bf2ffce87a8128"
    assert instance_hash(read_instance(tmp_path / "i.json")) == expected
