"""`solve(problem, solver=..., limits=...)`: the one entry to every solver. No plan leaves it uncertified."""

from __future__ import annotations

import platform
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from importlib import import_module
from importlib.metadata import version
from typing import Any, Final

from pipefill_opt.errors import InputError
from pipefill_opt.fill.plan import FillPlan, Pattern, Phase
from pipefill_opt.fill.problem import FillProblem, Objective
from pipefill_opt.solve.allocate import allocate
from pipefill_opt.solve.certified import certified, hold
from pipefill_opt.solve.columns import MAX_COLUMNS, list_columns
from pipefill_opt.solve.device import Compiled, DeviceProblem, DeviceResult, compile_problem
from pipefill_opt.solve.direct import solve_directly
from pipefill_opt.solve.greedy import Choice, Kinds, contiguous, every_kind
from pipefill_opt.solve.lengths import Answer, LengthSolver, search_exact, search_greedy
from pipefill_opt.solve.result import Limits, Outcome, Reason, Solution
from pipefill_opt.solve.start import certified_start, start_from
from pipefill_opt.solve.watch import Watch


@dataclass(frozen=True, slots=True)
class Solver:
    """What a solver is and can do. exact: it ends with a proof if no limit stops it.

    kinds: the bubbles of a greedy solver. Of an exact one, `module:function`, imported when it runs: device and master, or whole, what
    solves the integer program of the whole problem. every: what searches with device and master over every H, in place of the listing
    of all sets of residents.
    """

    name: str
    description: str
    exact: bool
    packages: tuple[str, ...] = ()
    kinds: Kinds | None = None
    device: str = ""
    master: str = ""
    whole: str = ""
    every: str = ""


_LAYER: Final = "pipefill_opt.solve."
SOLVERS: Final[Mapping[str, Solver]] = {
    solver.name: solver
    for solver in (
        Solver("greedy", "PipeFill's plan algorithm, contiguous bubbles only", False, kinds=contiguous),
        Solver("greedy-all", "PipeFill's plan algorithm on all bubbles", False, kinds=every_kind),
        Solver(
            "dp",
            "dynamic program and value iteration over positions, CP-SAT for the choice of devices",
            True,
            ("numpy", "numba", "ortools"),
            device="exact:solve_exact",
            master="cpsat:solve_master",
        ),
        Solver(
            "cg",
            "column generation over sets of residents, devices as dp solves them",
            True,
            ("numpy", "numba", "scipy", "ortools"),
            device="exact:solve_auto",
            master="cpsat:solve_master",
            every="generation.horizons:search_generation",
        ),
        Solver(
            "cpsat",
            "CP-SAT models",
            True,
            ("ortools",),
            device="cpsat:solve_device",
            master="cpsat:solve_master",
        ),
        Solver(
            "milp",
            "mixed-integer models in PuLP, solved by HiGHS",
            True,
            ("pulp", "highspy"),
            device="milp:solve_device",
            master="milp:solve_master",
        ),
        Solver("cpsat-direct", "one CP-SAT model of the whole problem", True, ("ortools",), whole="cpsat:maximize"),
        Solver(
            "milp-direct",
            "one mixed-integer model of the whole problem in PuLP, solved by HiGHS",
            True,
            ("pulp", "highspy"),
            whole="milp:maximize",
        ),
    )
}
AUTO: Final = "auto"
AUTO_DEVICE: Final = "exact:solve_auto"
FEW_LENGTHS: Final = 4
"""With more numbers of main iterations to choose from, for several slots, `auto` bounds all of them together instead of solving each."""
MANY: Final = 1000
"""With more sets of residents than this `auto` prices them instead of searching an integer program over all."""


def solver_names() -> tuple[str, ...]:
    """All names that `solve` accepts."""
    return (AUTO, *SOLVERS)


def solve(
    problem: FillProblem, *, solver: str = AUTO, limits: Limits | None = None, start: FillPlan | None = None
) -> Solution:
    """The best plan for the problem's objective, with a proven bound, certified.

    solver: a name of `SOLVERS`, or `auto`. A limit that is reached ends the search with the best plan so far; the empty plan is always
    there, so there is always a plan. start: a plan that an exact solver starts from; the answer is worth at least as much.

    Objectives over time have one solver, `auto`; it alone may find that there is no plan (outcome infeasible).

    Raises InputError for an unknown solver, one that does not solve the objective, or a start for a solver that takes none,
    CertificateError if the start breaks a rule, or the plan found does, or it beats its bound (bugs of ours).
    """
    if solver not in solver_names():
        raise InputError(f"expected one of {', '.join(solver_names())}", value=solver, where="solver")
    if problem.objective is not Objective.THROUGHPUT:
        return _over_time(problem, solver, limits, start)
    if start is not None and solver in SOLVERS and not SOLVERS[solver].exact:
        raise InputError("expected an exact solver for a plan to start from", value=solver, where="solver")
    notes: list[str] = []
    compiled = compile_problem(problem)
    if solver == AUTO:
        solver, why = _choice(compiled)
        notes.append(f"auto chose {solver}: {why}; devices that are too large for dp go on to CP-SAT")
    chosen = SOLVERS[solver]
    if chosen.kinds is not None:
        watch = Watch(limits if limits is not None else Limits())
        answer = search_greedy(compiled, chosen.kinds, watch)
    else:
        known = None if start is None else start_from(compiled, start)
        search = _search(compiled, chosen, AUTO_DEVICE if notes else chosen.device)
        watch = Watch(limits if limits is not None else Limits())  # loading a solver is no part of its time
        answer = search(watch, known)
    return _solution(compiled, chosen, answer, watch, tuple(notes))


