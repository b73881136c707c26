"""Why the devices of a main job wait, and its critical path: as text, JSON and CSV."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from fractions import Fraction

import numpy as np

from pipefill_opt.report.tables import csv_text, percent, text_table
from pipefill_opt.schedule.actions import Action, Kind
from pipefill_opt.schedule.schedule import Schedule
from pipefill_opt.schedule.texts import action_texts
from pipefill_opt.timeline.causes import Releases, Step, chain, releases
from pipefill_opt.timeline.critical import critical_path
from pipefill_opt.timeline.timeline import EDGES, KINDS, PHASES, Timeline
from pipefill_opt.units import format_time
from pipefill_opt.workload.costs import Boundary

MOST_GROUPS = 24
"""Groups of bubbles that the text shows; the JSON has every bubble."""
MOST_STEPS = 7
"""Steps of a chain that the text shows."""
MOST_SHARES = 3
MOST_KINDS = 8
"""Kinds of action, by stage, that a list names."""
CSV_HEADER = (
    "device",
    "start",
    "length",
    "kind",
    "phase",
    "next_action",
    "slack",
    "work",
    "message",
    "origin",
    "chain",
)


@dataclass(frozen=True, slots=True, eq=False)
class _Bubble:
    """A bubble with its chain; origin: index of an action, -1 without a chain."""

    index: int
    device: int
    after: int
    steps: tuple[Step, ...]
    origin: int

    @property
    def work(self) -> int:
        return sum(step.work for step in self.steps)

    @property
    def message(self) -> int:
        return sum(step.message for step in self.steps)


@dataclass(frozen=True, slots=True, eq=False)
class Causes:
    """All chains of a timeline, and its critical path. texts, devices: of each action."""

    timeline: Timeline
    released: Releases
    texts: Sequence[str]
    devices: Sequence[int]
    path: tuple[Step, ...]
    bubbles: tuple[_Bubble, ...]


def causes(timeline: Timeline) -> Causes:
    """Follow every bubble of a timeline back to its cause."""
    released, table = releases(timeline), timeline.bubble_table
    owner = np.repeat(np.arange(len(timeline.busy)), np.diff(table.first)).tolist()
    after = table.next_action.tolist()
    bubbles = []
    for index, device in enumerate(owner):
        steps = chain(timeline, released, index)
        origin = int(released.origin[steps[0].action]) if steps else -1
        bubbles.append(_Bubble(index, device, after[index], steps, origin))
    texts = [*action_texts(timeline.main.schedule), "-"]  # -1 is none
    devices = timeline.main.schedule.device().tolist()
    return Causes(timeline, released, texts, devices, critical_path(timeline, released), tuple(bubbles))


def causes_text(found: Causes) -> str:
    """The critical path, idle time by origin, then one line for each group of bubbles with the same chain but for the micro-batch."""
    return "\n".join([*path_lines(found), "", *_origin_lines(found), *_group_lines(found)]) + "\n"


def path_lines(found: Causes) -> list[str]:
    """The critical path in words: its work by stage and kind, its messages, its steps."""
    timeline, path = found.timeline, found.path
    work, message = sum(step.work for step in path), sum(step.message for step in path)
    crossed = sum(step.crosses for step in path)
    name, over = "critical path", ""
    if timeline.main.boundary is Boundary.FLOW:
        name, over = "critical cycle", f" over {crossed} iteration{'' if crossed == 1 else 's'}"
    lines = [
        f"{timeline.main.schedule.name}: period {_time(found, timeline.period)}, "
        f"bubble ratio {percent(timeline.bubble_ratio)}",
        f"{name}: {len(path)} actions{over}, {_time(found, work)} of work, {_time(found, message)} of messages",
    ]
    shares = _shares(found, path)
    if shares:
        parts = [f"{name} {percent(time / (work + message), 1)}" for name, time in shares[:MOST_KINDS]]
        lines += ["  " + ", ".join(parts), "  " + _chain_text(found, path)]
    return lines


def causes_json(found: Causes) -> str:
    """period, makespan, critical_path, bubbles, releases; times in ticks (ns), a fraction as text.

    critical_path: steps {action, device, start, end, edge, work, message, crosses}, as `Step`. bubbles: device, start, length, kind, phase,
    slack, next_action, origin, work, message, and chain, steps again. releases: for each action {action, by, edge}: what released it, null
    for a start with the iteration; with it every chain can be followed back to the beginning.
    """
    timeline, table, texts = found.timeline, found.timeline.bubble_table, found.texts
    columns = zip(found.released.action.tolist(), found.released.edge.tolist(), strict=True)
    released = [
        f'{{"action":"{texts[index]}","by":{_name(texts, by)},"edge":"{EDGES[edge]}"}}'
        for index, (by, edge) in enumerate(columns)
    ]
    bubbles = [
        f'{{"device":{b.device},"start":{_json(found, table.start[b.index])},'
        f'"length":{_json(found, table.length[b.index])},'
        f'"kind":"{KINDS[table.kind[b.index]]}","phase":"{PHASES[table.phase[b.index]]}",'
        f'"slack":{_json(found, table.slack[b.index])},"next_action":{_name(texts, b.after)},'
        f'"origin":{_name(texts, b.origin)},"work":{_json(found, b.work)},"message":{_json(found, b.message)},'
        f'"chain":[{_steps(found, b.steps)}]}}'
        for b in found.bubbles
    ]
    return (
        f'{{"period":{_json(found, timeline.period)},"makespan":{_json(found, timeline.makespan)},\n'
        f'"critical_path":[{_steps(found, found.path)}],\n"bubbles":['
        + ",\n".join(bubbles)
        + '],\n"releases":['
        + ",\n".join(released)
        + "]}\n"
    )


def causes_csv(found: Causes) -> str:
    """One row for each bubble, by device and start; ticks. `chain`: the actions, in order of time."""
    table, texts = found.timeline.bubble_table, found.texts
    rows = [
        (
            b.device, _exact(found, table.start[b.index]), _exact(found, table.length[b.index]),
            KINDS[table.kind[b.index]], PHASES[table.phase[b.index]], texts[b.after] if b.after >= 0 else None,
            _exact(found, table.slack[b.index]), _exact(found, b.work), _exact(found, b.message),
            texts[b.origin] if b.origin >= 0 else None, " ".join(texts[step.action] for step in b.steps),
        )
        for b in found.bubbles
    ]  # fmt: skip
    return csv_text(CSV_HEADER, rows)


def _name(texts: Sequence[str], action: int) -> str:
    return f'"{texts[action]}"' if action >= 0 else "null"


def _steps(found: Causes, steps: Iterable[Step]) -> str:
    texts, devices = found.texts, found.devices
    return ",".join(
        f'{{"action":"{texts[s.action]}","device":{devices[s.action]},"start":{_json(found, s.start)},'
        f'"end":{_json(found, s.end)},"edge":"{s.edge}","work":{_json(found, s.work)},'
        f'"message":{_json(found, s.message)},"crosses":{"true" if s.crosses else "false"}}}'
        for s in steps
    )


def _exact(found: Causes, time: int) -> Fraction | int:
    """A time of the timeline in ticks."""
    return int(time) if found.timeline.scale == 1 else found.timeline.ticks(int(time))


def _json(found: Causes, time: int) -> str:
    ticks = _exact(found, time)
    return str(ticks) if ticks.denominator == 1 else f'"{ticks}"'


def _time(found: Causes, time: int) -> str:
    """A time of the timeline for people."""
    return format_time(found.timeline.ticks(time))


@dataclass(slots=True)
class _Group:
    """Bubbles of a device and kind whose chains are equal but for the micro-batch; `first` of them stands for all."""

    first: _Bubble
    count: int = 0
    length: int = 0
    message: int = 0
    steps: list[Step] = field(default_factory=list)


def _group_lines(found: Causes) -> list[str]:
    groups = _grouped(found)
    if not groups:
        return ["no bubbles"]
    table = found.timeline.bubble_table
    header = ("device", "kind", "bubbles", "idle", "messages", "longest waits", "chain of causes")
    rows = []
    for group in groups[:MOST_GROUPS]:
        shares = [f"{name} {_time(found, time)}" for name, time in _shares(found, group.steps) if name != "messages"][
            :MOST_SHARES
        ]
        rows.append(
            (
                str(group.first.device), KINDS[table.kind[group.first.index]], str(group.count),
                _time(found, group.length), _time(found, group.message), ", ".join(shares) or "-",
                _waits_for(found, group.first),
            )
        )  # fmt: skip
    lines = ["bubbles by what they wait for, the most idle time first:", *_left_aligned(header, rows)]
    rest = groups[MOST_GROUPS:]
    if rest:
        idle = _time(found, sum(group.length for group in rest))
        lines.append(
            f"... and {len(rest)} more groups with {sum(g.count for g in rest)} bubbles, {idle} idle (--format json has all)"
        )
    return lines


def _origin_lines(found: Causes) -> list[str]:
    """Idle time by the kind and stage of the origin, the largest first."""
    schedule, lengths = found.timeline.main.schedule, found.timeline.bubble_table.length.tolist()
    total: Counter[str] = Counter()
    for bubble in found.bubbles:
        if bubble.origin >= 0:
            total[_kind_of(schedule, bubble.origin)] += lengths[bubble.index]
    whole = sum(total.values())
    words = [
        f"{name} {_time(found, time)} ({percent(time / whole, 1)})" for name, time in total.most_common(MOST_KINDS)
    ]
    return ["idle time by origin, where its chain of causes begins: " + ", ".join(words), ""] if words else []


def _kind_of(schedule: Schedule, action: int) -> str:
    """`3B`: an action without its micro-batch."""
    return str(Action(Kind(int(schedule.kind[action])), int(schedule.stage[action])))


def _grouped(found: Causes) -> list[_Group]:
    schedule, table = found.timeline.main.schedule, found.timeline.bubble_table
    kinds, stages, batches = schedule.kind.tolist(), schedule.stage.tolist(), schedule.microbatch.tolist()
    lengths, bubble_kinds = table.length.tolist(), table.kind.tolist()
    groups: dict[tuple[object, ...], _Group] = {}
    for bubble in found.bubbles:
        own = batches[bubble.after]
        trail = tuple(
            (kinds[action], stages[action], batches[action] - own)
            for action in (bubble.origin, *(step.action for step in bubble.steps))
        )
        group = groups.setdefault((bubble.device, bubble_kinds[bubble.index], trail), _Group(bubble))
        group.count += 1
        group.length += lengths[bubble.index]
        group.message += bubble.message
        group.steps += bubble.steps
    return sorted(groups.values(), key=lambda group: (-group.length, group.first.index))


def _waits_for(found: Causes, bubble: _Bubble) -> str:
    """`3B1 ... 1B1 -> 0B1`: the origin, the chain of one bubble, and the action that it held up."""
    if not bubble.steps:
        return "no work on this device"
    text = _chain_text(found, bubble.steps)
    first = bubble.steps[0].action
    since = "" if bubble.origin == first else f"{found.texts[bubble.origin]} ... "
    return f"{since}{text} -> {found.texts[bubble.after]}"


def _chain_text(found: Causes, steps: Sequence[Step]) -> str:
    """The actions in order of time, || at the iteration's boundary; long ones with their middle left out."""
    words = [found.texts[step.action] + (" ||" if step.crosses else "") for step in steps]
    if len(words) > MOST_STEPS:
        head = MOST_STEPS // 2 + 1
        tail = MOST_STEPS - head
        words = [*words[:head], f"({len(words) - head - tail} more)", *words[-tail:]]
    return " -> ".join(words)


def _shares(found: Causes, steps: Iterable[Step]) -> list[tuple[str, int]]:
    """Ticks by kind of action and stage, and of messages; the largest first."""
    schedule = found.timeline.main.schedule
    total: Counter[str] = Counter()
    for step in steps:
        total[_kind_of(schedule, step.action)] += step.work
        total["messages"] += step.message
    return sorted(((name, ticks) for name, ticks in total.items() if ticks), key=lambda item: (-item[1], item[0]))


def _left_aligned(header: Sequence[str], rows: Sequence[Sequence[str]]) -> list[str]:
    """A table whose last two columns, which are words, are left-aligned."""
    widths = [max(len(row[column]) for row in (header, *rows)) for column in (-2, -1)]
    padded = [(*row[:-2], row[-2].ljust(widths[0]), row[-1].ljust(widths[1])) for row in (header, *rows)]
    return text_table(padded[0], padded[1:], indent="  ")
