from __future__ import annotations

from dataclasses import replace

import numpy as np

from pipefill_opt.schedule.actions import Action, Kind, Pair, parse_action
from pipefill_opt.schedule.schedule import Schedule, same_order


def schedule_of(
    *rows: str, placement: tuple[int, ...] = (0, 1), pipes: tuple[tuple[int, ...], ...] | None = None
) -> Schedule:
    """A schedule from rows of action texts."""
    return Schedule.from_rows([[parse_action(text) for text in row.split()] for row in rows], placement, pipes=pipes)


def test_rows_are_packed_and_given_back() -> None:
    schedule = schedule_of("0F0 0F1 (0F2;0B0)OVERLAP_F_B STEP", "", "1F0.3", placement=(0, 2))
    assert (schedule.devices, schedule.stages, schedule.size) == (3, 2, 6)
    assert schedule.row_start.tolist() == [0, 5, 5, 6]
    assert schedule.device().tolist() == [0, 0, 0, 0, 0, 2]
    assert list(schedule.row(0)) == [
        Action(Kind.F, 0, 0),
        Action(Kind.F, 0, 1),
        Pair(Action(Kind.F, 0, 2), Action(Kind.B, 0, 0)),
        Action(Kind.STEP, -1),
    ]
    assert list(schedule.row(1)) == []
    assert list(schedule.row(2)) == [Action(Kind.F, 1, 0, 3)]
    assert schedule.pipes == ((0, 1),)


def test_no_rows_give_an_empty_schedule() -> None:
    schedule = Schedule.from_rows([], ())
    assert (schedule.devices, schedule.stages, schedule.size) == (0, 0, 0)


def test_same_order_looks_at_all_but_the_name() -> None:
    schedule = schedule_of("0F0 0B0", "1F0 1B0")
    assert same_order(schedule, replace(schedule, name="other"))
    assert not same_order(schedule, replace(schedule, placement=(1, 0)))
    assert not same_order(schedule, replace(schedule, pipes=((1, 0),)))
    assert not same_order(schedule, replace(schedule, row_start=np.array([0, 3, 4])))
    assert not same_order(schedule, replace(schedule, paired=np.array([True, False, False, False])))
    for field in ("kind", "stage", "microbatch", "part"):
        assert not same_order(schedule, replace(schedule, **{field: getattr(schedule, field) + 1}))
    assert not same_order(schedule, schedule_of("0F0 0B0", "1F0 1B0 1REDUCE_GRAD"))
