"""What any schedule can have added: recomputation, gradient reductions, optimizer steps. Schedule in, schedule out."""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from pipefill_opt.schedule.actions import Kind
from pipefill_opt.schedule.schedule import Int32, Int64, Schedule


def with_recompute(schedule: Schedule) -> Schedule:
    """Every forward runs once more (R) right before its backward, B or I; before the pair where that is part of one."""
    backward = np.flatnonzero((schedule.kind == Kind.B) | (schedule.kind == Kind.I))
    in_pair = np.append(False, schedule.paired)[backward]
    columns = (schedule.stage[backward], schedule.microbatch[backward], schedule.part[backward])
    return _insert(schedule, backward - in_pair, schedule.device()[backward], Kind.R, *columns)


def with_reduce(schedule: Schedule) -> Schedule:
    """Each row ends with the gradient reductions (REDUCE) of its stages, in the order of their ids."""
    stage = np.argsort(schedule.placement, kind="stable").astype(np.int32)
    device = np.array(schedule.placement, dtype=np.int32)[stage]
    return _insert(schedule, schedule.row_start[device + 1], device, Kind.REDUCE, stage)


def with_step(schedule: Schedule) -> Schedule:
    """Each row ends with an optimizer step (STEP)."""
    return _insert(schedule, schedule.row_start[1:], np.arange(schedule.devices, dtype=np.int32), Kind.STEP)


def _insert(
    schedule: Schedule,
    at: Int64,
    device: Int32,
    kind: Kind,
    stage: Int32 | int = -1,
    microbatch: Int32 | int = -1,
    part: Int32 | int = -1,
) -> Schedule:
    """One action of a kind before each place in `at`, which rises; `device` says to whose row it belongs."""
    added = np.cumsum(np.bincount(device, minlength=schedule.devices))
    return replace(
        schedule,
        row_start=schedule.row_start + np.append(0, added),
        kind=np.insert(schedule.kind, at, kind),
        stage=np.insert(schedule.stage, at, stage),
        microbatch=np.insert(schedule.microbatch, at, microbatch),
        part=np.insert(schedule.part, at, part),
        paired=np.insert(schedule.paired, at, False),
    )
