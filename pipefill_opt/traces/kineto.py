"""PyTorch's profiler traces (Kineto, Chrome JSON, gzip too): one file a rank.

Times are microseconds from `baseTimeNanoseconds`, or from 1970 where the file has no base.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any, Final

from pipefill_opt.errors import InputError
from pipefill_opt.traces.json_events import Progress, json_ticks, read_events
from pipefill_opt.traces.trace_events import (
    Annotation,
    Columns,
    Op,
    TraceEvents,
    Work,
    device_work,
    host_ops,
    joined_links,
)

NCCL: Final = re.compile(r"nccl|rccl", re.IGNORECASE)
"""Kernels of NVIDIA's and AMD's communication libraries have it in their names."""
ENGINE: Final = "autograd::engine::evaluate_function"
MESSAGES: Final = {"c10d::send": Op.SEND, "c10d::recv_": Op.RECV}
_RANK: Final = re.compile(r"rank[-_ .]?([0-9]{1,6})(?![0-9])", re.IGNORECASE)

DEVICE: Final = {
    "kernel": Work.COMPUTE,
    "gpu_memcpy": Work.COPY,
    "gpu_memset": Work.COPY,
    "Kernel": Work.COMPUTE,  # capitals: before torch 1.13
    "Memcpy": Work.COPY,
    "Memset": Work.COPY,
}
LAUNCH: Final = frozenset({"cuda_runtime", "cuda_driver", "Runtime", "hip_runtime"})
OPERATOR: Final = frozenset({"cpu_op", "Operator"})
MEMORY: Final = "[memory]"
"""Instants that the profiler writes with `profile_memory=True`."""
CUDA: Final = 1
"""torch's number for this type of device."""
LINK: Final = frozenset({"fwdbwd", "forward_backward"})


def read_kineto(path: Path | str, *, position: int = 0, progress: Progress | None = None) -> TraceEvents:
    """One rank's trace. The rank: the file's distributedInfo, else `rank3` in its name, else its position among the files.

    Raises InputError (file, event, what was expected).
    """
    header: dict[str, Any] = {}
    collector = _Collector()
    try:
        for event in read_events(path, header, progress):
            collector.take(event)
    except (KeyError, ValueError, TypeError, AttributeError, OverflowError) as error:
        problem = f"missing key {error}" if isinstance(error, KeyError) else str(error)
        raise InputError(
            f"expected an event of a trace ({problem})", where=f"event {collector.taken}", file=str(path)
        ) from None
    if not collector.timed:
        raise InputError("expected a trace with events that have a duration (ph X)", file=str(path))
    base = header.get("baseTimeNanoseconds", 0)
    if type(base) is not int or not 0 <= base < 2**62:
        raise InputError("expected a time in ns", value=base, where="baseTimeNanoseconds", file=str(path))
    rank, world = _rank(header, Path(path), position)
    events = collector.events(base, str(path), rank, world)
    own = events.device.streams[0][0] if events.device.streams else 0
    return replace(events, capacity=_capacity(header, own), reserved=collector.reserved.get(own, 0))


def _rank(header: Mapping[str, Any], path: Path, position: int) -> tuple[int, int]:
    """Rank and number of ranks."""
    info = header.get("distributedInfo")
    if isinstance(info, dict) and type(info.get("rank")) is int and info["rank"] >= 0:
        world = info.get("world_size", 0)
        return info["rank"], world if type(world) is int else 0
    named = rank_in_name(path)
    return (position if named is None else named), 0


def _capacity(header: Mapping[str, Any], device: int) -> int:
    """Bytes of a device, 0 where the file does not tell."""
    listed = header.get("deviceProperties")
    for entry in listed if isinstance(listed, list) else []:
        size = entry.get("totalGlobalMem") if isinstance(entry, dict) and entry.get("id") == device else None
        if isinstance(size, int):
            return max(0, size)
    return 0


def rank_in_name(path: Path) -> int | None:
    """3 for `trace.rank3.json`."""
    named = _RANK.search(path.name)
    return int(named.group(1)) if named else None


def _number(name: object) -> int:
    """The number of a device or stream: itself, or the last one in its name."""
    if isinstance(name, int):
        return name
    digits = re.findall(r"[0-9]{1,9}", str(name))
    return int(digits[-1]) if digits else 0


