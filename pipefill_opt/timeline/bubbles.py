"""Bubbles: the idle intervals of each device, with kind, phase, cause, slack and free bytes. See docs/design.md, section 3."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from pipefill_opt.schedule.actions import Kind
from pipefill_opt.schedule.precedence import Edge, Precedence
from pipefill_opt.schedule.schedule import Bool, Int8, Int32, Int64, Schedule
from pipefill_opt.timeline.longest_path import binding_edge
from pipefill_opt.timeline.timeline import EDGES, KINDS, PHASES, BubbleTable, MemorySteps
from pipefill_opt.workload.costs import Memory

_FILL_DRAIN, _FWD_BWD, _SYNC, _INNER = range(len(KINDS))
_WARM_UP, _STEADY, _COOL_DOWN = range(len(PHASES))
_DATA, _ORDER, _BARRIER = range(len(EDGES))


@dataclass(frozen=True, slots=True)
class _Gaps:
    """Idle intervals, b of them, by device and start: the actions that take time on both sides, -1 on a device without any."""

    device: Int64
    start: Int64
    length: Int64
    before: Int64
    after: Int64
    boundary: Bool


def find_bubbles(
    precedence: Precedence, start: Int64, end: Int64, slack: Int64, lag: Int64, period: int
) -> BubbleTable:
    """All bubbles of the period [0, period), which no action exceeds; `free` is left None.

    Actions of length 0 do not split an idle interval and do not end one; an overlapped block is one action. start, end, slack:
    int64[n]. lag: int64[e], as in `longest_path`.

    Kind, the first that applies: `fill-drain` contains the iteration boundary, or touches it; `fwd-bwd` ends at the device's first B
    or I, or at the pair that this one is part of; `sync` ends at REDUCE or STEP; `inner`. Phase: `warm-up` if it ends at the device's
    first B or I, or earlier in the iteration; else `cool-down` if it begins after its last F; else `steady`. A device without
    backward is in its warm-up until its first action.
    """
    schedule = precedence.schedule
    gaps = _gaps(schedule, np.flatnonzero(end > start), start, end, period)
    edge, action = _causes(precedence, gaps, start, end, lag, period)
    first = np.searchsorted(gaps.device, np.arange(schedule.devices + 1))
    device = schedule.device()
    return BubbleTable(
        first=first,
        start=gaps.start,
        length=gaps.length,
        kind=_kinds(schedule, gaps),
        phase=_phases(schedule, gaps),
        cause_edge=edge,
        cause_action=action,
        cause_device=np.where(action >= 0, device[action], -1).astype(np.int32),
        next_action=gaps.after.astype(np.int32),
        slack=np.where(gaps.after >= 0, slack[gaps.after], period),
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


def _gaps(schedule: Schedule, running: Int64, start: Int64, end: Int64, period: int) -> _Gaps:
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
        start=np.concatenate([end[running[inside]], drain[around] % max(period, 1)]),
        length=np.concatenate([gap[inside], length[around]]),
        before=np.concatenate([running[inside], closer[around]]),
        after=np.concatenate([running[inside + 1], opener[around]]),
        boundary=np.repeat([False, True], [len(inside), len(around)]),
    )
    order = np.lexsort((columns.start, columns.device))
    return _Gaps(*(getattr(columns, name)[order] for name in _Gaps.__slots__))


def _kinds(schedule: Schedule, gaps: _Gaps) -> Int8:
    backward = _first_backward(schedule)[gaps.device]
    pair = (
        np.where(backward > 0, schedule.paired[np.maximum(backward - 1, 0)], False) if schedule.size else gaps.boundary
    )
    turn = (backward >= 0) & ((gaps.after == backward) | (pair & (gaps.after == backward - 1)))
    sync = np.isin(schedule.kind[gaps.after], (Kind.REDUCE, Kind.STEP)) if schedule.size else gaps.boundary
    kinds = np.select([gaps.boundary, turn, sync], [_FILL_DRAIN, _FWD_BWD, _SYNC], default=_INNER)
    return kinds.astype(np.int8)


def _phases(schedule: Schedule, gaps: _Gaps) -> Int8:
    backward = _first_backward(schedule)[gaps.device]
    forwards = np.flatnonzero(schedule.kind == Kind.F)
    last_forward = np.full(schedule.devices, -1, dtype=np.int64)
    last_forward[schedule.device()[forwards]] = forwards
    empty = gaps.after < 0
    warm_up = (gaps.after <= backward) | (gaps.boundary & (backward < 0))
    warm_up &= ~(gaps.boundary & (gaps.start > 0))
    cool_down = gaps.before >= last_forward[gaps.device]
    phases = np.select([empty, warm_up, cool_down], [_STEADY, _WARM_UP, _COOL_DOWN], default=_STEADY)
    return phases.astype(np.int8)


def _first_backward(schedule: Schedule) -> Int64:
    """int64[devices]: the first B or I of each device, -1 for none."""
    found = np.flatnonzero((schedule.kind == Kind.B) | (schedule.kind == Kind.I))
    first = np.full(schedule.devices, -1, dtype=np.int64)
    first[schedule.device()[found[::-1]]] = found[::-1]
    return first


def _causes(
    precedence: Precedence, gaps: _Gaps, start: Int64, end: Int64, lag: Int64, period: int
) -> tuple[Int8, Int32]:
    """What ended each bubble: place in `EDGES`, and the action or -1."""
    edge = np.full(len(gaps.after), _BARRIER, dtype=np.int8)
    action = np.full(len(gaps.after), -1, dtype=np.int32)
    if not len(end):
        return edge, action
    late = (gaps.after >= 0) & (start[gaps.after] > 0)
    binding = binding_edge(precedence, gaps.after[late], start, end, lag)
    edge[late] = np.where(precedence.kind[binding] == Edge.ORDER, _ORDER, _DATA)
    action[late] = precedence.pred[binding]
    at_zero = (gaps.after >= 0) & ~late
    action[at_zero] = _barrier(precedence.schedule, end, period)[gaps.device[at_zero]]
    return edge, action


def _barrier(schedule: Schedule, end: Int64, period: int) -> Int32:
    """int32[devices]: the action that ends last, for each device; ties: another device, then the smaller stage, micro-batch, part."""
    last = np.flatnonzero(end == period)
    last = last[np.lexsort((last, schedule.part[last], schedule.microbatch[last], schedule.stage[last]))]
    device = schedule.device()[last]
    barrier = np.full(schedule.devices, last[0], dtype=np.int32)
    others = last[device != device[0]]
    if len(others):
        barrier[device[0]] = others[0]
    return barrier
