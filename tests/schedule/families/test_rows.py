from __future__ import annotations

import numpy as np

from pipefill_opt.schedule.actions import Kind
from pipefill_opt.schedule.families.rows import Row, join, overlap, run, weave


def text(row: Row) -> str:
    return " ".join(
        f"{stage}{Kind(kind).name}{microbatch}{'+' if paired else ''}"
        for kind, stage, microbatch, paired in row.tolist()
    )


FORWARD = run(Kind.F, 2, np.arange(3))
BACKWARD = run(Kind.B, 5, np.arange(3))


def test_run_takes_one_stage_or_one_for_each_action() -> None:
    assert text(FORWARD) == "2F0 2F1 2F2"
    assert text(run(Kind.W, np.array([4, 7]), np.array([1, 0]))) == "4W1 7W0"


def test_join_keeps_order() -> None:
    assert text(join(FORWARD[:1], BACKWARD[2:], FORWARD[1:2])) == "2F0 5B2 2F1"


def test_weave_takes_turns_from_the_delay_on() -> None:
    assert text(weave((FORWARD, 0), (BACKWARD, 0))) == "2F0 5B0 2F1 5B1 2F2 5B2"
    assert text(weave((FORWARD, 0), (BACKWARD, 2))) == "2F0 2F1 2F2 5B0 5B1 5B2"
    assert text(weave((FORWARD, 0), (BACKWARD, 1))) == "2F0 2F1 5B0 2F2 5B1 5B2"
    assert text(weave((FORWARD, 1), (BACKWARD[:1], 0))) == "5B0 2F0 2F1 2F2"


def test_overlap_marks_the_forward_and_leaves_its_row_alone() -> None:
    assert text(overlap(FORWARD, BACKWARD)) == "2F0+ 5B0 2F1+ 5B1 2F2+ 5B2"
    assert text(FORWARD) == "2F0 2F1 2F2"
