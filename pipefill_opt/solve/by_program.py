"""Device and master solvers made from a solver of integer programs (`Maximize`): CP-SAT's and HiGHS's are the same but for that."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

from pipefill_opt.solve.bounds import simple_bound
from pipefill_opt.solve.column import Column, MasterResult
from pipefill_opt.solve.device import DevicePlan, DeviceProblem, DeviceResult
from pipefill_opt.solve.device_program import DeviceProgram
from pipefill_opt.solve.laps import lap_points
from pipefill_opt.solve.network import Network, TooLargeError
from pipefill_opt.solve.program import Maximize, Program, Row
from pipefill_opt.solve.result import Limits, Reason

MOST_VALUE: Final = 2**60
"""Below this a bound can be rounded down to what laps can be worth."""


def solve_device_by(maximize: Maximize, device: DeviceProblem, limits: Limits, hint: DevicePlan | None) -> DeviceResult:
    """The best plan that `maximize` finds, or `hint`, with the better of its bound and the simple one, rounded down to what laps are worth.

    A device whose network is too large is not searched: reason WORK_LIMIT. Progress is told as the answer is, in units over H iterations.
    """
    nothing = DevicePlan((0,) * len(device.slots), ())
    if not device.slots:
        return DeviceResult(0, 0, nothing, "no slots")
    value, plan = (0, None) if hint is None else (hint.value(device), hint)
    bound, origin = simple_bound(device), "capacity"
    try:
        network = Network(device)
    except TooLargeError:
        return DeviceResult(value, max(value, bound), plan, origin, Reason.WORK_LIMIT)
    if {arc.slot for arc in network.arcs} != set(network.slots):
        return DeviceResult(0, 0, nothing, "rule 5: a slot that works fits nowhere between bubbles")
    model = DeviceProgram(network)
    answer = maximize(model.program(), limits, None if hint is None else model.point(hint))
    if answer.point is None and answer.reason is Reason.PROVED:
        return DeviceResult(0, 0, nothing, answer.origin)
    if answer.point is not None:
        found = model.plan(answer.point)
        if plan is None or found.value(device) > value:
            value, plan = found.value(device), found
    if answer.bound <= bound:
        bound, origin = answer.bound, answer.origin
    if device.repeat and value < bound < MOST_VALUE:
        bound = lap_points(device, value, bound).high
    return DeviceResult(value, max(value, bound), plan, origin, Reason.PROVED if value == bound else answer.reason)


def master_program(
    values: Sequence[int], columns: Sequence[Column], counts: Sequence[int], copies: Sequence[int]
) -> Program:
    """The integer master: one variable a column, its multiplicity; a row for each class (its count) and each job (its copies)."""
    usage = [dict(column.usage) for column in columns]
    rows = []
    for c, count in enumerate(counts):
        own = tuple(k for k, column in enumerate(columns) if column.class_index == c)
        rows.append(Row(own, (1,) * len(own), None, count))
    for job, most in enumerate(copies):
        users = tuple(k for k, used in enumerate(usage) if job in used)
        rows.append(Row(users, tuple(usage[k][job] for k in users), None, most))
    upper = tuple(
        min([counts[column.class_index], *(copies[job] // used for job, used in usage[k].items())])
        for k, column in enumerate(columns)
    )
    return Program(tuple(values), upper, tuple(row for row in rows if row.variables))


def solve_master_by(
    maximize: Maximize,
    values: Sequence[int],
    columns: Sequence[Column],
    counts: Sequence[int],
    copies: Sequence[int],
    limits: Limits,
) -> MasterResult:
    """The best multiplicities that `maximize` finds, with its bound."""
    program = master_program(values, columns, counts, copies)
    nothing = (0,) * len(columns)
    if not columns:
        return MasterResult(nothing, 0, 0)
    answer = maximize(program, limits, nothing)
    point = nothing if answer.point is None else answer.point
    return MasterResult(point, program.worth(point), answer.bound, answer.reason)
