"""Progress, stopping by signal, and the incumbent that is kept."""

from __future__ import annotations

import io
import os
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Iterator
from dataclasses import replace
from fractions import Fraction

import pytest

from pipefill_opt.cli.fill import baselines
from pipefill_opt.cli.search import Monitor, progress_line, watched
from pipefill_opt.fill.read import read_instance
from pipefill_opt.solve.facade import solve
from pipefill_opt.solve.result import Progress, Reason, Solution
from tests.cli.samples import INSTANCE, Shell


class Stream(io.StringIO):
    def __init__(self, tty: bool) -> None:
        super().__init__()
        self.tty = tty

    def isatty(self) -> bool:
        return self.tty


def clock(*times: float) -> Iterator[float]:
    yield from times


def monitor(stream: Stream, *times: float) -> Monitor:
    ticks = clock(0.0, *times)
    return Monitor(stream, clock=lambda: next(ticks))


NEWS = Progress(1.0, Fraction(50), Fraction(60), "H = 2")


def test_a_short_search_says_nothing() -> None:
    stream = Stream(tty=False)
    watch = monitor(stream, 0.5, 1.9)
    watch.note(NEWS)
    watch.tick()
    watch.tick()
    watch.close()
    assert stream.getvalue() == ""


def test_lines_every_few_seconds() -> None:
    stream = Stream(tty=False)
    watch = monitor(stream, 2.0, 3.0, 6.9, 7.0)
    watch.note(NEWS)
    for _ in range(4):
        watch.tick()
    line = "s  incumbent 50  bound 60  gap 20 %  H = 2\n"
    assert stream.getvalue() == f"2.0 {line}7.0 {line}"


def test_one_line_rewritten_on_a_terminal() -> None:
    stream = Stream(tty=True)
    watch = monitor(stream, 2.0, 2.1, 2.3)
    for _ in range(3):
        watch.tick()
    watch.close()
    assert "\n" not in stream.getvalue()
    assert stream.getvalue().count("no news yet") == 2
    assert stream.getvalue().endswith("\r")


def test_progress_line_without_incumbent() -> None:
    assert progress_line(3.21, Progress(3.0, None, Fraction(7))) == "3.2 s  no incumbent yet  bound 7"


def test_watched_hands_on_answers_and_errors() -> None:
    quiet = Monitor(Stream(tty=False))
    assert watched(lambda: 42, quiet, threading.Event()) == 42
    with pytest.raises(ZeroDivisionError):
        watched(lambda: 1 // 0, quiet, threading.Event())


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
def test_the_first_signal_stops_the_search(capsys: pytest.CaptureFixture[str], number: int) -> None:
    stop = threading.Event()
    before = signal.getsignal(number)

    def search() -> str:
        os.kill(os.getpid(), number)
        return "incumbent" if stop.wait(20) else "never stopped"

    assert watched(search, Monitor(Stream(tty=False)), stop) == "incumbent"
    assert signal.getsignal(number) == before
    assert capsys.readouterr().err.startswith("stopping")


LONG = """\
period: 100s
devices:
  - {name: d, count: 1, resident_free: 100GiB, bubbles: [BUBBLES]}
switch: {enter: 1ms, leave: 1ms, between: 1ms}
jobs: [JOBS]
"""


def test_ctrl_c_keeps_the_incumbent(shell: Shell) -> None:
    """A hard instance in a process of its own; Ctrl-C once it searches; the plan is printed, written and valid."""
    bubbles = ", ".join(f"{{start: {n}s, length: {611 + 37 * n % 97}ms, free: 50GiB}}" for n in range(60))
    jobs = ", ".join(
        f"{{name: j{n}, configs: [{{name: c, samples: 1, resident: 1MiB, operators: ["
        + ", ".join(
            f"{{name: o{k}, duration: {13 + (29 * n + 17 * k) % 71}ms, memory: 1MiB, carry: {k + 1}MiB}}"
            for k in range(9)
        )
        + "]}]}"
        for n in range(4)
    )
    shell.write("long.yaml", LONG.replace("BUBBLES", bubbles).replace("JOBS", jobs))
    command = [sys.executable, "-m", "pipefill_opt.cli", "solve", "long.yaml", "--solver", "cpsat", "-o", "plan.json"]
    with subprocess.Popen(
        command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, cwd=shell.folder
    ) as process:
        assert process.stderr is not None
        first = process.stderr.readline()  # the progress line of a search that goes on
        process.send_signal(signal.SIGINT)
        began = time.monotonic()
        out, err = process.communicate(timeout=60)
    assert "incumbent" in first or "news" in first
    assert process.returncode == 0, err
    assert "interrupted" in out
    assert time.monotonic() - began < 60
    assert shell("certify", "long.yaml", "plan.json").code == 0


def test_a_second_signal_quits_at_once() -> None:
    code = (
        "import os, signal, threading, time; from pipefill_opt.cli.search import Monitor, watched\n"
        "def search():\n"
        "    for _ in range(2):\n"
        "        os.kill(os.getpid(), signal.SIGINT); time.sleep(0.5)\n"
        "    time.sleep(60)\n"
        "watched(search, Monitor(), threading.Event())"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=False, timeout=30)
    assert done.returncode == 130
    assert done.stderr.count("\n") == 1


def test_the_plan_is_written_before_greedy_is_run_for_comparison(shell: Shell, monkeypatch: pytest.MonkeyPatch) -> None:
    shell.write("i.yaml", INSTANCE)
    seen: list[float] = []

    def stopped(problem: object, found: Solution, seconds: float) -> tuple[Solution, ...]:
        assert (shell.folder / "plan.json").exists()
        seen.append(seconds)
        return (replace(found, reason=Reason.TIME_LIMIT), found)

    monkeypatch.setattr("pipefill_opt.cli.fill.baselines", stopped)
    ran = shell("solve", "i.yaml", "--time-limit", "7", "-o", "plan.json")
    assert ran.code == 0
    assert seen == [7]
    assert "greedy, contiguous bubbles (time limit) " in ran.out


def test_greedy_for_comparison_ends_at_its_own_limit(shell: Shell) -> None:
    shell.write("i.yaml", INSTANCE)
    problem = read_instance(shell.folder / "i.yaml")
    found = solve(problem)
    contiguous, every = baselines(problem, found, 1e-9)
    assert contiguous.reason is every.reason is Reason.TIME_LIMIT
    assert [plan.reason for plan in baselines(problem, found, 60)] == [Reason.HEURISTIC] * 2
