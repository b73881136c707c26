"""Render busy and idle time of streams."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping, Sequence
from fractions import Fraction
from typing import Any, Final

from pipefill_opt.report.tables import csv_rows, csv_text, percent, text_table
from pipefill_opt.traces.streams import DeviceTimes, GapClass, StreamTimes
from pipefill_opt.units import format_time

PIECE: Final = 2**16
"""Gaps that are rendered at a time."""


def _name(times: StreamTimes) -> str:
    streams = ",".join(map(str, times.streams))
    return f"stream {streams}" if len(times.streams) == 1 else f"streams {streams}"


def _both(device: DeviceTimes) -> Iterator[StreamTimes]:
    yield from device.streams
    yield from device.unions


def _shown(device: DeviceTimes) -> list[StreamTimes]:
    """Every stream, and the unions of more than one."""
    return [*device.streams, *(times for times in device.unions if len(times.streams) > 1)]


def idle_text(devices: Sequence[DeviceTimes]) -> Iterator[str]:
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
            for times in _shown(device)
        ]
        lines += [*text_table(header, rows), ""]
        lines += _class_lines("gaps by length", device, [times.by_length for times in _shown(device)])
        lines += _class_lines("time between by cause", device, [times.by_cause for times in _shown(device)])
    yield "\n".join(lines).rstrip("\n") + "\n"


def _class_lines(title: str, device: DeviceTimes, classes: Sequence[Sequence[GapClass]]) -> list[str]:
    header = (title, *(each.name for each in classes[0]))
    rows = [
        (
            f"{_name(times)} ({times.work})",
            *(f"{each.count}: {format_time(each.ticks)}" if each.count else "-" for each in of_stream),
        )
        for times, of_stream in zip(_shown(device), classes, strict=True)
    ]
    return [*text_table(header, rows), ""]


def idle_json(devices: Sequence[DeviceTimes]) -> Iterator[str]:
    """Everything in ns, every gap as [start, end]; piece by piece, since there may be millions of gaps."""
    yield '{"devices":['
    for number, device in enumerate(devices):
        head = {name: getattr(device, name) for name in ("rank", "device", "source", "start", "end")}
        yield ("," if number else "") + json.dumps(head)[:-1]
        for key, several in (("streams", device.streams), ("unions", device.unions)):
            yield f',"{key}":['
            for index, times in enumerate(several):
                yield ("," if index else "") + json.dumps(_document(times))[:-1] + ',"gaps":['
                for place, part in enumerate(_parts(times)):
                    yield ("," if place else "") + json.dumps(part)[1:-1]
                yield "]}"
            yield "]"
        yield "}"
    yield "]}\n"


def _parts(times: StreamTimes) -> Iterator[list[list[int]]]:
    for first in range(0, len(times.gaps), PIECE):
        yield times.gaps[first : first + PIECE].tolist()


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
    }


def idle_csv(devices: Sequence[DeviceTimes]) -> Iterator[str]:
    """One row for each gap, ns; piece by piece."""
    yield csv_text(("rank", "device", "streams", "work", "start", "length"), ())
    for device in devices:
        for times in _both(device):
            streams = " ".join(map(str, times.streams))
            head = (device.rank, device.device, streams, times.work)
            for part in _parts(times):
                yield csv_rows([(*head, start, end - start) for start, end in part])
