"""Render busy and idle time of streams."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping, Sequence
from fractions import Fraction
from typing import Any

from pipefill_opt.report.tables import csv_text, percent, text_table
from pipefill_opt.traces.streams import DeviceTimes, GapClass, StreamTimes
from pipefill_opt.units import format_time


def _name(times: StreamTimes) -> str:
    streams = ",".join(map(str, times.streams))
    return f"stream {streams}" if len(times.streams) == 1 else f"streams {streams}"


def _both(device: DeviceTimes) -> Iterator[StreamTimes]:
    yield from device.streams
    yield from device.unions


def idle_text(devices: Sequence[DeviceTimes]) -> str:
    """For people: busy and idle time of every stream and union, gaps by length and by cause."""
    lines: list[str] = []
    for device in devices:
        length = device.end - device.start
        lines += [f"rank {device.rank}, device {device.device}: {format_time(length)}", ""]
        header = ("", "work", "pieces", "busy", "share", "idle", "before and after", "between", "gaps")
        rows = [
            (
                _name(times),
                times.work,
                str(times.pieces),
                format_time(times.busy),
                percent(Fraction(times.busy, length)) if length else "-",
                format_time(times.idle),
                format_time(times.idle - times.idle_within),
                format_time(times.idle_within),
                str(len(times.gaps)),
            )
            for times in _both(device)
        ]
        lines += [*text_table(header, rows), ""]
        lines += _class_lines("gaps by length", device, [times.by_length for times in _both(device)])
        lines += _class_lines("time between by cause", device, [times.by_cause for times in _both(device)])
    return "\n".join(lines).rstrip("\n") + "\n"


def _class_lines(title: str, device: DeviceTimes, classes: Sequence[Sequence[GapClass]]) -> list[str]:
    header = (title, *(each.name for each in classes[0]))
    rows = [
        (f"{_name(times)} ({times.work})", *(f"{each.count}: {format_time(each.ticks)}" for each in of_stream))
        for times, of_stream in zip(_both(device), classes, strict=True)
    ]
    return [*text_table(header, rows), ""]


def idle_json(devices: Sequence[DeviceTimes]) -> str:
    """Everything in ns, every gap as [start, end]."""
    document = {
        "devices": [
            {
                "rank": device.rank,
                "device": device.device,
                "source": device.source,
                "start": device.start,
                "end": device.end,
                "streams": [_document(times) for times in device.streams],
                "unions": [_document(times) for times in device.unions],
            }
            for device in devices
        ]
    }
    return json.dumps(document) + "\n"


def _document(times: StreamTimes) -> Mapping[str, Any]:
    return {
        "streams": list(times.streams),
        "work": times.work,
        "pieces": times.pieces,
        "start": times.start,
        "end": times.end,
        "busy": times.busy,
        "idle": times.idle,
        "idle_within": times.idle_within,
        "gaps_by_length": [{"class": each.name, "count": each.count, "ticks": each.ticks} for each in times.by_length],
        "idle_by_cause": [{"cause": each.name, "count": each.count, "ticks": each.ticks} for each in times.by_cause],
        "gaps": times.gaps.tolist(),
    }


def idle_csv(devices: Sequence[DeviceTimes]) -> str:
    """One row for each gap, ns."""
    rows = [
        (device.rank, device.device, " ".join(map(str, times.streams)), times.work, start, end - start)
        for device in devices
        for times in _both(device)
        for start, end in times.gaps.tolist()
    ]
    return csv_text(("rank", "device", "streams", "work", "start", "length"), rows)
