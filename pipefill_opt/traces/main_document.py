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
    """A MAIN document: medians over the steps, ns. `memory` is taken as it is.

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
    for device, row in enumerate(rows):
        for entry in row:
            values = [_duration(of_step, device, entry, row, count_gaps) for of_step in times]
            if isinstance(entry, Pair):
                pairs += values
            elif entry != STEP:
                singles[str(entry)] = values
    if count_gaps:
        rows = [row if STEP in row else [*row, STEP] for row in rows]
    lags = [lag for of_step in times for lag in of_step.lags]
    document: dict[str, Any] = {
        "schedule": {"placement": placement, "actions": [[str(entry) for entry in row] for row in rows]},
        "durations": {"unit": "ns", "actions": {text: median(values) for text, values in singles.items()}},
        "communication": {"unit": "ns", "lag": median(lags) if lags else 0},
    }
    if any(STEP in row for row in rows):
        document["durations"]["STEP"] = [
            median([_step_ticks(of_step, device, count_gaps) for of_step in times]) for device in range(len(rows))
        ]
    if pairs:
        document["overlap"] = {"unit": "ns", "length": median(pairs)}
    if memory is not None:
        document["memory"] = dict(memory)
    numbers = [step.number for step in measured.steps]
    document["measured"] = {"unit": "ns", "steps": numbers, "actions": singles, **({"lags": lags} if lags else {})}
    return document


def _step_ticks(times: StepTimes, device: int, count_gaps: bool) -> int:
    """The optimizer step, and with `count_gaps` what comes after the last action of all."""
    return times.durations.get((device, STEP), 0) + (times.tail[device] if count_gaps else 0)


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
