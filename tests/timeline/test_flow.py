"""`flow`: the exact period against the slope of a long explicit simulation, the earliest 1-periodic schedule, and its bubbles."""

from __future__ import annotations

import csv
import io
import json
from collections.abc import Sequence
from dataclasses import replace
from fractions import Fraction
from itertools import pairwise
from math import lcm
from random import Random
from typing import TypeAlias

import numpy as np
import pytest

from pipefill_opt import kernels
from pipefill_opt.errors import InputError
from pipefill_opt.report.bubbles import bubbles_csv, bubbles_json, bubbles_text
from pipefill_opt.schedule.actions import Action
from pipefill_opt.timeline.compute import timeline
from pipefill_opt.timeline.memory import memory_steps, usage
from pipefill_opt.timeline.timeline import Timeline
from pipefill_opt.timeline.times import flow_period
from pipefill_opt.units import format_time
from pipefill_opt.workload.costs import Boundary, Communication, MainJob, Mode
from pipefill_opt.workload.main_file import main_from_document
from pipefill_opt.workload.weights import is_block
from tests.cases import cases_folder
from tests.timeline.event_simulation import Simulation
from tests.timeline.jobs import memory_of, rows_job
from tests.timeline.random_jobs import random_job

Time: TypeAlias = Fraction | int

SEEDS = range(2000, 2160)
BATCH = 20


def flow(main: MainJob) -> MainJob:
    return replace(main, boundary=Boundary.FLOW)


def ring(seed: int) -> MainJob:
    """Each device sends to the next one in a ring, and then works on what it has got: with a long lag, the cycle goes round the ring."""
    random = Random(seed)
    devices, microbatches = random.randint(2, 4), random.randint(1, 3)
    placement = [place % devices for device in range(devices) for place in (device, device + 1)]
    rows = []
    for device in range(devices):
        stages = (2 * device, 2 * ((device - 1) % devices) + 1)
        rows.append(" ".join(f"{stage}F{m}" for stage in stages for m in range(microbatches)))
    pipes = [[2 * device, 2 * device + 1] for device in range(devices)]
    ticks = tuple(random.randint(1, 9) for _ in placement)
    memory = memory_of(devices, 2 * devices, activation=5, static=7)
    return flow(rows_job(*rows, placement=placement, pipes=pipes, lag=random.randint(5, 30), memory=memory, F=ticks))


def random_flow(seed: int) -> MainJob | None:
    """A job that can run, with lags or blocking messages; None if it cannot."""
    if seed % 4 == 0:
        return ring(seed)
    main, random = random_job(seed), Random(seed)
    if random.random() < 0.3:
        main = replace(main, communication=Communication(random.choice([1, 3]), Mode.BLOCKING))
    return None if Simulation(main).stuck else flow(main)


class Unrolled:
    """Iterations one after the other, without a barrier; each row in its own order. Of the simulation it takes edges and lengths only."""

    def __init__(self, main: MainJob) -> None:
        self.simulation = Simulation(main)
        start = self.simulation.start
        self.order: list[tuple[int, int]] = []  # (device, position), all that an entry waits for before it
        done: set[tuple[int, Action]] = set()
        position = [0] * len(self.simulation.rows)
        while len(done) < len(start):
            for device, row in enumerate(self.simulation.rows):
                while position[device] < len(row) and all(
                    (wait.device, wait.action) in done for wait in self.simulation.waits(device, position[device])
                ):
                    self.order.append((device, position[device]))
                    done |= {(device, action) for action in row[position[device]]}
                    position[device] += 1

    def iteration(
        self, ready: Sequence[Time], late: tuple[int, Action] | None = None, ticks: Time = 0
    ) -> tuple[dict[tuple[int, Action], Time], list[Time]]:
        """Starts of one iteration whose devices are ready at these times, and when each has ended. One action may wait for `ticks`."""
        simulation = self.simulation
        starts: dict[tuple[int, Action], Time] = {}
        ends: dict[tuple[int, Action], Time] = {}
        after = list(ready)
        for device, position in self.order:
            entry, arrivals = simulation.rows[device][position], [after[device]]
            for wait in simulation.waits(device, position):
                place = (wait.device, wait.action)
                if wait.device == device:
                    arrivals.append(ends[place])
                elif wait.action.kind.name.startswith("SEND"):
                    arrivals.append(starts[place])
                else:
                    arrivals.append(ends[place] + simulation.main.communication.lag)
            begin = max(arrivals) + (ticks if (device, entry[0]) == late else 0)
            for action in entry:
                starts[device, action] = begin
                ends[device, action] = begin + simulation.length(device, entry)
            after[device] = begin + simulation.length(device, entry)
        return starts, after


