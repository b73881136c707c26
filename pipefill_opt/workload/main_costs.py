"""The `durations`, `overlap` and `memory` parts of a MAIN file."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any, Final, TypeVar

import numpy as np

from pipefill_opt.errors import InputError
from pipefill_opt.schedule.actions import Action, Kind, parse_action
from pipefill_opt.schedule.schedule import Schedule
from pipefill_opt.units import parse_bytes, parse_time
from pipefill_opt.workload.costs import Durations, Memory

T = TypeVar("T")

BY_STAGE: Final = (Kind.F, Kind.B, Kind.I, Kind.W, Kind.R, Kind.REDUCE, Kind.UNSHARD, Kind.RESHARD)


def read_durations(entry: Mapping[str, Any], overlap: str | Mapping[str, Any], schedule: Schedule) -> Durations:
    """Ticks of every kind that the file states; B is I + W where only these are stated. Raises InputError."""
    unit = entry.get("unit")
    by_stage = {
        kind: per_place(entry[kind.name], unit, parse_time, schedule.stages, "stage", f"durations.{kind.name}")
        for kind in BY_STAGE
        if kind.name in entry
    }
    if Kind.B not in by_stage and Kind.I in by_stage and Kind.W in by_stage:
        by_stage[Kind.B] = tuple(map(sum, zip(by_stage[Kind.I], by_stage[Kind.W], strict=True)))
    step = per_place(entry.get("STEP", 0), unit, parse_time, schedule.devices, "device", "durations.STEP")
    actions = {
        _single(text): value_at(f"durations.actions.{text}", parse_time, value, unit)
        for text, value in entry.get("actions", {}).items()
    }
    length = None
    if not isinstance(overlap, str):
        length = value_at("overlap.length", parse_time, overlap["length"], overlap.get("unit", unit))
    if not actions:
        _check_kinds(schedule, by_stage, length)
    return Durations(by_stage, step, actions, length)


def read_memory(entry: Mapping[str, Any], schedule: Schedule) -> Memory:
    """Bytes by device and by stage. Raises InputError."""

    def sizes(key: str, count: int, place: str) -> tuple[int, ...]:
        return per_place(entry.get(key, 0), entry.get("unit"), parse_bytes, count, place, f"memory.{key}")

    memory = Memory(
        capacity=sizes("capacity", schedule.devices, "device"),
        reserve=sizes("reserve", schedule.devices, "device"),
        static=sizes("static", schedule.devices, "device"),
        activation=sizes("activation", schedule.stages, "stage"),
        freed_by_input=sizes("freed_by_I", schedule.stages, "stage"),
        checkpoint=sizes("checkpoint", schedule.stages, "stage"),
        workspace=sizes("workspace", schedule.stages, "stage"),
    )
    for stage, (part, whole) in enumerate(zip(memory.freed_by_input, memory.activation, strict=True)):
        if part > whole:
            expected = f"expected at most the activation of stage {stage}, {whole} B"
            raise InputError(expected, value=f"{part} B", where="memory.freed_by_I")
    return memory


def per_place(
    value: Any, unit: str | None, parse: Callable[[Any, str | None], int], count: int, place: str, where: str
) -> tuple[int, ...]:
    """`count` numbers from a list of as many, or from one that holds for every place (`stage` or `device`)."""
    if not isinstance(value, list):
        return (value_at(where, parse, value, unit),) * count
    if len(value) != count:
        raise InputError(
            f"expected one value, or a list of {count}, one for each {place}", value=f"{len(value)} values", where=where
        )
    return tuple(value_at(f"{where}[{index}]", parse, item, unit) for index, item in enumerate(value))


def value_at(where: str, parse: Callable[..., T], *arguments: Any) -> T:
    """parse(*arguments), its error located at `where`, unless it is one inside another file."""
    try:
        return parse(*arguments)
    except InputError as error:
        raise (error if error.file else error.located(where=where)) from None


def _single(text: str) -> Action:
    action = value_at("durations.actions", parse_action, text)
    if not isinstance(action, Action):
        raise InputError(
            "expected a single action (the length of a pair stands under overlap)",
            value=text,
            where="durations.actions",
        )
    return action


def _check_kinds(schedule: Schedule, by_stage: Mapping[Kind, object], length: int | None) -> None:
    """Say which kinds of work are missing, and why they are needed."""
    work = schedule.kind if length is None else schedule.kind[~schedule.paired]
    used = [Kind(kind) for kind in np.flatnonzero(np.bincount(work)).tolist()]
    missing = [kind for kind in used if kind in (Kind.F, Kind.B, Kind.I, Kind.W, Kind.R) and kind not in by_stage]
    if not missing:
        return
    names = " and ".join(kind.name for kind in missing)
    reason = "which the schedule uses"
    if Kind.B in by_stage and Kind.F not in missing:
        reason = "since the schedule splits backwards, for which B alone does not do"
    elif missing == [Kind.B] and (Kind.I in by_stage or Kind.W in by_stage):
        reason = "since the schedule has full backwards (B, or I and W together)"
    raise InputError(f"missing {names}, {reason}", where="durations")
