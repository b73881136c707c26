"""A calibration as text, JSON and CSV."""

from __future__ import annotations

import json
from typing import Any

from pipefill_opt.harness.calibrate import Calibration
from pipefill_opt.report.tables import Cell, csv_text, percent, text_table
from pipefill_opt.units import format_time


def calibration_text(found: Calibration) -> str:
    """A line for each measurement, and how well other products are predicted."""
    rows = [
        (
            entry.name,
            ", ".join(f"{key} {value}" for key, value in entry.parameters.items()),
            *(format_time(round(value)) for value in (entry.median, entry.p5, entry.p95)),
            str(entry.count),
        )
        for entry in found.statistics
    ]
    error = found.prediction_error
    lines = [
        f"{found.device['name']}, {found.backend} backend, {found.date}; products: {found.device['products']}",
        f"clock: {found.clock['source']}; resolution {found.clock['resolution_ns']} ns",
        "",
        *text_table(("measurement", "of", "median", "p5", "p95", "samples"), rows),
        *(f"skipped: {line}" for line in found.skipped),
        "",
        "no other products were predicted"
        if error is None
        else f"{len(found.predictions)} products of other shapes are predicted with a median error of {percent(error)}",
    ]
    return "\n".join(lines) + "\n"


def calibration_csv(found: Calibration) -> str:
    """One row for each measurement, ns."""
    rows: list[tuple[Cell, ...]] = [
        (entry.name, json.dumps(dict(entry.parameters)), entry.count, str(entry.median), str(entry.p5), str(entry.p95))
        for entry in found.statistics
    ]  # fmt: skip
    return csv_text(("name", "parameters", "count", "median_ns", "p5_ns", "p95_ns"), rows)


def calibration_json(document: dict[str, Any]) -> str:
    """The HARDWARE document as JSON text."""
    return json.dumps(document, indent=2) + "\n"
