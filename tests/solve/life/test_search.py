"""The solver of the objectives over time against exhaustive search on tiny problems."""

from __future__ import annotations

from dataclasses import replace
from typing import Final

import pytest

from pipefill_opt.errors import CertificateError
from pipefill_opt.fill.certify import certify
from pipefill_opt.fill.problem import Objective
from pipefill_opt.solve.facade import solve
from pipefill_opt.solve.life.search import solve_life
from pipefill_opt.solve.result import Limits, Outcome, Reason
from tests.solve.life.brute_force import optimum
from tests.solve.life.instances import tiny

HORIZON: Final = 4
SLOW: Final = {
    Objective.MAKESPAN: {0, 14, 17, 26, 29, 30, 32, 35, 40, 48, 50, 51, 53, 58, 60},
    Objective.COMPLETION: {2, 5, 9, 10, 15, 20, 26, 28, 35, 41, 46, 49, 54, 61, 64, 65, 68, 72, 74, 78, 79, 81, 85},
    Objective.ON_TIME: {
        0,
        7,
        9,
        13,
        21,
        24,
        27,
        29,
        30,
        31,
        36,
        44,
        46,
        48,
        52,
        55,
        59,
        60,
        61,
        62,
        63,
        70,
        73,
        77,
        79,
        80,
    },
}
"""Seeds for which the exhaustive search takes long."""
CASES: Final = [
    (objective, seed)
    for objective, last in ((Objective.MAKESPAN, 65), (Objective.COMPLETION, 75), (Objective.ON_TIME, 82))
    for seed in range(last)
    if seed not in SLOW[objective]
]


@pytest.mark.parametrize(("objective", "seed"), CASES)
def test_no_bound_is_beyond_the_optimum(objective: Objective, seed: int) -> None:
    problem = tiny(seed, objective)
    best = optimum(problem, HORIZON)
    found = solve_life(problem)
    if found.outcome is Outcome.INFEASIBLE:
        assert best is None
        return
    if found.plan is None:
        assert found.outcome is Outcome.UNKNOWN
        return
    verdict = certify(problem, found.plan)
    assert verdict.valid
    assert verdict.objective == found.objective
    assert found.objective is not None
    assert found.bound is not None
    sign = -1 if objective is Objective.ON_TIME else 1
    assert sign * found.bound <= sign * found.objective
    assert (found.outcome is Outcome.OPTIMAL) == (found.bound == found.objective) == (found.reason is Reason.PROVED)
    if best is not None:
        assert sign * found.bound <= sign * best


def test_there_are_enough_of_them_and_most_are_solved() -> None:
    assert len(CASES) >= 150
    few = CASES[::5]
    proved = [solve_life(tiny(seed, objective)).outcome for objective, seed in few]
    assert proved.count(Outcome.OPTIMAL) + proved.count(Outcome.INFEASIBLE) >= len(few) // 2


@pytest.mark.parametrize("objective", [Objective.MAKESPAN, Objective.COMPLETION, Objective.ON_TIME])
def test_the_same_plan_again(objective: Objective) -> None:
    problem = tiny(10, objective)
    assert solve_life(problem, Limits(seed=3)).plan == solve_life(problem, Limits(seed=3)).plan


def test_a_stop_keeps_the_plan_of_list_scheduling() -> None:
    limits = Limits()
    limits.stop.set()
    found = solve_life(tiny(16, Objective.COMPLETION), limits)
    assert found.outcome is Outcome.FEASIBLE
    assert found.reason is Reason.INTERRUPTED
    assert found.certificate is not None
    assert found.certificate.valid


def test_a_better_start_is_kept() -> None:
    problem = tiny(4, Objective.COMPLETION)
    best = solve(problem)
    assert best.plan is not None
    assert solve(problem, start=best.plan).objective == best.objective
    limits = Limits()
    limits.stop.set()
    assert solve(problem, limits=limits, start=best.plan).objective == best.objective
    broken = replace(best.plan, patterns=best.plan.patterns[:0])
    with pytest.raises(CertificateError, match="breaks a rule"):
        solve(problem, start=broken)


def test_no_lap_anywhere_is_a_proof() -> None:
    found = solve_life(tiny(19, Objective.COMPLETION))
    assert found.outcome is Outcome.INFEASIBLE
    assert found.bound_origin == "no device can close a lap of job 'j1'"
