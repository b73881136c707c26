"""Recomputation, gradient reductions and optimizer steps on any schedule."""

from __future__ import annotations

from dataclasses import replace

from pipefill_opt.schedule.actions import Kind, parse_action
from pipefill_opt.schedule.families import build_family
from pipefill_opt.schedule.precedence import precedence
from pipefill_opt.schedule.schedule import Schedule, same_order
from pipefill_opt.schedule.transform import with_recompute, with_reduce, with_step
from pipefill_opt.schedule.validate import validate


def schedule_of(*rows: str, placement: tuple[int, ...]) -> Schedule:
    return Schedule.from_rows([[parse_action(text) for text in row.split()] for row in rows], placement)


def rows(schedule: Schedule) -> list[str]:
    return [" ".join(map(str, schedule.row(rank))) for rank in range(schedule.devices)]


def test_recomputation_comes_right_before_the_backward() -> None:
    plain = schedule_of("0F0 0F1 0B0 0I1 0W1", "1F0 1B0 1F1 1I1 1W1", placement=(0, 1))
    assert rows(with_recompute(plain)) == ["0F0 0F1 0R0 0B0 0R1 0I1 0W1", "1F0 1R0 1B0 1F1 1R1 1I1 1W1"]


def test_recomputation_never_parts_a_pair() -> None:
    plain = schedule_of("0F0 0F1 (0F2;0B0)OVERLAP_F_B 0B1 0B2", placement=(0,))
    assert rows(with_recompute(plain)) == ["0F0 0F1 0R0 (0F2;0B0)OVERLAP_F_B 0R1 0B1 0R2 0B2"]


def test_recomputation_of_slices() -> None:
    plain = schedule_of("0F0.0 0F0.1 0B0.1 0B0.0", placement=(0,))
    assert rows(with_recompute(plain)) == ["0F0.0 0F0.1 0R0.1 0B0.1 0R0.0 0B0.0"]


def test_row_ends() -> None:
    plain = schedule_of("0F0 3F0 3B0 0B0", "", "2F0 1F0 1B0 2B0", placement=(0, 2, 2, 0))
    assert rows(with_reduce(plain)) == [
        "0F0 3F0 3B0 0B0 0REDUCE_GRAD 3REDUCE_GRAD",
        "",
        "2F0 1F0 1B0 2B0 1REDUCE_GRAD 2REDUCE_GRAD",
    ]
    assert rows(with_step(plain)) == ["0F0 3F0 3B0 0B0 STEP", "STEP", "2F0 1F0 1B0 2B0 STEP"]


def test_all_three_as_options_of_a_family() -> None:
    full = build_family("1f1b", 2, 2, recompute=True, reduce=True, step=True)
    assert rows(full) == [
        "0F0 0F1 0R0 0B0 0R1 0B1 0REDUCE_GRAD STEP",
        "1F0 1R0 1B0 1F1 1R1 1B1 1REDUCE_GRAD STEP",
    ]
    validate(full)
    precedence(full, global_norm=True)
    assert same_order(full, with_step(with_reduce(with_recompute(build_family("1f1b", 2, 2)))))


def test_what_was_there_stays_in_order() -> None:
    for name in ("gpipe", "zbv", "dualpipe", "dualpipev", "chimera", "v-half"):
        plain = build_family(name, 4, 8)
        full = with_step(with_reduce(with_recompute(plain)))
        kept = full.kind[:, None] != [Kind.R, Kind.REDUCE, Kind.STEP]
        left = kept.all(axis=1)
        assert full.paired.sum() == plain.paired.sum()
        assert same_order(
            replace(
                full,
                row_start=plain.row_start,
                **{field: getattr(full, field)[left] for field in ("kind", "stage", "microbatch", "part", "paired")},
            ),
            plain,
        )
