from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from pipefill_opt.errors import ScheduleError
from pipefill_opt.schedule.actions import parse_action
from pipefill_opt.schedule.families import FAMILIES, build_family
from pipefill_opt.schedule.schedule import Schedule
from pipefill_opt.schedule.validate import validate

TWO_STAGES = ("0F0 0F1 0B0 0B1", "1F0 1B0 1F1 1B1")


def schedule_of(
    *rows: str, placement: tuple[int, ...] = (0, 1), pipes: tuple[tuple[int, ...], ...] | None = None
) -> Schedule:
    return Schedule.from_rows([[parse_action(text) for text in row.split()] for row in rows], placement, pipes=pipes)


def refusal(schedule: Schedule) -> ScheduleError:
    with pytest.raises(ScheduleError) as caught:
        validate(schedule)
    assert "\n" not in str(caught.value)
    return caught.value


@pytest.mark.parametrize(
    "rows",
    [
        TWO_STAGES,
        ("0F0", "1F0"),
        ("0F0 0R0 0B0 STEP", "1F0 1I0 1W0 1REDUCE_GRAD STEP"),
        ("0F0 0F1 0I0 0B1 0W0", "1F0 1B0 1F1 1I1 1W1"),
        ("0F0.0 0F0.1 0B0.1 0B0.0", "1F0.0 1F0.1 1B0.1 1B0.0"),
        ("0UNSHARD 0F0 0RESHARD 0UNSHARD 0B0", "1F0 1B0"),
        ("0F0 0F1 (0F2;0B0)OVERLAP_F_B 0B1 0B2", "1F0 1B0 1F1 1B1 1F2 1B2"),
        ("0B0 0F0", "1F0 1B0"),  # a deadlock, which is for `precedence` to tell
    ],
)
def test_valid_orders(rows: tuple[str, ...]) -> None:
    validate(schedule_of(*rows))


def test_two_pipes_count_for_themselves() -> None:
    validate(
        schedule_of(
            "0F0 0F1 3F0 0B0 0B1 3B0", "1F0 1F1 2F0 1B0 1B1 2B0", placement=(0, 1, 1, 0), pipes=((0, 1), (2, 3))
        )
    )


def test_an_idle_device_is_fine() -> None:
    validate(schedule_of("0F0", "", "1F0", placement=(0, 2)))


