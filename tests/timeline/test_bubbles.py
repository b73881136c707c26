"""Kinds, phases, causes, slack and free bytes of bubbles, by hand."""

from __future__ import annotations

from fractions import Fraction

import pytest

from pipefill_opt.schedule.actions import Kind
from pipefill_opt.schedule.families import build_family
from pipefill_opt.timeline.compute import timeline
from pipefill_opt.timeline.timeline import Bubble, Cause
from pipefill_opt.workload.costs import Communication, Durations, MainJob
from tests.timeline.jobs import memory_of, rows_job


def family_job(name: str, devices: int, microbatches: int, forward: int, backward: int, lag: int = 0) -> MainJob:
    schedule = build_family(name, devices, microbatches)
    times = {Kind.F: (forward,) * schedule.stages, Kind.B: (backward,) * schedule.stages}
    return MainJob(schedule, Durations(times), Communication(lag))


def brief(bubble: Bubble) -> tuple[int, int, str, str]:
    return bubble.start, bubble.length, bubble.kind, bubble.phase


def test_two_stages_by_hand() -> None:
    main = rows_job(
        "0F0 0F1 0B0 0B1", "1F0 1B0 1F1 1B1", memory=memory_of(2, 2, capacity=50, reserve=1, static=10, activation=3)
    )
    result = timeline(main)
    assert (result.makespan, result.span, result.busy.tolist()) == (9, 9, [6, 6])
    first, second = result.bubbles
    assert [brief(bubble) for bubble in first] == [(2, 2, "fwd-bwd", "warm-up"), (6, 1, "inner", "cool-down")]
    assert first[0].cause == Cause(action=5, device=1, edge="data")
    assert (first[0].slack, first[0].next_action, first[0].free) == (1, 2, 50 - 1 - 16)
    assert (first[1].slack, first[1].next_action, first[1].free) == (0, 3, 50 - 1 - 13)
    assert [brief(bubble) for bubble in second] == [(7, 3, "fill-drain", "cool-down")]
    assert second[0].cause == Cause(action=0, device=0, edge="data")
    assert second[0].free == 50 - 1 - 10
    assert result.bubble_ratio == Fraction(6, 18)


def test_a_bubble_that_starts_at_zero() -> None:
    """Device 1 works up to the end of the iteration: its fill begins with the iteration."""
    result = timeline(rows_job("0F0", "1F0"))
    assert [brief(bubble) for bubble in result.bubbles[0]] == [(1, 1, "fill-drain", "cool-down")]
    assert result.bubbles[0][0].cause == Cause(action=1, device=1, edge="barrier")
    assert [brief(bubble) for bubble in result.bubbles[1]] == [(0, 1, "fill-drain", "warm-up")]
    assert result.bubbles[1][0].cause == Cause(action=0, device=0, edge="data")


def test_sync_bubbles_end_at_reduce_or_step() -> None:
    rows = ("0F0 0B0 0REDUCE_GRAD STEP", "1F0 1B0 1REDUCE_GRAD STEP")
    result = timeline(rows_job(*rows, REDUCE=(1, 7), step=(1, 1), global_norm=True))
    assert brief(result.bubbles[0][1]) == (7, 4, "sync", "cool-down")
    assert result.bubbles[0][1].cause == Cause(action=6, device=1, edge="data")


def test_actions_of_length_zero_do_not_split_a_bubble() -> None:
    result = timeline(rows_job("0F0 0REDUCE_GRAD 0UNSHARD 0RESHARD", "1F0"))
    assert [len(bubbles) for bubbles in result.bubbles] == [1, 1]
    split = timeline(rows_job("0F0 0F1 0B0 0B1", "1F0 1F1 1B0 1B1", F=(1, 0), B=(2, 5)))
    assert [brief(bubble) for bubble in split.bubbles[0]] == [
        (2, 5, "fwd-bwd", "warm-up"),
        (9, 3, "inner", "cool-down"),
    ]
    assert [brief(bubble) for bubble in split.bubbles[1]] == [(12, 4, "fill-drain", "cool-down")]


def test_a_device_without_work_is_one_bubble() -> None:
    main = rows_job("0F0 0B0", "", placement=[0], memory=memory_of(2, 1, static=10))
    (bubble,) = timeline(main).bubbles[1]
    assert brief(bubble) == (0, 3, "fill-drain", "steady")
    assert (bubble.cause, bubble.next_action, bubble.slack) == (Cause(None, None, "barrier"), None, 3)
    assert bubble.free == 90


def test_no_time_no_bubbles() -> None:
    for main in (rows_job("0F0 0B0", "1F0 1B0", F=0, B=0), rows_job("", placement=[])):
        result = timeline(main)
        assert (result.period, result.bubble_ratio) == (0, 0)
        assert [len(bubbles) for bubbles in result.bubbles] == [0] * main.schedule.devices


def test_ties_of_the_cause_go_to_the_other_device() -> None:
    """1B0 is released at one time by its row (1F1, which takes no time) and by stage 2."""
    result = timeline(rows_job("0F0 0F1 0B0 0B1", "1F0 1F1 1B0 1B1", "2F0 2B0 2F1 2B1", F=(2, 0, 1), B=1))
    bubble = result.bubbles[1][-1]
    schedule = result.main.schedule
    assert bubble.next_action is not None
    assert bubble.cause.action is not None
    assert str(schedule.action(bubble.next_action)) == "1B0"
    assert str(schedule.action(bubble.cause.action)) == "2B0"
    assert (bubble.cause.edge, bubble.cause.device) == ("data", 2)
    assert int(result.end[schedule.row_start[1] + 1]) == result.start[bubble.next_action]


