"""Each rule of precedence alone, and deadlocks."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from pipefill_opt import kernels
from pipefill_opt.errors import ScheduleError
from pipefill_opt.schedule.actions import parse_action
from pipefill_opt.schedule.precedence import Edge, Precedence, precedence
from pipefill_opt.schedule.schedule import Schedule


def schedule(*rows: str, placement: list[int] | None = None, pipes: list[list[int]] | None = None) -> Schedule:
    """A schedule from rows of text; without `placement` stage s lies on device s."""
    parsed = [[parse_action(text) for text in row.split()] for row in rows]
    return Schedule.from_rows(parsed, placement if placement is not None else range(len(rows)), pipes=pipes)


def waits(found: Precedence, text: str) -> set[str]:
    """What the action waits for, apart from its row: `kind action`, with `*` where the edge crosses devices."""
    texts = [str(found.schedule.action(i)) for i in range(found.schedule.size)]
    at = texts.index(text)
    edges = range(int(found.first[at]), int(found.first[at + 1]))
    return {f"{texts[found.pred[e]]}{'*' if found.crosses[e] else ''}" for e in edges if found.kind[e] == Edge.DATA}


def test_forward_and_backward_pass_the_stages() -> None:
    found = precedence(schedule("0F0 0F1 0B0 0B1", "1F0 1B0 1F1 1B1"))
    assert waits(found, "0F0") == set()
    assert waits(found, "1F1") == {"0F1*"}
    assert waits(found, "1B0") == {"1F0"}
    assert waits(found, "0B1") == {"1B1*", "0F1"}


def test_split_backward() -> None:
    found = precedence(schedule("0F0 0B0", "1F0 1I0 1W0"))
    assert waits(found, "0B0") == {"1I0*", "0F0"}
    assert waits(found, "1I0") == {"1F0"}
    assert waits(found, "1W0") == {"1I0"}


def test_stages_on_one_device_do_not_cross() -> None:
    found = precedence(schedule("0F0 1F0 1B0 0B0", placement=[0, 0]))
    assert waits(found, "1F0") == {"0F0"}
    assert waits(found, "0B0") == {"1B0", "0F0"}
    assert not found.crosses.any()


def test_recomputation() -> None:
    found = precedence(schedule("0F0 0R0 0B0", "1F0 1R0 1I0 1W0"))
    assert waits(found, "0R0") == {"0F0"}
    assert waits(found, "0B0") == {"0F0", "0R0", "1I0*"}
    assert waits(found, "1I0") == {"1F0", "1R0"}


def test_slices_go_up_in_forward_and_down_in_backward() -> None:
    found = precedence(schedule("0F0.0 0F0.1 0B0.1 0B0.0", "1F0.0 1F0.1 1I0.1 1I0.0 1W0.0 1W0.1"))
    assert waits(found, "0F0.1") == {"0F0.0"}
    assert waits(found, "1F0.1") == {"1F0.0", "0F0.1*"}
    assert waits(found, "0B0.1") == {"1I0.1*", "0F0.1"}
    assert waits(found, "0B0.0") == {"1I0.0*", "0F0.0", "0B0.1"}
    assert waits(found, "1W0.0") == {"1I0.0"}


def test_pipes_are_apart() -> None:
    rows = ("0F0 2F0 2B0 0B0", "1F0 1B0 3F0 3B0")
    found = precedence(schedule(*rows, placement=[0, 1, 0, 1], pipes=[[0, 1], [3, 2]]))
    assert waits(found, "2F0") == {"3F0*"}
    assert waits(found, "3F0") == set()
    assert waits(found, "3B0") == {"2B0*", "3F0"}
    assert waits(found, "1F0") == {"0F0*"}


def test_pipes_of_different_length_in_micro_batches() -> None:
    rows = ("0F0 2F0 2F1 2B0 2B1 0B0", "1F0 3F0 3F1 1B0 3B0 3B1")
    found = precedence(schedule(*rows, placement=[0, 1, 0, 1], pipes=[[0, 1], [2, 3]]))
    assert waits(found, "3F1") == {"2F1*"}
    assert waits(found, "2B1") == {"3B1*", "2F1"}


def test_reduce_waits_for_the_last_gradient_of_its_stage() -> None:
    rows = "0F0 1F0 0F1 1F1 1B0 1I1 0B0 1W1 1REDUCE_GRAD 0B1 0REDUCE_GRAD"
    found = precedence(schedule(rows, placement=[0, 0]))
    assert waits(found, "1REDUCE_GRAD") == {"1W1"}
    assert waits(found, "0REDUCE_GRAD") == {"0B1"}


def test_reduce_before_the_last_gradient_is_a_deadlock() -> None:
    with pytest.raises(ScheduleError, match="0REDUCE_GRAD") as caught:
        precedence(schedule("0F0 0F1 0B0 0REDUCE_GRAD 0B1"))
    assert caught.value.cycle == ("0B1", "0REDUCE_GRAD")


def test_step_is_last_on_its_device() -> None:
    precedence(schedule("0F0 0B0 0REDUCE_GRAD STEP"))
    with pytest.raises(ScheduleError) as caught:
        precedence(schedule("0F0 0B0 STEP 0REDUCE_GRAD"))
    assert caught.value.cycle == ("0REDUCE_GRAD", "STEP")


def test_global_norm_joins_all_devices() -> None:
    order = schedule("0F0 0B0 0REDUCE_GRAD STEP", "1F0 1B0 1REDUCE_GRAD STEP")
    assert waits(precedence(order), "STEP") == set()
    joined = precedence(order, global_norm=True)
    assert waits(joined, "STEP") == {"0REDUCE_GRAD", "1REDUCE_GRAD*"}
    last = order.size - 1
    edges = range(int(joined.first[last]), int(joined.first[last + 1]))
    assert [int(joined.pred[e]) for e in edges] == [6, 2, 6]
    assert [bool(joined.crosses[e]) for e in edges] == [False, True, False]


def test_a_block_takes_what_both_members_wait_for() -> None:
    order = schedule("0F0 0F1 (0F2;0B0)OVERLAP_F_B 0B1 0B2", "1F0 1B0 1F1 1B1 1F2 1B2")
    apart = precedence(order)
    assert waits(apart, "0F2") == set()
    assert waits(apart, "0B0") == {"1B0*", "0F0"}
    block = precedence(order, block=True)
    assert waits(block, "0F2") == {"1B0*", "0F0"}
    assert waits(block, "0B0") == set()
    at = int(block.first[3])
    assert (block.kind[at], int(block.pred[at])) == (Edge.BLOCK, 2)
    assert Edge.BLOCK not in apart.kind


def test_a_block_that_waits_for_itself() -> None:
    order = schedule("0F0 (0F1;0B0)OVERLAP_F_B 0B1", "1F0 1B0 (1F1;1B1)OVERLAP_F_B")
    precedence(order)
    with pytest.raises(ScheduleError) as caught:
        precedence(order, block=True)
    assert caught.value.cycle == ("(1F1;1B1)OVERLAP_F_B",)


@pytest.mark.parametrize("interpreted", [-1, 10**6])
def test_the_order_is_topological(interpreted: int, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(kernels, "INTERPRETED", interpreted)
    found = precedence(schedule("0F0 0F1 0F2 0B0 0B1 0B2", "1F0 1B0 1F1 1B1 1F2 1B2"))
    place = np.empty(12, dtype=int)
    place[found.order] = np.arange(12)
    assert sorted(found.order.tolist()) == list(range(12))
    assert (place[found.pred] < place[found.successor()]).all()


def test_a_deadlock_is_shown_as_a_cycle() -> None:
    with pytest.raises(ScheduleError) as caught:
        precedence(schedule("0F0 0B0 0F1 0B1", "1F0 1F1 1B0 1B1"))
    error = caught.value
    assert error.code == "deadlock"
    assert error.cycle == ("0F1", "1F1", "1B0", "0B0")
    assert (error.rank, error.position) == (0, 1)
    assert str(error) == (
        "expected an order that can run, but there is a deadlock: 0B0 (rank 0, position 1), which waits for 1B0 (rank 1, position 2), "
        "which stands behind 1F1 (rank 1, position 1), which waits for 0F1 (rank 0, position 2), which stands behind 0B0"
    )


def test_the_shortest_cycle_is_shown() -> None:
    """Device 2 swaps two of its own, devices 0 and 1 wait for each other and everybody for device 2."""
    rows = ("0F0 0B0 0F1 0B1", "1F0 1F1 1B0 1B1", "2B0 2F0 2F1 2B1")
    with pytest.raises(ScheduleError) as caught:
        precedence(schedule(*rows))
    assert caught.value.cycle == ("2F0", "2B0")


def test_a_long_cycle_is_cut_in_the_message() -> None:
    """Each of 12 pipes of two stages starts on one device and wants the next one's second action first."""
    devices = 12
    rows = [f"{2 * ((d - 1) % devices) + 1}F0 {2 * d}F0" for d in range(devices)]
    placement = [device for d in range(devices) for device in (d, (d + 1) % devices)]
    pipes = [[2 * d, 2 * d + 1] for d in range(devices)]
    with pytest.raises(ScheduleError) as caught:
        precedence(schedule(*rows, placement=placement, pipes=pipes))
    assert len(caught.value.cycle) == 24
    assert "... (24 actions in all)" in str(caught.value)
    assert len(str(caught.value)) < 700


