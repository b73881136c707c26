"""Integer programs by HiGHS through PuLP: `maximize`, and with it one device and the master. The only importer of pulp.

PuLP, from 3.3 to 4, only builds the model. How a run ended is asked of HiGHS itself: PuLP 3.3 calls a time limit optimal.
HiGHS computes in floating point. Each point that it finds is rounded and checked against the rows in exact integers; one that breaks
a row is cut off, and the search goes on. Its bound is rounded up by TOLERANCE: no proof in exact arithmetic, and `ORIGIN` says so.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from fractions import Fraction
from functools import partial
from typing import Any, Final

import highspy
import pulp

from pipefill_opt.solve import background
from pipefill_opt.solve.by_program import solve_device_by, solve_master_by
from pipefill_opt.solve.column import Column, MasterResult
from pipefill_opt.solve.device import DevicePlan, DeviceProblem, DeviceResult
from pipefill_opt.solve.program import Answer, Program, Row
from pipefill_opt.solve.result import Limits, Reason
from pipefill_opt.solve.watch import Watch

TOLERANCE: Final = 1e-9
"""Of a bound: HiGHS's feasibility tolerances are set to this, rows and objective are scaled to coefficients of at most 1."""
ORIGIN: Final = "HiGHS (floating point, rounded up by 1e-9)"

_Status: Final = highspy.HighsModelStatus
_NO_POINT: Final = (_Status.kInfeasible, _Status.kUnboundedOrInfeasible)
_BOUNDED: Final = (_Status.kOptimal, _Status.kTimeLimit, _Status.kSolutionLimit, _Status.kInterrupt)
"""Statuses after which its bound counts: after a failed run it tells 0."""


def solve_device(device: DeviceProblem, limits: Limits, *, hint: DevicePlan | None = None) -> DeviceResult:
    """The optimum of one device, unless a limit ends the search. `limits.work` is a number of branch-and-bound nodes."""
    return solve_device_by(maximize, device, limits, hint)


def solve_master(
    values: Sequence[int], columns: Sequence[Column], counts: Sequence[int], copies: Sequence[int], limits: Limits
) -> MasterResult:
    """The optimum of the integer master, unless a limit ends the search."""
    return solve_master_by(maximize, values, columns, counts, copies, limits)


def maximize(program: Program, limits: Limits, hint: Sequence[int] | None) -> Answer:
    """The optimum of a program. The same on every run unless the clock ends it."""
    watch = Watch(limits)
    scale = max((1, *program.value))
    best = None if hint is None else tuple(hint)
    bound = program.trivial_bound()
    model = _Model(program, scale)
    while True:
        solver = _Stoppable(program, watch, scale)
        background.call(partial(solver.search, model, best), limits.stop, solver.interrupt)
        highs = model.problem.solverModel
        status = highs.getModelStatus()
        if status in _NO_POINT and best is None:
            return Answer(None, 0, ORIGIN, Reason.PROVED)
        if status in _BOUNDED:
            bound = min(bound, _bound(highs.getInfo().mip_dual_bound, scale, bound))
        point = model.point(highs)
        broken = [] if point is None else [row for row in program.rows if not row.holds(point)]
        if point is not None and not broken and (best is None or program.worth(point) > program.worth(best)):
            best = point
        if best is not None and program.worth(best) == bound:
            return Answer(best, bound, ORIGIN, Reason.PROVED)
        cuts = [_cover(row, point, program.upper) for row in broken if point is not None]
        reason = _reason(status, watch)
        if reason is not Reason.GAP_LIMIT or None in cuts or not cuts:
            return Answer(best, bound, ORIGIN, reason)
        for cut in cuts:
            assert cut is not None
            model.add(cut, 1)


class _Model:
    """The program in PuLP, with each row and the objective divided by its largest number.

    It is minimised negated, since versions of PuLP differ in how they maximise. PuLP gives HiGHS only variables that occur, 3.3 in the
    order of their names, 4 as they were made: here both are the order of `columns`.
    """

    def __init__(self, program: Program, scale: int) -> None:
        self.program = program
        occurs = {j for row in program.rows for j in row.variables}
        self.columns = [j for j, value in enumerate(program.value) if value or j in occurs]
        self.problem = pulp.LpProblem("program", pulp.LpMinimize)
        self._variables = {
            j: self.problem.add_variable(f"x{j:09}", 0, program.upper[j], pulp.LpInteger) for j in self.columns
        }
        worth = ((value, self._variables[j]) for j, value in enumerate(program.value) if value)
        self.problem += pulp.lpSum(-value / scale * variable for value, variable in worth)
        self._rows = 0
        for row in program.rows:
            self.add(row, max(1, abs(row.most), *map(abs, row.coefficients)))

    def add(self, row: Row, divisor: int) -> None:
        """One more row, divided by a number."""
        terms = zip(row.variables, row.coefficients, strict=True)
        total = pulp.lpSum(a / divisor * self._variables[j] for j, a in terms)
        if row.least == row.most:
            self.problem += total == row.most / divisor, f"row_{self._rows}"
        else:
            self.problem += total <= row.most / divisor, f"row_{self._rows}"
        self._rows += 1

    def point(self, highs: Any) -> tuple[int, ...] | None:
        """The point that HiGHS found, rounded, or None."""
        if highs.getInfo().primal_solution_status != highspy.SolutionStatus.kSolutionStatusFeasible:
            return None
        point = [0] * len(self.program.value)
        for j, value in zip(self.columns, highs.getSolution().col_value, strict=True):
            point[j] = round(value)
        return tuple(point)


