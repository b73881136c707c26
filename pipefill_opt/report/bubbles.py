"""Times, bubbles and memory of a main job as JSON, as CSV and as a table for people; fast on millions of actions."""

from __future__ import annotations

from fractions import Fraction

import numpy as np

from pipefill_opt.report.derived import derived_json, derived_lines
from pipefill_opt.report.tables import csv_text, percent, text_table
from pipefill_opt.schedule.schedule import Int64
from pipefill_opt.schedule.texts import action_texts
from pipefill_opt.timeline.timeline import EDGES, KINDS, PHASES, BubbleTable, Timeline
from pipefill_opt.timeline.times import flow_period
from pipefill_opt.units import format_bytes, format_time
from pipefill_opt.workload.costs import Boundary
from pipefill_opt.workload.weights import is_block

CSV_HEADER = (
    "device",
    "start",
    "length",
    "kind",
    "phase",
    "cause_edge",
    "cause_action",
    "cause_device",
    "next_action",
    "slack",
    "free_bytes",
)


def bubbles_json(timeline: Timeline) -> str:
    """A JSON document; times in ticks (ns), sizes in bytes. A time that is no whole number of ticks is a fraction as text, "463/2".

    derived (null unless the job is given by a model's name: report/derived.py), boundary, period, makespan, span, flow_period (without
    a barrier; null in mode `link`), bubble_ratio (a number), bubble_ratio_exact (a fraction as text), and devices, each with device,
    busy, idle (period - busy), peak_bytes, actions and bubbles.
    actions: text, start, end of each, in order; an overlapped pair is one entry if it is one block, two if not. bubbles: start, length,
    kind, phase, cause {edge, action, device}, next_action, slack, free_bytes of each, in order of start. What there is not is null:
    sizes without a memory model, actions around a device without work.
    """
    texts = action_texts(timeline.main.schedule)
    actions, bubbles = _action_objects(timeline, texts), _bubble_objects(timeline, texts)
    rows, first = timeline.main.schedule.row_start.tolist(), timeline.bubble_table.first.tolist()
    peaks = ["null"] * len(timeline.busy) if timeline.peak is None else timeline.peak.tolist()
    ratio, flow = timeline.bubble_ratio, _flow_period(timeline)
    period, makespan, span = (
        _json_time(timeline.ticks(time)) for time in (timeline.period, timeline.makespan, timeline.span)
    )
    parts = [
        f'{{"derived":{derived_json(timeline)},\n"boundary":"{timeline.main.boundary}","period":{period},"makespan":{makespan},"span":{span},'
        f'"flow_period":{"null" if flow is None else _json_time(flow)},\n"bubble_ratio":{float(ratio)!r},"bubble_ratio_exact":"{ratio}",'
        '\n"devices":['
    ]
    times = zip(_ticks(timeline, timeline.busy), _ticks(timeline, timeline.period - timeline.busy), peaks, strict=True)
    for device, (busy, idle, peak) in enumerate(times):
        parts += [
            f'{"," if device else ""}\n{{"device":{device},"busy":{busy},"idle":{idle},"peak_bytes":{peak},\n"actions":[',
            ",".join(filter(None, actions[rows[device] : rows[device + 1]])),
            '],\n"bubbles":[',
            ",".join(bubbles[first[device] : first[device + 1]]),
            "]}",
        ]
    parts.append("\n]}\n")
    return "".join(parts)


def bubbles_csv(timeline: Timeline) -> str:
    """A CSV with one row for each bubble, by device and start; times in ticks (ns), sizes in bytes, empty for what there is not."""
    table = timeline.bubble_table
    texts = np.array([*action_texts(timeline.main.schedule), None], dtype=object)  # -1 is none
    free = [None] * len(table.start) if table.free is None else table.free.tolist()
    columns = (
        _device_of(table).tolist(),
        _ticks(timeline, table.start, quote=""),
        _ticks(timeline, table.length, quote=""),
        [KINDS[kind] for kind in table.kind.tolist()],
        [PHASES[phase] for phase in table.phase.tolist()],
        [EDGES[edge] for edge in table.cause_edge.tolist()],
        texts[table.cause_action].tolist(),
        [None if device < 0 else device for device in table.cause_device.tolist()],
        texts[table.next_action].tolist(),
        _ticks(timeline, table.slack, quote=""),
        free,
    )
    return csv_text(CSV_HEADER, list(zip(*columns, strict=True)))


