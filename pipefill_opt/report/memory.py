"""Memory of a main job by device, by how much it does not fit, and what would: as text, JSON and CSV."""

from __future__ import annotations

import json
from collections.abc import Sequence
from typing import Any

from pipefill_opt.report.tables import csv_text, text_table
from pipefill_opt.timeline.fits import Need, Remedy
from pipefill_opt.units import format_bytes
from pipefill_opt.workload.costs import MainJob, Memory

CSV_HEADER = ("device", "stages", "static", "activation", "workspace", "peak", "room", "lacking")


def memory_text(main: MainJob, needs: Sequence[Need], remedies: Sequence[Remedy]) -> str:
    """A table by device, then what does not fit and what would."""
    assert main.memory is not None
    header = ["device", "stages", "static", "a micro-batch", "workspace", "peak", "room", "spare"]
    rows = []
    for need in needs:
        sizes = [format_bytes(size) for size in _sizes(main.memory, need)]
        spare = ("-" if need.lacking > 0 else "") + format_bytes(abs(need.lacking))
        rows.append([str(need.device), _stages(need), *sizes, format_bytes(need.peak), format_bytes(need.room), spare])
    lines = text_table(header, rows)
    return "\n".join([*lines, "", *(fit_lines(needs, remedies, by_name=main.derived is not None))]) + "\n"


def fit_lines(needs: Sequence[Need], remedies: Sequence[Remedy], *, by_name: bool) -> list[str]:
    """By how much the job does not fit, on which stages, and the changes with which it does."""
    lacking = [need for need in needs if need.lacking > 0]
    if not lacking:
        spare = max(needs, key=lambda need: need.lacking)
        return [f"fits, with {format_bytes(-spare.lacking)} left on device {spare.device}"]
    worst = max(lacking, key=lambda need: need.lacking)
    lines = [
        f"does not fit: {format_bytes(worst.lacking)} too much on device {worst.device} (stage {_stages(worst)}), "
        f"{format_bytes(worst.peak)} of {format_bytes(worst.room)}; {len(lacking)} of {len(needs)} devices lack memory"
    ]
    if remedies:
        lines += ["what would fit:", *(f"  {_remedy(remedy)}" for remedy in remedies)]
    elif by_name:
        lines.append("no smaller micro-batch, recomputation, sharding or split that was tried fits")
    return lines


def _remedy(remedy: Remedy) -> str:
    changes = ", ".join(f"{key}: {_value(value)}" for key, value in remedy.changes)
    return f"{changes} ({remedy.devices} devices, {format_bytes(remedy.spare)} left)"


def _value(value: Any) -> str:
    return str(value).lower() if isinstance(value, bool) else str(value)


def _stages(need: Need) -> str:
    return ", ".join(map(str, need.stages))


def _sizes(memory: Memory, need: Need) -> tuple[int, int, int]:
    """Static bytes; of a micro-batch on all stages; the largest workspace."""
    activation = sum(memory.activation[stage] for stage in need.stages)
    return memory.static[need.device], activation, max((memory.workspace[stage] for stage in need.stages), default=0)


def memory_json(main: MainJob, needs: Sequence[Need], remedies: Sequence[Remedy]) -> str:
    """fits; devices[]: device, stages, static, activation (a micro-batch on all of them), workspace, peak, room, lacking (below 0: spare),
    in bytes; remedies[]: changes, spare, devices (of the whole job), and main, the changed MAIN document.
    """
    assert main.memory is not None
    document = {
        "fits": all(need.lacking <= 0 for need in needs),
        "devices": [
            {"device": need.device, "stages": need.stages, **dict(zip(CSV_HEADER[2:5], _sizes(main.memory, need), strict=True)),
             "peak": need.peak, "room": need.room, "lacking": need.lacking}
            for need in needs
        ],
        "remedies": [
            {"changes": dict(remedy.changes), "spare": remedy.spare, "devices": remedy.devices, "main": remedy.document}
            for remedy in remedies
        ],
    }  # fmt: skip
    return json.dumps(document, indent=1, default=str) + "\n"


def memory_csv(main: MainJob, needs: Sequence[Need]) -> str:
    """One line a device, in bytes."""
    assert main.memory is not None
    rows = [
        (need.device, " ".join(map(str, need.stages)), *_sizes(main.memory, need), need.peak, need.room, need.lacking)
        for need in needs
    ]
    return csv_text(CSV_HEADER, rows)