def _bound(told: float, scale: int, most: int) -> int:
    """HiGHS's dual bound (of the minimised negative), rounded up, as an upper bound on the program."""
    if not math.isfinite(told):
        return most
    bound = Fraction(-told) * scale
    margin = Fraction(TOLERANCE) * max(bound, Fraction(scale))
    return min(most, math.floor(bound + margin))


def _cover(row: Row, point: Sequence[int], upper: Sequence[int]) -> Row | None:
    """A row that cuts off a point which breaks `row`: not all that it takes fits, so not all of it, nor anything larger instead.

    What has a coefficient below 0 makes room, as much as all of it does. None where the point does not break the row then, and where
    the row is an equation or counts: then rounding is no small matter.
    """
    if row.least is not None or any(point[j] > 1 for j in row.variables):
        return None
    taken = [(a, j) for j, a in zip(row.variables, row.coefficients, strict=True) if point[j] and a > 0]
    room = row.most - sum(a * upper[j] for j, a in zip(row.variables, row.coefficients, strict=True) if a < 0)
    if sum(a for a, _ in taken) <= room:
        return None
    largest = max(a for a, _ in taken)
    cover = [j for j, a in zip(row.variables, row.coefficients, strict=True) if a >= largest or (point[j] and a > 0)]
    return Row(tuple(cover), (1,) * len(cover), None, len(taken) - 1)


def _reason(status: Any, watch: Watch) -> Reason:
    """Why HiGHS ended. GAP_LIMIT: it thinks it is done, within its tolerances or the wanted gap."""
    if status == _Status.kOptimal:
        return Reason.GAP_LIMIT
    if watch.limits.stop.is_set():
        return Reason.INTERRUPTED
    return Reason.TIME_LIMIT if status == _Status.kTimeLimit else Reason.WORK_LIMIT


class _Stoppable(pulp.HiGHS):  # type: ignore[misc]
    """PuLP's HiGHS with a first point, news of incumbents, and an end when asked for."""

    def __init__(self, program: Program, watch: Watch, scale: int) -> None:
        limits = watch.left()
        options = {} if limits.work is None else {"mip_max_nodes": int(limits.work)}
        super().__init__(
            msg=False,
            timeLimit=limits.time,
            gapRel=float(watch.limits.gap),
            gapAbs=0.0,
            output_flag=False,
            random_seed=watch.limits.seed,
            mip_feasibility_tolerance=TOLERANCE,
            primal_feasibility_tolerance=TOLERANCE,
            dual_feasibility_tolerance=TOLERANCE,
            **options,
        )
        self.program = program
        self.watch = watch
        self.scale = scale
        self.highs: Any = None

    def interrupt(self) -> None:
        """Ask HiGHS to end soon."""
        if self.highs is not None:
            self.highs.cancelSolve()

    def search(self, model: _Model, first: Sequence[int] | None) -> None:
        """Build the model in HiGHS and run it, from a first point if there is one. What comes of it is for the caller to read there."""
        self.createAndConfigureSolver(model.problem)
        self.buildSolverModel(model.problem)
        highs = model.problem.solverModel
        highs.HandleUserInterrupt = True
        if first is not None:
            solution = highspy.HighsSolution()
            solution.col_value = [float(first[j]) for j in model.columns]
            highs.setSolution(solution)
        if self.watch.limits.on_progress is not None:
            highs.cbMipImprovingSolution.subscribe(self._tell)
        self.highs = highs
        highs.run()

    def _tell(self, event: Any) -> None:
        value = round(Fraction(-event.data_out.objective_function_value) * self.scale)
        bound = _bound(event.data_out.mip_dual_bound, self.scale, self.program.trivial_bound())
        self.watch.report(Fraction(value), Fraction(bound), ORIGIN)
