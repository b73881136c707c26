"""Complete steps: what is left out, and what cannot be one pipeline."""

from __future__ import annotations

import pytest

from pipefill_opt.errors import InputError
from pipefill_opt.schedule.actions import parse_action
from pipefill_opt.traces.importing import some_steps
from pipefill_opt.traces.measured import RankRuns, Run, producer
from pipefill_opt.traces.steps import measure


def rank(number: int, text: str, *, step: int | None = None, length: int = 10) -> RankRuns:
    """Runs one after the other, `|` begins the next numbered step where `step` is given."""
    runs, time = [], number * length
    for word in text.split():
        if word == "|":
            step = None if step is None else step + 1
            continue
        runs.append(Run(parse_action(word), time, time + length, step))
        time += length
    return RankRuns(number, f"file{number}", tuple(runs), {})


def orders(*ranks: RankRuns) -> list[tuple[int, list[list[str]]]]:
    return [(step.number, [[str(entry) for entry in row] for row in step.order]) for step in measure(ranks).steps]


def test_an_action_that_comes_again_begins_a_step() -> None:
    assert orders(rank(0, "0F0 0F1 0B0 0B1 0F0 0F1 0B0 0B1")) == [
        (0, [["0F0", "0F1", "0B0", "0B1"]]),
        (1, [["0F0", "0F1", "0B0", "0B1"]]),
    ]


def test_the_first_forward_after_a_backward_begins_a_step() -> None:
    """The trace begins in the middle: 0B1 belongs to a step of its own, which is left out."""
    measured = measure([rank(0, "0B1 0F0 0F1 0B0 0B1")])
    assert [step.number for step in measured.steps] == [1]
    assert measured.notes == ("left out, with another order or without some actions: step 0",)


def test_incomplete_steps_are_left_out() -> None:
    first, second = rank(0, "0F0 0B0 | 0F0 0B0 | 0F0", step=3), rank(1, "1F0 1B0 | 1F0 1B0 | 1F0 1B0", step=3)
    second = RankRuns(1, "file1", tuple(Run(r.action, r.start + 5, r.end + 5, r.step) for r in second.runs), {})
    measured = measure([_spread(first), _spread(second)])
    assert [step.number for step in measured.steps] == [3, 4]
    assert measured.notes[0] == "left out, with another order or without some actions: step 5"


def _spread(ranks: RankRuns) -> RankRuns:
    """Forwards early, backwards late, steps far apart: messages are possible."""
    runs = []
    for run in ranks.runs:
        assert run.step is not None
        (stage, kind), at = str(run.action)[:2], run.step * 1000
        begin = at + (int(stage) * 100 if kind == "F" else 400 - int(stage) * 100)
        runs.append(Run(run.action, begin, begin + 50, run.step))
    return RankRuns(ranks.rank, ranks.source, tuple(runs), {})


def test_the_order_of_most_steps_counts() -> None:
    text = "0F0 0F1 0B0 0B1 | 0F0 0B0 0F1 0B1 | 0F0 0F1 0B0 0B1"
    assert [number for number, _ in orders(rank(0, text, step=0))] == [0, 2]


def test_no_complete_step_is_an_error() -> None:
    with pytest.raises(
        InputError, match="step 0 lacks 0B0 on rank position 0: expected a step in which every action runs"
    ):
        measure([rank(0, "0F0 | 0B0", step=0)])
    with pytest.raises(InputError, match="expected runs of actions in the steps"):
        measure([RankRuns(0, "file0", (Run(parse_action("0F0"), 900, 910),), {0: (0, 100)})])


def test_data_parallel_copies_are_refused() -> None:
    with pytest.raises(InputError, match="0F0 on ranks 0 and 1: expected one pipeline"):
        measure([rank(0, "0F0 0B0"), rank(1, "0F0 0B0")])


def test_an_action_twice_in_a_step_is_refused() -> None:
    with pytest.raises(InputError, match="0F0, rank 0, step 0: expected each action once in a step"):
        measure([rank(0, "0F0 0F0 0B0", step=0)])


def test_optimizers_one_after_the_other_are_one_step() -> None:
    (found,) = measure([rank(0, "0F0 0B0 STEP STEP")]).steps
    assert [(str(run.action), run.start, run.end) for run in found.rows[0]][-1] == ("STEP", 20, 40)


def test_without_marks_a_step_lasts_from_the_first_start_to_the_last_end_of_any_rank() -> None:
    (found,) = measure([rank(0, "0F0"), rank(1, "1F0")]).steps
    assert found.windows == ((0, 20), (0, 20))


def test_messages_count_within_their_step() -> None:
    runs = (Run(parse_action("0F0"), 0, 10, 4), Run(parse_action("0B0"), 50, 90, 4))
    messages = ((-5, 3), (20, 40), (30, 45), (95, 120), (300, 310))
    (found,) = measure([RankRuns(0, "file0", runs, {4: (0, 100)}, messages)]).steps
    assert found.communication == (3 + 25 + 5,)
    assert measure([rank(0, "0F0 0B0")]).steps[0].communication == ()


def test_steps_can_be_chosen() -> None:
    measured = measure([rank(0, "0F0 0B0 0F0 0B0 0F0 0B0")])
    assert [step.number for step in some_steps(measured).steps] == [0, 1, 2]
    assert [step.number for step in some_steps(measured, skip=1).steps] == [1, 2]
    assert [step.number for step in some_steps(measured, only=(2, 0)).steps] == [0, 2]
    with pytest.raises(InputError, match="3 left out: expected some of the complete steps, 0, 1, 2"):
        some_steps(measured, skip=3)
    with pytest.raises(InputError, match="step 7: expected some of the complete steps"):
        some_steps(measured, only=(1, 7))


@pytest.mark.parametrize(
    ("text", "made"),
    [("0F3", None), ("2F3", "1F3"), ("3B1", None), ("1B1", "2B1"), ("0I1.2", "1I1.2"), ("1W0", None), ("1R0", None)],
)
def test_producers(text: str, made: str | None) -> None:
    action = parse_action(text)
    assert not hasattr(action, "forward")
    found = producer(action, 3)  # type: ignore[arg-type]
    assert (None if found is None else str(found)) == made
