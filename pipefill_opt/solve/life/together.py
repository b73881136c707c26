"""The makespan where copies may move: all devices together, turns of the menus as a liquid. At prices of laps, less one for each slot that
a copy takes, as a copy is in one place at a time,

    copies x laps wanted x price <= turns x (sum over classes of count x the best turn + sum over jobs of copies x price of a slot)

holds for every plan, in whole numbers; of jobs released later alone, from their release on.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

import numpy as np

from pipefill_opt.solve.life.lattice import Ints
from pipefill_opt.solve.life.menu import Menu
from pipefill_opt.solve.linear import INFINITE, LinearProgram, LinearStatus, minimize

ORIGIN: Final = "turns of all devices together, prices checked exactly"
PRICE: Final = 1 << 24


def least_turns(
    menus: Sequence[Menu], counts: Sequence[int], copies: Sequence[int], wanted: Sequence[int], release: Sequence[int]
) -> int:
    """No plan that finishes all copies has fewer turns, wherever copies move to."""
    laps, slots = zip(*(_tables(menu, len(copies)) for menu in menus), strict=True)
    most = np.max([own.max(axis=0, initial=0) for own in (_fastest(menu, len(copies)) for menu in menus)], axis=0)
    if (most == 0).any():
        return 0
    least = int((np.array(release) - (-np.array(wanted) // most)).max())
    for threshold in sorted(set(release)):
        late = np.array([number if begin >= threshold else 0 for number, begin in zip(copies, release, strict=True)])
        total = late * np.array(wanted)
        prices = _prices(laps, slots, counts, late, total)
        if prices is None:
            continue
        own, place = prices
        room = sum(
            count * int((table @ own - uses @ place).max(initial=0))
            for table, uses, count in zip(laps, slots, counts, strict=True)
        )
        room += int(late @ place)
        if room:
            least = max(least, threshold - (-int(total @ own) // room))
    return least


def _tables(menu: Menu, jobs: int) -> tuple[Ints, Ints]:
    """(laps, slots) by choice and job."""
    laps = np.zeros((len(menu.choices), jobs), dtype=np.int64)
    slots = np.zeros_like(laps)
    for row, choice in enumerate(menu.choices):
        for job, number in zip(choice.jobs, choice.laps, strict=True):
            laps[row, job] += number
            slots[row, job] += 1
    return laps, slots


def _fastest(menu: Menu, jobs: int) -> Ints:
    """The most laps of one slot, by choice and job."""
    laps = np.zeros((len(menu.choices), jobs), dtype=np.int64)
    for row, choice in enumerate(menu.choices):
        for job, number in zip(choice.jobs, choice.laps, strict=True):
            laps[row, job] = max(int(laps[row, job]), number)
    return laps


def _prices(
    laps: Sequence[Ints], slots: Sequence[Ints], counts: Sequence[int], copies: Ints, total: Ints
) -> tuple[Ints, Ints] | None:
    """(prices of laps, prices of slots) from the least time, column 0; rows: laps by job, slots by job, devices by class."""
    jobs, classes = len(copies), len(counts)
    rows, columns, values = [], [], []
    width = 1
    for c, (table, uses) in enumerate(zip(laps, slots, strict=True)):
        for first, matrix in ((0, table), (jobs, uses)):
            lines, places = np.nonzero(matrix)
            rows.append(first + places)
            columns.append(width + lines)
            values.append(matrix[lines, places].astype(np.float64))
        rows.append(np.full(len(table), 2 * jobs + c))
        columns.append(width + np.arange(len(table)))
        values.append(np.ones(len(table)))
        width += len(table)
    rows.append(np.arange(jobs, 2 * jobs + classes))
    columns.append(np.zeros(jobs + classes, dtype=np.int64))
    values.append(-np.array([*copies, *counts], dtype=np.float64))
    cost = np.zeros(width)
    cost[0] = 1
    answer = minimize(
        LinearProgram(
            cost,
            np.concatenate(rows),
            np.concatenate(columns),
            np.concatenate(values),
            [*total.astype(np.float64), *[-INFINITE] * (jobs + classes)],
            [*[INFINITE] * jobs, *[0.0] * (jobs + classes)],
            np.zeros(width),
            np.full(width, INFINITE),
        )
    )
    if answer.status is not LinearStatus.OPTIMAL:
        return None
    duals = np.maximum(0, np.concatenate([answer.duals[:jobs], -answer.duals[jobs : 2 * jobs]]))
    top = float(duals.max(initial=0.0))
    if top <= 0:
        return None
    whole = np.rint(duals / top * PRICE).astype(np.int64)
    return whole[:jobs], whole[jobs:]