def slope(main: MainJob) -> Fraction:
    """Ticks an iteration takes in a long run: the latest end grows by the same amount in each round of `rounds` iterations."""
    unrolled = Unrolled(main)
    devices = len(unrolled.simulation.rows)
    rounds = lcm(*range(1, devices + 1))
    ready: list[Time] = [0] * devices
    latest: list[Time] = [0]
    for _ in range(120 + 2 * rounds):
        ready = unrolled.iteration(ready)[1]
        latest.append(max(ready))
    found = latest[-1] - latest[-1 - rounds]
    assert found == latest[-1 - rounds] - latest[-1 - 2 * rounds]
    return Fraction(found, rounds)


def earliest(main: MainJob, period: Fraction) -> dict[tuple[int, Action], Time]:
    """Starts of an iteration when each device is ready at 0, or `period` after its own end if that is later."""
    unrolled = Unrolled(main)
    ready: list[Time] = [0] * len(unrolled.simulation.rows)
    while True:
        starts, after = unrolled.iteration(ready)
        later = [max(old, end - period) for old, end in zip(ready, after, strict=True)]
        if later == ready:
            return starts
        ready = later


@pytest.mark.parametrize("batch", range(0, len(SEEDS), BATCH))
def test_period_and_starts(batch: int, monkeypatch: pytest.MonkeyPatch) -> None:
    if batch % (4 * BATCH) == 0:
        monkeypatch.setattr(kernels, "INTERPRETED", -1)
    for seed in SEEDS[batch : batch + BATCH]:
        main = random_flow(seed)
        if main is None:
            continue
        result = timeline(main)
        period = result.ticks(result.period)
        assert period == slope(main) == flow_period(replace(main, boundary=Boundary.BARRIER))
        schedule = result.main.schedule
        starts = earliest(main, period)
        keys = zip(schedule.device().tolist(), map(schedule.action, range(schedule.size)), strict=True)
        assert list(map(result.ticks, result.start.tolist())) == [starts[key] for key in keys]
        alone = timeline(replace(main, boundary=Boundary.BARRIER))
        assert (result.ticks(result.makespan), result.ticks(result.span)) == (alone.makespan, alone.span)
        assert max(alone.busy.tolist(), default=0) <= period <= alone.span <= alone.makespan
        check_bubbles(result)
        check_slack(result, main, seed)


def check_slack(result: Timeline, main: MainJob, seed: int) -> None:
    """A wait of the slack leaves the next iteration as it is on all devices; one unit more does not."""
    unrolled, schedule = Unrolled(main), result.main.schedule
    rows = range(schedule.devices)
    period = result.ticks(result.period)
    first = [result.ticks(int(result.start[schedule.row_start[d]])) if list(schedule.row(d)) else None for d in rows]
    ready = [start or Fraction(0) for start in first]
    device = schedule.device()
    for index in Random(seed).sample(range(schedule.size), min(3, schedule.size)):
        if index and is_block(main) and schedule.paired[index - 1]:
            continue
        slack = result.ticks(int(result.slack[index]))
        for more, holds in ((Fraction(0), True), (Fraction(1, 7), False)):
            ends = unrolled.iteration(ready, (int(device[index]), schedule.action(index)), slack + more)[1]
            assert holds == all(s is None or e <= s + period for s, e in zip(first, ends, strict=True))