def bubbles_text(timeline: Timeline) -> str:
    """A table for people: of each device its work, idle time by kind of bubble, bubbles, memory peak and least free memory in a bubble."""
    table, devices = timeline.bubble_table, len(timeline.busy)
    by_kind = np.zeros((devices, len(KINDS)), dtype=np.int64)
    np.add.at(by_kind, (_device_of(table), table.kind), table.length)
    numbers = [
        [busy, timeline.period - busy, *kinds]
        for busy, kinds in zip(timeline.busy.tolist(), by_kind.tolist(), strict=True)
    ]
    counts = np.diff(table.first).tolist()

    def shown(time: int) -> str:
        return format_time(timeline.ticks(time))

    memory = timeline.peak is not None
    header = ["device", "busy", "idle", *KINDS, "bubbles", *(["peak", "least free"] if memory else [])]
    rows = [
        [str(device), *map(shown, times), str(count), *_memory_cells(timeline, device)]
        for device, (times, count) in enumerate(zip(numbers, counts, strict=True))
    ]
    totals = [sum(column) for column in zip(*numbers, strict=True)]
    rows.append(["all", *map(shown, totals), str(sum(counts)), *([""] * 2 if memory else [])])
    lines = [
        f"{timeline.main.schedule.name}: {devices} devices, {timeline.main.schedule.size} actions",
        f"period {_period_text(timeline)}, span {shown(timeline.span)}, bubble ratio {percent(timeline.bubble_ratio)}",
        *derived_lines(timeline),
        "",
        *text_table(header, rows),
    ]
    return "\n".join(lines) + "\n"


def _flow_period(timeline: Timeline) -> Fraction | None:
    """The period without a barrier, in ticks; None where there is none (mode `link`)."""
    if timeline.main.boundary is Boundary.FLOW:
        return timeline.ticks(timeline.period)
    return flow_period(timeline.main)


def _period_text(timeline: Timeline) -> str:
    """The period, and beside it that of the other boundary where it differs."""
    period, makespan, flow = timeline.ticks(timeline.period), timeline.ticks(timeline.makespan), _flow_period(timeline)
    text = format_time(period)
    if flow is None or flow == makespan:
        return text
    other = (
        f"{format_time(flow)} with flow"
        if timeline.main.boundary is Boundary.BARRIER
        else f"{format_time(makespan)} with barrier"
    )
    return f"{text} ({timeline.main.boundary}; {other})"


def _ticks(timeline: Timeline, times: Int64, *, quote: str = '"') -> list[int | str]:
    """Times of a timeline in ticks: whole numbers, or fractions as text."""
    whole: list[int | str] = times.tolist()
    if timeline.scale == 1:
        return whole
    return [_json_time(timeline.ticks(time), quote) for time in times.tolist()]


def _json_time(ticks: Fraction, quote: str = '"') -> int | str:
    return ticks.numerator if ticks.denominator == 1 else f"{quote}{ticks}{quote}"


def _action_objects(timeline: Timeline, texts: list[str]) -> list[str]:
    """A JSON object for every action; of a block the F has that of the pair, the B none."""
    columns = zip(texts, _ticks(timeline, timeline.start), _ticks(timeline, timeline.end), strict=True)
    objects = [f'{{"text":"{text}","start":{start},"end":{end}}}' for text, start, end in columns]
    if is_block(timeline.main):
        for index in np.flatnonzero(timeline.main.schedule.paired).tolist():
            pair = f"({texts[index]};{texts[index + 1]})OVERLAP_F_B"
            objects[index] = objects[index].replace(texts[index], pair, 1)
            objects[index + 1] = ""
    return objects


def _bubble_objects(timeline: Timeline, texts: list[str]) -> list[str]:
    """A JSON object for every bubble."""
    table = timeline.bubble_table
    quoted = [*(f'"{text}"' for text in texts), "null"]  # -1 is none
    kinds = [f'"kind":"{kind}"' for kind in KINDS]
    phases = [f'"phase":"{phase}"' for phase in PHASES]
    edges = [f'"edge":"{edge}"' for edge in EDGES]
    free = ["null"] * len(table.start) if table.free is None else table.free.tolist()
    times = (_ticks(timeline, column) for column in (table.start, table.length))
    columns = (table.kind, table.phase, table.cause_edge, table.cause_action, table.cause_device, table.next_action)
    return [
        f'{{"start":{start},"length":{length},{kinds[kind]},{phases[phase]},'
        f'"cause":{{{edges[edge]},"action":{quoted[action]},"device":{device if device >= 0 else "null"}}},'
        f'"next_action":{quoted[following]},"slack":{slack},"free_bytes":{room}}}'
        for start, length, kind, phase, edge, action, device, following, slack, room in zip(
            *times, *(column.tolist() for column in columns), _ticks(timeline, table.slack), free, strict=True
        )
    ]


def _device_of(table: BubbleTable) -> Int64:
    return np.repeat(np.arange(len(table.first) - 1), np.diff(table.first))


def _memory_cells(timeline: Timeline, device: int) -> list[str]:
    if timeline.peak is None:
        return []
    free = timeline.bubble_table.free
    part = slice(*timeline.bubble_table.first[device : device + 2].tolist())
    least = format_bytes(int(free[part].min())) if free is not None and len(free[part]) else "-"
    return [format_bytes(int(timeline.peak[device])), least]
