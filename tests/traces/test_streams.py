"""Busy and idle time of streams: exact sums, equal to those of a count of every instant."""

from __future__ import annotations

import json
import random
from pathlib import Path

import numpy as np
import pytest

from pipefill_opt.report.idle import idle_csv, idle_json, idle_text
from pipefill_opt.traces.importing import read_traces
from pipefill_opt.traces.streams import CAUSES, device_times, union_of
from tests.traces.nsys_file import Kernel, write_nsys
from tests.traces.synthetic import pipeline, write_traces

ORIGIN = 1_790_857_026_123_456
"""Absolute microseconds, as a trace without a base has them."""
NAMES = ("gemm", "ncclDevKernel_AllReduce_Sum_f16_RING_LL", "softmax")


def kernels(count: int, seed: int = 3) -> list[tuple[int, int, int]]:
    """stream, start, duration in whole microseconds; those of a stream may overlap."""
    rng = random.Random(seed)
    return [(rng.choice((7, 20, 24)), rng.randrange(6000), rng.randrange(0, 9)) for _ in range(count)]


def kineto_file(path: Path, rows: list[tuple[int, int, int]]) -> Path:
    """Streams 20 talk, the others compute; no base time, no rank, no host."""
    events = [
        {"ph": "X", "cat": "kernel", "name": NAMES[1] if stream == 20 else NAMES[0], "pid": 0, "tid": stream, "ts": ORIGIN + start,
         "dur": length, "args": {"device": 0, "stream": stream}}
        for stream, start, length in rows
    ]  # fmt: skip
    path.write_text(json.dumps({"traceEvents": events}))
    return path


def nsys_file(path: Path, rows: list[tuple[int, int, int]]) -> Path:
    """The same in ns."""
    made = [
        Kernel(
            NAMES[1] if stream == 20 else NAMES[0],
            ORIGIN * 1000 + start * 1000,
            ORIGIN * 1000 + (start + length) * 1000,
            stream,
        )
        for stream, start, length in rows
    ]
    write_nsys(path, made)
    return path


def instants(rows: list[tuple[int, int, int]], streams: set[int]) -> np.ndarray:  # type: ignore[type-arg]
    """bool by microsecond: whether any of the streams is busy."""
    busy = np.zeros(7000, dtype=np.bool_)
    for stream, start, length in rows:
        if stream in streams:
            busy[start : start + length] = True
    return busy


