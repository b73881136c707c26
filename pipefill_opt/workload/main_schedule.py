"""The `schedule` part of a MAIN file: a family, torch's CSV, or the actions themselves."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from pipefill_opt.errors import InputError, ScheduleError
from pipefill_opt.files import read_text
from pipefill_opt.schedule.actions import Action, Pair, parse_action
from pipefill_opt.schedule.families import build_family
from pipefill_opt.schedule.schedule import Schedule
from pipefill_opt.schedule.torch_csv import read_torch_csv
from pipefill_opt.schedule.validate import validate

Rows = list[list[Action | Pair]]


def read_schedule(entry: Mapping[str, Any], folder: Path) -> Schedule:
    """The schedule, valid but for cycles. Raises InputError and ScheduleError, with the path from `schedule` on."""
    if "csv" in entry:
        path = folder / entry["csv"]
        return read_torch_csv(read_text(path), file=str(path))
    try:
        if "family" in entry:
            options = {key: value for key, value in entry.items() if key not in ("family", "devices", "microbatches")}
            return build_family(entry["family"], entry["devices"], entry["microbatches"], **options)
        return _from_actions(entry)
    except InputError as error:
        raise error.located(where="schedule") from None


def _from_actions(entry: Mapping[str, Any]) -> Schedule:
    rows = [
        [_action(text, device, position) for position, text in enumerate(row)]
        for device, row in enumerate(entry["actions"])
    ]
    devices = entry.get("devices", len(rows))
    if devices < len(rows):
        raise InputError(
            f"expected at least {len(rows)} devices, one for each row of actions", value=devices, where="devices"
        )
    rows += [[] for _ in range(devices - len(rows))]
    placement = entry["placement"] if "placement" in entry else _placement(rows)
    schedule = Schedule.from_rows(rows, placement, pipes=entry.get("pipes"))
    validate(schedule)
    return schedule


def _action(text: str, device: int, position: int) -> Action | Pair:
    try:
        return parse_action(text)
    except ScheduleError as error:
        raise error.located(where=f"actions[{device}][{position}]") from None


def _placement(rows: Sequence[Sequence[Action | Pair]]) -> list[int]:
    """The device of each stage: the one that has most of its actions, the first of equal ones."""
    counts: dict[int, Counter[int]] = {}
    for device, row in enumerate(rows):
        for entry in row:
            for action in entry if isinstance(entry, Pair) else (entry,):
                if action.stage >= 0:
                    counts.setdefault(action.stage, Counter())[device] += 1
    for stage, used in enumerate(sorted(counts)):
        if stage != used:
            expected = f"expected stage {stage} on a device, since there is a stage {used}"
            raise ScheduleError(expected, code="unknown", where="actions")
    return [counts[stage].most_common(1)[0][0] for stage in range(len(counts))]
