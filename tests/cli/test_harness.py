"""`harness build`, `calibrate`, `replay`, `compare` on the command line, on the host backend."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import time

import pytest

from pipefill_opt.harness.build import Backend, built
from tests.cli.samples import Shell
from tests.traces.rules import read_trace

REPLAY = ("--backend", "host", "--work", "sleep", "--play-switches", "--rounds", "2", "--scale", "0.2")


def test_build_prints_where_it_is(shell: Shell) -> None:
    assert shell("harness", "build").out == f"{built(Backend.HOST)}\n"
    assert "compute-sanitizer" in shell("harness", "build", "--backend", "cuda", "--sanitize", "thread").err


def test_calibrate_writes_hardware(shell: Shell) -> None:
    ran = shell("calibrate", "--backend", "host", "--quick", "--like", "h200", "--name", "here", "-o", "here.json")
    assert ran.code == 0, ran.err
    assert "products of other shapes are predicted" in ran.out
    document = json.loads((shell.folder / "here.json").read_text(encoding="utf-8"))
    assert document["name"] == "here"
    assert document["node"] == 8
    assert document["measured"]["statistics"]


def test_replay_and_compare(shell: Shell) -> None:
    assert shell("solve", "with_main.yaml", "-o", "plan.json").code == 0
    ran = shell("replay", "with_main.yaml", "plan.json", "-o", "result.json", *REPLAY)
    assert ran.code == 0, ran.err
    compared = shell(
        "compare", "result.json", "--recalibrate", "--slowdown", "0.5", "--html", "page.html", "--trace", "trace.json"
    )
    assert compared.code in (0, 4)
    assert ("verdict: as predicted" in compared.out) == (compared.code == 0)
    assert "guard: {fraction:" in compared.out
    assert "<svg" in (shell.folder / "page.html").read_text(encoding="utf-8")
    assert read_trace((shell.folder / "trace.json").read_text(encoding="utf-8"))
    document = json.loads(shell("compare", "result.json", "--format", "json").out)
    rows = shell("compare", "result.json", "--format", "csv").out.splitlines()
    assert len(rows) == 1 + len(document["rows"])


def test_a_plan_over_the_memory_cap_fails_there_too(shell: Shell) -> None:
    assert shell("solve", "with_main.yaml", "-o", "plan.json").code == 0
    plan = json.loads((shell.folder / "plan.json").read_text(encoding="utf-8"))
    job = next(slot["job"] for pattern in plan["patterns"] for slot in pattern["slots"])
    ran = shell("replay", "with_main.yaml", "plan.json", "-o", "result.json", *REPLAY, "--inject", f"memory:{job}:1000")
    assert ran.code == 0, ran.err
    compared = shell("compare", "result.json")
    assert compared.code == 4
    assert f"memory: operator 0 of {job}" in compared.out


@pytest.mark.parametrize(
    "words",
    [
        ("replay", "with_main.yaml", "plan.json", "-o", "r.json", "--inject", "rain:2"),
        ("replay", "with_main.yaml", "plan.json", "-o", "r.json", "--class", "nowhere", "--backend", "host"),
        ("replay", "instance.yaml", "plan.yaml", "-o", "r.json", "--backend", "host"),
        ("replay", "with_main.yaml", "plan.json"),
        ("compare", "plan.json"),
        ("compare", "missing.json"),
        ("calibrate", "--like", "h2000", "--backend", "host"),
    ],
)
def test_bad_input_gets_one_line(shell: Shell, words: tuple[str, ...]) -> None:
    assert shell("solve", "with_main.yaml", "-o", "plan.json").code == 0
    ran = shell(*words)
    assert ran.code == 2
    assert len(ran.lines) == 1, ran.err
    assert not (shell.folder / "r.json").exists()


def test_a_killed_replay_leaves_nothing(shell: Shell) -> None:
    """No process, no shared file, no result."""
    assert shell("solve", "with_main.yaml", "-o", "plan.json").code == 0
    place = shell.folder / "tmp"
    place.mkdir()
    words = ["replay", "with_main.yaml", "plan.json", "-o", "result.json", *REPLAY[:-3], "2000", "--scale", "1"]
    command = [sys.executable, "-m", "pipefill_opt.cli", *words]
    mark = f"HARNESS_KILL={os.getpid()}-{time.monotonic_ns()}"
    name, _, value = mark.partition("=")
    environment = {**os.environ, "TMPDIR": str(place), name: value}
    running = subprocess.Popen(command, cwd=shell.folder, env=environment, stderr=subprocess.PIPE, text=True)
    for _ in range(400):
        if len(_marked(mark)) > 1:
            break
        time.sleep(0.05)
    assert len(_marked(mark)) > 1
    running.send_signal(signal.SIGTERM)
    _, said = running.communicate(timeout=30)
    assert running.returncode == 3, said
    for _ in range(100):
        if not _marked(mark):
            break
        time.sleep(0.05)
    assert _marked(mark) == []
    assert not (shell.folder / "result.json").exists()
    assert list(place.iterdir()) == []


def _marked(mark: str) -> list[int]:
    """Processes that inherited the mark."""
    found = []
    for name in os.listdir("/proc"):
        if name.isdigit():
            try:
                with open(f"/proc/{name}/environ", "rb") as stream:
                    if mark.encode() in stream.read():
                        found.append(int(name))
            except OSError:
                continue
    return found
