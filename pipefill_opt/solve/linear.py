"""Linear programs by HiGHS, through SciPy: the only importer of scipy.optimize. Everything here is floating point: what must hold
exactly (a bound, a plan) is computed again from it in exact arithmetic by whoever asked."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from enum import StrEnum
from math import inf
from typing import Any, Final

import numpy as np
from numpy.typing import NDArray

Floats = NDArray[np.float64]
INFINITE: Final = inf
"""No bound on a row or column."""


class LinearStatus(StrEnum):
    """How a linear program ended. Only an optimal one has primal and dual values."""

    OPTIMAL = "optimal"
    INFEASIBLE = "infeasible"
    UNBOUNDED = "unbounded"
    LIMIT = "limit"
    NUMERICAL = "numerical trouble"


@dataclass(frozen=True, slots=True)
class LinearProgram:
    """Minimise cost . x under row_lower <= A x <= row_upper and lower <= x <= upper.

    A has entry values[k] in row rows[k], column columns[k]; entries of one place add up. Bounds may be `INFINITE`.
    """

    cost: Sequence[float] | Floats
    rows: Sequence[int] | NDArray[Any]
    columns: Sequence[int] | NDArray[Any]
    values: Sequence[float] | Floats
    row_lower: Sequence[float] | Floats
    row_upper: Sequence[float] | Floats
    lower: Sequence[float] | Floats
    upper: Sequence[float] | Floats


@dataclass(frozen=True, slots=True)
class LinearAnswer:
    """value: cost . x. primal: x. duals: by row, what one more unit of its bound adds to the value; reduced: the same by column.

    Where the status is not OPTIMAL the arrays are empty and the value is not a number.
    """

    status: LinearStatus
    value: float
    primal: Floats
    duals: Floats
    reduced: Floats


_STATUS: Final = {
    0: LinearStatus.OPTIMAL,
    1: LinearStatus.LIMIT,
    2: LinearStatus.INFEASIBLE,
    3: LinearStatus.UNBOUNDED,
    4: LinearStatus.NUMERICAL,
}


def minimize(program: LinearProgram, *, time: float | None = None, interior: bool = False) -> LinearAnswer:
    """The optimum with its duals. time: seconds at most. interior: by HiGHS's interior point with crossover, quicker on some large ones.

    The call cannot be interrupted but by its time limit; it runs on one thread and answers the same each time.
    """
    from scipy.optimize import linprog
    from scipy.sparse import csr_array

    cost = np.asarray(program.cost, dtype=np.float64)
    row_lower = np.asarray(program.row_lower, dtype=np.float64)
    row_upper = np.asarray(program.row_upper, dtype=np.float64)
    shape = (len(row_lower), len(cost))
    entries = (np.asarray(program.values, dtype=np.float64), (np.asarray(program.rows), np.asarray(program.columns)))
    matrix = csr_array(entries, shape=shape)
    fixed = row_lower == row_upper
    most = np.flatnonzero(~fixed & (row_upper < INFINITE))
    least = np.flatnonzero(~fixed & (row_lower > -INFINITE))
    same = np.flatnonzero(fixed)
    found = linprog(
        cost,
        A_ub=_stacked(matrix, most, least),
        b_ub=np.concatenate([row_upper[most], -row_lower[least]]),
        A_eq=matrix[same],
        b_eq=row_lower[same],
        bounds=np.stack(
            [np.asarray(program.lower, dtype=np.float64), np.asarray(program.upper, dtype=np.float64)], axis=1
        ),
        method="highs-ipm" if interior else "highs",
        options={} if time is None else {"time_limit": max(0.0, time)},
    )
    status = _STATUS[int(found.status)]
    if status is not LinearStatus.OPTIMAL or found.x is None:
        nothing = np.zeros(0)
        return LinearAnswer(status, float("nan"), nothing, nothing, nothing)
    duals = np.zeros(len(row_lower))
    duals[most] += found.ineqlin.marginals[: len(most)]
    duals[least] -= found.ineqlin.marginals[len(most) :]
    duals[same] += found.eqlin.marginals
    reduced = found.lower.marginals + found.upper.marginals
    return LinearAnswer(status, float(found.fun), np.asarray(found.x), duals, np.asarray(reduced))


def _stacked(matrix: Any, most: NDArray[Any], least: NDArray[Any]) -> Any:
    from scipy.sparse import vstack

    return vstack([matrix[most], -matrix[least]], format="csr")
