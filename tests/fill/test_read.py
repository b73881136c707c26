"""INSTANCE files: what is understood, and the one line that refuses the rest."""

from __future__ import annotations

import json
import logging
from fractions import Fraction
from pathlib import Path
from typing import Any

import pytest

from pipefill_opt.errors import InputError
from pipefill_opt.fill.problem import Objective, ValueRule
from pipefill_opt.fill.read import MAX_OPERATORS, instance_from_document, read_instance
from pipefill_opt.units import scaled_ticks
from tests.fill.samples import Change, document, drop, operator, problem, put

BUBBLES = "devices.0.bubbles"
OPERATOR = "jobs.0.configs.0.operators.0"
TABLE = {"kept": {"kept": 0, "swapped": 0}, "swapped": {"kept": 0, "swapped": "2ms"}}


def test_defaults() -> None:
    found = instance_from_document(
        {
            "period": "1s",
            "devices": [
                {"name": "d", "resident_free": 0, "bubbles": []},
                {"name": "e", "resident_free": 0, "bubbles": []},
            ],
            "jobs": [{"name": "j", "configs": [{"name": "c", "resident": 0, "operators": [operator("o", 1, 0)]}]}],
        },
        file="somewhere/small.yaml",
    )
    assert (found.name, found.iterations, found.max_iterations, found.repeat) == ("small", 1, 64, True)
    assert (found.guard.fraction, found.guard.margin) == (1, 0)
    assert (found.switch.enter, found.switch.leave, found.switch.between) == (0, 0, 0)
    assert (found.switch.h2d, found.switch.d2h) == (None, None)
    assert (found.objective, found.migrate, found.main) == (Objective.THROUGHPUT, False, None)
    (job,) = found.jobs
    assert (job.copies, job.weight, job.iterations, job.release, job.deadline) == (1, 1, None, 0, None)
    assert (job.keep, job.devices, job.value_rule) == (True, ("d", "e"), ValueRule.TIME)
    assert job.configurations[0].samples == 1
    assert (found.devices[0].count, found.devices[0].speed) == (1, 1)


def test_numbers_are_exact() -> None:
    found = problem(
        put("guard", {"fraction": 0.68, "margin": "123457ns"}),
        put("devices.0.speed", 0.7),
        put("jobs.0.weight", 0.1),
        put(f"{OPERATOR}.flops", 1e12),
        put(f"{OPERATOR}.value", 2.75),
        put("switch.h2d", "6.4GB/s"),
        put("switch.between", TABLE),
    )
    assert found.guard.fraction == Fraction(68, 100)
    assert found.guard.margin == 123_457
    assert found.devices[0].speed == Fraction(7, 10)
    assert found.jobs[0].weight == Fraction(1, 10)
    assert found.jobs[0].configurations[0].operators[0].flops == 10**12
    assert found.jobs[0].configurations[0].operators[0].value == Fraction(11, 4)
    assert found.switch.h2d == 6_400_000_000
    assert isinstance(found.switch.between, dict)
    assert found.switch.between["swapped"]["swapped"] == 2_000_000


def test_yaml_and_json_say_the_same(tmp_path: Path) -> None:
    text = json.dumps(document())
    (tmp_path / "a.json").write_text(text)
    (tmp_path / "a.yaml").write_text(text)
    assert read_instance(tmp_path / "a.json") == read_instance(tmp_path / "a.yaml")


def test_repeat_is_written_out() -> None:
    found = problem(put(f"{OPERATOR}.repeat", 3))
    assert [entry.name for entry in found.jobs[0].configurations[0].operators] == ["a", "a", "a", "b"]


def test_the_last_bubble_may_wrap_up_to_the_first() -> None:
    wrapping = [{"start": "5ms", "length": "45ms", "free": 0}, {"start": "50ms", "length": "55ms", "free": 0}]
    assert len(problem(put(BUBBLES, wrapping)).devices[0].bubbles) == 2
    whole = [{"start": "30ms", "length": "100ms", "free": 0}]
    assert len(problem(put(BUBBLES, whole)).devices[0].bubbles) == 1


