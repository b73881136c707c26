"""A timeline, or a fill plan in its main job, as a trace for Perfetto: one track a device, messages as flows, memory as counters."""

from __future__ import annotations

import json
from collections.abc import Sequence

import numpy as np

from pipefill_opt.fill.layout import Piece, layout, levels_within
from pipefill_opt.fill.plan import FillPlan, Phase
from pipefill_opt.fill.problem import DeviceClass, FillProblem
from pipefill_opt.schedule.actions import Kind
from pipefill_opt.schedule.precedence import Edge, precedence
from pipefill_opt.schedule.schedule import Int64
from pipefill_opt.schedule.texts import action_texts
from pipefill_opt.timeline.compute import timeline as compute_timeline
from pipefill_opt.timeline.timeline import Timeline
from pipefill_opt.traces.chrome import Trace
from pipefill_opt.units import scaled_ticks
from pipefill_opt.workload.weights import is_block

MOST_ACTIONS = 2_000_000
"""Main work of a plan with many iterations is shown up to so many actions, one iteration at least."""
_BUBBLE, _MAIN, _SEGMENT, _OPERATOR = range(4)


def main_trace(timeline: Timeline) -> str:
    """One iteration: actions and bubbles of each device, messages between them, bytes in use."""
    schedule = timeline.main.schedule
    trace, texts = Trace(schedule.name, timeline.period, timeline.scale), action_texts(schedule)
    tracks = [trace.track(f"device {device}") for device in range(schedule.devices)]
    for device, track in enumerate(tracks):
        _add_actions(trace, track, timeline, texts, device, 0)
        _add_bubbles(trace, track, timeline, device, 0)
        if timeline.memory is not None:
            times, sizes = timeline.memory.device(device)
            for time, size in zip(times.tolist(), sizes.tolist(), strict=True):
                trace.counter(f"device {device} memory", time, {"main": size})
    _add_messages(trace, tracks, timeline, texts, 0)
    return trace.text()


