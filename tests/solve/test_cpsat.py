from __future__ import annotations

from pipefill_opt.solve.cpsat import MAX_SUM, _bound, maximize
from pipefill_opt.solve.program import Program, Row
from pipefill_opt.solve.result import Limits, Reason


def test_one_unit_decides_however_large_the_numbers_are() -> None:
    large = 10**14
    rows = (Row((0, 1, 2), (large, large + 1, large), None, 2 * large),)
    answer = maximize(Program((5, 7, 3), (1, 1, 1), rows), Limits(), None)
    assert (answer.point, answer.bound, answer.reason) == ((1, 0, 1), 8, Reason.PROVED)


def test_an_objective_past_64_bits_is_searched_in_steps_rounded_up() -> None:
    """Three items, any two: the bound holds, and the answer leaves the last digits open."""
    values = (MAX_SUM * 3, MAX_SUM * 3 + 1, MAX_SUM * 5)
    program = Program(values, (1, 1, 1), (Row((0, 1, 2), (1, 1, 1), None, 2),))
    answer = maximize(program, Limits(), (1, 0, 0))
    best = values[1] + values[2]
    assert answer.point is not None
    assert best - 24 <= program.worth(answer.point) <= best <= answer.bound <= best + (best >> 50)
    assert answer.reason is (Reason.PROVED if program.worth(answer.point) == answer.bound else Reason.GAP_LIMIT)


def test_a_large_objective_is_exact_as_long_as_floats_tell_its_bound() -> None:
    values = (2**50 - 3, 2**50 - 2, 2**50 - 1)
    answer = maximize(Program(values, (1, 1, 1), (Row((0, 1, 2), (1, 1, 1), None, 1),)), Limits(), None)
    assert (answer.point, answer.bound, answer.reason) == ((0, 0, 1), 2**50 - 1, Reason.PROVED)


def test_bounds_told_as_floats() -> None:
    assert _bound(float(2**51 - 1), 1, 2**60) == 2**51 - 1
    assert _bound(float(2**53), 1, 2**60) == 2**53 + 4
    assert _bound(7.0, 3, 100) == 21
    assert _bound(70.0, 3, 100) == 100
    assert _bound(float("inf"), 1, 100) == 100
    assert _bound(-301.0, 1, 100) == -301


def test_rows_past_64_bits_are_not_searched() -> None:
    program = Program((5, 7), (1, 1), (Row((0, 1), (2**60, 2**60), None, 2**60),))
    answer = maximize(program, Limits(), (1, 0))
    assert (answer.point, answer.bound, answer.reason) == ((1, 0), 12, Reason.WORK_LIMIT)
