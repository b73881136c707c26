"""Traces of timelines and plans keep the rules of the format and show what is there."""

from __future__ import annotations

from dataclasses import replace
from decimal import Decimal

import pytest

from pipefill_opt.errors import InputError
from pipefill_opt.fill.plan import FillPlan
from pipefill_opt.fill.problem import FillProblem
from pipefill_opt.fill.read import instance_from_document
from pipefill_opt.schedule.actions import Kind
from pipefill_opt.schedule.families import FAMILIES, build_family
from pipefill_opt.solve.facade import solve
from pipefill_opt.timeline.compute import timeline
from pipefill_opt.timeline.timeline import Timeline
from pipefill_opt.traces.perfetto import main_trace, plan_trace
from pipefill_opt.workload.costs import Boundary, Communication, Durations, MainJob, Memory, Mode
from tests.report.samples import DOCUMENT, MS, plan, problem
from tests.timeline.jobs import half_tick_job
from tests.timeline.random_jobs import random_job
from tests.traces.rules import Event, read_trace


def result(devices: int, microbatches: int, family: str = "1f1b", overlap: int | None = None) -> Timeline:
    schedule = build_family(family, devices, microbatches)
    stages = schedule.stages
    by_stage = dict.fromkeys((Kind.F, Kind.B, Kind.I, Kind.W), (10_001,) * stages)
    memory = Memory(
        (16,) * devices, (1,) * devices, (2,) * devices, (1,) * stages, (0,) * stages, (0,) * stages, (0,) * stages
    )
    durations = Durations(by_stage, overlap_length=overlap)
    return timeline(MainJob(schedule, durations, Communication(7), memory))


def slices(events: list[Event], category: str, track: int) -> list[tuple[int, int, str]]:
    """(start, end, name) in ns."""
    return [
        (int(e["ts"] * 1000), int((e["ts"] + e["dur"]) * 1000), e["name"])
        for e in events
        if e["ph"] == "X" and e["cat"] == category and e["tid"] == track
    ]


def test_one_iteration() -> None:
    """1F1B, p = 2, m = 2: work and bubbles tile each track, four messages, memory from 2 bytes of static data on."""
    given = result(2, 2)
    events = read_trace(main_trace(given))
    assert [e["args"]["name"] for e in events if e["name"] == "thread_name"] == ["device 0", "device 1"]
    for track in (1, 2):
        pieces = sorted(slices(events, "main", track) + slices(events, "bubble", track))
        assert [start for start, _, _ in pieces] == [0, *(end for _, end, _ in pieces[:-1])]
        assert pieces[-1][1] == given.period
    assert [name for _, _, name in slices(events, "main", 1)] == ["0F0", "0F1", "0B0", "0B1"]
    flows = [(e["ph"], e["name"], e["tid"], int(e["ts"] * 1000)) for e in events if e["ph"] in "sf"]
    assert flows[:2] == [("s", "0F0", 1, 10_000), ("f", "0F0", 2, 10_008)]
    assert sorted(name for ph, name, *_ in flows if ph == "s") == ["0F0", "0F1", "1B0", "1B1"]
    memory = [e["args"]["main"] for e in events if e["ph"] == "C" and e["name"] == "device 0 memory"]
    assert memory == [3, 4, 3, 2]


@pytest.mark.parametrize("family", FAMILIES)
def test_every_family(family: str) -> None:
    given = result(4, 8, family)
    events = read_trace(main_trace(given))
    busy = [sum(end - start for start, end, _ in slices(events, "main", track)) for track in range(1, 5)]
    assert busy == given.busy.tolist()


def test_a_block_is_one_slice() -> None:
    events = read_trace(main_trace(result(4, 10, "dualpipev", overlap=15_000)))
    names = [name for _, _, name in slices(events, "main", 1)]
    assert any(name.startswith("(") and ";" in name for name in names)
    assert len(names) < 4 * 10


@pytest.mark.parametrize("boundary", Boundary)
@pytest.mark.parametrize("mode", Mode)
@pytest.mark.parametrize("seed", range(20))
def test_random_jobs(seed: int, mode: Mode, boundary: Boundary) -> None:
    job = random_job(seed)
    communication = replace(job.communication, mode=mode, occupancy=job.communication.lag)
    try:
        given = timeline(replace(job, communication=communication, boundary=boundary))
    except InputError:  # a deadlock of blocks, or flow with links
        return
    read_trace(main_trace(given))


