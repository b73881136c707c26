"""Integer programs by CP-SAT (OR-Tools): `maximize`, and with it one device and the master. The only importer of ortools."""

from __future__ import annotations

import math
from collections.abc import Sequence
from fractions import Fraction
from typing import Final

from ortools.sat.python import cp_model

from pipefill_opt.solve import background
from pipefill_opt.solve.by_program import solve_device_by, solve_master_by
from pipefill_opt.solve.column import Column, MasterResult
from pipefill_opt.solve.device import DevicePlan, DeviceProblem, DeviceResult
from pipefill_opt.solve.program import Answer, Program
from pipefill_opt.solve.result import Limits, Reason
from pipefill_opt.solve.watch import Watch

ORIGIN: Final = "CP-SAT"
MAX_SUM: Final = 2**60
"""Largest sum of coefficients that is left to CP-SAT's 64 bits."""
FLOAT_BITS: Final = 51
"""CP-SAT tells bounds as binary floats: below 2**51 a whole number is exact, above it may be off by this part of it."""


def solve_device(device: DeviceProblem, limits: Limits, *, hint: DevicePlan | None = None) -> DeviceResult:
    """The optimum of one device, proved, unless a limit ends the search. `limits.work` is CP-SAT's deterministic time."""
    return solve_device_by(maximize, device, limits, hint)


def solve_master(
    values: Sequence[int], columns: Sequence[Column], counts: Sequence[int], copies: Sequence[int], limits: Limits
) -> MasterResult:
    """The optimum of the integer master, proved, unless a limit ends the search."""
    return solve_master_by(maximize, values, columns, counts, copies, limits)


def maximize(program: Program, limits: Limits, hint: Sequence[int] | None) -> Answer:
    """The optimum of a program, by one worker with the seed of `limits`: the same on every run unless the clock ends it.

    Rows with numbers too large for 64 bits are not searched: the answer is then `hint`. An objective too large is searched in
    coarser steps, rounded up, so that the bound holds.
    """
    first = None if hint is None else tuple(hint)
    most = program.trivial_bound()
    if any(sum(map(abs, row.coefficients)) + abs(row.most) > MAX_SUM for row in program.rows):
        return Answer(first, most, "sum of all values", Reason.WORK_LIMIT)
    step = max(1, -(-most // MAX_SUM))
    model, variables = _model(program, step)
    for variable, value in zip(variables, hint or (), strict=hint is not None):
        model.add_hint(variable, value)
    watch = Watch(limits)
    solver = _solver(limits)
    listener = _Listener(program, variables, watch, step) if limits.on_progress is not None else None
    status = background.call(lambda: solver.solve(model, listener), limits.stop, solver.stop_search)
    if status == cp_model.INFEASIBLE:
        return Answer(None, 0, ORIGIN, Reason.PROVED)
    if status == cp_model.UNKNOWN:
        return Answer(first, most, "sum of all values", _reason(watch))
    if status not in (cp_model.OPTIMAL, cp_model.FEASIBLE):
        raise AssertionError(f"CP-SAT: {solver.status_name(status)}: {model.validate()}")
    point = tuple(solver.value(variable) for variable in variables)
    value, bound = program.worth(point), _bound(solver.best_objective_bound, step, most)
    if value == bound:
        return Answer(point, bound, ORIGIN, Reason.PROVED)
    near = status == cp_model.OPTIMAL or bound - value <= limits.gap * max(1, value)
    return Answer(point, bound, ORIGIN, Reason.GAP_LIMIT if near else _reason(watch))


def _bound(told: float, step: int, most: int) -> int:
    """CP-SAT's bound, a whole number of steps told as a float, as an upper bound on the program."""
    if not math.isfinite(told):
        return most
    steps = round(told)
    return min(most, step * (steps + (abs(steps) >> FLOAT_BITS)))


def _reason(watch: Watch) -> Reason:
    """Why CP-SAT ended early; it may stop a little before the clock does."""
    ended = watch.ended()
    if ended is not None:
        return ended
    return Reason.WORK_LIMIT if watch.limits.work is not None or watch.limits.time is None else Reason.TIME_LIMIT


def _model(program: Program, step: int) -> tuple[cp_model.CpModel, list[cp_model.IntVar]]:
    model = cp_model.CpModel()
    variables = [model.new_int_var(0, upper, "") for upper in program.upper]
    for row in program.rows:
        total = cp_model.LinearExpr.weighted_sum([variables[j] for j in row.variables], list(row.coefficients))
        model.add_linear_constraint(total, cp_model.INT_MIN if row.least is None else row.least, row.most)
    # a variable that is always 0 is not counted in `step`: its value may be too large for CP-SAT
    steps = [-(-value // step) if upper else 0 for value, upper in zip(program.value, program.upper, strict=True)]
    model.maximize(cp_model.LinearExpr.weighted_sum(variables, steps))
    return model, variables


def _solver(limits: Limits) -> cp_model.CpSolver:
    solver = cp_model.CpSolver()
    solver.parameters.num_workers = 1
    solver.parameters.random_seed = limits.seed
    solver.parameters.relative_gap_limit = float(limits.gap)
    solver.parameters.catch_sigint_signal = False
    if limits.time is not None:
        solver.parameters.max_time_in_seconds = limits.time
    if limits.work is not None:
        solver.parameters.max_deterministic_time = limits.work
    return solver


class _Listener(cp_model.CpSolverSolutionCallback):
    """Tells each new incumbent and the bound at that time."""

    def __init__(self, program: Program, variables: list[cp_model.IntVar], watch: Watch, step: int) -> None:
        super().__init__()
        self.program = program
        self.variables = variables
        self.watch = watch
        self.step = step

    def on_solution_callback(self) -> None:
        """Called by CP-SAT, in its own thread."""
        value = self.program.worth([self.value(variable) for variable in self.variables])
        bound = _bound(self.best_objective_bound, self.step, self.program.trivial_bound())
        self.watch.report(Fraction(value), Fraction(bound), ORIGIN)
