"""`import kineto|nsys|intervals` and `idle`, end to end: what is imported is what `bubbles` and `solve` take."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

import pytest

from pipefill_opt.cli.traces import Bar
from tests.cases import ROOT, cases_folder
from tests.cli.samples import Shell
from tests.traces.nsys_file import Kernel, write_nsys
from tests.traces.synthetic import US, cuda_trace, pipeline, write_traces

ONE_F = {"family": "1f1b", "devices": 4, "microbatches": 6}
INSTANCE = """\
main: {file: main.json}
switch: {enter: 10us, leave: 10us}
jobs:
  - {name: bert, copies: 2, configs: [{name: bs8, samples: 8, resident: 1GiB, operators: [{name: layer, duration: 1ms, memory: 1GiB}]}]}
"""

EVENT = (
    '{{"ph": "X", "cat": "kernel", "name": "' + "elementwise" * 40 + '", "pid": 0, "tid": 7, "ts": {}.125, "dur": 1,'
    ' "args": {{"device": 0, "stream": 7, "correlation": {}}}}}'
)
PEAK = """
import sys
from pipefill_opt.cli.run import main
code = main(sys.argv[1:])
with open("/proc/self/status") as status:
    print(*(line for line in status if line.startswith("VmHWM")), file=sys.stderr)
