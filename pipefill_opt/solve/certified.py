"""What every solver's plan must pass before it leaves: its certificate, the value that was claimed, and the bound."""

from __future__ import annotations

from fractions import Fraction

from pipefill_opt.errors import CertificateError
from pipefill_opt.fill.certificate import Certificate
from pipefill_opt.fill.certify import certify
from pipefill_opt.fill.plan import FillPlan
from pipefill_opt.fill.problem import FillProblem, Objective


def certified(problem: FillProblem, plan: FillPlan, objective: Fraction, solver: str) -> Certificate:
    """The certificate of a plan worth `objective`. Raises CertificateError, a bug of ours, where it is invalid or worth something else."""
    certificate = certify(problem, plan)
    if certificate.valid and certificate.objective == objective:
        return certificate
    found = "; ".join(f"{v.code} at {v.place}: {v.message}" for v in certificate.violations[:5])
    raise CertificateError(
        f"the plan of solver {solver} failed its certificate, a bug of ours: "
        + (found or f"objective {certificate.objective}, not {objective}")
    )


def hold(problem: FillProblem, objective: Fraction, bound: Fraction | None, origin: str) -> None:
    """Raise CertificateError, a bug of ours, where a plan is worth more than what was called a bound."""
    less = problem.objective in (Objective.MAKESPAN, Objective.COMPLETION)
    if bound is not None and (objective < bound if less else objective > bound):
        raise CertificateError(f"the bound {bound} ({origin}) is refuted by a plan of {objective}, a bug of ours")