def plan_trace(problem: FillProblem, plan: FillPlan) -> str:
    """A track for each pattern of a certified plan, over its main iterations; the first phase of each.

    Where the main job is not known, its work is what lies between the bubbles. Messages go between the first patterns of the devices.
    """
    timeline = compute_timeline(problem.main) if problem.main is not None else None
    texts = action_texts(timeline.main.schedule) if timeline is not None else []
    iterations = plan.iterations or problem.iterations or 1
    size = timeline.main.schedule.size if timeline is not None else 1
    shown = max(1, min(iterations, MOST_ACTIONS // max(1, size)))
    name = problem.name + (f", first {shown} of {iterations} iterations" if shown < iterations else "")
    trace = Trace(name, shown * problem.period)
    first_track: dict[int, int] = {}
    for pattern in plan.patterns:
        device = problem.device(pattern.device)
        label = device.name + (f" x {pattern.multiplicity}" if device.count > 1 else "")
        track = trace.track(label)
        main_device = device.main_device if timeline is not None else None
        if main_device is not None:
            first_track.setdefault(main_device, track)
        for iteration in range(shown):
            shift = iteration * problem.period
            if timeline is not None and main_device is not None:
                _add_actions(trace, track, timeline, texts, main_device, shift)
                _add_bubbles(trace, track, timeline, main_device, shift)
            else:
                _add_class(trace, track, device, problem.period, shift)
        _add_fill(trace, track, problem, device, pattern.phases[0], whole=shown == iterations)
        _add_memory(trace, label, track, problem, device, pattern.phases[0], timeline, whole=shown == iterations)
    if timeline is not None and len(first_track) == timeline.main.schedule.devices:
        tracks = [first_track[device] for device in range(timeline.main.schedule.devices)]
        for iteration in range(shown):
            _add_messages(trace, tracks, timeline, texts, iteration * problem.period)
    return trace.text()


def _add_actions(trace: Trace, track: int, timeline: Timeline, texts: Sequence[str], device: int, shift: int) -> None:
    schedule, block = timeline.main.schedule, is_block(timeline.main)
    begin, end = int(schedule.row_start[device]), int(schedule.row_start[device + 1])
    columns = (timeline.start, timeline.end, timeline.slack, schedule.stage, schedule.microbatch, schedule.paired)
    second = False
    for number, (text, start, stop, slack, stage, microbatch, paired) in enumerate(
        zip(texts[begin:end], *(column[begin:end].tolist() for column in columns), strict=True), start=begin
    ):
        if second:
            second = False
            continue  # the pair stands already
        second = block and paired
        name = f"({text};{texts[number + 1]})" if second else text
        arguments = f'{{"stage":{stage},"microbatch":{microbatch},"slack_ns":{slack // timeline.scale}}}'
        trace.slice(track, shift + start, shift + stop, f'"{name}"', "main", _MAIN, arguments)


def _add_bubbles(trace: Trace, track: int, timeline: Timeline, device: int, shift: int) -> None:
    for bubble in timeline.bubbles[device]:
        free = "null" if bubble.free is None else bubble.free
        arguments = (
            f'{{"kind":"{bubble.kind}","phase":"{bubble.phase}","cause":"{bubble.cause.edge}",'
            f'"slack_ns":{bubble.slack // timeline.scale},"free_bytes":{free}}}'
        )
        start = shift + bubble.start
        trace.slice(track, start, start + bubble.length, f'"bubble: {bubble.kind}"', "bubble", _BUBBLE, arguments)


def _add_class(trace: Trace, track: int, device: DeviceClass, period: int, shift: int) -> None:
    """Bubbles of a class whose main job is not known, and the work between them."""
    last = device.bubbles[-1].start + device.bubbles[-1].length if device.bubbles else 0
    now = max(0, last - period)
    for bubble in device.bubbles:
        if bubble.start > now:
            trace.slice(track, shift + now, shift + bubble.start, '"main work"', "main", _MAIN)
        start, now = shift + bubble.start, bubble.start + bubble.length
        arguments = f'{{"kind":{json.dumps(bubble.kind)},"free_bytes":{bubble.free}}}'
        name = json.dumps(f"bubble: {bubble.kind}")
        trace.slice(track, start, start + bubble.length, name, "bubble", _BUBBLE, arguments)
    if now < period:
        trace.slice(track, shift + now, shift + period, '"main work"', "main", _MAIN)


def _add_fill(
    trace: Trace, track: int, problem: FillProblem, device: DeviceClass, phase: Phase, *, whole: bool
) -> None:
    for piece in layout(problem, device, phase).pieces:
        if not whole and piece.end > trace.width:
            continue
        if piece.slot < 0:
            trace.slice(track, piece.start, piece.end, '"switch"', "switch", _SEGMENT)
        else:
            _add_segment(trace, track, problem, device, phase, piece)


def _add_segment(
    trace: Trace, track: int, problem: FillProblem, device: DeviceClass, phase: Phase, piece: Piece
) -> None:
    """A segment, and its operators inside it."""
    slot = phase.slots[piece.slot]
    chain = problem.job(slot.job).configuration(slot.configuration).operators
    arguments = f'{{"slot":{piece.slot},"config":{json.dumps(slot.configuration)},"operators":{piece.operators}}}'
    trace.slice(track, piece.start, piece.end, json.dumps(slot.job), "fill", _SEGMENT, arguments)
    operators = [(scaled_ticks(o.duration, device.speed), json.dumps(o.name), o.memory) for o in chain]
    now = piece.start
    for index in range(piece.first, piece.first + piece.operators):
        ticks, name, memory = operators[index % len(chain)]
        trace.slice(track, now, now + ticks, name, "fill", _OPERATOR, f'{{"memory_bytes":{memory}}}')
        now += ticks


def _add_memory(
    trace: Trace,
    label: str,
    track: int,
    problem: FillProblem,
    device: DeviceClass,
    phase: Phase,
    timeline: Timeline | None,
    *,
    whole: bool,
) -> None:
    """Bytes of fill work and, where they are known, of main work."""
    levels = levels_within(layout(problem, device, phase), trace.width, whole=whole)
    fill_times, fill_sizes = np.array(levels, dtype=np.int64).T
    main_times = main_sizes = np.zeros(0, dtype=np.int64)
    if timeline is not None and timeline.memory is not None and device.main_device is not None:
        times, main_sizes = timeline.memory.device(device.main_device)
        shifts = np.arange(trace.width // problem.period, dtype=np.int64)[:, None] * problem.period
        main_times, main_sizes = (times + shifts).ravel(), np.tile(main_sizes, len(shifts))
    name = f"{label} memory" if device.count == 1 else f"{label} memory (track {track})"
    for time in np.unique(np.concatenate([[0], fill_times, main_times])).tolist():
        values = {"fill": _at(fill_times, fill_sizes, time)}
        if len(main_times):
            values = {"main": _at(main_times, main_sizes, time), **values}
        trace.counter(name, time, values)


def _at(times: Int64, sizes: Int64, time: int) -> int:
    """A step function that goes round: before its first time it has its last value."""
    return int(sizes[np.searchsorted(times, time, side="right") - 1])


def _add_messages(trace: Trace, tracks: Sequence[int], timeline: Timeline, texts: Sequence[str], shift: int) -> None:
    """An arrow for each activation or gradient that goes to another device; in `blocking` mode, from its SEND to its RECV."""
    schedule = timeline.main.schedule
    waits = precedence(schedule, block=is_block(timeline.main), global_norm=timeline.main.global_norm)
    later = waits.successor()
    message = waits.crosses & (waits.kind == Edge.DATA) & np.isin(schedule.kind[later], (Kind.F, Kind.B, Kind.I))
    message |= waits.kind == Edge.MESSAGE
    track, start, end = np.array(tracks)[schedule.device()], timeline.start + shift, timeline.end + shift
    sent, got = waits.pred[message], later[message]
    columns = (track[sent], start[sent], end[sent], track[got], start[got], end[got], sent)
    for source, begin, done, target, later_begin, later_done, action in zip(
        *(column.tolist() for column in columns), strict=True
    ):
        trace.flow((source, begin, done), (target, later_begin, later_done), f'"{texts[action]}"')