sys.exit(code)
"""
"""Runs one command line and says the most memory that it took, in KiB (resource.getrusage counts the parent's too)."""


@pytest.mark.parametrize("cuda", [False, True])
def test_from_trace_to_plan(cuda: bool, shell: Shell) -> None:
    made = pipeline(ONE_F)
    paths = write_traces(shell.folder, made, "runtime", cuda=cuda)
    ran = shell("import", "kineto", *paths, "-o", "main.json", "--capacity", "16GiB", "--used", "9GiB")
    assert (ran.code, ran.err) == (0, "")
    assert ran.out.startswith("2 complete steps of 48 actions on ranks 0, 1, 2, 3\n")
    bubbles = json.loads(shell("bubbles", "main.json", "--format", "json").out)
    assert [action["text"] for action in bubbles["devices"][3]["actions"]][:2] == ["3F0", "3B0"]
    assert 0.5 * made.length < bubbles["period"] < 1.5 * made.length
    shell.write("instance.yaml", INSTANCE)
    solved = shell("solve", "instance.yaml", "--time-limit", "20", "--format", "json", "-o", "plan.json")
    assert solved.code == 0
    assert json.loads(solved.out)["outcome"] == "optimal"
    assert shell("certify", "instance.yaml", "plan.json").code == 0


def test_real_traces_to_plan(shell: Shell) -> None:
    for name in ("gpipe_p2_m4", "1f1b_p2_m4_labels", "1f1b_p2_m4_plain", "int1f1b_p2_v2_m4"):
        paths = sorted(cases_folder("traces").glob(f"{name}.rank*.json.gz"))
        ran = shell(
            "import", "kineto", *paths, "-o", "main.json", "--capacity", "16GiB", "--used", "9GiB", "--count-gaps"
        )
        assert (ran.code, ran.err) == (0, "")
        assert "the steps themselves differ by up to" in ran.out
        assert shell("bubbles", "main.json").code == 0
        shell.write("instance.yaml", INSTANCE)
        assert (
            json.loads(shell("solve", "instance.yaml", "--time-limit", "20", "--format", "json").out)["outcome"]
            == "optimal"
        )


def test_main_on_stdout_and_the_report_on_stderr(shell: Shell) -> None:
    paths = write_traces(shell.folder, pipeline(ONE_F), "own")
    ran = shell("import", "kineto", *paths, "--skip", "1")
    assert json.loads(ran.out)["measured"]["steps"] == [1]
    assert ran.lines[0] == "note: MAIN has no memory, which `solve` needs: --capacity and --used state it"
    assert ran.lines[1].startswith("1 complete steps of 48 actions")
    shell.write("main.json", ran.out)
    assert shell("bubbles", "main.json").code == 0
    assert shell("import", "kineto", *paths, "--only", "1").out == ran.out


def test_memory_from_the_trace(shell: Shell) -> None:
    made = pipeline(ONE_F)
    for rank in range(4):
        writer = cuda_trace(made, rank, "own")
        writer.device = {"id": 0, "totalGlobalMem": 16 * 2**30}
        writer.memory(0, (9 + rank) * 2**30)
        (shell.folder / f"trace.rank{rank}.json").write_text(writer.text(rank, 4))
    files = [shell.folder / f"trace.rank{rank}.json" for rank in range(4)]
    ran = shell("import", "kineto", *files, "-o", "main.json")
    assert (ran.code, ran.err) == (0, "")
    devices = json.loads(shell("bubbles", "main.json", "--format", "json").out)["devices"]
    assert [device["bubbles"][0]["free_bytes"] for device in devices] == [(7 - rank) * 2**30 for rank in range(4)]


def test_notes_are_talk(shell: Shell) -> None:
    paths = write_traces(shell.folder, pipeline(ONE_F), "own", skews=(0, 0, 0, -9000 * US))
    ran = shell("import", "kineto", *paths, "-o", "main.json", "--format", "json")
    assert ran.lines[0].startswith("note: rank 3: clock moved by ")
    assert len(json.loads(ran.out)["notes"]) == 1


def test_intervals_from_a_report(shell: Shell) -> None:
    paths = write_traces(shell.folder, pipeline(ONE_F), "own")
    rows = shell("import", "kineto", *paths, "-o", "main.json", "--format", "csv").out
    shell.write("intervals.csv", rows)
    again = shell("import", "intervals", "intervals.csv", "-o", "again.json")
    assert again.code == 0
    assert (shell.folder / "again.json").read_text() == (shell.folder / "main.json").read_text()
    assert "row 2.start" not in again.err


def test_idle_of_streams(shell: Shell) -> None:
    write_nsys(
        shell.folder / "report.sqlite", [Kernel("gemm", 0, 10, 7), Kernel("gemm", 30, 50, 7), Kernel("gemm", 5, 20, 9)]
    )
    text = shell("idle", "nsys", "report.sqlite").out
    assert "rank 0, device 0: 50 ns" in text
    document = json.loads(shell("idle", "nsys", "report.sqlite", "--union", "7,9", "--format", "json").out)
    (device,) = document["devices"]
    assert [(each["streams"], each["busy"], each["idle"]) for each in device["streams"]] == [
        ([7], 30, 20),
        ([9], 15, 35),
    ]
    assert [(each["work"], each["busy"], each["gaps"]) for each in device["unions"]] == [
        ("computation", 40, [[20, 30]]), ("all", 40, [[20, 30]]), ("union", 40, [[20, 30]]),
    ]  # fmt: skip
    rows = shell("idle", "nsys", "report.sqlite", "--format", "csv").out.splitlines()
    assert rows[1] == "0,0,7,computation,10,20"
    wrong = shell("idle", "nsys", "report.sqlite", "--union", "7,8")
    assert (wrong.code, wrong.err) == (2, "error: --union: 8: expected streams among 7, 9\n")


@pytest.mark.parametrize(
    ("words", "problem"),
    [
        (("import", "kineto"), "the following arguments are required: FILE"),
        (("import", "kineto", "none.json"), "none.json: expected a readable file"),
        (("import", "kineto", "main.yaml"), "main.yaml: character 0: s: expected a Chrome JSON trace"),
        (("import", "nsys", "main.yaml"), "main.yaml: expected an SQLite export of Nsight Systems"),
        (("import", "intervals", "main.yaml"), "main.yaml: "),
        (("import", "kineto", "a.json", "--used", "3GiB"), "--used: 3GiB: expected --capacity with it"),
        (("import", "kineto", "a.json", "--capacity", "3GiB"), "--capacity: 3GiB: expected --used with it"),
        (("import", "kineto", "a.json", "--skip", "-1"), "-1: expected a whole number"),
        (("import", "kineto", "main.yaml", "-o", "main.yaml"), "expected a file that this command does not read"),
        (("idle", "kineto", "main.yaml", "--union", "7,x"), "x: expected a whole number"),
        (("import", "trace"), "invalid choice"),
    ],
)  # fmt: skip
def test_errors_are_one_line(words: tuple[str, ...], problem: str, shell: Shell) -> None:
    shell.write("main.yaml", "schedule: 3\n")
    ran = shell(*words)
    assert ran.code == 2
    assert len(ran.lines) == 1
    assert problem in ran.err


def test_the_idle_view_of_a_host_trace_says_that_there_is_no_device(shell: Shell) -> None:
    paths = write_traces(shell.folder, pipeline(ONE_F), "own")
    ran = shell("idle", "kineto", *paths)
    assert ran.code == 2
    assert "none: expected work of a device (kernels)" in ran.err


def test_the_bar() -> None:
    bar = Bar(2)
    bar.note(0, 100)
    bar.note(50, 100)
    assert bar.text(3.0) == "reading [###############...............]  50 % of file 1 of 2, 3.0 s"
    bar.note(10, 80)
    assert bar.text(4.0) == "reading [####..........................]  12 % of file 2 of 2, 4.0 s"
    assert Bar(1).text(0.0) == "reading [..............................]   0 %, 0.0 s"


@pytest.mark.skipif(not Path("/proc/self/status").exists(), reason="the peak of a process is read from /proc")
def test_memory_of_a_large_trace_stays_small(tmp_path: Path) -> None:
    """30 MB of events take hardly more than ten of them (benchmarks/traces.py: 500 MB in less than 1 GiB)."""
    peaks = []
    for count in (10, 50_000):
        path = tmp_path / f"{count}.json"
        path.write_text('{"traceEvents": [' + ",\n".join(EVENT.format(3 * i, i) for i in range(count)) + "]}")
        words = [sys.executable, "-c", PEAK, "idle", "kineto", str(path)]
        ran = subprocess.run(words, capture_output=True, text=True, check=True, timeout=120)
        assert f"  {count}  " in ran.stdout
        peaks.append(int(ran.stderr.split()[-2]) / 1024)
    assert path.stat().st_size > 28_000_000
    assert peaks[1] - peaks[0] < 20


def test_the_howto_s_measured_file_is_what_its_first_command_writes(shell: Shell) -> None:
    inputs = ROOT / "docs" / "howto" / "inputs"
    words = ("--unit", "us", "--skip", "1", "--count-gaps", "--capacity", "16GiB", "--used", "9GiB")
    assert shell("import", "intervals", inputs / "timers.csv", *words).out == (inputs / "measured.json").read_text()
