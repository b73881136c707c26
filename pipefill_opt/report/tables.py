"""Tables as text for people and as CSV, and exact numbers as text."""

from __future__ import annotations

import csv
import io
from collections.abc import Sequence
from fractions import Fraction

Cell = str | int | Fraction | None


def text_table(header: Sequence[str], rows: Sequence[Sequence[str]], *, indent: str = "") -> list[str]:
    """Lines of a table in columns; the first column is left-aligned, the others right-aligned."""
    widths = [max(len(row[column]) for row in [header, *rows]) for column in range(len(header))]
    return [
        (
            indent
            + "  ".join(
                cell.ljust(width) if column == 0 else cell.rjust(width)
                for column, (cell, width) in enumerate(zip(row, widths, strict=True))
            )
        ).rstrip()
        for row in [header, *rows]
    ]


def csv_text(header: Sequence[str], rows: Sequence[Sequence[Cell]]) -> str:
    """A CSV with a header; None is an empty cell."""
    return csv_rows([header, *rows])


def csv_rows(rows: Sequence[Sequence[Cell]]) -> str:
    """Rows of a CSV; None is an empty cell."""
    stream = io.StringIO()
    csv.writer(stream, lineterminator="\n").writerows(
        [["" if cell is None else str(cell) for cell in row] for row in rows]
    )
    return stream.getvalue()


def percent(share: Fraction | float, digits: int = 2) -> str:
    """`12.34 %`."""
    return f"{100 * float(share):.{digits}f} %"


def exact_number(number: Fraction | None) -> str | None:
    """A fraction as exact text, `7/2` or `3`, for JSON and CSV."""
    return None if number is None else str(number)