def test_ties_of_the_cause_go_to_the_smaller_stage() -> None:
    rows = [f"{stage}F0 {stage}REDUCE_GRAD STEP" for stage in range(3)]
    result = timeline(rows_job(*rows, F=(1, 1, 0), REDUCE=(1, 3, 3), step=(1, 1, 1), global_norm=True))
    assert brief(result.bubbles[0][0]) == (2, 3, "sync", "cool-down")
    assert result.bubbles[0][0].cause == Cause(action=4, device=1, edge="data")


def test_ties_of_the_barrier() -> None:
    """Three devices apart; the iteration is over when devices 1 and 2 are."""
    main = rows_job("0F0", "1F0", "2F0", F=(1, 2, 2), pipes=[[0], [1], [2]])
    assert timeline(main).bubbles[0][0].cause == Cause(action=1, device=1, edge="barrier")


def test_ties_of_the_barrier_go_to_the_other_device() -> None:
    """The STEPs take no time and end with the iteration, the own one too."""
    rows = ("0F0 0REDUCE_GRAD STEP", "1F0 1REDUCE_GRAD STEP")
    (bubble,) = timeline(rows_job(*rows, REDUCE=(0, 4), global_norm=True)).bubbles[0]
    assert (bubble.start, bubble.length, bubble.cause) == (1, 5, Cause(action=5, device=1, edge="barrier"))


def test_ties_of_the_cause_go_to_the_smaller_micro_batch() -> None:
    """A block waits for 1F1 and for 1B0, which takes no time: both are there at 11."""
    rows = ("0F0 0F1 2F0 2B0 (2F1;0B0)OVERLAP_F_B 2B1 0B1", "1F0 1F1 1B0 1B1")
    result = timeline(rows_job(*rows, placement=[0, 1, 0], F=(1, 5, 1), B=(2, 0, 2), overlap=3))
    bubble = next(bubble for bubble in result.bubbles[0] if bubble.next_action == 4)
    schedule = result.main.schedule
    assert bubble.start + bubble.length == 11
    assert bubble.cause.action is not None
    assert [str(schedule.action(i)) for i in (4, bubble.cause.action)] == ["2F1", "1B0"]
    assert result.end[schedule.row_start[1] + 1] == 11


def test_a_block_is_one_action() -> None:
    rows = ("0F0 0F1 (0F2;0B0)OVERLAP_F_B 0B1 0B2", "1F0 1B0 1F1 1B1 1F2 1B2")
    result = timeline(rows_job(*rows, overlap=3))
    assert result.start.tolist()[:5] == [0, 1, 4, 4, 7]
    assert result.end.tolist()[:5] == [1, 2, 7, 7, 9]
    assert result.busy.tolist() == [9, 9]
    bubble = result.bubbles[0][0]
    assert brief(bubble) == (2, 2, "fwd-bwd", "warm-up")
    assert (bubble.next_action, bubble.cause.action) == (2, 7)


def test_a_pair_one_after_the_other_may_wait_inside() -> None:
    rows = ("0F0 (0F1;0B0)OVERLAP_F_B 0B1", "1F0 1B0 1F1 1B1")
    result = timeline(rows_job(*rows))
    assert brief(result.bubbles[0][0]) == (2, 2, "fwd-bwd", "warm-up")
    assert result.bubbles[0][0].next_action == 2


def test_bubbles_are_a_sequence() -> None:
    bubbles = timeline(family_job("1f1b", 4, 8, 1, 2)).bubbles[1]
    listed = list(bubbles)
    assert len(listed) == len(bubbles) > 3
    assert bubbles[-1] == listed[-1]
    assert bubbles[1:3] == tuple(listed[1:3])
    assert [bubble.start for bubble in listed] == sorted(bubble.start for bubble in listed)
    with pytest.raises(IndexError):
        bubbles[len(listed)]


@pytest.mark.parametrize("devices", [1, 2, 3, 5, 8])
def test_gpipe_and_1f1b_by_kind(devices: int) -> None:
    """The closed forms of both papers' bubbles: per stage and kind, equal stages, no lag."""
    forward, backward = 3, 5
    for microbatches in range(1, 3 * devices):
        for name in ("gpipe", "1f1b"):
            result = timeline(family_job(name, devices, microbatches, forward, backward))
            assert result.makespan == (microbatches + devices - 1) * (forward + backward)
            assert result.bubble_ratio == Fraction(devices - 1, microbatches + devices - 1)
            for stage, bubbles in enumerate(result.bubbles):
                behind = devices - 1 - stage
                idle = dict.fromkeys(("fill-drain", "fwd-bwd", "inner", "sync"), 0)
                for bubble in bubbles:
                    idle[bubble.kind] += bubble.length
                contiguous = behind * backward + max(0, devices - stage - microbatches) * forward
                inner = min(behind, microbatches - 1) * forward
                if name == "gpipe":
                    contiguous, inner = behind * (forward + backward), 0
                expected = {
                    "fill-drain": stage * (forward + backward),
                    "fwd-bwd": contiguous,
                    "inner": inner,
                    "sync": 0,
                }
                assert idle == expected, (name, devices, microbatches, stage)


@pytest.mark.parametrize("devices", [1, 2, 3, 4, 7])
@pytest.mark.parametrize("lag", [0, 1, 4])
def test_1f1b_with_lag(devices: int, lag: int) -> None:
    """(m + p - 1)(F + B) + C(2(p - 1)m/p + 2p - 4) where p divides m; p = 1 has no edge between devices."""
    for laps in (1, 2, 3, 5):
        microbatches = laps * devices
        main = family_job("1f1b", devices, microbatches, 7, 11, lag)
        extra = lag * (2 * (devices - 1) * laps + 2 * devices - 4) if devices > 1 else 0
        assert timeline(main).makespan == (microbatches + devices - 1) * 18 + extra