def test_blocking_messages_go_from_send_to_receive() -> None:
    job = result(2, 2).main
    given = timeline(replace(job, communication=Communication(7, Mode.BLOCKING)))
    events = read_trace(main_trace(given))
    assert sorted(e["name"] for e in events if e["ph"] == "s") == ["0SEND_F0", "0SEND_F1", "1SEND_B0", "1SEND_B1"]


def test_half_ticks_are_cut_to_nanoseconds() -> None:
    """In half ticks 0F0 runs from 0 to 4 and 3F0 after it, each device a little less than all the time."""
    events = read_trace(main_trace(timeline(half_tick_job())))
    assert all(e["ts"] + e["dur"] <= Decimal("0.003") for e in events if e["ph"] == "X")
    assert {name for track in (1, 2) for _, _, name in slices(events, "main", track)} == {"0F0", "1F0", "2F0", "3F0"}


def test_a_plan_in_bubbles_without_a_main_job() -> None:
    """The times are those of tests.report.samples.plan."""
    events = read_trace(plan_trace(problem(), plan()))
    assert [e["args"]["name"] for e in events if e["name"] == "thread_name"] == ["a x 2", "a x 1"]
    assert [(start // MS, end // MS, name) for start, end, name in slices(events, "fill", 1)] == [
        (22, 26, "kept"), (22, 26, "x"), (30, 35, "swapped"), (30, 35, "z"), (92, 98, "kept"), (92, 98, "y"),
    ]  # fmt: skip
    assert [(start // MS, end // MS) for start, end, _ in slices(events, "switch", 1)] == [
        (20, 22), (26, 30), (35, 38), (90, 92), (98, 99),
    ]  # fmt: skip
    assert [(start // MS, end // MS) for start, end, _ in slices(events, "main", 2)] == [(10, 20), (50, 90)]
    assert slices(events, "fill", 2) == []
    held = [
        (int(e["ts"]) // 1000, e["args"]["fill"] // 10**9) for e in events if e["ph"] == "C" and "track 1" in e["name"]
    ]
    assert held[:4] == [(0, 1), (22, 3), (26, 2), (29, 3)]


def test_fill_work_that_passes_the_end_comes_round() -> None:
    bubbles = [{"start": "96ms", "length": "30ms", "free": "5GB", "kind": "fill-drain"}]
    device = {**DOCUMENT["devices"][0], "bubbles": bubbles}  # type: ignore[index]
    given = instance_from_document({**DOCUMENT, "devices": [device]})
    events = read_trace(plan_trace(given, solved(given)))
    work = slices(events, "fill", 1)
    assert min(start for start, _, _ in work) == 0
    assert max(end for _, end, _ in work) == 100 * MS


def solved(given: FillProblem) -> FillPlan:
    found = solve(given, solver="greedy-all").plan
    assert found is not None
    return found


def test_a_plan_in_a_main_job(tmp_path: object) -> None:
    """Two iterations: main work twice, messages between the devices in both, fill work inside the bubbles."""
    given = result(2, 4)
    main = replace(
        given.main,
        memory=Memory((16 * 10**9,) * 2, (0,) * 2, (10**9,) * 2, (10**8,) * 2, (0,) * 2, (0,) * 2, (0,) * 2),
    )
    times = timeline(main)
    classes = tuple(
        replace(
            problem().devices[0], name=f"device{d}", count=1, main_device=d,
            bubbles=tuple(replace(problem().devices[0].bubbles[0], start=b.start, length=b.length) for b in times.bubbles[d]),
        )
        for d in range(2)
    )  # fmt: skip
    jobs = tuple(replace(job, devices=("device0", "device1")) for job in problem().jobs)
    small = replace(problem().switch, enter=1, leave=1, between=1)
    operators = tuple(replace(o, duration=3_000) for o in jobs[0].configurations[0].operators)
    job = replace(jobs[0], configurations=(replace(jobs[0].configurations[0], operators=operators),))
    two = replace(problem(), period=times.period, iterations=2, devices=classes, jobs=(job,), switch=small, main=main)
    events = read_trace(plan_trace(two, solved(two)))
    assert [name for _, _, name in slices(events, "main", 1)].count("0F0") == 2
    assert len([e for e in events if e["ph"] == "s"]) == 2 * 8
    assert len(slices(events, "fill", 1)) > 4
    assert {key for e in events if e["ph"] == "C" for key in e["args"]} == {"main", "fill"}


def test_a_job_without_work() -> None:
    given = timeline(MainJob(build_family("gpipe", 1, 1), Durations({Kind.F: (0,), Kind.B: (0,)})))
    assert [e["dur"] for e in read_trace(main_trace(given)) if e["ph"] == "X"] == [0, 0]
