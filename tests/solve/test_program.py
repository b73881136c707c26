from __future__ import annotations

from pipefill_opt.solve.program import Program, Row


def test_a_row_holds_between_its_limits() -> None:
    row = Row((0, 2), (3, -1), 1, 4)
    assert row.holds((1, 9, 0))
    assert row.holds((2, 9, 2))
    assert not row.holds((2, 9, 1))  # 5
    assert not row.holds((1, 9, 3))  # 0


def test_a_row_without_least_has_no_lower_limit() -> None:
    assert Row((0,), (-1,), None, 0).holds((5,))


def test_worth_and_trivial_bound() -> None:
    program = Program((5, -2, 3), (1, 4, 2), ())
    assert program.worth((1, 1, 2)) == 9
    assert program.trivial_bound() == 11
