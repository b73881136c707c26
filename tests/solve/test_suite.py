"""Runs of solvers over the suite."""

from __future__ import annotations

from dataclasses import replace

import pytest

from pipefill_opt.errors import CertificateError, InputError
from pipefill_opt.files import data_folder
from pipefill_opt.fill.problem import Objective
from pipefill_opt.fill.read import read_instance
from pipefill_opt.fill.suite import read_suite
from pipefill_opt.solve import suite
from pipefill_opt.solve.result import Limits
from pipefill_opt.solve.suite import FAILED, REFUSED, Run, faults, run_solver, run_suite

FOLDER = data_folder("instances")
(ENTRY,) = (e for e in read_suite() if e.file == "tiny/01-one-job.yaml")
PROBLEM = read_instance(FOLDER / ENTRY.file)
LIMITS = Limits(time=10.0)


def test_an_optimum() -> None:
    run = run_solver(ENTRY, PROBLEM, "dp", LIMITS)
    assert (run.status, run.value, run.bound, run.gap) == ("optimal", ENTRY.best, ENTRY.bound, 0)
    assert run.key == (ENTRY.file, ENTRY.instance, "dp", "10")
    assert list(faults(run, ENTRY)) == []


def test_a_problem_that_the_solver_does_not_take() -> None:
    run = run_solver(ENTRY, replace(PROBLEM, objective=Objective.MAKESPAN), "greedy", LIMITS)
    assert (run.status, run.value, run.gap) == (REFUSED, None, None)
    assert list(faults(run, ENTRY)) == []


def test_a_failed_certificate(monkeypatch: pytest.MonkeyPatch) -> None:
    def broken(*_: object, **__: object) -> None:
        raise CertificateError("fit at patterns[0]")

    monkeypatch.setattr(suite, "solve", broken)
    run = run_solver(ENTRY, PROBLEM, "dp", LIMITS)
    assert run.status == FAILED
    assert list(faults(run, ENTRY)) == ["dp: fit at patterns[0]"]


def fault(sense: str, value: int, bound: int) -> list[str]:
    run = run_solver(ENTRY, PROBLEM, "dp", LIMITS)
    run = replace(run, sense=sense, value=ENTRY.best + value, bound=ENTRY.bound + bound)
    return [line.split(" ")[2] for line in faults(run, ENTRY)]


def test_what_cannot_be() -> None:
    assert fault("max", -1, 1) == fault("min", 1, -1) == []
    assert fault("max", 1, 1) == fault("min", -1, -1) == ["value"]
    assert fault("max", -1, -1) == fault("min", 1, 1) == ["bound"]


def test_known_runs_are_not_repeated() -> None:
    notes: list[tuple[int, int, str]] = []

    def runs(known: list[Run]) -> list[Run]:
        given = {run.key: run for run in known}
        return list(run_suite([ENTRY], FOLDER, ["greedy", "dp"], LIMITS, given, lambda *note: notes.append(note)))

    first = runs([])
    assert notes == [(0, 2, f"{ENTRY.file} greedy"), (1, 2, f"{ENTRY.file} dp")]
    assert runs(first) == first
    assert len(notes) == 2
    assert [run.solver for run in runs(first[1:])] == ["greedy", "dp"]
    assert notes[2:] == [(0, 2, f"{ENTRY.file} greedy")]


def test_an_unknown_solver() -> None:
    with pytest.raises(InputError, match="solvers: none: expected one of auto, greedy"):
        list(run_suite([ENTRY], FOLDER, ["none"], LIMITS, {}, lambda *_: None))
