"""The instance suite and the outcome of its check, as text, JSON and CSV."""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction
from math import ceil

from pipefill_opt.fill.suite import Entry
from pipefill_opt.report.tables import csv_text, percent, text_table

FIELDS = ("file", "family", "objective", "best", "bound", "proved_by", "date", "greedy", "pattern_bound", "traits")
GREEDY_LOSS = Fraction(1, 20)
LOOSE = Fraction(1, 50)
TRAITS = {"carry": "bytes carried between bubbles", "swap": "swapped jobs", "H>1": "a plan of more than one iteration"}
Checked = Sequence[tuple[str, tuple[str, ...]]]


def _rows(entries: Sequence[Entry]) -> list[tuple[str, ...]]:
    values = [[getattr(entry, field) for field in FIELDS] for entry in entries]
    return [tuple("" if value is None else str(value) for value in row) for row in values]


@dataclass(frozen=True, slots=True)
class Count:
    """How many instances besides `tiny` are so, and how many should be at the least."""

    what: str
    number: int
    least: int


def counts(entries: Sequence[Entry]) -> tuple[Count, ...]:
    """What makes the suite one on which solvers can be told apart.

    greedy: against the best plan known, which is at most the optimum; the pattern bound: against the bound proved, which is at
    least the optimum. So both counts are proved.
    """
    others = [entry for entry in entries if entry.family != "tiny"]
    greedy = sum(e.greedy is not None and e.greedy <= (1 - GREEDY_LOSS) * e.best for e in others)
    loose = sum(e.pattern_bound is not None and e.pattern_bound >= (1 + LOOSE) * e.bound for e in others)
    return (
        Count("greedy on contiguous bubbles is at least 5 % below the best plan", greedy, ceil(len(others) / 2)),
        Count("the per-bubble pattern bound is at least 2 % above the proved one", loose, ceil(len(others) / 3)),
        *(Count(what, sum(trait in e.traits.split() for e in others), 20) for trait, what in TRAITS.items()),
    )


def suite_table(entries: Sequence[Entry]) -> str:
    """One line an instance: best value, bound, gap, greedy and pattern bound against them; then the counts."""
    rows = []
    for entry in entries:
        known = "proved" if entry.proved else f"gap {percent(entry.gap, 3)}"
        greedy = "" if entry.greedy is None or not entry.best else percent(entry.greedy / entry.best - 1, 1)
        loose = (
            "" if entry.pattern_bound is None or not entry.bound else percent(entry.pattern_bound / entry.bound - 1, 1)
        )
        values = (f"{float(entry.best):.9g}", f"{float(entry.bound):.9g}")
        rows.append((entry.file, entry.objective, *values, known, greedy, loose, entry.traits))
    proved = sum(entry.proved for entry in entries)
    lines = text_table(("instance", "objective", "best known", "bound", "", "greedy", "pattern bound", "traits"), rows)
    others = sum(entry.family != "tiny" for entry in entries)
    lines += ["", f"{len(entries)} instances, {proved} proved; of the {others} besides tiny:"]
    lines += [f"  {count.number:4} (wanted: {count.least}) {count.what}" for count in counts(entries)]
    return "\n".join(lines) + "\n"


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
