"""Chains of causes: without gaps, back to the origin."""

from __future__ import annotations

from dataclasses import replace
from itertools import pairwise

import numpy as np
import pytest

from pipefill_opt.errors import InputError
from pipefill_opt.schedule.actions import Kind
from pipefill_opt.schedule.families import build_family
from pipefill_opt.timeline.causes import Releases, Step, chain, releases
from pipefill_opt.timeline.compute import timeline
from pipefill_opt.timeline.critical import critical_path
from pipefill_opt.timeline.timeline import Timeline
from pipefill_opt.workload.costs import Boundary, Communication, Durations, MainJob, Mode
from tests.timeline.jobs import half_tick_job, rows_job
from tests.timeline.random_jobs import random_job


def told(result: Timeline, steps: tuple[Step, ...]) -> list[tuple[str, int, int, str]]:
    """(action, work, message, edge) of each step."""
    return [(str(result.main.schedule.action(s.action)), s.work, s.message, s.edge) for s in steps]


def chains(result: Timeline, released: Releases, device: int) -> list[list[tuple[str, int, int, str]]]:
    table = result.bubble_table
    return [
        told(result, chain(result, released, i)) for i in range(int(table.first[device]), int(table.first[device + 1]))
    ]


def test_a_pipeline_of_two_by_hand() -> None:
    """F = 10, B = 20, B = 26 on stage 1, lag 1.

    Stage 0: F0 0-10, F1 10-20, B0 48-68, B1 84-104; stage 1: F0 11-21, B0 21-47, F1 47-57, B1 57-83.
    """
    result = timeline(rows_job("0F0 0F1 0B0 0B1", "1F0 1B0 1F1 1B1", F=10, B=(20, 26), lag=1))
    released = releases(result)
    assert result.period == 104
    assert chains(result, released, 0) == [
        [("1F0", 1, 0, "data"), ("1B0", 26, 1, "data")],
        [("1B1", 15, 1, "data")],
    ]
    assert chains(result, released, 1) == [[("1B1", 0, 1, "data"), ("0B1", 20, 0, "barrier"), ("0F0", 10, 1, "data")]]
    schedule = result.main.schedule
    firsts = [chain(result, released, index)[0].action for index in range(3)]
    origins = [str(schedule.action(int(released.origin[action]))) for action in firsts]
    assert origins == ["0F0", "1B1", "1B1"]
    assert [name for name, *_ in told(result, critical_path(result, released))] == [
        "0F0", "1F0", "1B0", "1F1", "1B1", "0B1",
    ]  # fmt: skip


def test_a_device_without_work_waits_for_nothing() -> None:
    result = timeline(rows_job("0F0 0B0", "", placement=[0]))
    released = releases(result)
    assert chains(result, released, 1) == [[]]


def test_no_work_at_all() -> None:
    result = timeline(rows_job("", placement=[0], pipes=[[0]]))
    assert critical_path(result, releases(result)) == ()


def test_a_message_that_queues_for_its_link_is_told() -> None:
    """Two stages on device 0 send to device 1 at nearly the same time."""
    job = rows_job("0F0 2F0", "1F0 3F0", placement=[0, 1, 0, 1], pipes=[[0, 1], [2, 3]], F=(5, 1, 1, 1))
    job = replace(job, communication=Communication(lag=10, mode=Mode.LINK, occupancy=10))
    result = timeline(job)
    edges = [
        step.edge
        for steps in (chain(result, releases(result), i) for i in range(len(result.bubble_table.start)))
        for step in steps
    ]
    assert "link" in edges


def test_a_critical_cycle_over_two_iterations() -> None:
    """In half ticks: T = 7, and the cycle of 14 goes around both devices."""
    result = timeline(half_tick_job())
    assert (result.period, result.scale) == (7, 2)
    path = critical_path(result, releases(result))
    told_steps = told(result, path)
    assert sorted(told_steps) == [
        ("0F0", 4, 2, "data"), ("1F0", 2, 0, "order"), ("2F0", 2, 2, "data"), ("3F0", 2, 0, "order"),
    ]  # fmt: skip
    assert [step.crosses for step in path] == [False, True, False, True]


MODES = (Mode.LAG, Mode.LINK, Mode.BLOCKING)


@pytest.mark.parametrize("boundary", Boundary)
@pytest.mark.parametrize("mode", MODES)
@pytest.mark.parametrize("seed", range(25))
def test_random_jobs(seed: int, mode: Mode, boundary: Boundary) -> None:
    job = random_job(seed)
    communication = replace(job.communication, mode=mode, occupancy=job.communication.lag)
    try:
        result = timeline(replace(job, communication=communication, boundary=boundary))
    except InputError:  # a deadlock of blocks, or flow with links
        return
    released, table = releases(result), result.bubble_table
    device = result.main.schedule.device()
    for index in range(len(table.start)):
        steps = chain(result, released, index)
        if table.next_action[index] < 0:
            assert steps == ()
            continue
        length, total = int(table.length[index]), sum(step.work + step.message for step in steps)
        assert total == length if boundary is Boundary.BARRIER else total <= length
        assert all(step.work >= 0 and step.message >= 0 for step in steps)
        assert all(a.start <= b.start for a, b in pairwise(steps))
        if steps:
            assert steps[-1].action == table.cause_action[index]
            assert steps[0].start <= int(result.start[table.next_action[index]]) - length or boundary is Boundary.FLOW
    origin = released.origin
    assert np.array_equal(origin[origin], origin)
    for action in origin.tolist():
        by = int(released.action[action])
        assert by < 0 or released.before[action] or device[by] == device[action]
    path = critical_path(result, released)
    total = sum(step.work + step.message for step in path)
    if boundary is Boundary.BARRIER:
        assert total == result.makespan
    else:  # a cycle whose mean is the period
        assert total == result.period * sum(step.crosses for step in path)
        assert len({step.action for step in path}) == len(path)
        assert any(step.crosses for step in path)


def test_origins_of_a_large_schedule_are_found() -> None:
    """The last stage is slow: what devices wait for in the steady phase comes from it, 15 devices away."""
    schedule = build_family("1f1b", 16, 64)
    times = {Kind.F: (10,) * 16, Kind.B: (*(20,) * 15, 26)}
    result = timeline(MainJob(schedule, Durations(times), Communication(1)))
    released, table = releases(result), result.bubble_table
    steady = [i for i in range(int(table.first[1])) if table.length[i] and i > 2]
    origins = {int(schedule.stage[released.origin[chain(result, released, i)[0].action]]) for i in steady}
    assert origins == {15}
