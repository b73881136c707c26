"""The MAIN document of measured steps: medians, lags, gaps, samples; and predictions from it."""

from __future__ import annotations

import json
from dataclasses import replace
from fractions import Fraction

import pytest

from pipefill_opt.errors import InputError
from pipefill_opt.report.measured import measured_json, measured_text
from pipefill_opt.schedule.actions import parse_action
from pipefill_opt.timeline.compute import timeline
from pipefill_opt.traces.main_document import main_document
from pipefill_opt.traces.measured import Measured, Run, Step
from pipefill_opt.traces.prediction import difference_of_steps, predict_steps, predicted_share
from pipefill_opt.traces.summary import idle_by_device, idle_share, median, step_times, sync_by_device
from pipefill_opt.workload.main_file import main_from_document
from tests.traces.synthetic import GAP, pipeline


def step(number: int, *rows: str, windows: tuple[tuple[int, int], ...] | None = None) -> Step:
    """Rows such as `0F0:5-15 0B0:50-70`."""
    runs = []
    for row in rows:
        cells = [(word.split(":")[0], *map(int, word.split(":")[1].split("-"))) for word in row.split()]
        runs.append(tuple(Run(parse_action(text), start, end, number) for text, start, end in cells))
    ends = windows or tuple((row[0].start, row[-1].end) for row in runs)
    return Step(number, tuple(runs), ends)


FIRST = step(0, "0F0:5-15 0B0:50-70", "1F0:18-30 1B0:33-47", windows=((0, 80), (0, 80)))
"""Rank 0 begins at once 5 ns late; 3 ns of message; 3 ns between F and B on rank 1; 3 ns of message; all ends 10 ns before the step."""
SECOND = step(1, "0F0:1005-1025 0B0:1070-1090", "1F0:1030-1040 1B0:1043-1061", windows=((1000, 1100), (1000, 1100)))


def test_times_of_a_step() -> None:
    times = step_times(FIRST)
    assert times.lags == (3, 3)
    assert times.head == (5, 0)
    assert times.tail == (10, 10)
    assert times.after == {(1, parse_action("1F0")): 3}
    assert idle_by_device(FIRST) == (50, 54)
    assert idle_share(FIRST) == Fraction(104, 160)


@pytest.mark.parametrize(
    ("values", "middle"), [([3], 3), ([1, 2], 2), ([1, 4, 9], 4), ([9, 1, 4, 6], 5), ([1, 2, 3, 4], 3)]
)
def test_medians_are_whole_and_rounded_up(values: list[int], middle: int) -> None:
    assert median(values) == middle


def test_medians_lags_and_samples() -> None:
    document = main_document(Measured((0, 1), (FIRST, SECOND)))
    assert document["schedule"] == {"placement": [0, 1], "actions": [["0F0", "0B0"], ["1F0", "1B0"]]}
    assert document["durations"] == {"unit": "ns", "actions": {"0F0": 15, "0B0": 20, "1F0": 11, "1B0": 16}}
    assert document["communication"] == {"unit": "ns", "lag": 4}  # of 3, 3, 5, 9
    assert document["measured"] == {
        "unit": "ns", "steps": [0, 1], "lags": [3, 3, 9, 5],
        "actions": {"0F0": [10, 20], "0B0": [20, 20], "1F0": [12, 10], "1B0": [14, 18]},
    }  # fmt: skip
    main = main_from_document(document)
    assert int(timeline(main).period) == 15 + 4 + 11 + 16 + 4 + 20


def test_time_between_is_counted_on_request() -> None:
    document = main_document(Measured((0, 1), (FIRST,)), count_gaps=True, memory={"capacity": "16GiB"})
    assert document["durations"]["actions"] == {"0F0": 15, "0B0": 20, "1F0": 15, "1B0": 14}
    assert document["durations"]["STEP"] == [10, 10]
    assert document["schedule"]["actions"] == [["0F0", "0B0", "STEP"], ["1F0", "1B0", "STEP"]]
    main = main_from_document(document)
    assert main.memory is not None
    assert int(timeline(main).period) == 80  # as measured


