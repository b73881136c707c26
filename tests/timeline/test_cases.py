"""Orders and timings of public schedulers: every start, end, idle interval, makespan, span and peak, to the integer."""

from __future__ import annotations

import gzip
import json
from typing import Any

import numpy as np
import pytest

from pipefill_opt.errors import ScheduleError
from pipefill_opt.files import read_text
from pipefill_opt.schedule.actions import Action, Kind, Pair
from pipefill_opt.schedule.schedule import Schedule
from pipefill_opt.schedule.torch_csv import read_torch_csv
from pipefill_opt.schedule.validate import validate
from pipefill_opt.timeline.compute import timeline
from pipefill_opt.timeline.timeline import Timeline
from pipefill_opt.workload.costs import Communication, Durations, MainJob, Memory, Mode
from tests.cases import cases_folder

ZERO_BUBBLE_KINDS = {"F": Kind.F, "B": Kind.I, "W": Kind.W, "BW": Kind.B, "R": Kind.R}


def in_flight(schedule: Schedule, activation: int = 1, freed_by_input: int = 0) -> Memory:
    """A memory model that counts activations."""
    devices, stages = schedule.devices, schedule.stages
    return Memory(
        capacity=(10**6,) * devices,
        reserve=(0,) * devices,
        static=(0,) * devices,
        activation=(activation,) * stages,
        freed_by_input=(freed_by_input,) * stages,
        checkpoint=(0,) * stages,
        workspace=(0,) * stages,
    )


def peaks(main: MainJob, memory: Memory) -> list[int]:
    peak = timeline(MainJob(main.schedule, main.durations, main.communication, memory)).peak
    assert peak is not None
    result: list[int] = peak.tolist()
    return result


def idle_intervals(result: Timeline, device: int) -> list[list[int]]:
    """The bubbles of a device cut at the iteration boundary: idle time within [0, makespan]."""
    found = []
    for bubble in result.bubbles[device]:
        stop = bubble.start + bubble.length
        found += [[bubble.start, min(stop, result.period)]] + (
            [[0, stop - result.period]] if stop > result.period else []
        )
    return sorted(found)


def per_stage(cost: int | list[int], stages: int) -> tuple[int, ...]:
    return tuple(cost) if isinstance(cost, list) else (cost,) * stages


def zero_bubble_job(case: dict[str, Any]) -> MainJob:
    sliced = any(row[3] for rows in case["stages"] for row in rows)
    rows = [
        [Action(ZERO_BUBBLE_KINDS[kind], stage, m, part if sliced else -1) for kind, stage, m, part, _, _ in rows]
        for rows in case["stages"]
    ]
    placement = [0] * case["n_layer_groups"]
    for device, row in enumerate(rows):
        for action in row:
            placement[action.stage] = device
    forward, by_input, weight = (per_stage(case["cost"][name], len(placement)) for name in "FBW")
    full = tuple(map(sum, zip(by_input, weight, strict=True)))
    durations = {Kind.F: forward, Kind.R: forward, Kind.I: by_input, Kind.W: weight, Kind.B: full}
    schedule = Schedule.from_rows(rows, placement)
    validate(schedule)
    return MainJob(schedule, Durations(durations), Communication(case["cost"]["C"]))


def test_zero_bubble_orders_replay_exactly() -> None:
    cases = json.loads(gzip.decompress((cases_folder("zero_bubble") / "orders.json.gz").read_bytes()))
    assert len(cases) == 180
    for case in cases:
        main = zero_bubble_job(case)
        result = timeline(main)
        rows = [row for rows in case["stages"] for row in rows]
        assert result.start.tolist() == [row[4] for row in rows], case["id"]
        assert result.end.tolist() == [row[5] for row in rows], case["id"]
        assert (result.makespan, result.span) == (case["makespan"], case["iter_time_span"]), case["id"]
        assert result.busy.tolist() == case["busy"], case["id"]
        devices = range(main.schedule.devices)
        assert [idle_intervals(result, device) for device in devices] == case["idle_intervals"], case["id"]
        assert peaks(main, in_flight(main.schedule)) == case["peak_mem_Fcount"], case["id"]
        assert peaks(main, in_flight(main.schedule, 2, 1)) == case["peak_mem_2m1m1"], case["id"]


def test_torch_orders_give_their_stated_times() -> None:
    folder = cases_folder("torch_csv")
    seen = 0
    for entry in json.loads((folder / "index.json").read_text())["schedules"]:
        expected = entry["expected_F1_I1_W1_B2"]
        text = read_text(folder / entry["file"])
        if not expected["complete"]:
            with pytest.raises(ScheduleError):
                read_torch_csv(text)
            continue
        schedule = read_torch_csv(text)
        times = {kind: (2 if kind is Kind.B else 1,) * schedule.stages for kind in (Kind.F, Kind.B, Kind.I, Kind.W)}
        main = MainJob(schedule, Durations(times))
        result = timeline(main)
        assert (result.makespan, result.busy.tolist()) == (expected["makespan"], expected["busy"]), entry["file"]
        assert peaks(main, in_flight(schedule)) == entry["peak_inflight_activations"], entry["file"]
        seen += 1
    assert seen >= 60


DUALPIPE_KINDS = {"F": Kind.F, "BW": Kind.B, "B": Kind.I, "W": Kind.W}