def _over_time(problem: FillProblem, solver: str, limits: Limits | None, start: FillPlan | None) -> Solution:
    """Makespan, weighted completion, on-time value. A start that is better than what is found is the answer."""
    if solver != AUTO:
        raise InputError(f"expected {AUTO}, for objective {problem.objective}", value=solver, where="solver")
    known = None if start is None else certified_start(problem, start)
    found: Solution = _function("life.search:solve_life")(problem, limits)
    if start is None or known is None or known.objective is None:
        return found
    more = problem.objective is Objective.ON_TIME
    if found.objective is not None and (
        found.objective >= known.objective if more else found.objective <= known.objective
    ):
        return found
    hold(problem, known.objective, found.bound, found.bound_origin)
    proved = known.objective == found.bound
    return replace(
        found,
        outcome=Outcome.OPTIMAL if proved else Outcome.FEASIBLE,
        reason=Reason.PROVED if proved else found.reason,
        plan=start,
        objective=known.objective,
        certificate=known,
        notes=(*found.notes, "nothing better than the plan to start from was found"),
    )


def _choice(compiled: Compiled) -> tuple[str, str]:
    """The solver that `auto` takes, and why."""
    problem = compiled.problem
    listed = list_columns(compiled, problem.iterations or problem.max_iterations)
    classes = len(problem.devices)
    several = any(len(column.residents) > 1 for column in listed.columns)
    if problem.iterations is None and problem.max_iterations > FEW_LENGTHS and several:
        return (
            "cg",
            f"up to {problem.max_iterations} main iterations are open, and its bounds hold for all of them at once",
        )
    if any(listed.rest):
        return "cg", f"{classes} classes with more than {MAX_COLUMNS} sets of residents"
    if len(listed.columns) > MANY:
        return "cg", f"{len(listed.columns)} sets of residents on {classes} classes, more than {MANY}"
    return "dp", f"only {len(listed.columns)} sets of residents on {classes} classes, all can be listed"


def _search(
    compiled: Compiled, solver: Solver, device: str
) -> Callable[[Watch, tuple[int, Sequence[Choice]] | None], Answer]:
    """What an exact solver does within a watch, from a known plan on."""
    if solver.every:
        every, solve_device, solve_master = (_function(place) for place in (solver.every, device, solver.master))
        return lambda watch, known: every(compiled, solve_device, solve_master, watch, known)
    solve_length = _length_solver(compiled, solver, device)
    return lambda watch, known: search_exact(compiled, solve_length, watch, known)


def _length_solver(compiled: Compiled, solver: Solver, device: str) -> LengthSolver:
    """What solves the whole problem for one H."""
    if solver.whole:
        maximize = _function(solver.whole)
        return lambda iterations, watch, **others: solve_directly(compiled, iterations, maximize, watch, **others)
    solve_device, solve_master = _function(device), _function(solver.master)
    proved: dict[DeviceProblem, DeviceResult] = {}
    return lambda iterations, watch, **others: allocate(
        compiled, iterations, solve_device, solve_master, watch, known=proved, **others
    )


def _function(place: str) -> Any:
    """The function of `module:function` in this layer."""
    module, name = place.split(":")
    return getattr(import_module(_LAYER + module), name)


def _solution(compiled: Compiled, solver: Solver, answer: Answer, watch: Watch, notes: tuple[str, ...]) -> Solution:
    """The answer as a certified plan."""
    problem = compiled.problem
    plan = _plan(compiled, answer)
    objective, bound = answer.value * compiled.unit, answer.bound * compiled.unit
    certificate = certified(problem, plan, objective, solver.name)
    hold(problem, objective, bound, answer.origin)
    proved = answer.value == answer.bound
    return Solution(
        outcome=Outcome.OPTIMAL if proved else Outcome.FEASIBLE,
        reason=Reason.PROVED if proved else answer.reason,
        plan=plan,
        objective=objective,
        bound=bound,
        bound_origin=answer.origin,
        solver=solver.name,
        seconds=watch.seconds(),
        seed=watch.limits.seed,
        versions=_versions(solver),
        notes=notes,
        certificate=certificate,
    )


def _plan(compiled: Compiled, answer: Answer) -> FillPlan:
    """The choices as patterns, with an empty one for the devices of a class that get no work."""
    patterns: list[Pattern] = []
    for c, device_class in enumerate(compiled.problem.devices):
        own = [choice for choice in answer.choices if choice.device.class_index == c]
        patterns += [compiled.pattern(choice.device, choice.plan, choice.multiplicity) for choice in own]
        idle = device_class.count - sum(choice.multiplicity for choice in own)
        if idle:
            patterns.append(Pattern(device_class.name, idle, (Phase((), ()),)))
    return FillPlan(tuple(patterns), iterations=answer.iterations)


def _versions(solver: Solver) -> dict[str, str]:
    """Versions of Python, this package, and what the solver stands on."""
    packages = ("pipefill_opt", *solver.packages)
    return {"python": platform.python_version(), **{name: version(name) for name in packages}}
