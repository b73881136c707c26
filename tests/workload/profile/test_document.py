"""Profiles as files, without torch."""

from __future__ import annotations

import json
from fractions import Fraction
from pathlib import Path

import pytest

from pipefill_opt.errors import InputError
from pipefill_opt.fill.read import read_instance
from pipefill_opt.report.profiled import profile_csv, profile_json, profile_text
from pipefill_opt.solve.facade import solve
from pipefill_opt.solve.result import Limits
from pipefill_opt.workload.profile.document import job_document, job_text
from pipefill_opt.workload.profile.factory import load_factory, make
from pipefill_opt.workload.profile.library import torch_library
from pipefill_opt.workload.profile.measure import MARK, memory_by_mark
from pipefill_opt.workload.profile.records import Configuration, Operator, Profile

MS = 10**6
OPERATORS = (
    Operator("a", (3 * MS, 1 * MS, 2 * MS), (2 * MS, 2 * MS, 3 * MS), 3000, 1000, 7),
    Operator("b", (4 * MS, 5 * MS), (6 * MS, 6 * MS), 2000, 0, 0),
)
PROFILE = Profile("net", "inference", "cpu", "2.4", "by hand", (Configuration(4, 10**6, OPERATORS, 50_000),))


def test_medians() -> None:
    assert [operator.duration for operator in OPERATORS] == [2 * MS, 5 * MS]
    assert [operator.replay_error for operator in OPERATORS] == [0, Fraction(1, 5)]
    assert PROFILE.configurations[0].replay_error == Fraction(1, 10)
    assert Operator("c", (0, 0), (0, 0), 0, 0, 0).duration == 1


def test_the_job_is_one_that_solve_takes(tmp_path: Path) -> None:
    document = job_document(PROFILE)
    assert json.loads(job_text(document)) == document
    bubble = {"start": "0ms", "length": "10ms", "free": "2MB"}
    document |= {"period": "20ms", "devices": [{"name": "d", "resident_free": "2MB", "bubbles": [bubble]}]}
    file = tmp_path / "instance.yaml"
    file.write_text(job_text(document), encoding="utf-8")
    problem = read_instance(file)
    (config,) = problem.jobs[0].configurations
    assert [(op.duration, op.memory, op.carry) for op in config.operators] == [(2 * MS, 3000, 1000), (5 * MS, 2000, 0)]
    assert solve(problem, limits=Limits()).certificate.objective == 7 * MS


def test_with_a_main_job() -> None:
    assert job_document(PROFILE, "main.yaml")["main"] == {"file": "main.yaml"}
    assert json.loads(job_text(job_document(PROFILE, "main.yaml")))["main"] == {"file": "main.yaml"}


def test_reports() -> None:
    assert "within 10.0 %" in profile_text(PROFILE)
    assert json.loads(profile_json(PROFILE))["configurations"][0]["operators"][0]["times"] == [3 * MS, MS, 2 * MS]
    assert profile_csv(PROFILE).splitlines()[1] == f"4,1000000,a,{2 * MS},{MS},{3 * MS},0,3000,1000,7"


def test_memory_between_marks() -> None:
    def change(at: float, size: int, device: int = 0) -> dict[str, object]:
        return {"name": "[memory]", "ph": "i", "ts": at, "args": {"Bytes": size, "Device Type": device}}

    def mark(at: float) -> dict[str, object]:
        return {"name": MARK, "ph": "X", "ts": at}

    events = [
        change(0.5, 999), mark(1), change(2, 100), change(3, 50), change(3.5, 9, 1), change(4, -100), mark(5),
        change(6, -50), {"name": "other"}, mark(7), mark(8),
    ]  # fmt: skip
    assert memory_by_mark(events) == [(150, 50), (50, 0), (0, 0)]


def test_without_torch_it_says_what_to_install(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(__import__("sys").modules, "torch", None)
    with pytest.raises(InputError, match=r"pip install 'pipefill_opt\[torch\]'"):
        torch_library()


@pytest.mark.parametrize(
    ("reference", "text", "message"),
    [
        ("nothing", "", "expected module.py:factory"),
        ("missing.py:f", None, "expected a readable file"),
        ("m.py:f", "x = 1", "expected a function"),
        ("m.py:f", "f = 1", "expected a function"),
        ("m.py:f", "1 / 0", "expected Python that runs .ZeroDivisionError"),
        ("m.py:f", "def f(", "expected Python that runs .SyntaxError"),
    ],
)
def test_bad_references(
    reference: str, text: str | None, message: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    if text is not None:
        (tmp_path / "m.py").write_text(text, encoding="utf-8")
    with pytest.raises(InputError, match=message):
        load_factory(reference)


@pytest.mark.parametrize("made", [None, (1,), (1, 2, 3, 4), ("module", 3), (1, len), ("module", len, 3)])
def test_bad_factories(made: object) -> None:
    with pytest.raises(InputError, match="make_inputs"):
        make(lambda: made, lambda value: value == "module")
    with pytest.raises(InputError, match="ZeroDivisionError"):
        make(lambda: 1 // 0, lambda value: True)
