"""`instances list`, `check` and `bench`."""

from __future__ import annotations

import csv
import io
import json
import shutil
from dataclasses import replace
from pathlib import Path

import pytest

from pipefill_opt import files
from pipefill_opt.errors import CertificateError
from pipefill_opt.files import data_folder
from pipefill_opt.fill import suite
from pipefill_opt.fill.problem import FillProblem
from pipefill_opt.solve import suite as runner
from pipefill_opt.solve.facade import solve
from pipefill_opt.solve.result import Limits, Solution
from tests.cli.samples import Shell

NAMES = ("01-one-job", "13-counts")


def test_list(shell: Shell) -> None:
    entries = json.loads(shell("instances", "list", "--format", "json").out)
    assert len(entries) >= 100
    rows = list(csv.DictReader(io.StringIO(shell("instances", "list", "--format", "csv").out)))
    assert rows == entries
    text = shell("instances", "list").out
    assert f"{len(entries)} instances, " in text
    assert " (wanted: 20) swapped jobs" in text


def test_check(shell: Shell, small: Path) -> None:
    ran = shell("instances", "check", "--format", "json")
    assert json.loads(ran.out) == [{"file": f"tiny/{name}.yaml", "faults": []} for name in NAMES]
    assert ran.code == 0


def test_check_tells_faults(shell: Shell, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(suite, "check_suite", lambda: iter([("a.yaml", ()), ("b.yaml", ("its plan is late",))]))
    ran = shell("instances", "check")
    assert ran.code == 4
    assert ran.out == "b.yaml: its plan is late\n2 instances checked, 1 with faults\n"
    assert shell("instances", "check", "--format", "csv").out == "file,fault\na.yaml,\nb.yaml,its plan is late\n"


@pytest.fixture
def small(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A suite of two tiny instances in place of the whole one."""
    folder = tmp_path / "suite"
    (folder / "tiny" / "plans").mkdir(parents=True)
    for name in NAMES:
        shutil.copy(data_folder("instances") / "tiny" / f"{name}.yaml", folder / "tiny")
        shutil.copy(data_folder("instances") / "tiny" / "plans" / f"{name}.json", folder / "tiny" / "plans")
    entries = tuple(e for e in suite.read_suite() if Path(e.file).stem in NAMES)
    (folder / "index.json").write_text(suite.suite_text(entries))
    monkeypatch.setattr(files, "data_folder", lambda name: folder)
    monkeypatch.setattr(suite, "data_folder", lambda name: folder)
    return folder


def test_bench_writes_and_goes_on(shell: Shell, small: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    words = ("instances", "bench", "--solvers", "greedy,dp", "--time-limit", "5", "-o", "table.csv", "--format", "csv")
    ran = shell(*words)
    assert ran.code == 0
    rows = list(csv.DictReader(io.StringIO(ran.out)))
    assert [(row["file"], row["solver"]) for row in rows] == [
        (f"tiny/{name}.yaml", solver) for name in NAMES for solver in ("greedy", "dp")
    ]
    assert {row["status"] for row in rows if row["solver"] == "dp"} == {"optimal"}
    assert (shell.folder / "table.csv").read_text() == ran.out
    assert "| tiny | dp | 2 | 2 | 0.000 % |" in (shell.folder / "table.md").read_text()
    assert "0 better, 0 worse, 0 as before, 0 broken" in ran.err

    def never(*_: object) -> None:
        raise AssertionError("a run that is in the table was repeated")

    monkeypatch.setattr(runner, "run_solver", never)
    assert shell(*words).out == ran.out
    half = ran.out.splitlines(keepends=True)[:3]
    (shell.folder / "table.csv").write_text("".join(half))
    assert "a run that is in the table was repeated" in shell(*words).err


def test_bench_compares(shell: Shell, small: Path) -> None:
    words = ("instances", "bench", "--solvers", "greedy,dp", "--time-limit", "5")
    assert shell(*words, "-o", "table.csv").code == 0
    text = (shell.folder / "table.csv").read_text()
    value = next(row["value"] for row in csv.DictReader(io.StringIO(text)) if row["solver"] == "dp")
    shell.write("high.csv", text.replace(f",{value},", f",{int(value) + 1},"))
    worse = shell(*words, "--against", "high.csv")
    assert worse.code == 1
    assert f"worse: tiny/01-one-job.yaml dp: {value}, was {int(value) + 1}" in worse.err
    shell.write("low.csv", text.replace(f",{value},", f",{int(value) - 1},"))
    better = shell(*words, "--against", "low.csv")
    assert better.code == 0
    assert "better: tiny/01-one-job.yaml dp" in better.err
    shell.write("long.csv", text.replace(f",{value},", f",{int(value) + 1},").replace(",5,", ",50,"))
    assert shell(*words, "--against", "long.csv").code == 0


def test_bench_finds_what_cannot_be(shell: Shell, small: Path) -> None:
    first, second = suite.read_suite(small)
    low = replace(first, best=first.best - 2, bound=first.bound - 1)
    high = replace(second, best=second.bound + 1, bound=second.bound + 2)
    (small / "index.json").write_text(suite.suite_text((low, high)))
    ran = shell("instances", "bench", "--solvers", "dp", "--time-limit", "5")
    assert ran.code == 1
    assert f"broken: {first.file} dp: the value {first.best} is beyond the proved bound {low.bound}" in ran.err
    assert f"broken: {second.file} dp: the bound {second.bound} is refuted by a plan of value {high.best}" in ran.err


def test_bench_ends_with_1_after_a_failed_certificate(
    shell: Shell, small: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def broken(problem: FillProblem, *, solver: str, limits: Limits) -> Solution:
        raise CertificateError("fit at patterns[0]")

    monkeypatch.setattr(runner, "solve", broken)
    ran = shell("instances", "bench", "--solvers", "dp", "--format", "csv")
    assert ran.code == 1
    assert ran.out.count("certificate failed") == 2
    assert "broken: tiny/01-one-job.yaml dp: fit at patterns[0]" in ran.err


def test_bench_stops_and_keeps_what_is_done(shell: Shell, small: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    calls = []

    def stopping(problem: FillProblem, *, solver: str, limits: Limits) -> Solution:
        calls.append(solver)
        if len(calls) == 3:
            limits.stop.set()
        return solve(problem, solver=solver, limits=replace(limits, stop=type(limits.stop)()))

    monkeypatch.setattr(runner, "solve", stopping)
    ran = shell("instances", "bench", "--solvers", "greedy,dp", "-o", "table.csv")
    assert ran.code == 3
    assert len((shell.folder / "table.csv").read_text().splitlines()) == 3
    assert len(calls) == 3


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (("--families", "tiny,none"), "error: --families: none: expected one of tiny"),
        (("--solvers", "none"), "error: solvers: none: expected one of auto, greedy"),
        (("--against", "no.csv"), "error: no.csv: expected a readable file"),
        (("--against", "instance.yaml"), "error: instance.yaml: expected a table with the columns file, "),
        (("--time-limit", "0"), "expected a number of seconds above 0"),
    ],
)
def test_bench_refuses(words: tuple[str, ...], message: str, shell: Shell, small: Path) -> None:
    ran = shell("instances", "bench", *words)
    assert ran.code == 2
    assert message in ran.err
