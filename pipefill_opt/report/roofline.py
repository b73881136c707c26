"""A roofline view as text, JSON and CSV."""

from __future__ import annotations

import json
from fractions import Fraction

from pipefill_opt.report.tables import csv_text, percent, text_table
from pipefill_opt.units import format_bytes, format_time
from pipefill_opt.workload.model.roofline_view import Row, View

CSV_HEADER = ("layer", "count", "part", "operator", "unit", "flops", "bytes", "nanoseconds", "bound")


def roofline_text(view: View) -> str:
    """Shares by bound, then every piece of work of one layer of each kind."""
    totals = view.by_bound()
    total = sum(totals.values()) or Fraction(1)
    shares = ", ".join(f"{bound} {percent(ticks / total)}" for bound, ticks in totals.items() if ticks)
    lines = [
        f"{view.network} on {view.hardware}: {format_time(total)} for a micro-batch through all layers, by what decides it: {shares}",
        f"matrix products with fewer than {float(view.ridge):.0f} FLOPs for a byte are bound by memory",
        "",
    ]
    header = ["operator", "part", "FLOPs", "bytes", "FLOP/B", "time", "share", "bound by"]
    rows = []
    for row in view.rows:
        name = row.name if row.count == 1 else f"{row.name} (x {row.count})"
        rows.append(
            [
                f"{row.layer}: {name}",
                row.part,
                _flops(row.flops),
                format_bytes(row.bytes),
                "" if row.intensity is None else f"{float(row.intensity):.1f}",
                format_time(row.ticks),
                percent(row.count * row.ticks / total),
                str(row.bound),
            ]
        )
    return "\n".join([*lines, *text_table(header, rows)]) + "\n"


def roofline_json(view: View) -> str:
    """network, hardware, ridge, by_bound (ns by bound), operators: the columns of the CSV; times in ns, numbers."""
    document = {
        "network": view.network,
        "hardware": view.hardware,
        "ridge": float(view.ridge),
        "by_bound": {str(bound): float(ticks) for bound, ticks in view.by_bound().items()},
        "operators": [dict(zip(CSV_HEADER, _cells(row), strict=True)) for row in view.rows],
    }
    return json.dumps(document, indent=1) + "\n"


def roofline_csv(view: View) -> str:
    """One row for each piece of work of each different layer."""
    return csv_text(CSV_HEADER, [tuple(str(cell) for cell in _cells(row)) for row in view.rows])


def _cells(row: Row) -> tuple[str | int | float, ...]:
    return (
        row.layer, row.count, row.part, row.name, row.unit, row.flops, row.bytes, float(row.ticks), str(row.bound),
    )  # fmt: skip


def _flops(count: int) -> str:
    for name, factor in (("P", 1e15), ("T", 1e12), ("G", 1e9), ("M", 1e6)):
        if count >= factor:
            return f"{count / factor:.3g} {name}"
    return str(count) if count else ""
