"""The wrapper of HiGHS's linear programs: optimum, duals of every kind of row, statuses."""

from __future__ import annotations

import numpy as np
import pytest

from pipefill_opt.solve.linear import INFINITE, LinearProgram, LinearStatus, minimize


def program(**others: object) -> LinearProgram:
    """Minimise -3 x - 2 y under x + y <= 4, x - y >= -2, x + 2 y = 5, x, y >= 0."""
    values: dict[str, object] = {
        "cost": [-3, -2],
        "rows": [0, 0, 1, 1, 2, 2],
        "columns": [0, 1, 0, 1, 0, 1],
        "values": [1, 1, 1, -1, 1, 2],
        "row_lower": [-INFINITE, -2, 5],
        "row_upper": [4, INFINITE, 5],
        "lower": [0, 0],
        "upper": [INFINITE, INFINITE],
    }
    return LinearProgram(**(values | others))  # type: ignore[arg-type]


@pytest.mark.parametrize("interior", [False, True])
def test_optimum_and_duals(interior: bool) -> None:
    answer = minimize(program(), interior=interior)
    assert answer.status is LinearStatus.OPTIMAL
    assert answer.primal == pytest.approx([3, 1])
    assert answer.value == pytest.approx(-11)
    assert answer.duals == pytest.approx([-4, 0, 1])


@pytest.mark.parametrize(("row", "key"), [(0, "row_upper"), (1, "row_lower"), (2, "both")])
def test_duals_say_what_one_more_unit_of_a_bound_adds(row: int, key: str) -> None:
    rng = np.random.default_rng(row)
    cost = rng.integers(1, 9, 2)
    base = program(cost=cost)
    answer = minimize(base)
    lower, upper = list(base.row_lower), list(base.row_upper)
    step = 1e-3
    if key in ("row_upper", "both"):
        upper[row] += step
    if key in ("row_lower", "both"):
        lower[row] += step
    moved = minimize(program(cost=cost, row_lower=lower, row_upper=upper))
    assert moved.value - answer.value == pytest.approx(step * answer.duals[row], abs=1e-9)


def test_a_row_of_two_bounds_has_one_dual() -> None:
    both = LinearProgram([1.0], [0], [0], [2.0], [3.0], [8.0], [-INFINITE], [INFINITE])
    low = minimize(both)
    assert (low.value, low.duals.tolist()) == (1.5, [0.5])
    high = minimize(LinearProgram([-1.0], [0], [0], [2.0], [3.0], [8.0], [-INFINITE], [INFINITE]))
    assert (high.value, high.duals.tolist()) == (-4, [-0.5])


def test_bounds_of_columns_have_reduced_costs() -> None:
    answer = minimize(LinearProgram([1.0, -1.0], [], [], [], [], [], [2.0, 0.0], [9.0, 7.0]))
    assert (answer.value, answer.reduced.tolist()) == (-5, [1.0, -1.0])


def test_entries_of_one_place_add_up() -> None:
    answer = minimize(LinearProgram([-1.0], [0, 0], [0, 0], [1.0, 1.0], [-INFINITE], [6.0], [0.0], [INFINITE]))
    assert answer.value == -3


def test_statuses() -> None:
    assert minimize(program(row_upper=[4, INFINITE, 5], row_lower=[4.5, -2, 5])).status is LinearStatus.INFEASIBLE
    unbounded = LinearProgram([-1.0], [], [], [], [], [], [0.0], [INFINITE])
    answer = minimize(unbounded)
    assert answer.status is LinearStatus.UNBOUNDED
    assert answer.value != answer.value
    assert not len(answer.primal)


def test_a_time_limit_is_a_limit() -> None:
    rng = np.random.default_rng(0)
    n = 300
    rows, columns = np.divmod(np.arange(n * n), n)
    hard = LinearProgram(
        -rng.random(n), rows, columns, rng.random(n * n), [-INFINITE] * n, [1.0] * n, [0.0] * n, [INFINITE] * n
    )
    assert minimize(hard, time=0.0).status is LinearStatus.LIMIT
    assert minimize(hard).status is LinearStatus.OPTIMAL
