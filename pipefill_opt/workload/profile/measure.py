"""Measure an iteration's operators: time in whole iterations and replayed, memory, FLOPs; on a CPU or by CUDA."""

from __future__ import annotations

import json
import tempfile
from collections.abc import Callable
from itertools import pairwise
from pathlib import Path
from statistics import median_high
from typing import Any, Final

from pipefill_opt.workload.profile.library import torch_library
from pipefill_opt.workload.profile.records import Configuration, Operator
from pipefill_opt.workload.profile.stepper import Stepper
from pipefill_opt.workload.profile.walk import Walk

MARK: Final = "pipefill operator ends"
MEMORY: Final = {
    "cpu": "the allocator's profile of one iteration (what libraries take besides is not in it)",
    "cuda": "the caching allocator's statistics",
}
"""Where the bytes of operators come from, by type of device."""
Clock = Callable[[], int]
Samples = list[list[int]]
"""ns, by iteration and operator."""


def measured(walk: Walk, batch: int, device: Any, repeats: int, warmup: int, clock: Clock) -> Configuration:
    """One batch size. Whole and replayed iterations alternate, so that what else the machine does touches both alike."""
    for _ in range(warmup):
        walk.iterate(lambda: None)
    memory = _memory_cuda(walk) if device.type == "cuda" else _memory_cpu(walk)
    flops = _flops(walk)
    whole, replayed, handovers = _times(walk, device, repeats, clock)
    operators = tuple(
        Operator(name, times, again, *sizes, work)
        for name, times, again, sizes, work in zip(
            walk.names, zip(*whole, strict=True), zip(*replayed, strict=True), memory, flops, strict=True
        )
    )
    return Configuration(batch, walk.resident(), operators, median_high(handovers))


def _times(walk: Walk, device: Any, repeats: int, clock: Clock) -> tuple[Samples, Samples, list[int]]:
    """Of each operator, in whole iterations and replayed, and what handing over took. All in one thread, as a fill job has its own."""
    iterate = settled(walk, device)
    whole: Samples = []

    def both(pause: Callable[[], None]) -> None:
        whole.append(_whole_cuda(walk) if device.type == "cuda" else _whole_cpu(walk, clock))
        pause()
        iterate(pause)

    stepper = Stepper(both, clock=clock)
    replayed: Samples = []
    handovers = []
    try:
        for _ in range(repeats + 1):
            stepper.advance()
            begin = clock()
            steps = [stepper.advance() for _ in walk.names]
            handovers.append(max(0, clock() - begin - sum(steps)) // len(steps))
            replayed.append(steps)
    finally:
        stepper.close()
    return whole[1:], replayed[1:], handovers[1:]  # the first ones warmed the thread up


def settled(walk: Walk, device: Any) -> Callable[[Callable[[], None]], None]:
    """Iterations in which an operator ends when the device has done it."""
    if device.type != "cuda":
        return walk.iterate
    synchronize = torch_library().cuda.synchronize

    def iterate(pause: Callable[[], None]) -> None:
        def settle() -> None:
            synchronize()
            pause()

        walk.iterate(settle)

    return iterate


def _whole_cpu(walk: Walk, clock: Clock) -> list[int]:
    stamps = [clock()]
    walk.iterate(lambda: stamps.append(clock()))
    return [end - begin for begin, end in pairwise(stamps)]


def _whole_cuda(walk: Walk) -> list[int]:
    """By events in the stream: the device's own clock, waits for launches included."""
    cuda = torch_library().cuda

    def stamp() -> None:
        event = cuda.Event(enable_timing=True)
        event.record()
        events.append(event)

    events: list[Any] = []
    cuda.synchronize()
    stamp()
    walk.iterate(stamp)
    cuda.synchronize()
    return [round(begin.elapsed_time(end) * 10**6) for begin, end in pairwise(events)]


def _memory_cuda(walk: Walk) -> list[tuple[int, int]]:
    """Most in use, and left in use, of each operator, beyond what is in use before the iteration."""
    cuda = torch_library().cuda
    before = cuda.memory_allocated()
    found: list[tuple[int, int]] = []

    def note() -> None:
        found.append((max(0, cuda.max_memory_allocated() - before), max(0, cuda.memory_allocated() - before)))
        cuda.reset_peak_memory_stats()

    cuda.reset_peak_memory_stats()
    walk.iterate(note)
    return found


def _memory_cpu(walk: Walk) -> list[tuple[int, int]]:
    """As by CUDA, from the allocations that torch's profiler records."""
    profiler = torch_library().profiler

    def note() -> None:
        with profiler.record_function(MARK):
            pass

    with profiler.profile(activities=[profiler.ProfilerActivity.CPU], profile_memory=True) as run:
        note()
        walk.iterate(note)
    with tempfile.TemporaryDirectory() as folder:
        file = Path(folder) / "trace.json"
        run.export_chrome_trace(str(file))
        return memory_by_mark(json.loads(file.read_text(encoding="utf-8"))["traceEvents"])


def memory_by_mark(events: list[dict[str, Any]]) -> list[tuple[int, int]]:
    """Most in use, and left in use, between marks: from the `[memory]` events of a Chrome trace, the host's only."""
    changes = [
        (event["ts"], int(event["args"]["Bytes"]))
        for event in events
        if event.get("name") == "[memory]" and event["args"]["Device Type"] == 0
    ]
    marks = sorted(event["ts"] for event in events if event.get("name") == MARK and event.get("ph") == "X")
    changes = sorted((at, size) for at, size in changes if at >= marks[0])
    found, used, position = [], 0, 0
    for mark in marks[1:]:
        most = used
        while position < len(changes) and changes[position][0] < mark:
            used += changes[position][1]
            most = max(most, used)
            position += 1
        found.append((max(0, most), max(0, used)))
    return found


def _flops(walk: Walk) -> list[int]:
    """Of products and convolutions, as torch counts them."""
    totals = [0]
    with torch_library().utils.flop_counter.FlopCounterMode(display=False) as counter:
        walk.iterate(lambda: totals.append(counter.get_total_flops()))
    return [end - begin for begin, end in pairwise(totals)]
