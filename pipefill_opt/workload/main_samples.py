"""The `measured` part of a MAIN file: the samples behind its durations."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from pipefill_opt.errors import InputError
from pipefill_opt.schedule.actions import Action, parse_action
from pipefill_opt.schedule.schedule import Schedule
from pipefill_opt.units import parse_time
from pipefill_opt.workload.costs import Samples
from pipefill_opt.workload.main_costs import value_at


def read_samples(entry: Mapping[str, Any], schedule: Schedule) -> Samples:
    """Ticks by action. Raises InputError for an action that the schedule has not, or one with more or fewer times than others."""
    unit, steps = entry["unit"], tuple(entry.get("steps", ()))
    known = {action for device in range(schedule.devices) for action in _members(schedule, device)}
    actions: dict[Action, tuple[int, ...]] = {}
    for text, values in entry["actions"].items():
        where = f"measured.actions.{text}"
        action = value_at(where, parse_action, text)
        if not isinstance(action, Action) or action not in known:
            raise InputError("expected an action of this schedule", value=text, where="measured.actions")
        if len(values) != (len(steps) or len(values)):
            raise InputError(f"expected {len(steps)} times, one for each step", value=len(values), where=where)
        actions[action] = _ticks(values, unit, where)
    return Samples(actions, _ticks(entry.get("lags", ()), unit, "measured.lags"), steps)


def _members(schedule: Schedule, device: int) -> list[Action]:
    first, last = schedule.row_start[device : device + 2].tolist()
    return [schedule.action(index) for index in range(first, last)]


def _ticks(values: Sequence[Any], unit: str, where: str) -> tuple[int, ...]:
    return tuple(value_at(f"{where}[{index}]", parse_time, value, unit) for index, value in enumerate(values))
