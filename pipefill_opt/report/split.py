"""Layers by stage: as text, JSON and CSV."""

from __future__ import annotations

import json
from fractions import Fraction
from itertools import groupby, pairwise

from pipefill_opt.report.tables import csv_text, percent, text_table
from pipefill_opt.units import format_bytes, format_time
from pipefill_opt.workload.model.split_file import SplitSpec
from pipefill_opt.workload.model.split_problem import Objective, Split

WHAT = {Objective.DEVICE: "slowest device", Objective.STAGE: "longest stage", Objective.PERIOD: "period"}
CSV_HEADER = ("stage", "device", "first_layer", "layers", "time", "bytes", "room")


def split_text(spec: SplitSpec, split: Split, equal: int | None = None) -> str:
    """What it comes to, a table by stage, and the same for as equal numbers of layers as can be. equal: the period of those."""
    problem = split.problem
    header = ["stage", "device", "layers", "time"] + (["memory", "room"] if problem.memory else [])
    rows = []
    ends, sizes = problem.ends(split.counts), problem.stage_bytes(split.counts)
    for stage, (begin, end) in enumerate(pairwise(ends)):
        row = [str(stage), str(problem.placement[stage]), _names(spec.names[begin:end])]
        row.append(format_time(split.stage_times[stage]))
        rows.append(row + ([format_bytes(sizes[stage]), format_bytes(problem.room(stage))] if problem.memory else []))
    lines = [_summary(spec, split), "", *text_table(header, rows), ""]
    lines.append(f"as equal as can be: {_what(split)} {_compared(spec, split, equal)}")
    if spec.body is not None:
        lines.append(f"in a MAIN file: split: [{', '.join(map(str, spec.main_split(split.counts)))}]")
    return "\n".join(lines) + "\n"


def _summary(spec: SplitSpec, split: Split) -> str:
    problem = split.problem
    proof = "optimal" if split.proved else f"no split is below {format_time(split.bound)}"
    return (
        f"{problem.layers} layers on {problem.stages} stages of {problem.devices} devices ({spec.schedule.name}): "
        f"{_what(split)} {format_time(split.value)}, {proof}"
    )


def _compared(spec: SplitSpec, split: Split, equal: int | None) -> str:
    equal = _value(split, spec.equal, equal)
    if equal is None:
        return "not known, does not fit"
    if not split.problem.fits(spec.equal):
        return f"{format_time(equal)}, does not fit"
    if not equal:
        return format_time(equal)
    return f"{format_time(equal)}; this split takes {percent(1 - Fraction(split.value, equal), 1)} less"


def _what(split: Split) -> str:
    return WHAT[split.objective]


def _names(names: tuple[str, ...]) -> str:
    """`embedding, 3 x block`."""
    groups = [(name, len(list(group))) for name, group in groupby(names)]
    return ", ".join(name if count == 1 else f"{count} x {name}" for name, count in groups)


def _value(split: Split, counts: tuple[int, ...], period: int | None) -> int | None:
    if split.objective is Objective.PERIOD:
        return period
    times = split.problem.device_times if split.objective is Objective.DEVICE else split.problem.stage_times
    return max(times(counts))


def split_json(spec: SplitSpec, split: Split, equal: int | None = None) -> str:
    """objective, value and bound (ticks), proved, layers (by stage), stage_times, device_times, stage_bytes and room (null without
    memory), even (as equal numbers as can be: layers, value, fits), and split, for a MAIN file (null without a model).
    """
    problem = split.problem
    value = _value(split, spec.equal, equal)
    document = {
        "schedule": spec.schedule.name,
        "objective": split.objective.value,
        "value": split.value,
        "bound": split.bound,
        "proved": split.proved,
        "layers": split.counts,
        "stage_times": split.stage_times,
        "device_times": split.device_times,
        "stage_bytes": problem.stage_bytes(split.counts) if problem.memory else None,
        "room": problem.memory.room if problem.memory else None,
        "even": {"layers": spec.equal, "value": value, "fits": problem.fits(spec.equal)},
        "split": None if spec.body is None else spec.main_split(split.counts),
    }
    return json.dumps(document, indent=1) + "\n"


def split_csv(split: Split) -> str:
    """One line a stage: ticks and bytes."""
    problem = split.problem
    ends, sizes = problem.ends(split.counts), problem.stage_bytes(split.counts)
    rows = [
        (
            stage, problem.placement[stage], ends[stage], split.counts[stage], split.stage_times[stage],
            sizes[stage] if problem.memory else None, problem.room(stage) if problem.memory else None,
        )
        for stage in range(problem.stages)
    ]  # fmt: skip
    return csv_text(CSV_HEADER, rows)
