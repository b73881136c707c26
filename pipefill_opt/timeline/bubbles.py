"""Bubbles: the idle intervals of each device, with kind, phase, cause, slack and free bytes. See docs/design.md, section 3."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from pipefill_opt.schedule.actions import Kind
from pipefill_opt.schedule.messages import is_message
from pipefill_opt.schedule.schedule import Bool, Int8, Int64, Schedule
from pipefill_opt.timeline.release import release
from pipefill_opt.timeline.timeline import EDGES, KINDS, PHASES, BubbleTable, MemorySteps
from pipefill_opt.timeline.times import Times
from pipefill_opt.workload.costs import Boundary, Memory

_FILL_DRAIN, _FWD_BWD, _SYNC, _INNER = range(len(KINDS))
_WARM_UP, _STEADY, _COOL_DOWN = range(len(PHASES))
_BARRIER = EDGES.index("barrier")


@dataclass(frozen=True, slots=True)
class _Gaps:
    """Idle intervals, b of them, by device and start: the actions that take time on both sides, -1 on a device without any."""

    device: Int64
    start: Int64
    length: Int64
    before: Int64
    after: Int64
    boundary: Bool


def find_bubbles(times: Times) -> BubbleTable:
    """All bubbles of the period [0, period); `free` is left None.

    Actions of length 0 do not split an idle interval and do not end one; an overlapped block is one action, SEND and RECV belong to
    the next action that is neither.

    Kind, the first that applies: `fill-drain` contains the iteration boundary, or touches it; `fwd-bwd` ends at the device's first B
    or I, or at the pair that this one is part of; `sync` ends at REDUCE or STEP; `inner`. Phase: `warm-up` if it ends at the device's
    first B or I, or earlier in the iteration; else `cool-down` if it begins after its last F; else `steady`. A device without
    backward is in its warm-up until its first action.
    """
    schedule = times.main.schedule
    gaps = _gaps(times)
    works = gaps.after >= 0
    edge = np.full(len(works), _BARRIER, dtype=np.int8)
    action = np.full(len(works), -1, dtype=np.int32)
    edge[works], action[works] = release(times, gaps.after[works])
    other, slack = np.full(len(works), -1, dtype=np.int32), np.full(len(works), times.period, dtype=np.int64)
    other[action >= 0] = schedule.device()[action[action >= 0]]
    slack[works] = times.slack[gaps.after[works]]
    return BubbleTable(
        first=np.searchsorted(gaps.device, np.arange(schedule.devices + 1)),
        start=gaps.start,
        length=gaps.length,
        kind=_kinds(schedule, gaps),
        phase=_phases(times, gaps),
        cause_edge=edge,
        cause_action=action,
        cause_device=other,
        next_action=gaps.after.astype(np.int32),
        slack=slack,
        free=None,
    )


def free_bytes(table: BubbleTable, memory: Memory, steps: MemorySteps, period: int) -> Int64:
    """int64[b]: capacity - reserve - the largest main usage within each bubble."""
    free = np.empty(len(table.start), dtype=np.int64)
    for device in range(len(table.first) - 1):
        part = slice(int(table.first[device]), int(table.first[device + 1]))
        start, stop = table.start[part], table.start[part] + table.length[part]
        used = steps.largest(device, start, np.minimum(stop, period))
        wrapped = np.flatnonzero(stop > period)
        used[wrapped] = np.maximum(used[wrapped], steps.largest(device, 0 * wrapped, stop[wrapped] - period))
        free[part] = memory.capacity[device] - memory.reserve[device] - used
    return free


def _gaps(times: Times) -> _Gaps:
    schedule, start, end, period = times.main.schedule, times.start, times.end, times.period
    running = np.flatnonzero(end > start)
    device = schedule.device()[running].astype(np.int64)
    gap = start[running[1:]] - end[running[:-1]]
    inside = np.flatnonzero((gap > 0) & (device[1:] == device[:-1]))

    devices = np.arange(schedule.devices)
    bounds = np.searchsorted(device, np.arange(schedule.devices + 1))
    works = bounds[1:] > bounds[:-1]
    opener = np.full(schedule.devices, -1, dtype=np.int64)
    closer = opener.copy()
    opener[works] = running[bounds[:-1][works]]
    closer[works] = running[bounds[1:][works] - 1]
    drain = np.where(works, end[closer], 0) if len(end) else 0 * devices
    fill = np.where(works, start[opener], 0) if len(end) else 0 * devices
    length = period - drain + fill
    around = np.flatnonzero(length > 0)

    columns = _Gaps(
        device=np.concatenate([device[inside], devices[around]]),
        start=np.concatenate([end[running[inside]], drain[around]]) % max(period, 1),
        length=np.concatenate([gap[inside], length[around]]),
        before=np.concatenate([running[inside], closer[around]]),
        after=np.concatenate([running[inside + 1], opener[around]]),
        boundary=np.repeat([False, True], [len(inside), len(around)]),
    )
    order = np.lexsort((columns.start, columns.device))
    return _Gaps(*(getattr(columns, name)[order] for name in _Gaps.__slots__))


def _kinds(schedule: Schedule, gaps: _Gaps) -> Int8:
    if not schedule.size:
        return np.full(len(gaps.after), _FILL_DRAIN, dtype=np.int8)
    after = _beyond_messages(schedule)[gaps.after]
    backward = _first_backward(schedule)[gaps.device]
    pair = (backward > 0) & schedule.paired[np.maximum(backward - 1, 0)]
    turn = (backward >= 0) & ((after == backward) | (pair & (after == backward - 1)))
    sync = np.isin(schedule.kind[after], (Kind.REDUCE, Kind.STEP))
    kinds = np.select([gaps.boundary, turn, sync], [_FILL_DRAIN, _FWD_BWD, _SYNC], default=_INNER)
    return kinds.astype(np.int8)


def _phases(times: Times, gaps: _Gaps) -> Int8:
    schedule = times.main.schedule
    backward = _first_backward(schedule)[gaps.device]
    forwards = np.flatnonzero(schedule.kind == Kind.F)
    last_forward = np.full(schedule.devices, -1, dtype=np.int64)
    last_forward[schedule.device()[forwards]] = forwards
    empty = gaps.after < 0
    warm_up = (gaps.after <= backward) | (gaps.boundary & (backward < 0))
    at_barrier = (gaps.start == 0) & (times.main.boundary is Boundary.BARRIER)
    warm_up &= ~gaps.boundary | at_barrier
    cool_down = gaps.before >= last_forward[gaps.device]
    phases = np.select([empty, warm_up, cool_down], [_STEADY, _WARM_UP, _COOL_DOWN], default=_STEADY)
    return phases.astype(np.int8)


def _beyond_messages(schedule: Schedule) -> Int64:
    """int64[n]: of each action itself, or of a SEND or RECV the next action in its row that is neither, or the row's last one."""
    own = np.arange(schedule.size)
    message = is_message(schedule)
    if not message.any():
        return own
    message[schedule.row_start[1:][np.diff(schedule.row_start) > 0] - 1] = False
    beyond: Int64 = np.minimum.accumulate(np.where(message, schedule.size, own)[::-1])[::-1]
    return beyond


def _first_backward(schedule: Schedule) -> Int64:
    """int64[devices]: the first B or I of each device, -1 for none."""
    found = np.flatnonzero((schedule.kind == Kind.B) | (schedule.kind == Kind.I))
    first = np.full(schedule.devices, -1, dtype=np.int64)
    first[schedule.device()[found[::-1]]] = found[::-1]
    return first
