"""Main memory on each device as an exact step function of time. See docs/design.md, section 3."""

from __future__ import annotations

from typing import Final

import numpy as np

from pipefill_opt.errors import InputError
from pipefill_opt.schedule.actions import Kind
from pipefill_opt.schedule.messages import is_message
from pipefill_opt.schedule.schedule import Bool, Int64, Schedule
from pipefill_opt.timeline.timeline import MemorySteps, Timeline
from pipefill_opt.workload.costs import Memory

MOST: Final = 2**62
"""All that a schedule allocates adds up to less, in bytes, so that every size fits 64 bits."""


def usage(timeline: Timeline, device: int) -> tuple[Int64, Int64]:
    """Times (ticks, rising from 0) and the bytes in use from each of them to the next, on one device.

    Raises ValueError without a memory model.
    """
    if timeline.memory is None:
        raise ValueError("this main job has no memory model")
    return timeline.memory.device(device)


def memory_steps(schedule: Schedule, memory: Memory, start: Int64, end: Int64, *, block: bool = False) -> MemorySteps:
    """The step function of every device, from starts and ends, int64[n].

    An activation is allocated at F start and freed at B end; with I and W, `freed_by_input` at I end and the rest at W end. Where the
    schedule recomputes, F allocates `checkpoint`, R allocates the activation, and the checkpoint is freed at R end. Without any
    backward, the activation is freed at F end. The workspace of its stage is there while an action runs. At equal times frees come
    before allocations, so that the size at a time is that after all that happens at it. Raises InputError for sizes past 64 bits.
    """
    taken, given = taken_and_given(schedule, memory)
    time = np.stack([start, end], axis=1).ravel()  # on one device these rise: one action runs after the other
    change = np.stack([taken, -given], axis=1).ravel()
    if block:  # F and B of a block start together and end together
        pairs = 2 * np.flatnonzero(schedule.paired)
        for table in (time, change):
            table[pairs + 1], table[pairs + 2] = table[pairs + 2], table[pairs + 1].copy()

    opening = 2 * schedule.row_start[:-1]  # an entry at time 0 before the first one of each device
    time = np.insert(time, opening, 0)
    change = np.insert(change, opening, memory.static)
    opening += np.arange(schedule.devices)
    total = np.cumsum(change)
    size = total - np.repeat(np.append(0, total)[opening], np.diff(np.append(opening, len(total))))

    kept = np.ones(len(time), dtype=np.bool_)  # of the entries at one time the last one holds
    kept[:-1] = time[1:] != time[:-1]
    kept[opening[1:] - 1] = True
    first = np.append(0, np.cumsum(kept))[np.append(opening, len(time))]
    time, size = time[kept], size[kept]
    kept = np.append(True, size[1:] != size[:-1])  # and of those with one size the first one
    kept[first[:-1]] = True
    return MemorySteps(np.append(0, np.cumsum(kept))[first], time[kept], size[kept])


def within_period(steps: MemorySteps, period: int) -> MemorySteps:
    """The step functions of an iteration that may begin late and pass the period, as they repeat in [0, period).

    On each device they must be constant but for a stretch no longer than the period, at whose end they are as before it.
    """
    times, sizes = [], []
    for device in range(len(steps.first) - 1):
        time, size = steps.device(device)
        if len(time) > 1 and period > 0:
            begin = int(size[0] == size[-1])  # a first step that is only what was there before
            stop = int(
                np.searchsorted(time, time[begin] + period)
            )  # one at the very end: the next iteration's first step holds
            time, size = time[begin:stop] % period, size[begin:stop]
            order = np.argsort(time)
            time, size = time[order], size[order]
            if time[0] > 0:
                time, size = np.append(0, time), np.append(size[-1], size)
            kept = np.append(True, size[1:] != size[:-1])
            time, size = time[kept], size[kept]
        times.append(time)
        sizes.append(size)
    first = np.append(0, np.cumsum([len(time) for time in times])).astype(np.int64)
    return MemorySteps(first, np.concatenate(times), np.concatenate(sizes))


def taken_and_given(schedule: Schedule, memory: Memory) -> tuple[Int64, Int64]:
    """Bytes that each action takes at its start, and that it gives back at its end: int64[n] each."""
    kind, stage = schedule.kind, schedule.stage
    activation, by_input, checkpoint, workspace = (
        np.array([*column, 0], dtype=np.int64)[stage]  # STEP, of stage -1, has none of them
        for column in (memory.activation, memory.freed_by_input, memory.checkpoint, memory.workspace)
    )
    if (
        int(max(memory.static))
        + schedule.size * sum(int(column.max()) for column in (activation, checkpoint, workspace))
        >= MOST
    ):
        raise InputError(f"expected sizes that add up to less than {MOST} B", where="memory")
    workspace[is_message(schedule)] = 0
    taken, given = workspace.copy(), workspace.copy()
    forward, again = kind == Kind.F, kind == Kind.R
    recomputed = _recomputed(schedule)
    taken += np.where(forward & recomputed, checkpoint, 0) + np.where(again | (forward & ~recomputed), activation, 0)
    given += np.where(kind == Kind.B, activation, 0) + np.where(kind == Kind.I, by_input, 0)
    given += np.where(kind == Kind.W, activation - by_input, 0) + np.where(again, checkpoint, 0)
    if not ((kind == Kind.B) | (kind == Kind.I)).any():
        given += np.where(forward, activation, 0)
    return taken, given


def _recomputed(schedule: Schedule) -> Bool:
    """bool[n]: true where an R has the stage, micro-batch and part of the action."""
    again = np.flatnonzero(schedule.kind == Kind.R)
    if not len(again):
        return np.zeros(schedule.size, dtype=np.bool_)
    columns = [column.astype(np.int64) + 1 for column in (schedule.stage, schedule.microbatch, schedule.part)]
    key = (columns[0] * (columns[1].max() + 1) + columns[1]) * (columns[2].max() + 1) + columns[2]
    return np.isin(key, key[again])
