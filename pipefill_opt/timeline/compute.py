"""`timeline(main)`: from a main job to exact times, bubbles and memory peaks."""

from __future__ import annotations

import logging
from dataclasses import replace

import numpy as np

from pipefill_opt.errors import InputError
from pipefill_opt.schedule.schedule import Int64, Schedule
from pipefill_opt.timeline.bubbles import find_bubbles, free_bytes
from pipefill_opt.timeline.memory import memory_steps, within_period
from pipefill_opt.timeline.timeline import Timeline
from pipefill_opt.timeline.times import settle
from pipefill_opt.units import format_bytes
from pipefill_opt.workload.costs import Boundary, MainJob
from pipefill_opt.workload.weights import is_block

_log = logging.getLogger(__name__)


def timeline(main: MainJob) -> Timeline:
    """Exact times of one iteration: every action in the given order of its device, as early as possible.

    The schedule must be valid (`validate`). Raises ScheduleError (`deadlock`, with the cycle) and InputError (a missing duration,
    numbers past 64 bits, `flow` with `link`), both with the main job's file.
    """
    try:
        return _timeline(main)
    except InputError as error:
        raise error.located(file=main.source) from None


def _timeline(main: MainJob) -> Timeline:
    times = settle(main)
    main, schedule, block = times.main, times.main.schedule, is_block(main)
    table = find_bubbles(times)
    steps, peak = None, None
    if main.memory is not None:
        steps = memory_steps(schedule, main.memory, times.start, times.end, block=block)
        peak = steps.peak()
        if main.boundary is Boundary.FLOW:
            steps = within_period(steps, times.period)
        table = replace(table, free=free_bytes(table, main.memory, steps, times.period))
        _warn_of_overflow(main, peak)
    return Timeline(
        main=main,
        start=times.start,
        end=times.end,
        slack=times.slack,
        period=times.period,
        makespan=times.makespan,
        span=times.span,
        busy=_busy(schedule, times.duration, block),
        peak=peak,
        memory=steps,
        bubble_table=table,
        scale=times.scale,
    )


def _busy(schedule: Schedule, duration: Int64, block: bool) -> Int64:
    """int64[devices]: ticks at work; a block counts once."""
    counted = duration.copy()
    if block:
        counted[1:][schedule.paired[:-1]] = 0
    total = np.append(0, np.cumsum(counted))[schedule.row_start]
    busy: Int64 = np.diff(total)
    return busy


def _warn_of_overflow(main: MainJob, peak: Int64) -> None:
    assert main.memory is not None
    for device in np.flatnonzero(peak > np.array(main.memory.capacity) - np.array(main.memory.reserve)).tolist():
        room = main.memory.capacity[device] - main.memory.reserve[device]
        more = format_bytes(int(peak[device]) - room)
        name = main.source or main.schedule.name
        _log.warning("%s: device %d: the main job itself needs %s more memory than there is", name, device, more)
