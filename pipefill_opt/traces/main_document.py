"""The MAIN document of a measured pipeline: its order, medians of its durations, the lag of its messages, and the samples."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from pipefill_opt.errors import InputError
from pipefill_opt.schedule.actions import Pair
from pipefill_opt.traces.measured import STEP, Entry, Measured, members
from pipefill_opt.traces.summary import StepTimes, median, step_times


def main_document(
    measured: Measured,
    *,
    count_gaps: bool = False,
    memory: Mapping[str, Any] | None = None,
    times: Sequence[StepTimes] | None = None,
) -> dict[str, Any]:
    """A MAIN document: medians over the steps, ns. `memory` is taken as it is, since a trace does not tell it.

    count_gaps: each action also gets the time behind it in which its device neither runs an action nor waits for a message (the
    loss, launches); what comes before a device's first action goes to that one, what comes after the last one of all devices
    becomes STEP.
    times: those of the steps, where they are known already. Raises InputError where stages are missing.
    """
    times = times or [step_times(step) for step in measured.steps]
    rows = [list(row) for row in measured.steps[0].order]
    placement = _placement(rows, measured)
    singles: dict[str, list[int]] = {}
    pairs: list[int] = []
    steps: list[list[int]] = []
    for device, row in enumerate(rows):
        of_device = {entry: [_duration(of_step, device, entry, row, count_gaps) for of_step in times] for entry in row}
        steps.append(of_device.pop(STEP, [0]))
        if count_gaps:
            steps[-1] = [
                ticks + of_step.tail[device] for ticks, of_step in zip(_wide(steps[-1], times), times, strict=True)
            ]
            if STEP not in row:
                row.append(STEP)
        for entry, values in of_device.items():
            if isinstance(entry, Pair):
                pairs += values
            else:
                singles[str(entry)] = values
    lags = [lag for of_step in times for lag in of_step.lags]
    document: dict[str, Any] = {
        "schedule": {"placement": placement, "actions": [[str(entry) for entry in row] for row in rows]},
        "durations": {"unit": "ns", "actions": {text: median(values) for text, values in singles.items()}},
        "communication": {"unit": "ns", "lag": median(lags) if lags else 0},
    }
    if any(STEP in row for row in rows):
        document["durations"]["STEP"] = [median(values) for values in steps]
    if pairs:
        document["overlap"] = {"unit": "ns", "length": median(pairs)}
    if memory is not None:
        document["memory"] = dict(memory)
    numbers = [step.number for step in measured.steps]
    document["measured"] = {"unit": "ns", "steps": numbers, "actions": singles, **({"lags": lags} if lags else {})}
    return document


def _wide(values: list[int], times: Sequence[StepTimes]) -> list[int]:
    return values * len(times) if len(values) == 1 else values


def _duration(times: StepTimes, device: int, entry: Entry, row: list[Entry], count_gaps: bool) -> int:
    ticks = times.durations[device, entry]
    if count_gaps:
        ticks += times.after.get((device, entry), 0)
        if entry == row[0]:
            ticks += times.head[device]
    return ticks


def _placement(rows: list[list[Entry]], measured: Measured) -> list[int]:
    """The device of each stage. Raises InputError for a stage that runs nowhere."""
    device_of = {
        action.stage: device
        for device, row in enumerate(rows)
        for entry in row
        for action in members(entry)
        if action.stage >= 0
    }
    missing = [stage for stage in range(max(device_of) + 1) if stage not in device_of]
    if missing:
        given = ", ".join(map(str, measured.ranks))
        raise InputError(
            f"expected the ranks of all stages, and none of those given ({given}) runs this one",
            value=f"stage {missing[0]}",
        )
    return [device_of[stage] for stage in range(len(device_of))]