def check_bubbles(result: Timeline) -> None:
    """They are what the rows leave of the period; free bytes are those of all iterations under way."""
    schedule, period = result.main.schedule, result.period
    for device in range(schedule.devices):
        row = slice(int(schedule.row_start[device]), int(schedule.row_start[device + 1]))
        spans = [(a, b) for a, b in zip(result.start[row].tolist(), result.end[row].tolist(), strict=True) if b > a]
        spans += [(b.start, b.start + b.length) for b in result.bubbles[device]]
        pieces = sorted({piece for a, b in spans for piece in cut(a, b, period)})
        assert sum(b - a for a, b in pieces) == period
        assert all(before[1] == after[0] for before, after in pairwise(pieces))
        for bubble in result.bubbles[device]:
            assert 0 <= bubble.start < period
            assert bubble.slack >= 0
            if bubble.cause.action is not None and bubble.next_action is not None:
                assert bubble.cause.edge in ("data", "order")
            check_free(result, device, bubble.start, bubble.length, bubble.free)
        check_steps(result, device)


def cut(start: int, end: int, period: int) -> list[tuple[int, int]]:
    """[start, end) in the cyclic period, in pieces."""
    length, start = end - start, start % period
    return [(start, min(period, start + length)), *([(0, start + length - period)] if start + length > period else [])]


