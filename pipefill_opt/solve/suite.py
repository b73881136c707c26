"""Run solvers over the instance suite, each on each instance, and hold their answers against what the index says is proved."""

from __future__ import annotations

import logging
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction
from pathlib import Path
from time import process_time

from pipefill_opt.errors import CertificateError, InputError
from pipefill_opt.fill.problem import FillProblem
from pipefill_opt.fill.read import read_instance
from pipefill_opt.fill.suite import Entry
from pipefill_opt.solve.facade import solve, solver_names
from pipefill_opt.solve.result import Limits, Outcome, Reason

log = logging.getLogger(__name__)

FAILED = "certificate failed"
REFUSED = "not for this solver"
Key = tuple[str, str, str, str]


@dataclass(frozen=True, slots=True)
class Run:
    """What one solver made of one instance. value: certified; bound: what it proved; cpu: seconds of this process.

    limit: the time limit in seconds, as text. status: outcome and reason, or `FAILED`, or `REFUSED`. detail: origin of the bound or the
    error.
    """

    file: str
    instance: str
    solver: str
    limit: str
    sense: str
    status: str
    value: Fraction | None
    bound: Fraction | None
    cpu: float
    detail: str

    @property
    def key(self) -> Key:
        """What makes a run the same one: file, hash, solver, limit."""
        return self.file, self.instance, self.solver, self.limit

    @property
    def gap(self) -> Fraction | None:
        """|bound - value| / max(1, |value|), or None where one of the two is unknown."""
        if self.value is None or self.bound is None:
            return None
        return abs(self.bound - self.value) / max(Fraction(1), abs(self.value))


def run_suite(
    entries: Sequence[Entry],
    folder: Path,
    solvers: Sequence[str],
    limits: Limits,
    known: Mapping[Key, Run],
    note: Callable[[int, int, str], None],
) -> Iterator[Run]:
    """One run after the other, instance by instance; those in `known` are not repeated. What `limits.stop` cuts short is not given.

    note(done, all, name) hears which run begins. Raises InputError for an unknown solver.
    """
    for solver in solvers:
        if solver not in solver_names():
            raise InputError(f"expected one of {', '.join(solver_names())}", value=solver, where="solvers")
    every = len(entries) * len(solvers)
    for number, entry in enumerate(entries):
        problem: FillProblem | None = None
        for place, solver in enumerate(solvers):
            key = (entry.file, entry.instance, solver, f"{limits.time:g}")
            if key in known:
                yield known[key]
                continue
            if limits.stop.is_set():
                return
            note(number * len(solvers) + place, every, f"{entry.file} {solver}")
            problem = problem or read_instance(folder / entry.file)
            run = run_solver(entry, problem, solver, limits)
            if limits.stop.is_set():
                return
            yield run


def run_solver(entry: Entry, problem: FillProblem, solver: str, limits: Limits) -> Run:
    """One run; a plan that fails its certificate, and a problem that the solver does not take, are a status."""
    value = bound = None
    before = process_time()
    try:
        found = solve(problem, solver=solver, limits=limits)
    except CertificateError as error:
        status, detail = FAILED, str(error)
    except InputError as error:
        status, detail = REFUSED, error.expected
    else:
        proved = found.outcome is Outcome.OPTIMAL and found.reason is Reason.PROVED
        status = found.outcome.value if proved else f"{found.outcome.value}, {found.reason.value}"
        value, bound, detail = found.objective, found.bound, found.bound_origin
    cpu = process_time() - before
    limit = f"{limits.time:g}"
    return Run(entry.file, entry.instance, solver, limit, entry.sense, status, value, bound, round(cpu, 2), detail)


def faults(run: Run, entry: Entry) -> Iterator[str]:
    """What cannot be, if the index is right: its best plan exists, and its bound is proved."""
    sign = -1 if run.sense == "min" else 1
    if run.status == FAILED:
        yield f"{run.solver}: {run.detail}"
    if run.value is not None and sign * run.value > sign * entry.bound:
        yield f"{run.solver}: the value {run.value} is beyond the proved bound {entry.bound}"
    if run.bound is not None and sign * run.bound < sign * entry.best:
        yield f"{run.solver}: the bound {run.bound} is refuted by a plan of value {entry.best}"
