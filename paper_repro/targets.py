"""Targets: a paper's value beside ours. Shared by all scripts: table, CSV, exit code."""

from __future__ import annotations

import csv
import io
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from pipefill_opt.files import write_text
from pipefill_opt.report.tables import text_table

CHECKED = ("seen", "derived")


@dataclass(frozen=True)
class Target:
    """A quantity: the source's value, ours, the tolerance (absolute), provenance: see README.md."""

    quantity: str
    source: float | None
    ours: float
    tolerance: float
    provenance: str

    @property
    def missed(self) -> bool:
        """True if a seen or derived value is not reproduced."""
        return self.provenance in CHECKED and (
            self.source is None or not abs(self.ours - self.source) <= self.tolerance
        )

    @property
    def verdict(self) -> str:
        """`reproduced` or `MISSED` where that can be said, else the provenance."""
        if self.provenance not in CHECKED:
            return self.provenance
        return "MISSED" if self.missed else "reproduced"

    def row(self) -> tuple[str, ...]:
        """Quantity, source, ours, difference, provenance, verdict."""
        stated = "" if self.source is None else f"{self.source:g}"
        difference = "" if self.source is None else f"{self.ours - self.source:+.3g}"
        return (self.quantity, stated, f"{self.ours:.6g}", difference, self.provenance, self.verdict)


HEADER = ("quantity", "source", "ours", "difference", "provenance", "verdict")


def report(targets: Sequence[Target], file: Path) -> int:
    """Print the table, write it as CSV; 1 if a target is missed, else 0."""
    rows = [target.row() for target in targets]
    print("\n".join(text_table(HEADER, rows)))
    stream = io.StringIO()
    csv.writer(stream, lineterminator="\n").writerows([HEADER, *rows])
    write_text(file, stream.getvalue())
    missed = sum(target.missed for target in targets)
    print(f"{missed} of {len(targets)} targets missed; table in {file}")
    return 1 if missed else 0