def level(result: Timeline, device: int, time: int) -> int:
    """Bytes in use at a time of the period: what each iteration under way holds then, added up."""
    memory, schedule = result.main.memory, result.main.schedule
    assert memory is not None
    steps = memory_steps(schedule, memory, result.start, result.end, block=is_block(result.main))
    times, sizes = steps.device(device)
    static = memory.static[device]
    since = [time + shift * result.period for shift in range(int(times[-1]) // result.period + 2)]
    return static + sum(int(sizes[np.searchsorted(times, at, side="right") - 1]) - static for at in since)


def check_free(result: Timeline, device: int, start: int, length: int, free: int | None) -> None:
    memory = result.main.memory
    assert memory is not None
    times, _ = (column.tolist() for column in usage(result, device))
    inside = [start, *(t for t in times if any(start < t + k * result.period < start + length for k in (0, 1)))]
    most = max(level(result, device, time % result.period) for time in inside)
    assert free == memory.capacity[device] - memory.reserve[device] - most


def check_steps(result: Timeline, device: int) -> None:
    times, sizes = (column.tolist() for column in usage(result, device))
    assert times[0] == 0
    assert times == sorted(set(times))
    if result.period:
        assert times[-1] < result.period
        assert sizes == [level(result, device, time) for time in times]


def test_published_periods() -> None:
    """Neither makespan nor span."""
    cases = json.loads((cases_folder("flow") / "flow_periods.json").read_text())
    found = []
    for case in cases:
        ticks = {"unit": "ns", "F": 1, "I": 1, "W": 1, "actions": case["durations"]}
        document = {
            "schedule": {"actions": case["actions"]},
            "durations": ticks,
            "communication": {"unit": "ns", "lag": case["lag_between_devices"]},
            "boundary": "flow",
        }
        result = timeline(main_from_document(document))
        assert result.ticks(result.period) == Fraction(case["flow_period"])
        assert result.ticks(result.makespan) == case["makespan"]
        assert result.ticks(result.span) == case["span"]
        found.append(result.ticks(result.period))
    assert found == [253, Fraction(463, 2)]


def test_devices_that_wait_for_each_other_across_iterations() -> None:
    """The barrier costs 1F1B nothing; where device 1 has most to do, the others' wait for it moves into the iteration before."""
    balanced = rows_job("0F0 0F1 0B0 0B1", "1F0 1B0 1F1 1B1")
    assert flow_period(balanced) == timeline(balanced).makespan == 9
    heavy = rows_job("0F0 0F1", "1F0 1F1", F=(1, 5))
    assert timeline(heavy).makespan == 11
    result = timeline(flow(heavy))
    assert (result.period, result.scale) == (10, 1)
    assert result.start.tolist() == [0, 1, 1, 6]
    (bubble,) = result.bubbles[0]
    assert (bubble.start, bubble.length, bubble.kind, bubble.phase) == (2, 8, "fill-drain", "cool-down")
    assert (bubble.cause.edge, bubble.cause.action) == ("start", None)
    assert not result.bubbles[1]
    assert result.bubble_ratio == Fraction(8, 20)


def test_a_period_that_is_a_fraction() -> None:
    """Two iterations take 0F0, its message, 1F0, and then 2F0, its message, 3F0: (2 + 9 + 1) + (1 + 9 + 1)."""
    main = rows_job("0F0 3F0", "2F0 1F0", placement=[0, 1, 1, 0], pipes=[[0, 1], [2, 3]], lag=9, F=(2, 1, 1, 1))
    result = timeline(flow(main))
    assert (result.scale, result.period) == (2, 23)
    assert (result.makespan, result.span) == (24, 24)
    assert result.start.tolist() == [0, 21, 1, 22]
    assert result.busy.tolist() == [6, 4]
    first, second = (row[0] for row in result.bubbles)
    assert (first.start, first.length, first.kind) == (4, 17, "inner")
    assert (second.start, second.length, second.cause.edge) == (3, 19, "data")


def test_random_jobs_cover_what_they_should() -> None:
    results = [timeline(main) for main in map(random_flow, SEEDS) if main is not None]
    edges = {bubble.cause.edge for result in results for row in result.bubbles for bubble in row}
    assert edges == {"data", "order", "barrier", "start"}  # `barrier` for a device without work
    assert {result.scale for result in results} == {1, 2, 3, 4}
    assert sum(result.period < result.span for result in results) >= 20


def test_reports_show_fractions_in_ticks() -> None:
    main = next(main for main in map(random_flow, SEEDS) if main is not None and timeline(main).scale > 1)
    result = timeline(main)
    document = json.loads(bubbles_json(result))
    period = result.ticks(result.period)
    assert document["boundary"] == "flow"
    assert document["period"] == document["flow_period"] == str(period)
    assert (document["makespan"], document["span"]) == (result.makespan // result.scale, result.span // result.scale)
    for number, device in enumerate(document["devices"]):
        assert device["busy"] == result.busy[number] // result.scale
        assert (
            Fraction(device["idle"]) == period - device["busy"] == sum(Fraction(b["length"]) for b in device["bubbles"])
        )
        assert [Fraction(b["start"]) for b in device["bubbles"]] == [
            result.ticks(b.start) for b in result.bubbles[number]
        ]
    rows = list(csv.DictReader(io.StringIO(bubbles_csv(result))))
    assert [Fraction(row["length"]) for row in rows] == [result.ticks(b.length) for row in result.bubbles for b in row]
    text = bubbles_text(result).splitlines()[1]
    assert text.startswith(
        f"period {format_time(period)} (flow; {format_time(document['makespan'])} with barrier), span "
    )
    barrier = replace(main, boundary=Boundary.BARRIER)
    text = bubbles_text(timeline(barrier)).splitlines()[1]
    assert text.startswith(
        f"period {format_time(document['makespan'])} (barrier; {format_time(period)} with flow), span "
    )
    assert json.loads(bubbles_json(timeline(barrier)))["flow_period"] == str(period)


def test_queues_have_no_exact_period() -> None:
    main = replace(rows_job("0F0 0B0", "1F0 1B0"), communication=Communication(3, Mode.LINK, 2))
    assert flow_period(main) is None
    assert json.loads(bubbles_json(timeline(main)))["flow_period"] is None
    with pytest.raises(InputError, match="expected barrier with communication mode link"):
        timeline(flow(main))


def test_no_work_and_no_time() -> None:
    for main in (rows_job("0F0 0B0", "1F0 1B0", F=0, B=0), rows_job("", placement=[])):
        result = timeline(flow(main))
        assert (result.period, result.scale) == (0, 1)


def test_times_that_do_not_fit_are_refused() -> None:
    """Two devices, a period in halves, and durations near the limit."""
    main = next(main for main in map(random_flow, SEEDS) if main is not None and timeline(main).scale > 1)
    large = 2**56
    durations = main.durations
    grown = replace(
        durations,
        by_stage={kind: tuple(t * large for t in ticks) for kind, ticks in durations.by_stage.items()},
        step=tuple(t * large for t in durations.step),
        actions={action: t * large for action, t in durations.actions.items()},
        overlap_length=None if durations.overlap_length is None else durations.overlap_length * large,
    )
    with pytest.raises(InputError, match="expected"):
        timeline(replace(main, durations=grown))
