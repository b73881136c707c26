"""All texts at once are the texts one by one."""

from __future__ import annotations

from pipefill_opt.schedule.actions import parse_action
from pipefill_opt.schedule.schedule import Schedule
from pipefill_opt.schedule.texts import action_texts


def test_texts_of_every_kind() -> None:
    rows = (
        "0F0 0F1.0 0F1.1 0R0 0I0 0W0 (0F2;0B1)OVERLAP_F_B 0UNSHARD 0RESHARD 0REDUCE_GRAD STEP",
        "0SEND_F0 1RECV_F0 1F0 1B0 1SEND_B0 0RECV_B0",
    )
    schedule = Schedule.from_rows([[parse_action(text) for text in row.split()] for row in rows], [0, 1])
    assert action_texts(schedule) == [str(schedule.action(index)) for index in range(schedule.size)]
    assert action_texts(Schedule.from_rows([[]], [0])) == []