@pytest.mark.parametrize("kind", ["kineto", "nsys"])
def test_a_thousand_kernels_to_the_tick(kind: str, tmp_path: Path) -> None:
    rows = kernels(1000)
    path = (kineto_file if kind == "kineto" else nsys_file)(tmp_path / "trace", rows)
    (device,) = device_times(read_traces(kind, [path])[0], [(7, 24), (20, 24), (7, 99)])
    begin, end = min(start for _, start, _ in rows), max(start + length for _, start, length in rows)
    assert (device.start, device.end) == ((ORIGIN + begin) * 1000, (ORIGIN + end) * 1000)
    found = {times.streams: times for times in (*device.unions, *device.streams)}
    assert set(found) == {(7,), (20,), (24,), (7, 24), (20, 24), (7, 20, 24)}
    for streams, times in found.items():
        busy = instants(rows, set(streams))
        first, last = int(np.flatnonzero(busy)[0]), int(np.flatnonzero(busy)[-1]) + 1
        assert times.busy == int(busy.sum()) * 1000
        assert times.idle == (end - begin) * 1000 - times.busy
        assert (times.start, times.end) == ((ORIGIN + first) * 1000, (ORIGIN + last) * 1000)
        assert times.idle_within == int((~busy[first:last]).sum()) * 1000
        gaps = np.zeros(7000, dtype=np.bool_)
        for start, stop in (times.gaps // 1000 - ORIGIN).tolist():
            assert not gaps[start:stop].any()
            gaps[start:stop] = True
        assert (gaps[first:last] == ~busy[first:last]).all()
        assert times.pieces == sum(stream in streams for stream, _, _ in rows)
        assert (
            sum(each.ticks for each in times.by_length)
            == times.idle_within
            == sum(each.ticks for each in times.by_cause)
        )
        assert sum(each.count for each in times.by_length) == len(times.gaps)
        talk = instants(rows, {20} - set(streams))
        assert times.by_cause[0].ticks == int((~busy[first:last] & talk[first:last]).sum()) * 1000
        assert times.by_cause[1].ticks == 0


def test_kinds_of_streams(tmp_path: Path) -> None:
    (device,) = device_times(read_traces("kineto", [kineto_file(tmp_path / "trace", kernels(50))])[0])
    assert [(times.streams, times.work) for times in device.streams] == [
        ((7,), "computation"), ((20,), "communication"), ((24,), "computation"),
    ]  # fmt: skip
    assert [(times.streams, times.work) for times in device.unions] == [
        ((7, 24), "computation"), ((20,), "communication"), ((7, 20, 24), "all"),
    ]  # fmt: skip


def test_classes_of_gaps(tmp_path: Path) -> None:
    """On stream 7: 5 us that nobody explains, 50 us of which a message takes 20, then 3 ms launched 1 ms late, then 40 ms."""
    made = [
        Kernel("gemm", 0, 10_000, 7, launch=0),
        Kernel("gemm", 15_000, 20_000, 7, launch=1_000),
        Kernel("ncclKernel_SendRecv", 30_000, 50_000, 20, launch=2_000),
        Kernel("gemm", 70_000, 80_000, 7, launch=3_000),
        Kernel("gemm", 3_080_000, 3_090_000, 7, launch=1_080_000),
        Kernel("gemm", 43_090_000, 43_100_000, 7),
    ]
    write_nsys(tmp_path / "trace.sqlite", made)
    (device,) = device_times(read_traces("nsys", [tmp_path / "trace.sqlite"])[0])
    stream = device.streams[0]
    assert [(each.count, each.ticks) for each in stream.by_length] == [
        (1, 5_000),
        (1, 50_000),
        (0, 0),
        (1, 3_000_000),
        (1, 40_000_000),
    ]
    causes = {each.name: (each.count, each.ticks) for each in stream.by_cause}
    assert causes == {"communication": (1, 20_000), "host": (1, 1_000_000), "other": (4, 42_035_000)}
    assert tuple(causes) == CAUSES


def test_unions_of_intervals() -> None:
    start, end = (np.array(column, dtype=np.int64) for column in ([0, 1, 4, 4, 6, 9], [2, 4, 4, 5, 6, 12]))
    assert union_of(start, end).tolist() == [[0, 5], [9, 12]]
    assert union_of(start[:0], end[:0]).tolist() == []
    assert union_of(start[2:3], end[2:3]).tolist() == [[4, 4]]


def test_what_is_shown(tmp_path: Path) -> None:
    path = kineto_file(tmp_path / "trace", kernels(300))
    devices = device_times(read_traces("kineto", [path])[0])
    text = "".join(idle_text(devices))
    assert "rank 0, device 0" in text
    assert "streams 7,20,24" in text
    document = json.loads("".join(idle_json(devices)))["devices"][0]
    assert document["streams"][0]["busy"] == devices[0].streams[0].busy
    assert document["unions"][2]["gaps"] == devices[0].unions[2].gaps.tolist()
    rows = "".join(idle_csv(devices)).splitlines()
    assert rows[0] == "rank,device,streams,work,start,length"
    assert len(rows) == 1 + sum(len(times.gaps) for times in (*devices[0].streams, *devices[0].unions))


def test_several_devices_of_a_rank(tmp_path: Path) -> None:
    made = [Kernel("gemm", 0, 10, 7, device=1), Kernel("gemm", 5, 25, 7, device=0), Kernel("gemm", 30, 35, 7, device=0)]
    write_nsys(tmp_path / "trace.sqlite", made)
    first, second = device_times(read_traces("nsys", [tmp_path / "trace.sqlite"])[0])
    assert (first.device, first.start, first.end, first.streams[0].idle) == (0, 5, 35, 5)
    assert (second.device, second.streams[0].busy, second.streams[0].idle) == (1, 10, 0)


def test_a_pipeline_s_device(tmp_path: Path) -> None:
    made = pipeline({"family": "1f1b", "devices": 2, "microbatches": 3}, steps=1)
    path = write_traces(tmp_path, made, "own", cuda=True)[1]
    (device,) = device_times(read_traces("kineto", [path])[0])
    true = sum(end - start for _, start, end in made.truth[0][1])
    assert device.unions[0].busy == true - 2_000 * len(made.truth[0][1])  # 2 us between the two kernels of an action
    assert device.unions[0].by_cause[0].ticks > 0
