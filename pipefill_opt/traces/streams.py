"""Busy and idle time of a device's streams, from its kernels alone: no labels needed. Exact integers, ns."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final

import numpy as np

from pipefill_opt.schedule.schedule import Bool, Int64
from pipefill_opt.traces.device_runs import launch_times
from pipefill_opt.traces.trace_events import TraceEvents, Work

LENGTHS: Final = (
    ("below 10 us", 10**4),
    ("10 to 100 us", 10**5),
    ("0.1 to 1 ms", 10**6),
    ("1 to 10 ms", 10**7),
    ("10 ms and more", 2**62),
)
"""Classes of gaps by length, each with the length that it stays below."""
CAUSES: Final = ("communication", "host", "other")
"""Classes of idle time: another stream of the device communicates meanwhile; the next work was not yet launched; neither."""


@dataclass(frozen=True, slots=True)
class GapClass:
    """Gaps of one class: how many, and their length in all."""

    name: str
    count: int
    ticks: int


@dataclass(frozen=True, slots=True, eq=False)
class StreamTimes:
    """One stream, or the union of several. busy and idle add up to the window; idle_within is the part of idle between first and last work.

    start, end: its first start and last end. gaps: int64[g, 2], the idle intervals between them. by_length: those gaps by `LENGTHS`.
    by_cause: idle_within by `CAUSES`, each instant counted once, communication first; count is of gaps that have some.
    """

    streams: tuple[int, ...]
    work: str
    pieces: int
    start: int
    end: int
    busy: int
    idle: int
    idle_within: int
    gaps: Int64
    by_length: tuple[GapClass, ...]
    by_cause: tuple[GapClass, ...]


@dataclass(frozen=True, slots=True, eq=False)
class DeviceTimes:
    """One device of one rank in its window [start, end), from the first start to the last end of all its work."""

    rank: int
    device: int
    source: str
    start: int
    end: int
    streams: tuple[StreamTimes, ...]
    unions: tuple[StreamTimes, ...]


def device_times(events: TraceEvents, unions: Sequence[Sequence[int]] = ()) -> tuple[DeviceTimes, ...]:
    """Every device of a trace: each stream, the streams that compute together, those that communicate, all of them, and `unions`.

    A stream communicates if it has kernels of a communication library and none else; it computes if it has any other kernels.
    """
    return tuple(_device(events, device, unions) for device in sorted({device for device, _ in events.device.streams}))


def _device(events: TraceEvents, device: int, unions: Sequence[Sequence[int]]) -> DeviceTimes:
    work = events.device
    names = [name for place, name in work.streams if place == device]
    number = np.array([name for _, name in work.streams])[work.stream]
    here = np.isin(work.stream, [index for index, (place, _) in enumerate(work.streams) if place == device])
    window = int(work.start[here].min()), int(work.end[here].max())
    computing = sorted(set(number[here & (work.kind == Work.COMPUTE)].tolist()))
    talking = sorted(set(number[here & (work.kind == Work.COMMUNICATION)].tolist()) - set(computing))
    launched = launch_times(events)

    def times(streams: Sequence[int], name: str) -> StreamTimes:
        own = here & np.isin(number, list(streams))
        talk = here & (work.kind == Work.COMMUNICATION) & ~own
        return _times(events, tuple(streams), name, own, talk, launched, window)

    kinds = {
        name: "computation" if name in computing else "communication" if name in talking else "copies" for name in names
    }
    groups = [(computing, "computation"), (talking, "communication"), (names, "all")]
    wanted = [(sorted(set(union) & set(names)), "union") for union in unions]
    return DeviceTimes(
        rank=events.rank,
        device=device,
        source=events.source,
        start=window[0],
        end=window[1],
        streams=tuple(times([name], kinds[name]) for name in names),
        unions=tuple(times(streams, name) for streams, name in groups + wanted if streams),
    )


def _times(
    events: TraceEvents,
    streams: tuple[int, ...],
    name: str,
    own: Bool,
    talk: Bool,
    launched: Int64,
    window: tuple[int, int],
) -> StreamTimes:
    work = events.device
    start, end = work.start[own], work.end[own]
    busy = union_of(start, end)
    gaps = np.stack([busy[:-1, 1], busy[1:, 0]], axis=1)
    length = int((busy[:, 1] - busy[:, 0]).sum())
    return StreamTimes(
        streams=streams,
        work=name,
        pieces=len(start),
        start=int(busy[0, 0]),
        end=int(busy[-1, 1]),
        busy=length,
        idle=window[1] - window[0] - length,
        idle_within=int((gaps[:, 1] - gaps[:, 0]).sum()),
        gaps=gaps,
        by_length=_by_length(gaps),
        by_cause=_by_cause(gaps, start, launched[own], union_of(work.start[talk], work.end[talk])),
    )


def union_of(start: Int64, end: Int64) -> Int64:
    """int64[u, 2]: the union of intervals in order of start, as intervals that do not touch; those of length 0 count for nothing.

    Where all have length 0, the first one.
    """
    kept = end > start
    if not kept.any():
        return np.stack([start[:1], end[:1]], axis=1)
    start, end = start[kept], np.maximum.accumulate(end[kept])
    opens = np.concatenate([[True], start[1:] > end[:-1]])
    closes = np.concatenate([opens[1:], [True]])
    return np.stack([start[opens], end[closes]], axis=1)


def _by_length(gaps: Int64) -> tuple[GapClass, ...]:
    lengths = gaps[:, 1] - gaps[:, 0]
    place = np.searchsorted([bound for _, bound in LENGTHS], lengths, side="right")
    return tuple(
        GapClass(name, int((place == index).sum()), int(lengths[place == index].sum()))
        for index, (name, _) in enumerate(LENGTHS)
    )


def _by_cause(gaps: Int64, start: Int64, launched: Int64, talk: Int64) -> tuple[GapClass, ...]:
    """Idle time while others communicate; of the rest, what comes before the launch of the work that ends the gap; what is left."""
    following = np.searchsorted(start, gaps[:, 1], side="left")
    due = np.clip(np.append(launched, -1)[following], gaps[:, 0], gaps[:, 1])
    total = gaps[:, 1] - gaps[:, 0]
    talking = _overlap(talk, gaps[:, 0], gaps[:, 1])
    waiting = due - gaps[:, 0] - _overlap(talk, gaps[:, 0], due)
    parts = (talking, waiting, total - talking - waiting)
    return tuple(
        GapClass(name, int((part > 0).sum()), int(part.sum())) for name, part in zip(CAUSES, parts, strict=True)
    )


def _overlap(intervals: Int64, start: Int64, end: Int64) -> Int64:
    """int64[n]: how much of each [start, end) the disjoint intervals cover."""
    before = np.concatenate([[0], np.cumsum(intervals[:, 1] - intervals[:, 0])])

    def covered(time: Int64) -> Int64:
        place = np.searchsorted(intervals[:, 0], time, side="right")
        inner = np.append(intervals[:, 1], 0)[place - 1]
        over: Int64 = before[place] - np.where(place > 0, np.maximum(inner - time, 0), 0)
        return over

    difference: Int64 = covered(end) - covered(start)
    return difference
