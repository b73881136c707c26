"""Read MAIN files: a schedule and what it costs. Every refusal names file, path, value and what was expected."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any, Final

from pipefill_opt.errors import InputError
from pipefill_opt.files import check, read_document
from pipefill_opt.units import parse_bandwidth, parse_bytes, parse_time, transfer_ticks
from pipefill_opt.workload.costs import Boundary, Communication, MainJob, Mode
from pipefill_opt.workload.main_costs import read_durations, read_memory, value_at
from pipefill_opt.workload.main_samples import read_samples
from pipefill_opt.workload.main_schedule import read_schedule
from pipefill_opt.workload.weights import action_durations

Document = Mapping[str, Any]

BY_NAME: Final = (
    "hardware", "parallel", "global_batch", "microbatch", "sequence", "precision", "recompute", "attention",
    "async_tensor", "fusion", "sequence_parallel", "zero", "optimizer", "split", "coefficients",
)  # fmt: skip
"""Keys of a MAIN file that gives a model by name."""


def read_main(path: Path | str) -> MainJob:
    """The main job of a MAIN file (YAML or JSON). Raises InputError, and ScheduleError for an order that breaks the rules."""
    path = Path(path)
    return _build(read_document(path, "main"), str(path), path.parent)


def main_from_document(document: Document, *, file: str = "", folder: Path | str = ".") -> MainJob:
    """The main job of a parsed MAIN document; a CSV that it names is looked for in `folder`. `file` names its origin in errors.

    Raises InputError, and ScheduleError for an order that breaks the rules (a deadlock excepted, which `timeline` finds).
    """
    check(document, "main", file=file)
    return _build(document, file, Path(folder))


def _build(document: Document, file: str, folder: Path) -> MainJob:
    derived = None
    try:
        if "model" in document:
            from pipefill_opt.workload.model.main_model import resolve

            document, derived = resolve(document, folder)
        else:
            _refuse_names(document)
        schedule = read_schedule(document["schedule"], folder)
        main = MainJob(
            schedule=schedule,
            durations=read_durations(document["durations"], document.get("overlap", "sequential"), schedule),
            communication=_communication(document.get("communication", {"lag": 0})),
            memory=read_memory(document["memory"], schedule) if "memory" in document else None,
            source=file,
            global_norm=document.get("global_norm", False),
            boundary=Boundary(document.get("boundary", Boundary.BARRIER)),
            derived=derived,
            samples=read_samples(document["measured"], schedule) if "measured" in document else None,
        )
        action_durations(main)  # is anything missing, unknown or too large?
    except InputError as error:
        raise error.located(file=file) from None
    return main


def _refuse_names(document: Document) -> None:
    """What only an analytic model reads has no place without one."""
    for key in BY_NAME:
        if key in document:
            raise InputError("expected model with it", value=document[key], where=key)


def _communication(entry: Document) -> Communication:
    """The lag as stated, or latency + ceil(bytes / bandwidth); mode `link` needs the latter."""
    where, unit, mode = "communication", entry.get("unit"), Mode(entry.get("mode", Mode.LAG))
    transfer = [key for key in ("latency", "bandwidth", "bytes") if key in entry]
    expected = "bandwidth and bytes" if mode is Mode.LINK else "lag, or bandwidth and bytes"
    if "lag" in entry and mode is Mode.LINK:
        raise InputError(f"expected {expected} in mode link", value=entry["lag"], where=f"{where}.lag")
    if "lag" in entry:
        if transfer:
            raise InputError(f"expected either {expected}", value=entry[transfer[0]], where=f"{where}.{transfer[0]}")
        return Communication(value_at(f"{where}.lag", parse_time, entry["lag"], unit), mode)
    for key in ("bandwidth", "bytes"):
        if key not in entry:
            raise InputError(f"missing key {key!r} (expected {expected})", where=where)
    latency = value_at(f"{where}.latency", parse_time, entry.get("latency", 0), unit)
    bandwidth = value_at(f"{where}.bandwidth", parse_bandwidth, entry["bandwidth"])
    size = value_at(f"{where}.bytes", parse_bytes, entry["bytes"])
    ticks = transfer_ticks(size, bandwidth)
    return Communication(latency + ticks, mode, ticks if mode is Mode.LINK else 0)
