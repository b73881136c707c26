from __future__ import annotations

import pytest

from pipefill_opt.solve import milp
from pipefill_opt.solve.program import Program, Row
from pipefill_opt.solve.result import Limits, Reason
from tests.solve.test_maximize import knapsack

LARGE = 10**13


def test_a_point_that_breaks_a_row_by_less_than_the_tolerance_is_cut_off() -> None:
    rows = (Row((0, 1, 2), (LARGE, LARGE + 1, LARGE), None, 2 * LARGE),)
    answer = milp.maximize(Program((5, 7, 3), (1, 1, 1), rows), Limits(), None)
    assert (answer.point, answer.bound, answer.reason) == ((1, 0, 1), 8, Reason.PROVED)


def test_without_the_cut_that_point_is_what_it_finds(monkeypatch: pytest.MonkeyPatch) -> None:
    """The test above tests something: HiGHS itself takes the point."""
    seen: list[tuple[int, ...]] = []

    def watched(row: Row, point: tuple[int, ...], upper: tuple[int, ...]) -> None:
        seen.append(point)

    monkeypatch.setattr(milp, "_cover", watched)
    rows = (Row((0, 1, 2), (LARGE, LARGE + 1, LARGE), None, 2 * LARGE),)
    answer = milp.maximize(Program((5, 7, 3), (1, 1, 1), rows), Limits(), (1, 0, 0))
    assert seen == [(1, 1, 0)]
    assert (answer.point, answer.bound) == ((1, 0, 0), 12)
    assert answer.reason is Reason.GAP_LIMIT


def test_a_cover_forbids_what_is_at_least_as_heavy() -> None:
    row = Row((0, 1, 2, 3, 4), (6, 5, 4, 0, 7), None, 10)
    assert milp._cover(row, (1, 1, 0, 1, 0), (1,) * 5) == Row((0, 1, 4), (1, 1, 1), None, 1)


def test_a_cover_of_a_row_with_room_that_is_taken() -> None:
    """6 + 5 > 10 x the last one, which is a device in use or not."""
    row = Row((0, 1, 2, 3), (6, 5, 4, -10), None, 0)
    assert milp._cover(row, (1, 1, 0, 1), (1,) * 4) == Row((0, 1), (1, 1), None, 1)
    assert milp._cover(row, (1, 0, 1, 0), (1,) * 4) is None


@pytest.mark.parametrize("row", [Row((0, 1), (1, -1), None, 0), Row((0, 1), (1, 1), 1, 1)])
def test_no_cover_of_rows_that_are_no_knapsacks(row: Row) -> None:
    assert milp._cover(row, (1, 1), (1, 1)) is None


def test_the_bound_is_rounded_up_by_its_tolerance() -> None:
    assert milp._bound(-7.0, 1, 100) == 7
    assert milp._bound(-6.9999999999, 1, 100) == 7
    assert milp._bound(-7.9, 1, 100) == 7
    assert milp._bound(-(10.0**3), 10**9, 10**15) == 10**12 + 10**3
    assert milp._bound(float("-inf"), 1, 100) == 100
    assert milp._bound(-200.0, 1, 100) == 100


def test_a_time_limit_is_never_called_optimal() -> None:
    """With whichever PuLP is installed: 3.3 itself answers `Optimal` here."""
    program = knapsack(120, 6)
    answer = milp.maximize(program, Limits(time=0.2), (0,) * 120)
    assert answer.point is not None
    assert 0 < program.worth(answer.point) < answer.bound
    assert answer.reason is Reason.TIME_LIMIT


def test_variables_that_occur_nowhere_are_left_at_0() -> None:
    """Eleven variables: by name x10 would come before x2."""
    rows = (Row((1, 3, 10), (3, 4, 5), None, 8),)
    answer = milp.maximize(Program((0, 7, 0, 6, 0, 0, 0, 0, 0, 0, 9), (1,) * 11, rows), Limits(), None)
    assert (answer.point, answer.bound) == ((0, 1, 0, 0, 0, 0, 0, 0, 0, 0, 1), 16)


def test_a_row_of_nothing_is_no_row() -> None:
    """No byte free, and nothing carried: 0 x <= 0."""
    answer = milp.maximize(Program((5,), (1,), (Row((0,), (0,), None, 0),)), Limits(), None)
    assert (answer.point, answer.bound, answer.reason) == ((1,), 5, Reason.PROVED)
