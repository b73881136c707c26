from __future__ import annotations

from pipefill_opt.schedule.actions import parse_action
from pipefill_opt.schedule.census import Task, take_census
from pipefill_opt.schedule.schedule import Schedule


def test_entries_are_sorted_by_group_and_microbatch() -> None:
    rows = ["0F1 0F0 0B1 0I0 0W0 0REDUCE_GRAD", "1F0 1R0 1B0 1F1 1B1 STEP"]
    schedule = Schedule.from_rows([[parse_action(text) for text in row.split()] for row in rows], (0, 1))
    census = take_census(schedule)
    entries = [
        (int(group) // len(Task), Task(int(group) % len(Task)).name, str(schedule.action(int(index))))
        for group, index in zip(census.group, census.index, strict=True)
    ]
    assert entries == [
        (0, "FORWARD", "0F0"),
        (0, "FORWARD", "0F1"),
        (0, "INPUT_GRADIENT", "0I0"),
        (0, "INPUT_GRADIENT", "0B1"),
        (0, "WEIGHT_GRADIENT", "0W0"),
        (0, "WEIGHT_GRADIENT", "0B1"),
        (1, "FORWARD", "1F0"),
        (1, "FORWARD", "1F1"),
        (1, "INPUT_GRADIENT", "1B0"),
        (1, "INPUT_GRADIENT", "1B1"),
        (1, "WEIGHT_GRADIENT", "1B0"),
        (1, "WEIGHT_GRADIENT", "1B1"),
        (1, "RECOMPUTE", "1R0"),
    ]
    assert census.microbatches.tolist() == [2, 2]
    assert census.parts.tolist() == [0, 0]


def test_the_majority_decides_and_ties_take_the_larger_count() -> None:
    rows = ["0F0 0F1", "1F0 1F1", "2F0 2F1 2F2", "3F0", "4F0 4F1"]
    schedule = Schedule.from_rows(
        [[parse_action(text) for text in row.split()] for row in rows], range(5), pipes=[(0, 1, 2), (3, 4)]
    )
    assert take_census(schedule).microbatches.tolist() == [2, 2, 2, 2, 2]
