"""Prediction against measurement, as text, JSON and CSV."""

from __future__ import annotations

import json
from typing import Any

from pipefill_opt.harness.compare import Comparison, Quantity, Row
from pipefill_opt.harness.guard import Guarded
from pipefill_opt.report.tables import csv_text, percent, text_table
from pipefill_opt.units import format_bytes, format_time

SHARES = (Quantity.SLOWDOWN, Quantity.FILL)


def comparison_text(document: dict[str, Any], found: Comparison, guard: Guarded | None = None) -> str:
    """Verdict, findings, the table, and with `guard` what `--recalibrate` suggests."""
    lines = [
        head_line(document),
        f"verdict: {'as predicted' if found.holds else 'not as predicted'}",
        *(f"  {finding}" for finding in found.findings),
    ]
    if found.rows:
        lines += [
            "",
            *text_table(
                ("quantity", "predicted", "measured", "p5", "p95", "error"), [row_texts(row) for row in found.rows]
            ),
        ]
        lines += ["", *(f"median error of {text}" for text in error_texts(found))]
        lines.append(f"overruns: {found.overruns} of {found.visits} visits")
    if guard is not None:
        lines += ["", *guard_lines(guard)]
    return "\n".join(lines) + "\n"


def head_line(document: dict[str, Any]) -> str:
    """What ran where, when."""
    switches = "played as planned" if document["switches_played"] else "as they are"
    return (
        f"{document['instance']} on {document['device']['name']} ({document['backend']} backend, {document['date']}), "
        f"times x {document['scale']}, work: {document['work']}, switches {switches}"
    )


def error_texts(found: Comparison) -> list[str]:
    """`bubbles: 1.23 %` for each quantity that has errors."""
    names = {
        Quantity.PERIOD: "the period",
        Quantity.BUBBLE: "bubbles",
        Quantity.ACTION: "actions",
        Quantity.OPERATOR: "operators",
        Quantity.SWITCH: "switches",
    }
    errors = [(name, found.median_error(quantity)) for quantity, name in names.items()]
    return [f"{name}: {percent(error)}" for name, error in errors if error is not None]


def row_texts(row: Row) -> tuple[str, ...]:
    """A row for people."""
    low, high = ("" if value is None else amount_text(row.quantity, value) for value in (row.p5, row.p95))
    error = row.error
    mark = "" if error is None else f"{100 * error:+.2f} %"
    return (
        f"{row.quantity} {row.place}",
        amount_text(row.quantity, row.predicted),
        amount_text(row.quantity, row.measured),
        low,
        high,
        f"{mark} !" if row.finding else mark,
    )


def amount_text(quantity: Quantity, value: float) -> str:
    """A time, bytes or a share."""
    if quantity in SHARES:
        return percent(value)
    if quantity is Quantity.MEMORY:
        return format_bytes(round(value))
    return format_time(round(value)) if value >= 0 else f"-{format_time(round(-value))}"


def guard_lines(guard: Guarded) -> list[str]:
    """What to put into the INSTANCE file."""
    switch = ", ".join(f"{name}: {ticks}ns" for name, ticks in guard.switch.items())
    return [
        f"guard: {{fraction: {float(guard.fraction):g}, margin: {guard.margin}ns}}",
        *([f"switch: {{{switch}}}"] if switch else []),
        f"  expected slowdown {percent(guard.slowdown)} (of the plan as it is: {percent(guard.slowdown_now)}), "
        f"with {percent(guard.kept)} of its fill time",
    ]


def _row_document(row: Row) -> dict[str, Any]:
    return {
        "quantity": row.quantity.value,
        "place": row.place,
        "predicted": row.predicted,
        "measured": row.measured,
        "p5": row.p5,
        "p95": row.p95,
        "error": row.error,
        "finding": row.finding,
    }


def comparison_json(document: dict[str, Any], found: Comparison, guard: Guarded | None = None) -> str:
    """Times in ns, memory in bytes, slowdown and fill as shares."""
    result = {
        "instance": document["instance"],
        "device": document["device"],
        "backend": document["backend"],
        "date": document["date"],
        "holds": found.holds,
        "findings": list(found.findings),
        "rows": [_row_document(row) for row in found.rows],
        "overruns": found.overruns,
        "visits": found.visits,
        "recalibrated": None
        if guard is None
        else {
            "guard": {"fraction": str(guard.fraction), "margin": guard.margin},
            "switch": guard.switch,
            "slowdown": guard.slowdown,
            "slowdown_now": guard.slowdown_now,
            "kept": guard.kept,
        },
    }
    return json.dumps(result, indent=2) + "\n"


def comparison_csv(found: Comparison) -> str:
    """One row for each comparison."""
    header = ("quantity", "place", "predicted", "measured", "p5", "p95", "error", "finding")
    documents = [_row_document(row) for row in found.rows]
    return csv_text(header, [[None if doc[key] is None else str(doc[key]) for key in header] for doc in documents])
