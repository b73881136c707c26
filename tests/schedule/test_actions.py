from __future__ import annotations

from contextlib import suppress

import pytest
from hypothesis import given
from hypothesis import strategies as st

from pipefill_opt.errors import ScheduleError
from pipefill_opt.schedule.actions import NO_MICROBATCH, Action, Kind, Pair, parse_action


@pytest.mark.parametrize(
    ("text", "action"),
    [
        ("3F7", Action(Kind.F, 3, 7)),
        ("0B0", Action(Kind.B, 0, 0)),
        ("12I345", Action(Kind.I, 12, 345)),
        ("1W2", Action(Kind.W, 1, 2)),
        ("1R2", Action(Kind.R, 1, 2)),
        ("3F7.2", Action(Kind.F, 3, 7, 2)),
        ("0REDUCE_GRAD", Action(Kind.REDUCE, 0)),
        ("4UNSHARD", Action(Kind.UNSHARD, 4)),
        ("4RESHARD", Action(Kind.RESHARD, 4)),
        ("2SEND_F1", Action(Kind.SEND_F, 2, 1)),
        ("2RECV_B1", Action(Kind.RECV_B, 2, 1)),
        ("STEP", Action(Kind.STEP, -1)),
        ("(0F3;3B1)OVERLAP_F_B", Pair(Action(Kind.F, 0, 3), Action(Kind.B, 3, 1))),
        ("(0F3;3I1)OVERLAP_F_B", Pair(Action(Kind.F, 0, 3), Action(Kind.I, 3, 1))),
    ],
)
def test_text_and_action_are_one(text: str, action: Action | Pair) -> None:
    assert parse_action(text) == action
    assert str(action) == text


def test_short_name_of_reduce_is_read() -> None:
    assert parse_action("3REDUCE") == Action(Kind.REDUCE, 3)


@pytest.mark.parametrize(
    "text",
    [
        "",
        " ",
        "0F0junk",
        " 0F0",
        "0F0 ",
        "0F",
        "F0",
        "0X0",
        "0f0",
        "-1F0",
        "0F-1",
        "0F0.",
        "0F.1",
        "0F0.1.2",
        "0REDUCE_GRAD1",
        "1STEP",
        "STEP1",
        "0STEP",
        "٣F0",
        "0F٣",
        "0F0\n",
        "0F0;0B0",
        "(0F0;0B0)",
        "(0F0)OVERLAP_F_B",
        "(0B0;0F0)OVERLAP_F_B",
        "(0F0;0W0)OVERLAP_F_B",
        "(STEP;0B0)OVERLAP_F_B",
        "((0F0;0B0)OVERLAP_F_B;0B1)OVERLAP_F_B",
        "(0F0;0B0)OVERLAP_F_Bx",
        "9999999999F0",
        "0F9999999999",
    ],
)
def test_anything_else_is_refused(text: str) -> None:
    with pytest.raises(ScheduleError) as caught:
        parse_action(text)
    assert caught.value.code == "grammar"
    assert "expected an action such as 3F7" in str(caught.value)


@given(
    kind=st.sampled_from(sorted(set(Kind) - NO_MICROBATCH)),
    stage=st.integers(0, 10**9 - 1),
    microbatch=st.integers(0, 10**9 - 1),
    part=st.integers(-1, 10**9 - 1),
)
def test_round_trip(kind: Kind, stage: int, microbatch: int, part: int) -> None:
    action = Action(kind, stage, microbatch, part)
    assert parse_action(str(action)) == action


@given(st.text(alphabet="0123FBIWR_.;()OVERLAPSTEGD \n\x00é", max_size=12))
def test_any_text_is_an_action_or_an_error(text: str) -> None:
    with suppress(ScheduleError):
        action = parse_action(text)
        assert parse_action(str(action)) == action