class _Collector:
    """Takes events one by one and keeps what a pipeline's times can be told from."""

    def __init__(self) -> None:
        self.taken = 0
        self.timed = 0
        self.reserved: dict[int, int] = {}
        self._threads: dict[object, int] = {}
        self._streams: dict[tuple[int, int], int] = {}
        self._annotations: list[Annotation] = []
        self._device = Columns(5)
        self._launches = Columns(2)
        self._ops = Columns(3)
        self._sources, self._targets = Columns(2), Columns(2)
        self._kinds: dict[str, Callable[[dict[str, Any]], None]] = {
            "user_annotation": self._annotation,
            **dict.fromkeys(LAUNCH, self._launch),
            **dict.fromkeys(OPERATOR, self._operator),
            **dict.fromkeys(DEVICE, self._work),
        }

    def take(self, event: dict[str, Any]) -> None:
        """Raises KeyError, ValueError, TypeError or OverflowError for an event that is none."""
        self.taken += 1
        phase = event.get("ph")
        if phase == "X":
            self.timed += 1
            kind = self._kinds.get(event.get("cat", ""))
            if kind is not None:
                kind(event)
        elif phase == "i" and event.get("name") == MEMORY:
            self._memory(event.get("args", {}))
        elif phase == "B" and event.get("cat") in self._kinds:
            raise ValueError("a beginning, ph B: ranges are read with their duration, ph X")
        elif phase in ("s", "f") and event.get("cat") in LINK:
            (self._sources if phase == "s" else self._targets).add(int(event["id"]), json_ticks(event["ts"]))

    def _memory(self, arguments: dict[str, Any]) -> None:
        """The most that the allocator holds of each device."""
        if arguments.get("Device Type") == CUDA:
            device = _number(arguments.get("Device Id", 0))
            held = arguments.get("Total Reserved") or arguments.get("Total Allocated") or 0
            self.reserved[device] = max(int(held), self.reserved.get(device, 0))

    def _times(self, event: dict[str, Any]) -> tuple[int, int]:
        start, length = json_ticks(event["ts"]), json_ticks(event.get("dur", 0))
        if length < 0:
            raise ValueError(f"a duration of {event['dur']}")
        return start, start + length

    def _annotation(self, event: dict[str, Any]) -> None:
        thread = self._threads.setdefault((event.get("pid"), event.get("tid")), len(self._threads))
        self._annotations.append(Annotation(str(event["name"]), thread, *self._times(event)))

    def _operator(self, event: dict[str, Any]) -> None:
        name = event["name"]
        kind = Op.BACKWARD if name.startswith(ENGINE) else MESSAGES.get(name, Op.OTHER)
        self._ops.add(*self._times(event), kind)

    def _launch(self, event: dict[str, Any]) -> None:
        correlation = event.get("args", {}).get("correlation", 0)
        if correlation:
            self._launches.add(int(correlation), json_ticks(event["ts"]))

    def _work(self, event: dict[str, Any]) -> None:
        arguments = event.get("args", {})
        stream = _number(arguments.get("device", event["pid"])), _number(arguments.get("stream", event["tid"]))
        kind = DEVICE[event["cat"]]
        if kind == Work.COMPUTE and NCCL.search(event["name"]):
            kind = Work.COMMUNICATION
        index = self._streams.setdefault(stream, len(self._streams))
        self._device.add(*self._times(event), index, int(arguments.get("correlation", -1)), kind)

    def events(self, base: int, source: str, rank: int, world: int) -> TraceEvents:
        """Everything so far, on the clock that `base` is on."""
        annotations = sorted(self._annotations, key=lambda a: (a.start, -a.end))
        return TraceEvents(
            source=source,
            rank=rank,
            world=world,
            annotations=tuple(Annotation(a.name, a.thread, a.start + base, a.end + base) for a in annotations),
            launches=self._launches.table(by=0, plus=(0, base)),
            device=device_work(self._device.table(by=0, plus=(base, base, 0, 0, 0)), tuple(self._streams)),
            ops=host_ops(self._ops.table(by=0, plus=(base, base, 0))),
            links=joined_links(self._sources.table(), self._targets.table()) + base,
        )
