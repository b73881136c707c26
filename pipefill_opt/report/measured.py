"""Render what was imported from traces: actions by kind and stage, steps with idle time, predictions."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import Any

from pipefill_opt.report.tables import csv_text, percent, text_table
from pipefill_opt.schedule.actions import Pair
from pipefill_opt.traces.measured import Entry, Measured
from pipefill_opt.traces.prediction import MOST, StepPrediction, difference_of_steps
from pipefill_opt.traces.summary import (
    idle_by_device,
    idle_share,
    median,
    samples,
    spread,
    step_times,
    sync_by_device,
)
from pipefill_opt.units import format_time


@dataclass(frozen=True, slots=True)
class _Group:
    """All runs of a kind on a stage. ns."""

    name: str
    device: int
    times: tuple[int, ...]
    spreads: tuple[int, ...]


def _groups(measured: Measured) -> list[_Group]:
    """By device, kind and stage, in the order in which they first come."""
    found: dict[tuple[int, str], list[tuple[int, ...]]] = {}
    for (device, entry), values in samples(measured).items():
        found.setdefault((device, _kind(entry)), []).append(values)
    return [
        _Group(name, device, tuple(t for values in runs for t in values), tuple(map(spread, runs)))
        for (device, name), runs in found.items()
    ]


def _kind(entry: Entry) -> str:
    """`3F` for all forwards of stage 3, `3F+5B` for a pair of them."""
    if isinstance(entry, Pair):
        return "+".join(map(_kind, entry))
    return str(entry._replace(microbatch=-1, part=-1))


def measured_text(measured: Measured, predictions: Sequence[StepPrediction]) -> str:
    """For people: medians by kind and stage, idle time by step and device, predictions."""
    ranks = ", ".join(map(str, measured.ranks))
    count = sum(len(row) for row in measured.steps[0].rows)
    lines = [f"{len(measured.steps)} complete steps of {count} actions on ranks {ranks}", ""]
    header = ("actions", "rank", "runs", "median", "least", "most", "spread over steps")
    rows = [
        (
            group.name,
            str(measured.ranks[group.device]),
            str(len(group.times)),
            format_time(median(group.times)),
            format_time(min(group.times)),
            format_time(max(group.times)),
            format_time(median(group.spreads)),
        )
        for group in _groups(measured)
    ]
    lines += [*text_table(header, rows), ""]
    lags = [lag for step in measured.steps for lag in step_times(step).lags]
    if lags:
        shown = f"median {format_time(median(lags))}, {format_time(min(lags))} to {format_time(max(lags))}"
        lines += [f"messages that were waited for: {len(lags)}, {shown}", ""]
    lines += text_table(
        ("step", "rank", "length", "idle", "share", "of it REDUCE, STEP", "messages"), _step_rows(measured)
    )
    if len(measured.steps) > MOST:
        lines.append(f"({len(measured.steps) - MOST} more)")
    lines += prediction_lines(predictions)
    return "\n".join(lines) + "\n"


def _step_rows(measured: Measured) -> list[tuple[str, ...]]:
    rows: list[tuple[str, ...]] = []
    for step in measured.steps[:MOST]:
        idle, sync = idle_by_device(step), sync_by_device(step)
        for device, (rank, (start, end)) in enumerate(zip(measured.ranks, step.windows, strict=True)):
            length = end - start
            share = percent(Fraction(idle[device], length)) if length else "-"
            message = format_time(step.communication[device]) if step.communication else "-"
            times = (format_time(length), format_time(idle[device]), share, format_time(sync[device]), message)
            rows.append((str(step.number), str(rank), *times))
        rows.append((str(step.number), "all", "", "", percent(idle_share(step)), "", ""))
    return rows


def prediction_lines(predictions: Sequence[StepPrediction]) -> list[str]:
    """The error of predictions beside the steps' own difference; nothing for none."""
    if not predictions:
        return []
    lines = ["", "idle share of each step, predicted from the medians of the others (error in percentage points):"]
    for each in predictions:
        plain, gaps = (100 * float(value - each.measured) for value in (each.plain, each.with_gaps))
        lines.append(
            f"  step {each.step}: measured {percent(each.measured)}; from durations and lags {percent(each.plain)} ({plain:+.2f}), "
            f"with the time between actions {percent(each.with_gaps)} ({gaps:+.2f})"
        )
    return [*lines, f"  the steps themselves differ by up to {100 * float(difference_of_steps(predictions)):.2f}"]


def measured_json(measured: Measured, predictions: Sequence[StepPrediction]) -> str:
    """Everything, in ns: runs of each step by rank, samples by action, idle time, predictions. Shares are decimals."""
    document = {
        "ranks": list(measured.ranks),
        "notes": list(measured.notes),
        "actions": [
            {
                "action": str(entry),
                "rank": measured.ranks[device],
                "median": median(values),
                "spread": spread(values),
                "samples": list(values),
            }
            for (device, entry), values in samples(measured).items()
        ],
        "steps": [_step_document(measured, index) for index in range(len(measured.steps))],
        "predictions": [_prediction_document(each) for each in predictions],
        "difference_of_steps": float(difference_of_steps(predictions)) if predictions else None,
    }
    return json.dumps(document) + "\n"


def _step_document(measured: Measured, index: int) -> Mapping[str, Any]:
    step = measured.steps[index]
    times = step_times(step)
    idle, sync = idle_by_device(step), sync_by_device(step)
    return {
        "step": step.number,
        "idle_share": float(idle_share(step)),
        "lags": list(times.lags),
        "ranks": [
            {
                "rank": rank,
                "start": step.windows[device][0],
                "end": step.windows[device][1],
                "idle": idle[device],
                "sync": sync[device],
                "messages": step.communication[device] if step.communication else None,
                "runs": [{"action": str(run.action), "start": run.start, "end": run.end} for run in step.rows[device]],
            }
            for device, rank in enumerate(measured.ranks)
        ],
    }


def _prediction_document(each: StepPrediction) -> Mapping[str, Any]:
    return {
        "step": each.step,
        "measured": float(each.measured),
        "from_durations_and_lags": float(each.plain),
        "with_time_between": float(each.with_gaps),
    }


def measured_csv(measured: Measured) -> str:
    """Every run as a row, in ns: `import intervals` reads it back."""
    rows = [
        (measured.ranks[device], str(run.action), run.start, run.end, step.number)
        for step in measured.steps
        for device, row in enumerate(step.rows)
        for run in row
    ]
    marks = [
        (rank, "step", start, end, step.number)
        for step in measured.steps
        for rank, (start, end) in zip(measured.ranks, step.windows, strict=True)
    ]
    return csv_text(("rank", "action", "start", "end", "step"), rows + marks)
