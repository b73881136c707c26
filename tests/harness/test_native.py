"""The native program on the host backend, mode by mode. Times are held against each other only as far as a busy machine allows."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import threading
import time
import uuid
from pathlib import Path

import pytest

from pipefill_opt.errors import InputError
from pipefill_opt.harness.build import Backend, Sanitizer, built
from pipefill_opt.harness.run import InterruptedRunError, run, run_together
from tests.harness.programs import MS, Document, operator, sleep, tiles, two_devices

HOST = Backend.HOST
MARK = "HARNESS_TEST"


@pytest.fixture(autouse=True)
def mark(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv(MARK, uuid.uuid4().hex)


def device(result: Document, name: str) -> Document:
    (found,) = [entry for entry in result["replay"]["devices"] if entry["name"] == name]
    return dict(found)


def test_every_result_says_what_it_was_measured_on() -> None:
    result = run({"mode": "info"}, HOST)
    assert result["backend"] == "host"
    assert result["device"]["name"]
    assert result["device"]["memory_bytes"] > 0
    assert result["device"]["products"] == "own"
    assert result["clock"]["resolution_ns"] >= 1


@pytest.mark.parametrize(
    ("request_", "message"),
    [
        ({"mode": "dance"}, "expected info, calibrate, tune or replay"),
        ({}, "expected the key mode"),
        ({"mode": "info", "device": 3}, "device 0 only"),
        ({"mode": "calibrate", "measure": ["launch", "lunch"]}, "not lunch"),
        ({"mode": "calibrate", "shapes": [[1, 2]]}, r"\[m, n, k\]"),
        ({"mode": "tune", "targets": [{"ns": 0, "work": tiles(1)}]}, "expected 1 or more"),
        ({"mode": "tune", "targets": [{"ns": 5, "work": {"kind": "gemm", "m": 0, "n": 1, "k": 1}}]}, r"targets\[0\].work.m"),
        ({**two_devices([True]), "lags": [0, 0, 0]}, r"lags\[2\]: expected an action that sends"),
        ({**two_devices([True]), "boundary": "wall"}, "barrier or flow"),
        ({**two_devices([True]), "lags": [0, -1]}, "lags: expected 0 to"),
        ({**two_devices([True]), "deadline": 2**63 - 1}, "deadline: expected 0 to"),
        (two_devices([True], fill=[operator(sleep(1), 2**63 - 1, 2**63 - 1)]), r"operators\[0\].memory: expected 0 to"),
        ({**two_devices([True]), "devices": [{**two_devices([True])["devices"][0], "main_static": 101}]}, "at most main_bytes"),
        ({"mode": "info", "device": 2**32}, "device: expected 0 to"),
        ({"mode": "tune", "targets": [], "repeats": 2**62}, "repeats: expected 1 to"),
    ],
)  # fmt: skip
def test_a_wrong_request_is_named(request_: Document, message: str) -> None:
    with pytest.raises(InputError, match=message):
        run(request_, HOST)


@pytest.mark.parametrize(
    "text",
    ["", "{", '{"a": 1, "a": 2}', "[1,]", '{"mode": 01}', '{"mode": "\\u00e9"}', "nul", "{} {}", "1e999", "9" * 20],
)
def test_what_is_no_json_is_refused(text: str) -> None:
    done = subprocess.run([str(built(HOST))], input=text, capture_output=True, text=True, check=False)
    assert done.returncode == 2
    assert done.stdout == ""
    assert done.stderr.count("\n") == 1


def test_calibrate_measures_everything() -> None:
    request = {
        "mode": "calibrate",
        "repeats": 4,
        "warmup": 1,
        "shapes": [[64, 64, 64], [128, 128, 128]],
        "types": ["fp32", "fp64", "fp8"],
        "sizes": [4096, 65536],
    }
    result = run(request, HOST)["calibrate"]
    samples = result["samples"]
    names = {sample["name"] for sample in samples}
    assert names == {
        *("timer", "timer-gap", "launch", "launch-call", "event", "handover", "wakeup", "warm", "cold", "gemm"),
        *("copy", "copy-both", "allocation", "pool", "process", "beside"),
    }  # fmt: skip
    assert all(len(sample["ns"]) == 4 for sample in samples)
    assert all(value >= 0 for sample in samples for value in sample["ns"])
    products = {(s["parameters"]["type"], s["parameters"]["m"]): min(s["ns"]) for s in samples if s["name"] == "gemm"}
    assert set(products) == {(kind, side) for kind in ("fp32", "fp64") for side in (64, 128)}
    assert products["fp32", 128] > 2 * products["fp32", 64] > 0
    assert result["skipped"] == [{"name": "gemm", "why": "no fp8 products"}]
    copies = [
        (s["parameters"]["bytes"], s["parameters"]["direction"], s["parameters"]["pinned"])
        for s in samples
        if s["name"] == "copy"
    ]
    assert len(set(copies)) == len(copies) == 2 * 5


def test_tune_meets_a_duration() -> None:
    """Sleep is met however busy the machine is; tiles as well as it lets us, and the result says how well."""
    targets = [{"ns": 3 * MS, "work": sleep(0)}, {"ns": 1 * MS, "work": tiles(1)}]
    slept, multiplied = run({"mode": "tune", "targets": targets, "tolerance": 0.02}, HOST)["tune"]["works"]
    assert slept["within"]
    assert slept["work"]["loops"] == pytest.approx(3 * MS, rel=0.05)
    quartile = sorted(multiplied["ns"])[len(multiplied["ns"]) // 4]
    assert multiplied["error"] == pytest.approx(abs(quartile - MS) / MS)
    assert multiplied["within"] == (multiplied["error"] <= 0.02)
    assert multiplied["error"] < 0.5


def test_replay_waits_as_the_timeline_says() -> None:
    result = run(two_devices([False, True] * 6), HOST)
    assert result["replay"]["failure"] is None
    a, b = device(result, "a"), device(result, "b")
    for (first, second), (other,) in zip(a["actions"], b["actions"], strict=True):
        assert first[1] <= other[0]  # messages order them
        assert other[1] <= second[0]
    for before, after in zip(a["actions"], a["actions"][1:], strict=False):
        assert before[1][1] <= after[0][0]
    periods = [after[0][0] - before[0][0] for before, after in zip(a["actions"], a["actions"][1:], strict=False)]
    assert min(periods) >= 9 * MS
    assert min(periods) < 14 * MS
    assert a["main_high"] == 60
    assert a["fill_high"] == 40


def test_fill_work_runs_in_its_bubble_and_an_overrun_delays_the_main_job() -> None:
    fits = run(two_devices([False, True] * 5), HOST)
    actions, fills = device(fits, "a")["actions"], device(fits, "a")["fills"]
    assert [len(spans) for spans in fills] == [0, 2] * 5
    for (first, second), spans in zip(actions, fills, strict=True):
        edges = [first[1], *(edge for span in spans for edge in span), second[0]]
        assert edges == sorted(edges)
    over = run(two_devices([False, True] * 5, fill=[operator(sleep(9), 10, 0)]), HOST)
    gaps = [second[0] - first[1] for first, second in device(over, "a")["actions"]]
    assert min(gaps[1::2]) >= 9 * MS > 5 * MS
    assert min(gaps[0::2]) < 9 * MS


def test_lags_arrive_late() -> None:
    request = two_devices([False] * 6)
    request["lags"] = [4 * MS, 3 * MS]  # of the real device, which the receiver waits; of the played one
    result = run(request, HOST)
    for (first, second), (other,) in zip(device(result, "a")["actions"], device(result, "b")["actions"], strict=True):
        assert other[0] - first[1] >= 4 * MS
        assert second[0] - other[1] >= 3 * MS


@pytest.mark.parametrize("real", [True, False])
def test_a_lag_passes_while_the_receiver_is_busy(real: bool) -> None:
    """A message of a real device, to one that works for longer than the message takes: nothing is left to wait for."""
    request = two_devices([False] * 8, fill=[])
    request["lags"] = [4 * MS, 0]
    request["devices"][1] |= {
        "real": real,
        "actions": [{"work": sleep(12)}, {"work": sleep(1), "waits": [0], "sends": [1]}],
    }
    gaps = [second[0] - first[1] for first, second in device(run(request, HOST), "b")["actions"]]
    assert min(gaps) < 3 * MS


def test_the_bubble_after_the_last_action_goes_on_into_the_next_iteration() -> None:
    request = two_devices([True] * 4)
    request["devices"][0]["turns"] = [[{"before": 2, "limit": 100, "operators": [operator(sleep(2))]}], []]
    result = device(run(request, HOST), "a")
    assert [len(spans) for spans in result["fills"]] == [1, 0, 1, 0]
    for number in (0, 2):
        (fill,) = result["fills"][number]
        assert result["actions"][number][1][1] <= fill[0]
        assert fill[1] <= result["actions"][number + 1][0][0]


@pytest.mark.parametrize("limit", [40, 39])
def test_a_plan_over_the_memory_cap_fails_there(limit: int) -> None:
    failure = run(two_devices([False, True], limit=limit), HOST)["replay"]["failure"]
    if limit == 40:
        assert failure is None
        return
    assert failure == {
        "kind": "memory",
        "device": "a",
        "pool": "fill",
        "iteration": 1,
        "action": 1,
        "operator": 0,
        "asked": 40,
        "used": 0,
        "limit": 39,
    }


@pytest.mark.parametrize(("begin", "visit", "action"), [(40, 40, None), (41, 0, 0), (0, 41, 1)])
def test_what_fill_work_keeps_the_main_job_does_without(begin: int, visit: int, action: int | None) -> None:
    """Of 100 bytes the first action takes 60, and the second one gives them back when it has ended."""
    request = two_devices([False, True])
    request["devices"][0]["kept"] = begin
    request["devices"][0]["turns"][0][0]["kept"] = visit
    failure = run(request, HOST)["replay"]["failure"]
    if action is None:
        assert failure is None
    else:
        assert (failure["pool"], failure["iteration"], failure["action"]) == ("main", 1, action)


def test_main_work_over_its_pool_fails_too() -> None:
    request = two_devices([False])
    request["devices"][0]["main_bytes"] = 59
    assert run(request, HOST)["replay"]["failure"]["pool"] == "main"


def test_a_deadlock_ends_at_the_deadline() -> None:
    request = two_devices([False], fill=[])
    request["devices"][0]["actions"][0]["waits"] = [1]
    request["deadline"] = 200 * MS
    assert run(request, HOST)["replay"]["failure"] == {"kind": "deadline", "limit": 200 * MS}


def test_devices_of_one_replay_in_processes_of_their_own() -> None:
    both = two_devices([False, True] * 3)
    first, second = run_together([{**both, "run": ["a"]}, {**both, "run": ["b"]}], HOST)
    assert [entry["name"] for entry in first["replay"]["devices"]] == ["a"]
    for (before, after), (other,) in zip(device(first, "a")["actions"], device(second, "b")["actions"], strict=True):
        assert before[1] <= other[0] < other[1] <= after[0]


def test_a_failure_in_one_process_ends_the_others() -> None:
    both = two_devices([False, True] * 3, limit=1)
    both["deadline"] = 120_000 * MS
    began = time.monotonic()
    first, second = run_together([{**both, "run": ["b"]}, {**both, "run": ["a"]}], HOST)
    assert time.monotonic() - began < 60
    assert first["replay"]["failure"] is None
    assert second["replay"]["failure"]["kind"] == "memory"


def test_a_stopped_run_has_no_result_and_leaves_no_process() -> None:
    both = two_devices([False] * 1000)
    stop = threading.Event()
    threading.Timer(0.3, stop.set).start()
    began = time.monotonic()
    with pytest.raises(InterruptedRunError):
        run_together([{**both, "run": ["a"]}, {**both, "run": ["b"]}], HOST, stop=stop)
    assert time.monotonic() - began < 6
    assert not programs_alive()


def test_it_ends_with_its_parent() -> None:
    """The parent is killed without a chance to say goodbye."""
    program, request = str(built(HOST)), json.dumps(two_devices([False] * 2000))
    code = f"import subprocess; subprocess.run([{program!r}], input={request!r}, text=True)"
    parent = subprocess.Popen([sys.executable, "-c", code])
    for _ in range(200):
        if programs_alive():
            break
        time.sleep(0.02)
    assert programs_alive()
    os.kill(parent.pid, signal.SIGKILL)
    parent.wait()
    for _ in range(200):
        if not programs_alive():
            break
        time.sleep(0.02)
    assert not programs_alive()


def programs_alive() -> list[int]:
    """Native programs that this test began, by a mark that they inherit; other tests may run some at the same time."""
    program, found = str(built(HOST)), []
    for entry in Path("/proc").iterdir():
        if entry.name.isdigit():
            try:
                marked = f"{MARK}={os.environ[MARK]}".encode() in (entry / "environ").read_bytes()
                if marked and os.readlink(entry / "exe") == program:
                    found.append(int(entry.name))
            except OSError:
                continue
    return found


@pytest.mark.parametrize("sanitizer", list(Sanitizer))
def test_sanitizers_find_nothing(sanitizer: Sanitizer) -> None:
    request = {"mode": "calibrate", "repeats": 2, "warmup": 1, "shapes": [[24, 24, 24]], "sizes": [4096]}
    assert run(request, HOST, sanitizer=sanitizer)["calibrate"]["samples"]
    both = two_devices([False, True] * 3, work=tiles(5))
    assert run(both, HOST, sanitizer=sanitizer)["replay"]["failure"] is None
    assert run(two_devices([True], limit=1), HOST, sanitizer=sanitizer)["replay"]["failure"]["kind"] == "memory"
    targets = [{"ns": 10_000, "work": tiles(1)}]
    assert run({"mode": "tune", "targets": targets, "repeats": 3}, HOST, sanitizer=sanitizer)["tune"]["works"]
