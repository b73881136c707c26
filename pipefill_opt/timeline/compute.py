"""`timeline(main)`: from a main job to exact times, bubbles and memory peaks."""

from __future__ import annotations

import logging
from dataclasses import replace

import numpy as np

from pipefill_opt.errors import InputError
from pipefill_opt.schedule.precedence import precedence
from pipefill_opt.schedule.schedule import Int64, Schedule
from pipefill_opt.timeline.bubbles import find_bubbles, free_bytes
from pipefill_opt.timeline.longest_path import latest_end, longest_path
from pipefill_opt.timeline.memory import memory_steps
from pipefill_opt.timeline.timeline import Timeline
from pipefill_opt.units import format_bytes
from pipefill_opt.workload.costs import MainJob
from pipefill_opt.workload.weights import action_durations, edge_lags, is_block

_log = logging.getLogger(__name__)


def timeline(main: MainJob) -> Timeline:
    """Exact times of one iteration: every action in the given order of its device, as early as possible, `barrier` boundary.

    The schedule must be valid (`validate`). Raises ScheduleError (`deadlock`, with the cycle) and InputError (a missing duration,
    numbers past 64 bits), both with the main job's file.
    """
    try:
        return _timeline(main)
    except InputError as error:
        raise error.located(file=main.source) from None


def _timeline(main: MainJob) -> Timeline:
    schedule, block = main.schedule, is_block(main)
    duration = action_durations(main)
    waits = precedence(schedule, block=block, global_norm=main.global_norm)
    lag = edge_lags(main, waits, duration)
    start = longest_path(waits, duration, lag)
    end = start + duration
    makespan = int(end.max(initial=0))
    slack = latest_end(waits, duration, lag, makespan) - end
    table = find_bubbles(waits, start, end, slack, lag, makespan)
    steps, peak = None, None
    if main.memory is not None:
        steps = memory_steps(schedule, main.memory, start, end, block=block)
        peak = steps.peak()
        table = replace(table, free=free_bytes(table, main.memory, steps, makespan))
        _warn_of_overflow(main, peak)
    return Timeline(
        main=main,
        start=start,
        end=end,
        slack=slack,
        period=makespan,
        makespan=makespan,
        span=_span(schedule, start, end),
        busy=_busy(schedule, duration, block),
        peak=peak,
        memory=steps,
        bubble_table=table,
    )


def _busy(schedule: Schedule, duration: Int64, block: bool) -> Int64:
    """int64[devices]: ticks at work; a block counts once."""
    counted = duration.copy()
    if block:
        counted[1:][schedule.paired[:-1]] = 0
    total = np.append(0, np.cumsum(counted))[schedule.row_start]
    busy: Int64 = np.diff(total)
    return busy


def _span(schedule: Schedule, start: Int64, end: Int64) -> int:
    """The largest (last end - first start) of a device."""
    rows = np.flatnonzero(np.diff(schedule.row_start) > 0)
    spans = end[schedule.row_start[rows + 1] - 1] - start[schedule.row_start[rows]]
    return int(spans.max(initial=0))


def _warn_of_overflow(main: MainJob, peak: Int64) -> None:
    assert main.memory is not None
    for device in np.flatnonzero(peak > np.array(main.memory.capacity) - np.array(main.memory.reserve)).tolist():
        room = main.memory.capacity[device] - main.memory.reserve[device]
        more = format_bytes(int(peak[device]) - room)
        name = main.source or main.schedule.name
        _log.warning("%s: device %d: the main job itself needs %s more memory than there is", name, device, more)
