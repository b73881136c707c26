"""What a profiler recorded on one rank, in columns: labels on the host, launches, device work, operators, links. ns."""

from __future__ import annotations

from array import array
from collections.abc import Sequence
from dataclasses import dataclass, field
from enum import IntEnum

import numpy as np
import numpy.typing as npt

from pipefill_opt.schedule.schedule import Int8, Int64


class Work(IntEnum):
    """What a stream of a device does."""

    COMPUTE = 0
    COMMUNICATION = 1
    COPY = 2


class Op(IntEnum):
    """What a host operator is to a pipeline."""

    OTHER = 0
    BACKWARD = 1  # a node of the autograd engine
    SEND = 2
    RECV = 3


@dataclass(frozen=True, slots=True)
class Annotation:
    """A range that the program named. `thread` is an index; ns."""

    name: str
    thread: int
    start: int
    end: int


@dataclass(frozen=True, slots=True, eq=False)
class DeviceWork:
    """Kernels, copies and fills, n of them in order of start. `stream` is an index into `streams`, (device, stream) each.

    start, end, correlation: int64[n] (-1: launched by nobody known); stream: int64[n]; kind: int8[n] (`Work`).
    """

    streams: tuple[tuple[int, int], ...]
    stream: Int64
    start: Int64
    end: Int64
    correlation: Int64
    kind: Int8


@dataclass(frozen=True, slots=True, eq=False)
class HostOps:
    """Operators on the host, n of them in order of start. start, end: int64[n]; kind: int8[n] (`Op`)."""

    start: Int64
    end: Int64
    kind: Int8


@dataclass(frozen=True, slots=True, eq=False)
class TraceEvents:
    """One rank's trace. `world`: how many ranks there are; `capacity`: bytes of its device; `reserved`: the most that its allocator
    held there. 0 where that is not known.

    launches: int64[k, 2], correlation and time of the call on the host. links: int64[l, 2], starts of a forward operator and of the
    backward node that it led to.
    """

    source: str
    rank: int
    world: int
    annotations: tuple[Annotation, ...]
    launches: Int64
    device: DeviceWork
    ops: HostOps
    links: Int64
    capacity: int = 0
    reserved: int = 0


@dataclass(slots=True)
class Columns:
    """Rows of whole numbers while they come in, 8 bytes a number."""

    width: int
    values: array[int] = field(default_factory=lambda: array("q"))

    def add(self, *row: int) -> None:
        """One more row. Raises OverflowError for a number past 64 bits."""
        self.values.extend(row)

    def table(self, *, by: int | None = None, plus: Sequence[int] = ()) -> Int64:
        """int64[n, width], in order of column `by` (ties as they came), with `plus` added to each row."""
        rows = np.frombuffer(self.values, dtype=np.int64).reshape(-1, self.width)
        if by is not None:
            rows = rows[np.argsort(rows[:, by], kind="stable")]
        return rows + np.array(plus, dtype=np.int64) if plus else rows


def device_work(table: Int64, streams: Sequence[tuple[int, int]]) -> DeviceWork:
    """From rows of start, end, stream index, correlation, kind, in order of start. Indices are renumbered in order of (device, stream)."""
    order = sorted(range(len(streams)), key=lambda index: streams[index])
    rank = np.empty(len(streams), dtype=np.int64)
    rank[order] = np.arange(len(streams))
    return DeviceWork(
        streams=tuple(streams[index] for index in order),
        stream=rank[table[:, 2]],
        start=_column(table, 0),
        end=_column(table, 1),
        correlation=_column(table, 3),
        kind=table[:, 4].astype(np.int8),
    )


def host_ops(table: Int64) -> HostOps:
    """From rows of start, end, kind, in order of start."""
    return HostOps(_column(table, 0), _column(table, 1), table[:, 2].astype(np.int8))


def _column(table: Int64, index: int) -> npt.NDArray[np.int64]:
    return np.ascontiguousarray(table[:, index])


def joined_links(sources: Int64, targets: Int64) -> Int64:
    """int64[l, 2]: times of source and target of every link, from rows of id and time; an id without both is left out."""
    sources, targets = (rows[np.argsort(rows[:, 0], kind="stable")] for rows in (sources, targets))
    _, first, second = np.intersect1d(sources[:, 0], targets[:, 0], return_indices=True)
    return np.stack([sources[first, 1], targets[second, 1]], axis=1)
