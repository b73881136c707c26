"""Instances that are hard on numbers, or have nothing to solve: every solver answers right, or says what it does not know."""

from __future__ import annotations

import logging
import random
from collections.abc import Iterator
from dataclasses import replace
from fractions import Fraction

import pytest

from pipefill_opt.fill.problem import FillProblem
from pipefill_opt.solve.facade import SOLVERS, solve
from pipefill_opt.solve.result import Limits, Outcome, Reason, Solution
from tests.solve.brute_force import optimum
from tests.solve.metamorphic import each_bubble, each_device, each_job, longer
from tests.solve.nasty import CASES
from tests.solve.random_instances import random_problem

EXACT = [name for name, solver in SOLVERS.items() if solver.exact]
DIRECT = ("cpsat-direct", "milp-direct")
CLOSE = Fraction(3, 10**9)
"""Where more than 60 bits of value or HiGHS's floats decide, a solver may end within this of the optimum, if it says so."""
UNDECIDED = {
    "tiny_weights": ("milp-direct",),
    "wide_weights": ("milp", "milp-direct"),
    "values_beyond_64_bits": ("milp", *DIRECT),
    "values_and_a_million_devices": ("dp", "cpsat", "milp", *DIRECT),
}
LONG = {"long_horizon": DIRECT}
"""64 models, one for each H: not run here."""


@pytest.fixture(autouse=True)
def _quiet(caplog: pytest.LogCaptureFixture) -> Iterator[None]:
    """Jobs that fit nowhere are among the instances."""
    with caplog.at_level(logging.ERROR):
        yield


def truthful(found: Solution, best: Fraction) -> bool:
    """A certified plan, worth at most the optimum; a bound, at least that; called optimal only if they meet."""
    assert found.objective is not None
    assert found.bound is not None
    assert found.certificate is not None
    assert found.certificate.valid
    assert found.objective <= best <= found.bound, (found.objective, best, found.bound)
    assert (found.outcome is Outcome.OPTIMAL) == (found.objective == found.bound)
    return found.outcome is Outcome.OPTIMAL


@pytest.mark.parametrize("name", CASES)
def test_exact_solvers(name: str) -> None:
    problem, best = CASES[name]()
    for solver in EXACT:
        if solver in LONG.get(name, ()):
            continue
        found = solve(problem, solver=solver, limits=Limits(seed=1))
        if not truthful(found, best):
            assert solver in UNDECIDED.get(name, ()), (solver, found.objective, found.bound)
            assert found.reason is Reason.GAP_LIMIT
            assert found.gap is not None
            assert found.gap <= CLOSE


@pytest.mark.parametrize("name", CASES)
def test_greedy_solvers(name: str) -> None:
    problem, best = CASES[name]()
    for solver in ("greedy", "greedy-all"):
        truthful(solve(problem, solver=solver), best)


def stretched(problem: FillProblem, rng: random.Random) -> FillProblem:
    """Times up to days with odd ticks, bytes up to TiB, weights from 1e-9 to 1e9 and thirds."""
    k, size = rng.choice((7_919, 1_000_003, 86_028_121)), rng.choice((1_021, 65_537))
    problem = longer(problem, k)
    problem = replace(problem, guard=replace(problem.guard, margin=max(0, problem.guard.margin - rng.randint(0, 2))))
    problem = each_bubble(problem, lambda b: replace(b, free=b.free * size + rng.randint(0, 1)))
    problem = each_device(problem, lambda d: replace(d, resident_free=d.resident_free * size + rng.randint(0, 1)))
    weights = (Fraction(1, 3), Fraction(1, 10**9), Fraction(10**9), Fraction(7, 11), Fraction(10**9 + 1, 10**9))
    return each_job(
        problem,
        lambda job: replace(
            job,
            weight=rng.choice(weights),
            configurations=tuple(
                replace(
                    c,
                    resident=c.resident * size,
                    operators=tuple(
                        replace(
                            o,
                            duration=o.duration + rng.randint(0, 1),
                            memory=o.memory * size + rng.randint(0, 1),
                            carry=o.carry * size,
                        )
                        for o in c.operators
                    ),
                )
                for c in job.configurations
            ),
        ),
    )


@pytest.mark.parametrize("first", range(0, 60, 20))
def test_random_problems_with_large_and_odd_numbers(first: int) -> None:
    for seed in range(first, first + 20):
        problem = stretched(random_problem(seed), random.Random(f"stretched-{seed}"))
        best = optimum(problem)[0]
        for solver in ("dp", "cg") + (("cpsat", "milp") if seed % 10 == 0 else ()):
            found = solve(problem, solver=solver, limits=Limits(seed=1))
            proved = truthful(found, best)
            close = found.gap is not None and found.gap <= CLOSE and found.reason is Reason.GAP_LIMIT
            assert proved or close, (seed, solver, found.objective, found.bound, best)
            assert proved or solver != "dp" or best.numerator > 2**50, seed
