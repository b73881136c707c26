"""The restricted master over listed columns: its linear relaxation with prices, and whole multiplicities."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from math import floor
from typing import Final

import numpy as np
from numpy.typing import NDArray

from pipefill_opt.solve.column import Column
from pipefill_opt.solve.linear import INFINITE, LinearProgram, LinearStatus, minimize

Floats = NDArray[np.float64]
ALMOST: Final = 1e-7
"""A multiplicity this little below a whole number counts as it."""


@dataclass(frozen=True, slots=True)
class Used:
    """A column of the master: the group it belongs to, the copies it uses by job."""

    group: int
    usage: Mapping[int, int]


@dataclass(frozen=True, slots=True)
class Relaxed:
    """The linear optimum: worth, number of each column, price of a device of each group and of a copy of each job. All floats."""

    worth: float
    number: Floats
    device: Floats
    copy: Floats


def relax(
    values: Sequence[float], columns: Sequence[Used], counts: Sequence[int], copies: Sequence[int]
) -> Relaxed | None:
    """The linear relaxation of the master; None if HiGHS fails."""
    if not columns:
        return Relaxed(0.0, np.zeros(0), np.zeros(len(counts)), np.zeros(len(copies)))
    scale = max((abs(value) for value in values), default=0.0) or 1.0
    rows = [used.group for used in columns]
    places = list(range(len(columns)))
    numbers = [1.0] * len(columns)
    for k, used in enumerate(columns):
        for job, number in used.usage.items():
            rows.append(len(counts) + job)
            places.append(k)
            numbers.append(float(number))
    limit = [float(count) for count in (*counts, *copies)]
    answer = minimize(
        LinearProgram(
            cost=-np.array(values, dtype=np.float64) / scale,
            rows=rows,
            columns=places,
            values=numbers,
            row_lower=[-INFINITE] * len(limit),
            row_upper=limit,
            lower=np.zeros(len(columns)),
            upper=np.full(len(columns), INFINITE),
        )
    )
    if answer.status is not LinearStatus.OPTIMAL:
        return None
    duals = np.maximum(0.0, -answer.duals) * scale
    return Relaxed(-answer.value * scale, answer.primal, duals[: len(counts)], duals[len(counts) :])


def rounded_down(
    relaxed: Relaxed, columns: Sequence[Used], counts: Sequence[int], copies: Sequence[int]
) -> tuple[list[int], list[int], list[int]]:
    """(whole multiplicities below the linear ones, devices left, copies left): feasible, in whole numbers."""
    devices, left = list(counts), list(copies)
    whole = [0] * len(columns)
    for k in np.argsort(-relaxed.number, kind="stable").tolist():
        used = columns[k]
        most = min([devices[used.group], *(left[job] // number for job, number in used.usage.items())])
        take = min(most, floor(float(relaxed.number[k]) + ALMOST))
        if take > 0:
            whole[k] = take
            devices[used.group] -= take
            for job, number in used.usage.items():
                left[job] -= take * number
    return whole, devices, left


def filled_up(
    whole: list[int], values: Sequence[int], columns: Sequence[Used], devices: list[int], left: list[int]
) -> None:
    """Give the devices that are left the columns worth most, one after the other, as long as copies last."""
    for k in sorted(range(len(columns)), key=lambda k: (-values[k], k)):
        used = columns[k]
        if values[k] <= 0:
            break
        take = min([devices[used.group], *(left[job] // number for job, number in used.usage.items())])
        if take > 0:
            whole[k] += take
            devices[used.group] -= take
            for job, number in used.usage.items():
                left[job] -= take * number


def worth(whole: Sequence[int], values: Sequence[int]) -> int:
    """The value of whole multiplicities."""
    return sum(number * value for number, value in zip(whole, values, strict=True))


def master_columns(columns: Sequence[Used]) -> list[Column]:
    """The columns as integer masters take them: residents stand for the copies that they use."""
    return [
        Column(used.group, tuple((job, 0) for job in sorted(used.usage) for _ in range(used.usage[job])))
        for used in columns
    ]
