"""Our solver against the plain assignment model of `newcomer_model`, solved by CBC, HiGHS and CP-SAT in the same run.

On the first instances by name of `inner`, `memory` and `scarce` whose plain model has at most MOST variables, as they are and cut down
to one device of their first class. All get the same CPU time, on one core. Figures are what is missing to the bound that our solver
proves, as a part of it (100 %: no plan, or the empty one), of certified values. Where the plain model has the optimum too, its time is
compared.
"""

from __future__ import annotations

import resource
import time
import warnings
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace
from fractions import Fraction
from threading import Event, Thread

import pulp

from benchmarks.line import Line
from benchmarks.newcomer_model import NewcomerModel, TooLargeError
from benchmarks.solvers import instance
from pipefill_opt.files import data_folder
from pipefill_opt.fill.certify import certify
from pipefill_opt.fill.problem import FillProblem
from pipefill_opt.fill.read import read_instance
from pipefill_opt.solve.cpsat import maximize as maximize_by_cpsat
from pipefill_opt.solve.facade import solve
from pipefill_opt.solve.milp import maximize as maximize_by_highs
from pipefill_opt.solve.program import Program
from pipefill_opt.solve.result import Limits

FAMILIES = ("inner", "memory", "scarce")
INSTANCES = 3
MOST = 20_000
SECONDS = 15.0
ONE_DEVICE_SECONDS = 10.0
Point = Sequence[int] | None


@dataclass(frozen=True, slots=True)
class Run:
    """What one solver reached: percent missing to the proven bound, CPU seconds."""

    name: str
    missing: float
    seconds: float


def lines() -> Iterator[Line]:
    """For each instance the least that is missing by the three solvers, and where that is nothing, how much longer the fastest took."""
    solve(instance(0, slots=2, bubbles=60), solver="dp")  # compiled code is loaded before the clock runs
    for family in FAMILIES:
        for name, problem in chosen(family):
            yield from compare(name, problem, SECONDS)
            yield from compare(f"{name}, one device", one_device(problem), ONE_DEVICE_SECONDS)


def chosen(family: str) -> list[tuple[str, FillProblem]]:
    """The first instances of a family whose plain model is small enough."""
    found: list[tuple[str, FillProblem]] = []
    for path in sorted((data_folder("instances") / family).glob("*.yaml")):
        if path.name.startswith("main-") or len(found) == INSTANCES:
            continue
        problem = read_instance(path)
        try:
            small = len(NewcomerModel(problem, problem.iterations or 1).upper) <= MOST
        except TooLargeError:
            continue
        if small:
            found.append((f"{family}/{path.stem}", problem))
    return found


def one_device(problem: FillProblem) -> FillProblem:
    """One device of the first class."""
    return replace(problem, devices=(replace(problem.devices[0], count=1),))


def compare(name: str, problem: FillProblem, seconds: float) -> Iterator[Line]:
    """Our solver and the three others on one instance."""
    model = NewcomerModel(problem, problem.iterations or 1)
    with limited(seconds) as limits:
        begun = time.process_time()
        found = solve(problem, limits=limits)
        used = time.process_time() - begun
    assert found.bound is not None
    assert found.objective is not None
    ours = Run("ours", percent(found.bound, found.objective), used)
    program = model.program()
    others = []
    for solver, run in SOLVERS.items():
        begun = cpu()
        point = run(program, seconds)
        others.append(Run(solver, percent(found.bound, value_of(problem, model, point)), cpu() - begun))
    best = min(others, key=lambda other: (other.missing, other.seconds))
    note = ", ".join(f"{run.name} {run.missing:.2f} % in {run.seconds:.2f} s" for run in (*others, ours))
    size = f"{len(program.value)} variables, {len(program.rows)} rows"
    yield Line(
        f"{name}: missing by the plain model", best.missing, ours.missing, "%", at_least=True, note=f"{note}; {size}"
    )
    reached = [other.seconds for other in others if other.missing <= ours.missing]
    if reached and not ours.missing:
        ratio = min(reached) / max(used, 0.001)
        yield Line(f"{name}: its time to the same / ours", ratio, 1, at_least=True)


def percent(bound: Fraction, value: Fraction) -> float:
    """What is missing to the bound."""
    return float(100 * (bound - value) / bound) if bound else 0.0


def value_of(problem: FillProblem, model: NewcomerModel, point: Point) -> Fraction:
    """The certified value of what a solver found; no point, or one that breaks a row by a solver's tolerance: 0."""
    if point is None or not all(row.holds(point) for row in model.rows):
        return Fraction(0)
    certificate = certify(problem, model.plan(point))
    assert certificate.valid, certificate.violations[:3]
    assert certificate.objective is not None
    return certificate.objective


def cpu() -> float:
    """CPU seconds of this process and of its children that have ended."""
    children = resource.getrusage(resource.RUSAGE_CHILDREN)
    return time.process_time() + children.ru_utime + children.ru_stime


@contextmanager
def limited(seconds: float) -> Iterator[Limits]:
    """Limits whose `stop` is set after so many seconds of this process's CPU time."""
    limits, done, begun = Limits(), Event(), time.process_time()

    def watch() -> None:
        while not done.wait(0.01):
            if time.process_time() - begun >= seconds:
                limits.stop.set()

    watcher = Thread(target=watch, daemon=True)
    watcher.start()
    try:
        yield limits
    finally:
        done.set()
        watcher.join()


def by_cbc(program: Program, seconds: float) -> Point:
    """CBC, as PuLP calls it."""
    problem = pulp.LpProblem("newcomer", pulp.LpMinimize)
    variables = [problem.add_variable(f"x{j:06}", 0, upper, pulp.LpInteger) for j, upper in enumerate(program.upper)]
    scale = max(program.value)
    problem += pulp.lpSum(-value / scale * x for value, x in zip(program.value, variables, strict=True) if value)
    for row in program.rows:
        total = pulp.lpSum(a * variables[j] for a, j in zip(row.coefficients, row.variables, strict=True))
        problem += total == row.most if row.least == row.most else total <= row.most
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", DeprecationWarning)  # PuLP 3.3 brings a CBC along, 4 does not
        command = pulp.PULP_CBC_CMD(msg=False, timeLimit=seconds, timeMode="cpu", threads=1)
    problem.solve(command)
    if problem.sol_status not in (pulp.LpSolutionOptimal, pulp.LpSolutionIntegerFeasible):
        return None
    return [round(x.value() or 0) for x in variables]  # None: a variable in no row


def by_highs(program: Program, seconds: float) -> Point:
    """HiGHS, from nothing."""
    with limited(seconds) as limits:
        return maximize_by_highs(program, limits, None).point


def by_cpsat(program: Program, seconds: float) -> Point:
    """CP-SAT, from nothing."""
    with limited(seconds) as limits:
        return maximize_by_cpsat(program, limits, None).point


SOLVERS: dict[str, Callable[[Program, float], Point]] = {"CBC": by_cbc, "HiGHS": by_highs, "CP-SAT": by_cpsat}
