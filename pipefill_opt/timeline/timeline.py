"""`Timeline`: what `timeline(main)` returns."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import Final, overload

import numpy as np

from pipefill_opt.schedule.schedule import Int8, Int32, Int64
from pipefill_opt.workload.costs import MainJob

KINDS: Final = ("fill-drain", "fwd-bwd", "sync", "inner")
PHASES: Final = ("warm-up", "steady", "cool-down")
EDGES: Final = ("data", "order", "barrier", "link", "start")


@dataclass(frozen=True, slots=True)
class Cause:
    """Why a bubble ended when it did: the predecessor (index of an action) and the edge that released the next action.

    edge: `data` (a stage waits for another action), `order` (the device's own order), `barrier` (the iteration boundary, set by the
    action that ends last), `link` (as `data`, and the message had to queue for its link), `start` (nothing: with `flow`, the action
    waits only because all devices are ready at 0).
    """

    action: int | None
    device: int | None
    edge: str


@dataclass(frozen=True, slots=True)
class Bubble:
    """A maximal idle interval of a device in the cyclic period: [start, start + length), start < period.

    kind: `fill-drain`, `fwd-bwd`, `sync` or `inner`. phase: `warm-up`, `steady` or `cool-down`. `next_action` is the
    index of the action that ends it (None on a device without work). slack: total float of that action, ticks (the period on a
    device without work). free: bytes, None without a memory model; below 0 where the main job itself does not fit.
    """

    device: int
    start: int
    length: int
    kind: str
    phase: str
    cause: Cause
    slack: int
    free: int | None
    next_action: int | None


@dataclass(frozen=True, slots=True, eq=False)
class BubbleTable:
    """All bubbles as columns, b in all, by device and then start.

    first: int64[devices + 1]; device d has the bubbles first[d] to first[d + 1] - 1. start, length, slack: int64[b] ticks.
    kind, phase, cause_edge: int8[b], places in `KINDS`, `PHASES`, `EDGES`. cause_action, cause_device, next_action: int32[b], -1
    for none. free: int64[b] bytes, or None without a memory model.
    """

    first: Int64
    start: Int64
    length: Int64
    kind: Int8
    phase: Int8
    cause_edge: Int8
    cause_action: Int32
    cause_device: Int32
    next_action: Int32
    slack: Int64
    free: Int64 | None

    def bubble(self, device: int, index: int) -> Bubble:
        """The bubble at `index` of all, which is one of `device`."""
        action, other, after = (int(c[index]) for c in (self.cause_action, self.cause_device, self.next_action))
        return Bubble(
            device=device,
            start=int(self.start[index]),
            length=int(self.length[index]),
            kind=KINDS[self.kind[index]],
            phase=PHASES[self.phase[index]],
            cause=Cause(action if action >= 0 else None, other if other >= 0 else None, EDGES[self.cause_edge[index]]),
            slack=int(self.slack[index]),
            free=None if self.free is None else int(self.free[index]),
            next_action=after if after >= 0 else None,
        )


@dataclass(frozen=True, slots=True)
class DeviceBubbles(Sequence[Bubble]):
    """The bubbles of a device, in order of start; each is built from the table when it is asked for."""

    table: BubbleTable
    device: int

    def __len__(self) -> int:
        return int(self.table.first[self.device + 1] - self.table.first[self.device])

    @overload
    def __getitem__(self, index: int) -> Bubble: ...
    @overload
    def __getitem__(self, index: slice) -> tuple[Bubble, ...]: ...
    def __getitem__(self, index: int | slice) -> Bubble | tuple[Bubble, ...]:
        numbers = range(int(self.table.first[self.device]), int(self.table.first[self.device + 1]))
        if isinstance(index, slice):
            return tuple(self.table.bubble(self.device, number) for number in numbers[index])
        return self.table.bubble(self.device, numbers[index])


@dataclass(frozen=True, slots=True, eq=False)
class MemorySteps:
    """Bytes in use over one period; k steps, all devices one after the other.

    first: int64[devices + 1]; device d has the steps first[d] to first[d + 1] - 1. time: int64[k] ticks, rising from 0 on each device.
    size: int64[k] bytes, from its time to the next one, the last to the end of the period; each differs from the one before.
    """

    first: Int64
    time: Int64
    size: Int64

    def device(self, device: int) -> tuple[Int64, Int64]:
        """Times and sizes of a device."""
        part = slice(int(self.first[device]), int(self.first[device + 1]))
        return self.time[part], self.size[part]

    def peak(self) -> Int64:
        """int64[devices]: the largest size on each device."""
        peak: Int64 = np.maximum.reduceat(self.size, self.first[:-1])
        return peak

    def largest(self, device: int, start: Int64, stop: Int64) -> Int64:
        """int64[q]: the largest size on a device within each interval [start, stop), 0 <= start < stop."""
        time, size = self.device(device)
        bounds = np.empty(2 * len(start), dtype=np.int64)
        bounds[0::2] = np.searchsorted(time, start, side="right") - 1
        bounds[1::2] = np.searchsorted(time, stop, side="left")
        largest: Int64 = np.maximum.reduceat(np.append(size, 0), bounds)[0::2]
        return largest


@dataclass(frozen=True, slots=True, eq=False)
class Timeline:
    """Exact times of a main job, in units of 1 / scale tick; scale is 1 unless the period of `flow` is a fraction.

    main: the job as timed, in `blocking` mode with its SENDs and RECVs, else without. start, end: int64[n]; with `flow` those of
    an iteration in the steady state, which may be past the period. slack: int64[n], total float: against the makespan, with `flow`
    against the next iteration. period = makespan for the `barrier` boundary. makespan, span (largest last end - first start of a
    device): of one iteration by itself. busy, peak: int64[devices]; peak is None without a memory model. memory: bytes in use over the
    period, None without a memory model.
    `bubble_table` holds all bubbles as arrays; `bubbles[d]` is the sequence of those of device d, as `Bubble` objects.
    """

    main: MainJob
    start: Int64
    end: Int64
    slack: Int64
    period: int
    makespan: int
    span: int
    busy: Int64
    peak: Int64 | None
    memory: MemorySteps | None
    bubble_table: BubbleTable
    scale: int = 1

    def ticks(self, time: int) -> Fraction:
        """A time of this timeline in ticks."""
        return Fraction(time, self.scale)

    @property
    def bubbles(self) -> tuple[DeviceBubbles, ...]:
        """The bubbles of each device, in order of start."""
        return tuple(DeviceBubbles(self.bubble_table, device) for device in range(len(self.busy)))

    @property
    def bubble_ratio(self) -> Fraction:
        """1 - sum of busy / (devices x period); 0 for an empty period."""
        whole = len(self.busy) * self.period
        return Fraction(whole - sum(map(int, self.busy)), whole) if whole else Fraction(0)