def test_reductions_and_optimizer_steps_are_busy_but_no_compute() -> None:
    both = Measured((0,), (step(0, "0F0:0-10 0B0:10-30 0REDUCE_GRAD:32-40 STEP:41-50"),))
    assert idle_by_device(both.steps[0]) == (20,)
    assert sync_by_device(both.steps[0]) == (17,)
    document = main_document(both)
    assert document["durations"]["actions"]["0REDUCE_GRAD"] == 8
    assert document["durations"]["STEP"] == [9]
    assert int(timeline(main_from_document(document)).period) == 47
    assert int(timeline(main_from_document(main_document(both, count_gaps=True))).period) == 50


def test_pairs_become_one_block() -> None:
    text = "0F0:0-10 (0F1;0B0)OVERLAP_F_B:10-26 0B1:26-40"
    document = main_document(Measured((0,), (step(0, text),)))
    assert document["overlap"] == {"unit": "ns", "length": 16}
    assert document["durations"]["actions"] == {"0F0": 10, "0B1": 14}
    assert int(timeline(main_from_document(document)).period) == 40


def test_a_stage_without_a_rank_is_an_error() -> None:
    with pytest.raises(InputError, match=r"stage 0: expected the ranks of all stages, and none of those given \(4\)"):
        main_document(Measured((4,), (step(0, "1F0:0-10 1B0:10-30"),)))


def test_predictions_stand_beside_the_steps_difference() -> None:
    measured = Measured((0, 1), (FIRST, SECOND))
    first, second = predict_steps(measured)
    assert first.measured == idle_share(FIRST)
    assert first.with_gaps == predicted_share(replace(measured, steps=(SECOND,)), count_gaps=True)
    assert second.with_gaps == idle_share(FIRST)  # the model is exact for the step that it comes from
    assert difference_of_steps((first, second)) == abs(idle_share(FIRST) - idle_share(SECOND))
    assert predict_steps(replace(measured, steps=(FIRST,))) == ()


def test_a_pipeline_predicts_its_own_period() -> None:
    """Where every message takes the lag, durations with gaps and the lag give the true times of a step again."""
    made = pipeline({"family": "1f1b", "devices": 4, "microbatches": 6}, steps=1)
    rows = [tuple(Run(parse_action(text), start, end, 0) for text, start, end in row) for row in made.truth[0]]
    windows = tuple((0, made.length) for _ in rows)
    document = main_document(Measured((0, 1, 2, 3), (Step(0, tuple(rows), windows),)), count_gaps=True)
    assert abs(document["communication"]["lag"] - made.lag - GAP) <= 0
    assert abs(int(timeline(main_from_document(document)).period) - made.length) <= GAP * 12


def test_what_is_shown() -> None:
    measured = Measured((0, 1), (FIRST, SECOND), ("a note",))
    text = measured_text(measured, predict_steps(measured))
    assert "2 complete steps of 4 actions on ranks 0, 1" in text
    assert "messages that were waited for: 4, median 4 ns, 3 ns to 9 ns" in text
    assert "step 0: measured 65.00 %" in text
    assert "the steps themselves differ by up to" in text

    document = json.loads(measured_json(measured, predict_steps(measured)))
    assert document["notes"] == ["a note"]
    assert document["actions"][0] == {"action": "0F0", "rank": 0, "median": 15, "spread": 10, "samples": [10, 20]}
    assert document["steps"][0]["ranks"][1] == {
        "rank": 1, "start": 0, "end": 80, "idle": 54, "sync": 0, "messages": None,
        "runs": [{"action": "1F0", "start": 18, "end": 30}, {"action": "1B0", "start": 33, "end": 47}],
    }  # fmt: skip
    assert [each["step"] for each in document["predictions"]] == [0, 1]
