"""Tables and exact numbers."""

from __future__ import annotations

from fractions import Fraction

from pipefill_opt.report.tables import csv_text, exact_number, percent, text_table


def test_columns_are_aligned() -> None:
    assert text_table(("a", "bb"), [("long", "1"), ("x", "222")]) == ["a      bb", "long    1", "x     222"]


def test_csv_quotes_and_leaves_empty_cells() -> None:
    assert csv_text(("a", "b"), [("x,y", None), (1, Fraction(7, 2))]) == 'a,b\n"x,y",\n1,7/2\n'


def test_numbers() -> None:
    assert percent(Fraction(1, 3)) == "33.33 %"
    assert exact_number(Fraction(7, 2)) == "7/2"
    assert exact_number(Fraction(4)) == "4"
    assert exact_number(None) is None
