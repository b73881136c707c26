"""The ladder from greedy to the optimum: its rungs on small instances, and the committed table against the index."""

from __future__ import annotations

import importlib.util
import sys
from dataclasses import replace
from fractions import Fraction
from types import ModuleType

import pytest

from pipefill_opt.files import data_folder
from pipefill_opt.fill.problem import DeviceClass, Job, Objective
from pipefill_opt.fill.read import read_instance
from pipefill_opt.fill.suite import Entry, read_suite
from pipefill_opt.solve.facade import solve
from tests.solve.brute_force import optimum

FOLDER = data_folder("instances")


@pytest.fixture(scope="module")
def decompose() -> ModuleType:
    spec = importlib.util.spec_from_file_location("decompose", FOLDER / "decompose.py")
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    sys.modules["decompose"] = module
    spec.loader.exec_module(module)
    return module


TINY = [e for e in read_suite() if e.family == "tiny" and read_instance(FOLDER / e.file).iterations is not None]


@pytest.mark.parametrize("entry", TINY, ids=lambda e: e.file)
def test_rungs_rise_from_greedy_to_the_optimum(entry: Entry, decompose: ModuleType) -> None:
    rungs = decompose.ladder(entry, 10.0)
    problem = read_instance(FOLDER / entry.file)
    assert rungs[0].value == solve(problem, solver="greedy").objective
    assert all(rung.value <= rung.bound for rung in rungs)
    assert [rung.value for rung in rungs] == sorted(rung.value for rung in rungs)
    assert rungs[-1].value == rungs[-1].bound == entry.best


@pytest.mark.parametrize("name", ["13-counts", "14-allowed-classes", "25-two-copies", "06-speed"])
def test_the_best_assignment_of_one_job_a_device(name: str, decompose: ModuleType) -> None:
    """Against all assignments of a job, or none, to each device, each device by the brute force."""
    problem = read_instance(FOLDER / "tiny" / f"{name}.yaml")
    assert problem.iterations is not None
    devices = [replace(device, count=1) for device in problem.devices for _ in range(device.count)]

    def alone(device: DeviceClass, job: Job) -> Fraction:
        if device.name not in job.devices:
            return Fraction(0)
        own = replace(job, copies=1, devices=(device.name,))
        return optimum(replace(problem, devices=(device,), jobs=(own,)))[0]

    worth = [[alone(device, job) for job in problem.jobs] for device in devices]

    def best(k: int, copies: tuple[int, ...]) -> Fraction:
        if k == len(devices):
            return Fraction(0)
        found = best(k + 1, copies)
        for j, left in enumerate(copies):
            if left:
                found = max(found, worth[k][j] + best(k + 1, (*copies[:j], left - 1, *copies[j + 1 :])))
        return found

    rung = decompose.assigned(problem, problem.iterations)
    assert rung.value == rung.bound == best(0, tuple(job.copies for job in problem.jobs))


def test_the_committed_table_is_that_of_the_index(decompose: ModuleType) -> None:
    entries = {e.file: e for e in read_suite() if e.objective == Objective.THROUGHPUT and e.family != "tiny"}
    rows = list(decompose.from_csv((FOLDER / "ladder.csv").read_text(encoding="utf-8")))
    assert {row.file for row in rows} == set(entries)
    for row in rows:
        entry = entries[row.file]
        assert row.instance == entry.instance
        assert row.rungs[0].value == entry.greedy, row.file
        assert entry.best <= row.rungs[-1].value <= entry.bound, row.file
        assert [rung.value for rung in row.rungs] == sorted(rung.value for rung in row.rungs), row.file
    assert (FOLDER / "ladder.md").read_text(encoding="utf-8") == decompose.markdown(rows)
    for line in decompose.markdown(rows).splitlines():
        assert line in (FOLDER.parent / "docs" / "suite.md").read_text(encoding="utf-8")