REFUSED: dict[str, tuple[list[Change], str, str, str]] = {
    # name: changes, path, value, expectation
    "unknown key": ([put("colour", "red")], "colour", "red", "unknown key, expected one of devices"),
    "unknown key inside": ([put("jobs.0.colour", 1)], "jobs[0].colour", "1", "unknown key"),
    "unit missing": ([put("period", 100)], "period", "100", "expected a time with its unit"),
    "unit wrong": ([put(f"{BUBBLES}.0.free", "4ms")], "devices[0].bubbles[0].free", "4ms", "expected a size"),
    "unit unknown": ([put("switch.enter", "2 fortnights")], "switch.enter", "2 fortnights", "expected a time"),
    "bandwidth": ([put("switch.h2d", "12GB")], "switch.h2d", "12GB", "expected a bandwidth"),
    "bandwidth of 0": ([put("switch.h2d", "0GB/s")], "switch.h2d", "0GB/s", "expected a bandwidth above 0"),
    "negative duration": ([put(f"{OPERATOR}.duration", "-1ms")], "jobs[0].configs[0].operators[0].duration", "-1ms", "0 or more"),
    "no duration": ([drop(f"{OPERATOR}.duration")], "jobs[0].configs[0].operators[0]", "", "missing key 'duration'"),
    "duration 0": ([put(f"{OPERATOR}.duration", 0)], "jobs[0].configs[0].operators[0].duration", "0", "above 0"),
    "half a tick": ([put(f"{OPERATOR}.duration", "0.5ns")], "jobs[0].configs[0].operators[0].duration", "0.5ns", "whole number of ns"),
    "half a byte": ([put("devices.0.resident_free", "0.5B")], "devices[0].resident_free", "0.5B", "whole number of B"),
    "huge": ([put("period", "1e30s")], "period", "1e30s", "expected a time of at most"),
    "huge exponent": ([put("jobs.0.weight", "1e999")], "jobs[0].weight", "1e999", "expected a number"),
    "period 0": ([put("period", 0)], "period", "0", "expected a period above 0"),
    "no job": ([put("jobs", [])], "jobs", "[]", "expected a list of at least one job"),
    "no jobs key": ([drop("jobs")], "top level", "", "missing key 'jobs'"),
    "no period": ([drop("period")], "top level", "", "missing key 'period'"),
    "no operator": ([put("jobs.0.configs.0.operators", [])], "jobs[0].configs[0].operators", "[]", "at least 1"),
    "no configuration": ([put("jobs.0.configs", [])], "jobs[0].configs", "[]", "at least 1"),
    "main and devices": ([put("main", {"file": "m.yaml"})], "period", "", "either main, or period and devices"),
    "count 0": ([put("devices.0.count", 0)], "devices[0].count", "0", "whole number from 1"),
    "count 1.5": ([put("devices.0.count", 1.5)], "devices[0].count", "1.5", "whole number from 1"),
    "copies 0": ([put("jobs.0.copies", 0)], "jobs[0].copies", "0", "whole number from 1"),
    "speed 0": ([put("devices.0.speed", 0)], "devices[0].speed", "0", "a number above 0"),
    "samples 0": ([put("jobs.0.configs.0.samples", 0)], "jobs[0].configs[0].samples", "0", "a number above 0"),
    "weight below 0": ([put("jobs.0.weight", -1)], "jobs[0].weight", "-1", "at least 0"),
    "fraction above 1": ([put("guard", {"fraction": 1.01})], "guard.fraction", "1.01", "a fraction from 0 to 1"),
    "iterations 0": ([put("iterations", 0)], "iterations", "0", "or auto"),
    "iterations word": ([put("iterations", "many")], "iterations", "many", "or auto"),
    "auto without repeat": ([put("iterations", "auto"), put("repeat", False)], "iterations", "auto", "repeat: true"),
    "repeat as text": ([put("repeat", "yes")], "repeat", "yes", "expected true or false"),
    "objective": ([put("objective", "profit")], "objective", "profit", "expected one of throughput, makespan"),
    "kind": ([put(f"{BUBBLES}.0.kind", "soap")], "devices[0].bubbles[0].kind", "soap", "expected one of fill-drain"),
    "device name twice": ([put("devices.1.name", "d")], "devices[1].name", "d", "expected another name than devices[0]"),
    "job name twice": ([put("jobs.1.name", "kept")], "jobs[1].name", "kept", "expected another name than jobs[0]"),
    "config name twice": (
        [put("jobs.0.configs.1", {"name": "c", "resident": 0, "operators": [operator("o", 1, 1)]})],
        "jobs[0].configs[1].name", "c", "expected another name",
    ),
    "unknown class": ([put("jobs.0.devices", ["d", "e"])], "jobs[0].devices[1]", "e", "expected one of the device classes d, other"),
    "class twice": ([put("jobs.0.devices", ["d", "d"])], "jobs[0].devices", "d", "each device class once"),
    "bubbles out of order": ([put(f"{BUBBLES}.0.start", "60ms")], "devices[0].bubbles[1].start", "50000000 ns", "in order of start"),
    "bubbles overlap": ([put(f"{BUBBLES}.0.length", "50000001ns")], "devices[0].bubbles[0]", "50000001 ns", "before the next one"),
    "bubble after the period": ([put(f"{BUBBLES}.1.start", "100ms")], "devices[0].bubbles[1].start", "100000000 ns", "before the period"),
    "last wraps too far": ([put(f"{BUBBLES}.1.length", "50000001ns")], "devices[0].bubbles[1]", "100000001 ns", "before the next one"),
    "between without a pair": (
        [put("switch.between", {"kept": {"kept": 0, "swapped": 0}, "swapped": {"kept": 0}})],
        "switch.between.swapped", "", "missing key 'swapped'",
    ),
    "between without a row": ([put("switch.between", {"kept": {"kept": 0, "swapped": 0}})], "switch.between", "", "missing key 'swapped'"),
    "between with a stranger": ([put("switch.between", TABLE | {"z": {}})], "switch.between", "z", "unknown key, expected the jobs"),
    "between of a wrong unit": (
        [put("switch.between", TABLE | {"kept": {"kept": 0, "swapped": "1MB"}})], "switch.between.kept.swapped", "1MB", "expected a time",
    ),
    "swapped without bandwidth": ([drop("switch.d2h")], "switch", "", "missing key 'd2h' (job 'swapped' has keep: false)"),
    "interference below 1": ([put("switch.interference", 0.9)], "switch.interference", "0.9", "a factor from 1 to 1000"),
    "hardware alone": ([put("jobs.0.hardware", "l20")], "jobs[0].hardware", "l20", "expected network with it"),
    "flops missing": ([put("jobs.0.value", "flops")], "jobs[0].configs[0].operators[0]", "", "missing key 'flops'"),
    "too many operators": ([put(f"{OPERATOR}.repeat", MAX_OPERATORS)], "jobs[0].configs[0].operators", "100001", "at most 100000"),
    "makespan needs iterations": ([put("objective", "makespan")], "jobs[0]", "", "missing key 'iterations'"),
    "on-time value needs an end": ([put("objective", "on-time-value")], "jobs[0]", "", "missing key 'deadline' or 'iterations'"),
}  # fmt: skip


