"""Messages of lowered orders: what is missing, doubled, needless, out of order."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from pipefill_opt.errors import ScheduleError
from pipefill_opt.schedule.actions import Action, Kind, parse_action
from pipefill_opt.schedule.families import build_family
from pipefill_opt.schedule.lowered import partner
from pipefill_opt.schedule.messages import is_message, with_messages
from pipefill_opt.schedule.schedule import Schedule
from pipefill_opt.schedule.validate import validate

FIRST = "0UNSHARD 0F0 0SEND_F0 0RECV_B0 0B0 0REDUCE_GRAD 0RESHARD"
LAST = "1RECV_F0 1F0 1B0 1SEND_B0 STEP"


def schedule_of(*rows: str, placement: tuple[int, ...] = (0, 1)) -> Schedule:
    return Schedule.from_rows([[parse_action(text) for text in row.split()] for row in rows], placement)


def test_a_lowered_order_is_valid() -> None:
    validate(schedule_of(FIRST, LAST))


@pytest.mark.parametrize(
    ("rows", "code", "message"),
    [
        (
            (FIRST.replace("0SEND_F0 ", ""), LAST),
            "missing",
            "rank 0: 0SEND_F0: missing, expected in this row, rank 1 has 1RECV_F0",
        ),
        (
            (FIRST, LAST.replace("1RECV_F0 ", "")),
            "missing",
            "rank 1: 1RECV_F0: missing, expected in this row, rank 0 has 0SEND_F0",
        ),
        (
            (FIRST.replace("0RECV_B0 ", ""), LAST.replace("1SEND_B0 ", "")),
            "missing",
            "rank 0: 0RECV_B0: missing, expected in this row, as well as 1SEND_B0",
        ),
        (
            (FIRST + " 0SEND_F0", LAST),
            "doubled",
            "rank 0, position 7: 0SEND_F0: doubled, it stands at position 2 as well",
        ),
        (
            (FIRST, "1RECV_F0 1F0 1SEND_F0 1B0 1SEND_B0"),
            "unknown",
            "rank 1, position 2: 1SEND_F0: expected no message, there is no stage at the other end",
        ),
        (
            (FIRST + " 0SEND_F1", LAST),
            "unknown",
            "rank 0, position 7: 0SEND_F1: expected no message, no action needs it",
        ),
        (
            ("0F0 0SEND_F0 1RECV_F0 1F0 1B0 0B0",),
            "unknown",
            "rank 0, position 1: 0SEND_F0: expected no message, stage 1 lies on the same rank; "
            "1RECV_F0 at position 2: expected no message, stage 0 lies on the same rank",
        ),
        (
            (FIRST.replace("0F0 0SEND_F0", "0SEND_F0 0F0"), LAST),
            "misplaced",
            "rank 0, position 1: 0SEND_F0: expected behind 0F0 at position 2, which makes it",
        ),
        (
            (FIRST, LAST.replace("1RECV_F0 1F0", "1F0 1RECV_F0")),
            "misplaced",
            "rank 1, position 1: 1RECV_F0: expected ahead of 1F0 at position 0, which needs it",
        ),
        ((FIRST + " 1RECV_F0", LAST), "misplaced", "rank 0, position 7: 1RECV_F0: misplaced, stage 1 lies on rank 1"),
    ],
)
def test_refused(rows: tuple[str, ...], code: str, message: str) -> None:
    schedule = schedule_of(*rows, placement=(0, 1)[: len(rows)] if len(rows) > 1 else (0, 0))
    with pytest.raises(ScheduleError) as caught:
        validate(schedule)
    assert str(caught.value) == message
    assert caught.value.code == code


def test_ends_of_a_message() -> None:
    schedule = build_family("dualpipe", 2, 4)
    assert partner(schedule, Action(Kind.SEND_F, 0, 1)) == Action(Kind.RECV_F, 1, 1)
    assert partner(schedule, Action(Kind.RECV_F, 1, 1)) == Action(Kind.SEND_F, 0, 1)
    assert partner(schedule, Action(Kind.SEND_B, 3, 0)) == Action(Kind.RECV_B, 2, 0)
    assert partner(schedule, Action(Kind.RECV_B, 2, 0)) == Action(Kind.SEND_B, 3, 0)
    assert partner(schedule, Action(Kind.SEND_F, 1, 0)) is None  # the other pipe begins there
    assert partner(schedule, Action(Kind.SEND_B, 2, 0)) is None


@pytest.mark.parametrize("name", ["1f1b", "zbv", "v-min", "chimera", "dualpipe", "dualpipev", "forward-only"])
@pytest.mark.parametrize("block", [False, True])
def test_lowered_families_are_valid(name: str, block: bool) -> None:
    for m in (8, 12):
        validate(with_messages(build_family(name, 4, m), block=block))


@settings(max_examples=80, deadline=None)
@given(data=st.data(), name=st.sampled_from(["1f1b", "interleaved-1f1b", "zbv", "dualpipe", "dualpipev"]))
def test_any_lost_message_is_found(data: st.DataObject, name: str) -> None:
    lowered = with_messages(build_family(name, 4, 8))
    lost = data.draw(st.sampled_from(np.flatnonzero(is_message(lowered)).tolist()))
    rows, first = [], 0
    for rank in range(lowered.devices):
        rows.append([lowered.action(i) for i in range(first, int(lowered.row_start[rank + 1])) if i != lost])
        first = int(lowered.row_start[rank + 1])
    damaged = Schedule.from_rows(rows, lowered.placement, pipes=lowered.pipes)
    with pytest.raises(ScheduleError) as caught:
        validate(damaged)
    assert caught.value.code == "missing"
    assert caught.value.value == str(lowered.action(lost))
    assert caught.value.rank == int(lowered.device()[lost])
