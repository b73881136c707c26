"""The instance suite and the outcome of its check, as text, JSON and CSV."""

from __future__ import annotations

import json
from collections.abc import Sequence
from fractions import Fraction

from pipefill_opt.fill.suite import Entry
from pipefill_opt.report.tables import csv_text, percent, text_table

FIELDS = ("file", "family", "objective", "best", "bound", "proved_by", "date")
Checked = Sequence[tuple[str, tuple[str, ...]]]


def _rows(entries: Sequence[Entry]) -> list[tuple[str, ...]]:
    return [tuple(str(getattr(entry, field)) for field in FIELDS) for entry in entries]


def suite_table(entries: Sequence[Entry]) -> str:
    """One line an instance: best value, bound, gap."""
    rows = []
    for entry in entries:
        gap = abs(entry.bound - entry.best) / max(Fraction(1), abs(entry.best))
        known = "proved" if entry.proved else f"gap {percent(gap, 3)}"
        rows.append((entry.file, entry.objective, f"{float(entry.best):.9g}", f"{float(entry.bound):.9g}", known))
    proved = sum(entry.proved for entry in entries)
    lines = text_table(("instance", "objective", "best known", "bound", ""), rows)
    return "\n".join([*lines, "", f"{len(entries)} instances, {proved} proved"]) + "\n"


def suite_json(entries: Sequence[Entry]) -> str:
    """A list of entries; exact numbers as text."""
    return json.dumps([dict(zip(FIELDS, row, strict=True)) for row in _rows(entries)], indent=1) + "\n"


def suite_csv(entries: Sequence[Entry]) -> str:
    """One row an instance."""
    return csv_text(FIELDS, _rows(entries))


def check_text(checked: Checked) -> str:
    """One line for each fault, then the count."""
    lines = [f"{file}: {fault}" for file, faults in checked for fault in faults]
    faulty = sum(bool(faults) for _, faults in checked)
    return "\n".join([*lines, f"{len(checked)} instances checked, {faulty} with faults"]) + "\n"


def check_json(checked: Checked) -> str:
    """A list of {file, faults}."""
    return json.dumps([{"file": file, "faults": list(faults)} for file, faults in checked], indent=1) + "\n"


def check_csv(checked: Checked) -> str:
    """One row a fault, and one with an empty fault for each instance without."""
    return csv_text(("file", "fault"), [(file, fault) for file, faults in checked for fault in faults or ("",)])
