"""Real traces of torch pipelines (CPU, gloo) against what hooks around each stage call measured: shared ones and our own."""

from __future__ import annotations

import json
from fractions import Fraction
from pathlib import Path
from statistics import median

import pytest

from pipefill_opt.schedule.actions import COMPUTE
from pipefill_opt.traces.importing import measured_trace
from pipefill_opt.traces.main_document import main_document
from pipefill_opt.traces.measured import Measured, Run, Step
from pipefill_opt.traces.prediction import difference_of_steps, predict_steps
from pipefill_opt.traces.summary import idle_by_device
from pipefill_opt.workload.main_file import main_from_document
from tests.cases import ROOT, cases_folder

LABELLED = ["gpipe_p2_m4", "1f1b_p2_m4_labels", "int1f1b_p2_v2_m4"]
MADE = ["1f1b_p3_m4", "izb_p2_m4"]
ALL = [*LABELLED, "1f1b_p2_m4_plain", *MADE]
MS = 10**6
Hooked = tuple[list[tuple[str, int, int]], int]
"""Rows of action, start, end; and the idle time of the step."""


OWN = ROOT / "tests" / "data" / "traces"
"""Recorded by `tests.traces.record`: all their actions have hooks, and the machine was quiet."""


def folder(name: str) -> Path:
    return OWN if (OWN / f"{name}.rank0.json.gz").exists() else cases_folder("traces")


def measured(name: str) -> Measured:
    return measured_trace("kineto", sorted(folder(name).glob(f"{name}.rank*.json.gz")))


def truth(name: str, rank: int) -> list[Hooked]:
    """What the hooks measured, by step."""
    steps: list[Hooked] = []
    rows: list[tuple[str, int, int]] = []
    for row in json.loads((folder(name) / f"{name}.rank{rank}.gt.json").read_text()):
        if row[0] == "step":
            steps.append((rows, row[3] - row[2] - sum(end - start for _, start, end in rows)))
            rows = []
        else:
            rows.append((f"{row[0]}{row[1]}{row[2]}", row[3], row[4]))
    return steps


def work(step: Step, rank: int) -> list[Run]:
    return [run for run in step.rows[rank] if run.action.kind in COMPUTE]  # type: ignore[union-attr]  (no pairs here)


@pytest.mark.parametrize("name", ALL)
def test_every_action_is_found_in_order_on_its_rank(name: str) -> None:
    found = measured(name)
    assert found.notes == ()
    for rank in found.ranks:
        hooked = truth(name, rank)
        assert len(found.steps) == len(hooked) == 2
        for step, (rows, _) in zip(found.steps, hooked, strict=True):
            assert [str(run.action) for run in work(step, rank)] == [text for text, _, _ in rows]


@pytest.mark.parametrize("name", [*LABELLED, *MADE])
def test_starts_and_ends_are_within_a_millisecond_in_the_median(name: str) -> None:
    found = measured(name)
    starts, ends = [], []
    for rank in found.ranks:
        for step, (rows, _) in zip(found.steps, truth(name, rank), strict=True):
            for run, (_, start, end) in zip(work(step, rank), rows, strict=True):
                starts.append(abs(run.start - start))
                ends.append(abs(run.end - end))
    assert median(starts) <= MS
    assert median(ends) <= MS


@pytest.mark.parametrize("name", [*LABELLED, *MADE])
def test_idle_time_of_each_step_is_within_five_percent(name: str) -> None:
    found = measured(name)
    for rank in found.ranks:
        for step, (_, idle) in zip(found.steps, truth(name, rank), strict=True):
            assert abs(Fraction(idle_by_device(step)[rank], idle) - 1) <= Fraction(5, 100)


@pytest.mark.parametrize("name", [*LABELLED, "1f1b_p2_m4_plain"])
def test_one_step_predicts_the_other_about_as_well_as_the_steps_agree(name: str) -> None:
    """With the time between actions counted; a step that differs cannot be predicted better than it differs."""
    predictions = predict_steps(measured(name))
    differ = difference_of_steps(predictions)
    for each in predictions:
        assert abs(each.with_gaps - each.measured) <= differ + Fraction(2, 100)


@pytest.mark.parametrize("name", ALL)
def test_the_main_document_is_read_with_its_samples(name: str) -> None:
    found = measured(name)
    main = main_from_document(main_document(found))
    assert main.samples is not None
    assert main.samples.steps == (0, 1)
    assert main.schedule.size == sum(len(row) for row in found.steps[0].rows)
    assert all(len(values) == 2 for values in main.samples.actions.values())