@pytest.mark.parametrize(
    ("rows", "code", "rank", "position", "message"),
    [
        (("0F0 0F1 0B0", "1F0 1B0 1F1 1B1"), "missing", 0, None, "rank 0: 0B1: missing, expected in this row"),
        (("0F0 0F1 0B0 0B1", "1F0 1B0 1B1"), "missing", 1, None, "rank 1: 1F1: missing, expected in this row"),
        (("0F0 0I0 0W0", "1F0 1I0"), "missing", 1, None, "rank 1: 1W0: missing, expected in this row"),
        (("0F0 0I0 0W0", "1F0 1W0"), "missing", 1, None, "rank 1: 1I0: missing, expected in this row"),
        (("0F0 0I0 0W0", "1F0"), "missing", 1, None, "rank 1: 1I0: missing, expected in this row; 1W0: missing, expected in this row"),
        (("0F0 0B0", "1F0"), "missing", 1, None, "rank 1: 1B0: missing, expected in this row"),
        (("0F0 0B0", ""), "missing", 1, None, "rank 1: 1F0: missing, expected in this row; 1B0: missing, expected in this row"),
        (("0F0", ""), "missing", 1, None, "rank 1: 1F0: missing, expected in this row"),
        (
            ("0F0.0 0F0.1 0B0.0 0B0.1", "1F0.0 1B0.0 1B0.1"),
            "missing",
            1,
            None,
            "rank 1: 1F0.1: missing, expected in this row",
        ),
        (
            ("0F0 0F1 0F1 0B0 0B1", "1F0 1B0 1F1 1B1"),
            "doubled",
            0,
            2,
            "rank 0, position 2: 0F1: doubled, 0F1 at position 1 does the same",
        ),
        (("0F0 0B0", "1F0 1B0 1I0"), "doubled", 1, 2, "rank 1, position 2: 1I0: doubled, 1B0 at position 1 does the same"),
        (("0F0 0B0", "1F0 1W0 1B0"), "doubled", 1, 2, "rank 1, position 2: 1B0: doubled, 1W0 at position 1 does the same"),
        (("0F0 0B0 0B0", "1F0 1B0"), "doubled", 0, 2, "rank 0, position 2: 0B0: doubled, 0B0 at position 1 does the same"),
        (("0F0 0R0 0R0 0B0", "1F0 1B0"), "doubled", 0, 2, "rank 0, position 2: 0R0: doubled, 0R0 at position 1 does the same"),
        (
            ("0F0 0B0 0REDUCE_GRAD", "1F0 1B0 1REDUCE_GRAD 1REDUCE_GRAD"),
            "doubled",
            1,
            3,
            "rank 1, position 3: 1REDUCE_GRAD: doubled, 1REDUCE_GRAD at position 2 does the same",
        ),
        (("0F0 0B0 STEP STEP", "1F0 1B0"), "doubled", 0, 3, "rank 0, position 3: STEP: doubled, STEP at position 2 does the same"),
        (("0F0 1F0 0B0", "1B0"), "misplaced", 0, 1, "rank 0, position 1: 1F0: misplaced, stage 1 lies on rank 1"),
        (("0F0 0B0", "1F0 1B0 0REDUCE_GRAD"), "misplaced", 1, 2, "rank 1, position 2: 0REDUCE_GRAD: misplaced, stage 0 lies on rank 0"),
        (
            ("0F0 0B0", "1F0 7F0 1B0"),
            "unknown",
            1,
            1,
            "rank 1, position 1: 7F0: stage without a device, expected stages 0 to 1",
        ),
        (
            ("0F0 0F1 0F2 0B0 0B1", "1F0 1B0 1F1 1B1"),
            "unknown",
            0,
            2,
            "rank 0, position 2: 0F2: past the last micro-batch, which is 1 in the other rows",
        ),
        (
            ("0F0.0 0F0.1 0B0.1 0B0.0", "1F0.0 1F0.1 1F0.2 1B0.1 1B0.0"),
            "unknown",
            1,
            2,
            "rank 1, position 2: 1F0.2: expected parts 0 to 1 as in the other rows",
        ),
        (
            ("0F0 0B0 0B0.0", "1F0 1B0"),
            "unknown",
            0,
            2,
            "rank 0, position 2: 0B0.0: expected no part, as in the other rows",
        ),
        (
            ("0F0 0F1 0F2 0B0 0B1 0B2", "1F1 1B0 1F2 1B1 1F3 1B2"),
            "missing",
            1,
            None,
            "rank 1: 1F0: missing, expected in this row; 1F3 at position 4: past the last micro-batch, which is 2 in the other rows",
        ),
    ],
)  # fmt: skip
def test_refused_orders(rows: tuple[str, ...], code: str, rank: int, position: int | None, message: str) -> None:
    error = refusal(schedule_of(*rows))
    assert str(error) == message
    assert (error.code, error.rank, error.position) == (code, rank, position)


def test_many_problems_are_cut_short() -> None:
    error = refusal(schedule_of("0F0 0F1 0F2 0F3 0F4", "1F0"))
    assert str(error) == (
        "rank 1: 1F1: missing, expected in this row; 1F2: missing, expected in this row; "
        "1F3: missing, expected in this row; and more"
    )


def test_a_far_micro_batch_costs_no_memory() -> None:
    error = refusal(schedule_of("0F999999999", placement=(0,)))
    assert error.code == "missing"
    assert str(error).startswith("rank 0: 0F0: missing")


