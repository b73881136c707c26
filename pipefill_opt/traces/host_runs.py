"""Runs of actions on a host that computes itself: labels, with the waits for messages cut out."""

from __future__ import annotations

import re
from bisect import bisect_left, bisect_right
from collections.abc import Mapping, Sequence
from typing import Final

import numpy as np

from pipefill_opt.schedule.actions import Action, Kind
from pipefill_opt.traces.labels import Label
from pipefill_opt.traces.measured import Interval, Run, members, step_at
from pipefill_opt.traces.trace_events import Annotation, HostOps, Op, TraceEvents

RECEIVE: Final = re.compile(r"[a-z]+:recv(?:[ _].*)?")
"""A receive, from its posting until it is there: `gloo:recv`."""
SEND: Final = re.compile(r"[a-z]+:send(?:[ _].*)?")

_RECEIVED: Final = {Kind.RECV_F: (Kind.F,), Kind.RECV_B: (Kind.B, Kind.I)}


def host_runs(labels: Sequence[Label], events: TraceEvents, windows: Mapping[int, Interval]) -> tuple[Run, ...]:
    """One run for each label of work. It begins when its receive is there, and ends when it begins to send or, in
    torch's own labels, with its last operator.

    Its receive: the one that a RECV label posts for it; where there are no such labels, those posted in its own label or
    since the one before.
    """
    receives = _intervals(events.annotations, RECEIVE)
    sends = _sends(events)
    named = any(label.message for label in labels)
    arrival: dict[Action, int] = {}
    runs: list[Run] = []
    since = 0
    for label in labels:
        if label.message:
            arrival |= dict.fromkeys(_receivers(label), _latest(receives, label.start, label.end))
            continue
        posted = _latest(receives, label.start if named else since, label.end, label.end)
        start = max([label.start, posted, *(arrival.pop(action, 0) for action in members(label.action))])
        start = start if start < label.end else label.start
        place = bisect_left(sends, start)
        end = min(label.end, sends[place]) if place < len(sends) else label.end
        if not label.tight:
            end = _last_operator(events.ops, start, end)
        runs.append(Run(label.action, start, end, step_at(label.start, windows)))
        since = label.end
    return tuple(sorted(runs, key=lambda run: run.start))


def waits(events: TraceEvents) -> tuple[Interval, ...]:
    """The receives of a rank, each from its posting until it is there."""
    return tuple(_intervals(events.annotations, RECEIVE))


def _receivers(label: Label) -> tuple[Action, ...]:
    """The actions for which a RECV label receives."""
    (action,) = members(label.action)
    return tuple(action._replace(kind=kind) for kind in _RECEIVED.get(action.kind, ()))


def _latest(receives: Sequence[Interval], first: int, last: int, before: int = 2**63 - 1) -> int:
    """The latest end of the receives posted in [first, last], of those that end before `before`; 0 for none."""
    low, high = bisect_left(receives, (first, 0)), bisect_right(receives, (last, 2**63))
    return max((end for _, end in receives[low:high] if end < before), default=0)


def _last_operator(ops: HostOps, start: int, end: int) -> int:
    """When the last operator that lies in [start, end] ends; `end` where none does."""
    low, high = np.searchsorted(ops.start, [start, end])
    inside = ops.end[low:high]
    return int(inside[inside <= end].max(initial=start)) if len(inside) else end


def _intervals(annotations: Sequence[Annotation], name: re.Pattern[str]) -> list[Interval]:
    return sorted((a.start, a.end) for a in annotations if name.fullmatch(a.name))


def _sends(events: TraceEvents) -> list[int]:
    """When sends begin: the calls, or where no operators were recorded, the messages."""
    calls = events.ops.start[events.ops.kind == Op.SEND].tolist()
    return calls or [start for start, _ in _intervals(events.annotations, SEND)]
