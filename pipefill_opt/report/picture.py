"""What a Gantt picture shows, as data: rows, layers of boxes, memory curves. `gantt.py` draws it."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TypeAlias

import numpy as np
import numpy.typing as npt

from pipefill_opt.fill.layout import layout, levels_within
from pipefill_opt.fill.plan import FillPlan, Pattern
from pipefill_opt.fill.problem import DeviceClass, FillProblem
from pipefill_opt.schedule.actions import Kind
from pipefill_opt.schedule.schedule import Int64
from pipefill_opt.timeline.compute import timeline as compute_timeline
from pipefill_opt.timeline.memory import usage
from pipefill_opt.timeline.timeline import Timeline
from pipefill_opt.units import format_time

MAX_ROWS = 64
MAX_ITERATIONS = 4
PIXELS = 2400
"""Actions narrower than one of this many columns are thinned out to one a column and kind."""
NAMES = {int(kind): kind.name for kind in Kind}

Steps: TypeAlias = tuple[Int64, Int64]
"""A step function: times in order, and the value from each time on."""


@dataclass(slots=True)
class Layer:
    """Boxes of one colour. role: `main`, `bubble`, `switch` or `fill`. `half`: 0 whole height, 1 upper, 2 lower half."""

    name: str
    role: str
    row: list[int] = field(default_factory=list)
    start: list[int] = field(default_factory=list)
    end: list[int] = field(default_factory=list)
    half: list[int] = field(default_factory=list)
    text: list[str] = field(default_factory=list)

    def add(self, row: int, start: int, end: int, text: str = "", half: int = 0) -> None:
        self.row.append(row)
        self.start.append(start)
        self.end.append(end)
        self.text.append(text)
        self.half.append(half)


@dataclass(frozen=True, slots=True, eq=False)
class Curve:
    """Memory of a row over time, bytes: main work, fill work on top of it, and the limit of both."""

    main: Steps
    fill: Steps | None
    limit: Steps


@dataclass(slots=True)
class Picture:
    """`period` is shown `iterations` times; `whole`: these are all. `curves[row]` is None where memory is not known.

    Times are in units of 1 / scale tick.
    """

    title: str
    period: int
    iterations: int = 1
    whole: bool = True
    scale: int = 1
    rows: list[str] = field(default_factory=list)
    layers: dict[str, Layer] = field(default_factory=dict)
    curves: list[Curve | None] = field(default_factory=list)

    @property
    def width(self) -> int:
        """From the left to the right edge."""
        return self.period * self.iterations

    def add(self, name: str, role: str, row: int, start: int, end: int, text: str = "", half: int = 0) -> None:
        """A box, wrapped around the right edge, so that [start, end) may pass it."""
        if end <= start:
            return
        if name not in self.layers:
            self.layers[name] = Layer(name, role)
        start, end = start % self.width, start % self.width + (end - start)
        self.layers[name].add(row, start, min(end, self.width), text, half)
        if end > self.width:
            self.layers[name].add(row, 0, min(end - self.width, self.width), "", half)


def main_picture(timeline: Timeline) -> Picture:
    """Main work, bubbles and memory of every device; of more than MAX_ROWS devices an even choice."""
    devices = timeline.main.schedule.devices
    shown = _even_choice(devices)
    title = f"{timeline.main.schedule.name}: period {format_time(timeline.ticks(timeline.period))}"
    picture = Picture(title + _some(len(shown), devices), timeline.period, scale=timeline.scale)
    for row, device in enumerate(shown):
        picture.rows.append(f"device {device}")
        _add_main(picture, row, timeline, device)
        picture.curves.append(_main_curve(timeline, device))
    return picture


def plan_picture(problem: FillProblem, plan: FillPlan) -> Picture:
    """A row for each pattern of a certified plan: main work or busy time, bubbles, fill work, memory; the first phase of each."""
    patterns = [plan.patterns[index] for index in _even_choice(len(plan.patterns))]
    iterations = plan.iterations or problem.iterations or 1
    title = f"{problem.name}: period {format_time(problem.period)}" + _some(len(patterns), len(plan.patterns))
    if iterations > MAX_ITERATIONS:
        title += f", first {MAX_ITERATIONS} of {iterations} iterations"
    picture = Picture(title, problem.period, min(iterations, MAX_ITERATIONS), iterations <= MAX_ITERATIONS)
    timeline = compute_timeline(problem.main) if problem.main is not None else None
    for row, pattern in enumerate(patterns):
        device = problem.device(pattern.device)
        picture.rows.append(device.name + (f" × {pattern.multiplicity}" if device.count > 1 else ""))
        if timeline is not None and device.main_device is not None:
            for iteration in range(picture.iterations):
                _add_main(picture, row, timeline, device.main_device, iteration * problem.period)
        else:
            _add_busy(picture, row, device)
        levels = _add_fill(picture, row, problem, device, pattern)
        picture.curves.append(_plan_curve(picture, device, timeline, levels))
    for job in problem.jobs:  # legend in the order of the instance
        if job.name in picture.layers:
            picture.layers[job.name] = picture.layers.pop(job.name)
    return picture


def _even_choice(count: int) -> list[int]:
    if count <= MAX_ROWS:
        return list(range(count))
    return [index * (count - 1) // (MAX_ROWS - 1) for index in range(MAX_ROWS)]


def _some(shown: int, count: int) -> str:
    return f", {shown} of {count} rows" if shown < count else ""


def _add_main(picture: Picture, row: int, timeline: Timeline, device: int, shift: int = 0) -> None:
    schedule = timeline.main.schedule
    block = timeline.main.durations.overlap_length is not None
    part = slice(int(schedule.row_start[device]), int(schedule.row_start[device + 1]))
    start, end, kinds, paired = timeline.start[part], timeline.end[part], schedule.kind[part], schedule.paired[part]
    half = np.zeros(len(start), dtype=np.int64)
    if block:
        half[paired] = 1
        half[1:][paired[:-1]] = 2
    batches = schedule.microbatch[part]
    for index in _visible(start, end, kinds * np.int64(3) + half, picture.width).tolist():
        name = NAMES[int(kinds[index])]
        text = f"{name}{batches[index]}" if batches[index] >= 0 else name
        picture.add(name, "main", row, shift + int(start[index]), shift + int(end[index]), text, int(half[index]))
    for bubble in timeline.bubbles[device]:
        picture.add("bubble", "bubble", row, shift + bubble.start, shift + bubble.start + bubble.length)


def _visible(start: Int64, end: Int64, group: Int64, width: int) -> Int64:
    """Indices to draw, of a row: every wide box, and of the narrow ones one for each pixel and group."""
    narrow = (end - start) * PIXELS < width
    thin = np.flatnonzero(narrow)
    cell = start[thin] * PIXELS // width * (int(group.max(initial=0)) + 1) + group[thin]
    first = np.unique(cell, return_index=True)[1]
    return np.sort(np.concatenate([np.flatnonzero(~narrow), thin[first]]))


def _add_busy(picture: Picture, row: int, device: DeviceClass) -> None:
    wrapped = device.bubbles[-1].start + device.bubbles[-1].length - picture.period if device.bubbles else 0
    for iteration in range(picture.iterations):
        shift, now = iteration * picture.period, max(0, wrapped)
        for bubble in device.bubbles:
            picture.add("main work", "main", row, shift + now, shift + bubble.start)
            picture.add("bubble", "bubble", row, shift + bubble.start, shift + bubble.start + bubble.length)
            now = bubble.start + bubble.length
        picture.add("main work", "main", row, shift + now, shift + picture.period)


def _add_fill(picture: Picture, row: int, problem: FillProblem, device: DeviceClass, pattern: Pattern) -> Steps:
    """Draw the fill work of the first phase; the bytes it holds."""
    phase = pattern.phases[0]
    placed = layout(problem, device, phase)
    for piece in placed.pieces:
        if piece.start >= picture.width:
            continue
        if piece.slot < 0:
            picture.add("switch", "switch", row, piece.start, piece.end)
        else:
            job = phase.slots[piece.slot].job
            picture.add(job, "fill", row, piece.start, piece.end, f"{job} ×{piece.operators}")
    times, sizes = np.array(levels_within(placed, picture.width, whole=picture.whole), dtype=np.int64).T
    return times, sizes


def _main_curve(timeline: Timeline, device: int) -> Curve | None:
    memory = timeline.main.memory
    if memory is None:
        return None
    limit = memory.capacity[device] - memory.reserve[device]
    return Curve(usage(timeline, device), None, _constant(limit))


def _plan_curve(picture: Picture, device: DeviceClass, timeline: Timeline | None, fill: Steps) -> Curve | None:
    if timeline is not None and device.main_device is not None:
        main = _main_curve(timeline, device.main_device)
        if main is None:
            return None
        return Curve(_repeated(main.main, picture), fill, main.limit)
    table = {(bubble.start + bubble.length) % picture.period: device.resident_free for bubble in device.bubbles}
    table |= {bubble.start: bubble.free for bubble in device.bubbles} or {0: device.resident_free}
    times, sizes = np.array(sorted(table.items()), dtype=np.int64).T
    return Curve(_constant(0), fill, _repeated((times, sizes), picture))


def _constant(value: int) -> Steps:
    return np.zeros(1, dtype=np.int64), np.full(1, value, dtype=np.int64)


def _repeated(steps: Steps, picture: Picture) -> Steps:
    times, values = steps
    shifts = np.arange(picture.iterations, dtype=np.int64)[:, None] * picture.period
    return (times[None, :] + shifts).ravel(), np.tile(values, picture.iterations)


def at(steps: Steps, times: Int64) -> npt.NDArray[np.int64]:
    """The values of a step function at `times`; before its first time it has its last value (it goes round)."""
    index = np.searchsorted(steps[0], times, side="right") - 1
    return steps[1][index]
