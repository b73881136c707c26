"""The benchmark runner: verdicts, exit code and what it keeps. The figures themselves are no test."""

from __future__ import annotations

import json
import sys
from collections.abc import Iterator
from pathlib import Path
from types import SimpleNamespace

import pytest

from benchmarks import run
from benchmarks.line import Line, seconds


def suite(*lines: Line) -> SimpleNamespace:
    def produce() -> Iterator[Line]:
        yield from lines

    return SimpleNamespace(lines=produce)


def test_a_line_holds_on_its_side_of_the_target() -> None:
    assert Line("a", 2, 2).holds
    assert not Line("a", 2.1, 2).holds
    assert Line("a", 2, 2, at_least=True).holds
    assert not Line("a", 1.9, 2, at_least=True).holds


def test_a_missed_target_is_an_exit_code(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    monkeypatch.setitem(
        sys.modules, "benchmarks.timeline", suite(Line("one", 1, 2), Line("two", 1, 2, "GiB", True, "note"))
    )
    assert run.main(["timeline"]) == 1
    lines = capsys.readouterr().out.splitlines()
    assert lines[1].split() == ["ok", "1.000", "<=", "2", "one"]
    assert lines[2].split() == ["MISSED", "1.000", ">=", "2", "GiB", "two", "(note)"]
    assert lines[3] == "1 target(s) missed"
    monkeypatch.setitem(sys.modules, "benchmarks.timeline", suite(Line("one", 1, 2)))
    assert run.main(["timeline"]) == 0
    with pytest.raises(SystemExit, match="2"):
        run.main(["nothing"])


def test_figures_are_kept_on_request(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setitem(sys.modules, "benchmarks.timeline", suite(Line("one", 1, 2)))
    monkeypatch.setattr(run, "RESULTS", tmp_path / "benchmarks" / "results")
    (tmp_path / "benchmarks").mkdir()
    assert run.main(["timeline", "--save"]) == 0
    (path,) = (tmp_path / "benchmarks" / "results").iterdir()
    document = json.loads(path.read_text())
    assert document["suites"]["timeline"][0]["holds"] is True
    assert set(document["machine"]) == {"system", "architecture", "cores", "memory_gib", "python", "libraries"}


def test_seconds_returns_the_result_too() -> None:
    took, result = seconds(lambda: 7)
    assert took >= 0
    assert result == 7