def test_mixed_backwards_ask_for_both() -> None:
    """Where a schedule has full and split backwards, what lacks both gradients lacks a B."""
    error = refusal(schedule_of("0F0 0F1 0B0 0I1 0W1", "1F0 1I0 1W0 1F1"))
    assert str(error) == "rank 1: 1B1: missing, expected in this row"


@pytest.mark.parametrize(
    ("placement", "pipes", "code", "message"),
    [
        ((0, 2), ((0, 1),), "unknown", "placement[1]: 2: expected a device from 0 to 1 for stage 1"),
        ((0, -1), ((0, 1),), "unknown", "placement[1]: -1: expected a device from 0 to 1 for stage 1"),
        ((0, 1), ((0,),), "missing", "pipes: expected stage 1 in one of the pipes"),
        ((0, 1), ((0, 1), (1,)), "doubled", "pipes[1]: 1: expected each stage once in all pipes"),
        ((0, 1), ((0, 1), ()), "missing", "pipes[1]: expected at least one stage"),
        ((0, 1), ((0, 1, 2),), "unknown", "pipes[0]: 2: expected stages 0 to 1"),
    ],
)
def test_refused_stages(
    placement: tuple[int, ...], pipes: tuple[tuple[int, ...], ...], code: str, message: str
) -> None:
    error = refusal(schedule_of(*TWO_STAGES, placement=placement, pipes=pipes))
    assert str(error) == message
    assert error.code == code


def test_nothing_at_all_is_refused() -> None:
    assert refusal(Schedule.from_rows([[]], (0,))).code == "missing"
    assert refusal(Schedule.from_rows([], ())).code == "missing"


@pytest.mark.parametrize("where", [0, 1, 3])
def test_a_pair_must_be_one(where: int) -> None:
    schedule = schedule_of(*TWO_STAGES)
    paired = np.zeros(schedule.size, dtype=np.bool_)
    paired[where] = True
    if where == 1:  # 0F1 and 0B0 make a pair
        validate(replace(schedule, paired=paired))
        paired[2] = True
    error = refusal(replace(schedule, paired=paired))
    assert error.code == "misplaced"
    assert error.rank == 0


@pytest.mark.parametrize(
    ("field", "value", "message"),
    [
        (
            "kind",
            77,
            "rank 0, position 1: kind 77: expected a kind of action",
        ),
        ("microbatch", -1, "rank 0, position 1: 0F: expected a micro-batch"),
        ("stage", -3, "rank 0, position 1: -3F1: stage without a device, expected stages 0 to 1"),
    ],
)
def test_arrays_with_nonsense_are_refused(field: str, value: int, message: str) -> None:
    schedule = schedule_of(*TWO_STAGES)
    values = getattr(schedule, field).copy()
    values[1] = value
    assert str(refusal(replace(schedule, **{field: values}))) == message


@settings(max_examples=150, deadline=None)
@given(data=st.data(), name=st.sampled_from(sorted(FAMILIES)), change=st.sampled_from(["drop", "repeat", "move"]))
def test_any_single_damage_is_found(data: st.DataObject, name: str, change: str) -> None:
    """Drop, repeat or move one action of a valid schedule: the error names that action and its device."""
    schedule = build_family(name, 4, 8)
    rows = [
        [action for entry in schedule.row(rank) for action in (entry if isinstance(entry[0], tuple) else (entry,))]
        for rank in range(4)
    ]
    rank = data.draw(st.integers(0, 3))
    position = data.draw(st.integers(0, len(rows[rank]) - 1))
    action = rows[rank][position]
    if change != "repeat":
        rows[rank].pop(position)
    if change != "drop":
        target = rank if change == "repeat" else (rank + 1) % 4
        place = data.draw(st.integers(0, len(rows[target])))
        rows[target].insert(place, action)
    error = refusal(Schedule.from_rows(rows, schedule.placement, pipes=schedule.pipes))
    assert error.code == {"drop": "missing", "repeat": "doubled", "move": "misplaced"}[change]
    assert error.value == str(action)
    assert error.rank == (rank if change != "move" else (rank + 1) % 4)