@pytest.mark.parametrize("name", REFUSED)
def test_refused_in_one_line(name: str, tmp_path: Path) -> None:
    changes, where, value, expectation = REFUSED[name]
    path = tmp_path / "bad.json"
    path.write_text(json.dumps(document(*changes)))
    with pytest.raises(InputError) as caught:
        read_instance(path)
    line = str(caught.value)
    assert "\n" not in line
    assert line.startswith(f"{path}: {where}: ")
    assert value in line
    assert expectation in line


@pytest.mark.parametrize(
    ("text", "expectation"),
    [
        ('{"period": NaN}', "expected a finite number"),
        ('{"period": "1s", "period": "2s"}', "expected each key once"),
        ('{"period": "1s"', "expected JSON"),
        ("[]", "expected a mapping"),
        ("", "expected"),
    ],
)
def test_broken_files(text: str, expectation: str, tmp_path: Path) -> None:
    path = tmp_path / "bad.json"
    path.write_text(text)
    with pytest.raises(InputError, match=expectation):
        read_instance(path)


def test_no_file(tmp_path: Path) -> None:
    with pytest.raises(InputError, match="expected a readable file"):
        read_instance(tmp_path / "none.yaml")


def test_a_job_that_fits_nowhere_is_a_warning(caplog: pytest.LogCaptureFixture) -> None:
    with caplog.at_level(logging.WARNING):
        found = problem(put(f"{OPERATOR}.duration", "1s"))
    assert len(found.jobs) == 2
    (record,) = caplog.records
    assert "job 'kept' fits nowhere and stays unused: on d in c operator a (1 s" in record.getMessage()


def test_nothing_is_logged_for_jobs_that_fit(caplog: pytest.LogCaptureFixture) -> None:
    problem()
    assert caplog.records == []


def test_interference_slows_every_class_and_no_value() -> None:
    """Fill work takes 1.25 times as long: the classes' speeds are 4/5, so that certificates and values stay as they are defined."""
    plain, slowed = problem(), problem(put("switch.interference", 1.25), put("devices.1.speed", 0.5))
    assert [device.speed for device in slowed.devices] == [Fraction(4, 5), Fraction(2, 5)]
    assert slowed.jobs == plain.jobs
    assert scaled_ticks(3_000_000, slowed.devices[0].speed) == 3_750_000


def test_document_is_left_as_it_is() -> None:
    original: dict[str, Any] = document()
    instance_from_document(original)
    assert original == document()
