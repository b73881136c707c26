"""Runs of actions on a device: its kernels go to the label that launched them, through the correlation id of the call."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import numpy as np

from pipefill_opt.schedule.actions import Action, Kind
from pipefill_opt.schedule.schedule import Bool, Int64
from pipefill_opt.traces.labels import Label
from pipefill_opt.traces.measured import Interval, Run, step_at
from pipefill_opt.traces.trace_events import DeviceWork, TraceEvents, Work


def device_runs(labels: Sequence[Label], events: TraceEvents, windows: Mapping[int, Interval]) -> tuple[Run, ...]:
    """A run from the first to the last kernel that a label of work launched, messages left out (but for REDUCE).

    Autograd launches from a thread of its own while the label's thread waits: what counts is the time of the call. A label that launched
    nothing makes no run.
    """
    work = [label for label in labels if not label.message]
    owner = _owners(work, launch_times(events))
    if not len(owner):
        return ()
    device = events.device
    reduces = np.array([isinstance(label.action, Action) and label.action.kind is Kind.REDUCE for label in work])
    counted = (owner >= 0) & (computes(device) | reduces[owner])
    first = np.full(len(work), np.iinfo(np.int64).max)
    last = np.full(len(work), -1)
    np.minimum.at(first, owner[counted], device.start[counted])
    np.maximum.at(last, owner[counted], device.end[counted])
    runs = [
        Run(label.action, start, end, step_at(label.start, windows))
        for label, start, end in zip(work, first.tolist(), last.tolist(), strict=True)
        if end >= 0
    ]
    return tuple(sorted(runs, key=lambda run: run.start))


def launch_times(events: TraceEvents) -> Int64:
    """int64[n]: when the host launched each piece of device work, -1 where that is not recorded."""
    calls = events.launches[np.argsort(events.launches[:, 0], kind="stable")]
    wanted = events.device.correlation
    if not len(calls):
        return np.full(len(wanted), -1, dtype=np.int64)
    place = np.minimum(np.searchsorted(calls[:, 0], wanted), len(calls) - 1)
    times: Int64 = np.where(calls[place, 0] == wanted, calls[place, 1], -1)
    return times


def computes(device: DeviceWork) -> Bool:
    """bool[n]: computation, and copies on streams that compute."""
    streams = np.unique(device.stream[device.kind == Work.COMPUTE])
    computing: Bool = (device.kind == Work.COMPUTE) | ((device.kind == Work.COPY) & np.isin(device.stream, streams))
    return computing


def _owners(labels: Sequence[Label], times: Int64) -> Int64:
    """int64[n]: the label in which each call was made, -1 for none."""
    if not labels:
        return np.full(len(times), -1, dtype=np.int64)
    place = np.searchsorted([label.start for label in labels], times, side="right") - 1
    inside = (place >= 0) & (times < np.array([label.end for label in labels])[place])
    owner: Int64 = np.where(inside, place, -1)
    return owner