def test_an_incomplete_schedule_is_refused() -> None:
    with pytest.raises(ScheduleError) as caught:
        precedence(schedule("0F0 0B0", "1F0"))
    assert caught.value.code == "missing"
    with pytest.raises(ScheduleError):
        precedence(schedule("0F0 5F0", placement=[0]))
    with pytest.raises(ScheduleError):
        precedence(schedule("0F900000000"))
    half = schedule("0F0 (0F1;0B0)OVERLAP_F_B 0B1")
    with pytest.raises(ScheduleError):
        precedence(replace(half, paired=half.paired[::-1].copy() | (half.microbatch == 1)), block=True)


def test_an_empty_schedule() -> None:
    found = precedence(schedule("", ""[:0], placement=[], pipes=[]))
    assert (len(found.order), len(found.pred), found.first.tolist()) == (0, 0, [0])


def test_messages_join_the_starts_of_send_and_receive() -> None:
    rows = ("0F0 0SEND_F0 0RECV_B0 0B0", "1RECV_F0 1F0 1I0 1SEND_B0 1W0")
    found = precedence(schedule(*rows))
    assert waits(found, "0SEND_F0") == {"0F0"}
    assert waits(found, "1F0") == {"1RECV_F0"}
    assert waits(found, "1SEND_B0") == {"1I0"}
    assert waits(found, "0B0") == {"0F0", "0RECV_B0"}
    texts = [str(found.schedule.action(i)) for i in range(found.schedule.size)]
    joined = np.flatnonzero(found.kind == Edge.MESSAGE)
    pairs = {(texts[found.pred[e]], texts[found.successor()[e]]) for e in joined}
    assert pairs == {("0SEND_F0", "1RECV_F0"), ("1SEND_B0", "0RECV_B0")}
    assert found.crosses[joined].all()


def test_receives_in_the_way_are_a_deadlock() -> None:
    """Device 1 asks for F1 before it sends what device 0 waits for ahead of F1."""
    rows = (
        "0F0 0SEND_F0 0RECV_B0 0B0 0F1 0SEND_F1 0RECV_B1 0B1",
        "1RECV_F0 1F0 1RECV_F1 1B0 1SEND_B0 1F1 1B1 1SEND_B1",
    )
    with pytest.raises(ScheduleError) as caught:
        precedence(schedule(*rows))
    assert caught.value.code == "deadlock"
    assert set(caught.value.cycle) == {"0RECV_B0", "1SEND_B0", "1RECV_F1", "0SEND_F1"}


def test_a_message_without_its_other_end_is_refused() -> None:
    for rows in (("0F0 0B0", "1RECV_F0 1F0 1B0"), ("0RECV_F0 0F0 0B0", "1F0 1B0"), ("0SEND_F0", "1F0")):
        with pytest.raises(ScheduleError):
            precedence(schedule(*rows))