def dualpipe_order(case: dict[str, Any]) -> Schedule:
    """Direction 0 is the stages 0 to n - 1 down the ranks, direction 1 the stages n to 2n - 1 up again: another pipe, or one V."""
    ranks = len(case["ops"])

    def action(name: str, direction: int, microbatch: int, rank: int) -> Action:
        return Action(DUALPIPE_KINDS[name], (rank, 2 * ranks - 1 - rank)[direction], microbatch)

    rows: list[list[Action | Pair]] = []
    for rank, ops in enumerate(case["ops"]):
        row: list[Action | Pair] = []
        for name, *places in ops:
            if name == "FB":
                row.append(Pair(action("F", *places[:2], rank), action("BW", *places[2:], rank)))
            else:
                row.append(action(name, *places, rank))
        rows.append(row)
    down, up = range(ranks), range(ranks, 2 * ranks)
    pipes = [down, up] if case["scheduler"] == "dualpipe" else [[*down, *up]]
    schedule = Schedule.from_rows(rows, [*down, *reversed(down)], pipes=pipes)
    validate(schedule)
    return schedule


def operation_times(result: Timeline) -> list[list[list[int]]]:
    """[start, end] by device; of a block once."""
    schedule = result.main.schedule
    block = result.main.durations.overlap_length is not None
    second = [False, *(schedule.paired[:-1] & block).tolist()]
    times = [[int(result.start[i]), int(result.end[i])] for i in range(schedule.size)]
    return [
        [times[i] for i in range(int(low), int(high)) if not second[i]]
        for low, high in zip(schedule.row_start[:-1], schedule.row_start[1:], strict=True)
    ]


def test_dualpipe_orders_give_their_stated_times() -> None:
    """Pairs as one block where the order has them (`_overlap`), and one after the other (`_seq`)."""
    cases = json.loads((cases_folder("dualpipe") / "orders.json").read_text())
    assert len(cases) == 20
    by_name = {case["id"]: case for case in cases}
    for case in cases:
        schedule = dualpipe_order(case)
        overlap = case["params"]["overlapped_forward_backward"]
        assert overlap == bool(schedule.paired.any())
        fused = dualpipe_order(by_name[case["id"].replace("_seq", "_overlap")])
        for costs in case["sim"]:
            full, weight = costs["B"], costs["W"]
            by_kind = {Kind.F: costs["F"], Kind.B: full, Kind.I: full - weight, Kind.W: weight}
            by_stage = {kind: (ticks,) * schedule.stages for kind, ticks in by_kind.items()}
            main = MainJob(schedule, Durations(by_stage, overlap_length=costs["FB"] if overlap else None))
            result = timeline(main)
            assert operation_times(result) == costs["times"], case["id"]
            assert (result.makespan, result.busy.tolist()) == (costs["makespan"], costs["busy"]), case["id"]
            assert result.span == max(costs["stage_span"])
            assert peaks(main, in_flight(schedule)) == case["peak_activations_chunks"], case["id"]
            if not overlap:  # the fused order, its pairs one after the other, is the same order
                sequential = timeline(MainJob(fused, Durations(by_stage)))
                assert operation_times(sequential) == costs["times"], case["id"]


EARLY_AND_DEFERRED = ("Interleaved1F1B_2_2_4", "Interleaved1F1B_4_2_8", "DualPipeV_4_2_8")


def lowered_job(name: str, communication: Communication) -> MainJob:
    """F, I and W of 10 ticks, B of 20."""
    schedule = read_torch_csv(read_text(cases_folder("torch_csv") / f"{name}.csv"))
    ticks = {kind: (20 if kind is Kind.B else 10,) * schedule.stages for kind in (Kind.F, Kind.B, Kind.I, Kind.W)}
    return MainJob(schedule, Durations(ticks), communication)


def warm_up(name: str, communication: Communication) -> list[int]:
    """Ticks of warm-up bubbles of each device."""
    result = timeline(lowered_job(name, communication))
    return [sum(bubble.length for bubble in row if bubble.phase == "warm-up") for row in result.bubbles]


def test_lowered_orders_without_blocking_are_the_compute_only_ones() -> None:
    names = sorted(path.name.removesuffix(".comms.csv") for path in cases_folder("torch_csv").glob("*.comms.csv"))
    assert len(names) >= 30
    for name in names:
        for communication in (Communication(1), Communication(2, Mode.LINK, 2)):
            plain = timeline(lowered_job(name, communication))
            texts = [f"{name}.comms"] + ([f"{name}.comms_deferrecv"] if name in EARLY_AND_DEFERRED else [])
            for lowered in (timeline(lowered_job(text, communication)) for text in texts):
                kept = np.isin(lowered.main.schedule.kind, (Kind.UNSHARD, Kind.RESHARD, Kind.REDUCE), invert=True)
                bare = np.isin(plain.main.schedule.kind, Kind.REDUCE, invert=True)
                assert lowered.start[kept].tolist() == plain.start[bare].tolist(), name
                assert lowered.makespan == plain.makespan
                assert lowered.busy.tolist() == plain.busy.tolist()


def test_early_receives_cost_a_warm_up_bubble_in_blocking_mode_and_deferred_ones_do_not() -> None:
    """Extra idle time of the warm-up over that with each receive right before its use: at least a forward on each device, or a few
    messages of one tick.
    """
    for name in EARLY_AND_DEFERRED:
        for length in (0, 1):
            blocking = Communication(length, Mode.BLOCKING)
            plain, early, deferred = (warm_up(name + end, blocking) for end in ("", ".comms", ".comms_deferrecv"))
            assert min(late - least for late, least in zip(early, plain, strict=True)) >= 10, name
            assert max(late - least for late, least in zip(deferred, plain, strict=True)) <= 3 * length, name
