"""The formulation of the objectives over time, solved by GLPK, against an exhaustive search and our solver, on tiny problems."""

from __future__ import annotations

import logging
import random
from collections.abc import Iterator
from dataclasses import replace
from fractions import Fraction
from math import inf

import pytest

from pipefill_opt.fill.certify import certify
from pipefill_opt.fill.problem import FillProblem, Job, Objective
from pipefill_opt.solve.facade import solve as solve_by_us
from pipefill_opt.solve.result import Limits, Outcome
from tests.formulations.coarse import TICKS, coarse
from tests.formulations.glpk import solve
from tests.formulations.lives import Lives
from tests.solve.devices import fill_problem, job
from tests.solve.metamorphic import CHANGES, TIMES, WEIGHTS, even, fewer_jobs, heavier, longer_times
from tests.solve.random_instances import ENDLESS, random_problem

OBJECTIVES = (Objective.MAKESPAN, Objective.COMPLETION, Objective.ON_TIME)
REPETITIONS = 4
MOST_MODES = 120


@pytest.fixture(autouse=True)
def _quiet(caplog: pytest.LogCaptureFixture) -> Iterator[None]:
    """Jobs that fit nowhere are among the instances."""
    with caplog.at_level(logging.ERROR):
        yield


def over_time(seed: int, objective: Objective, *, rounded: bool = True) -> FillProblem:
    """A random problem of at most two devices and two jobs of at most two copies, an iteration or two each; rounded: in small numbers."""
    rng = random.Random(f"lives-{seed}")
    problem = coarse(random_problem(seed)) if rounded else random_problem(seed)
    endless = ENDLESS // TICKS if rounded else ENDLESS
    iterations = problem.iterations or 1
    turn = iterations * problem.period
    devices = tuple(replace(d, count=min(d.count, 3 - len(problem.devices[:2]))) for d in problem.devices[:2])
    names = {device.name for device in devices}

    def timed(job: Job) -> Job:
        configurations = tuple(
            replace(c, operators=tuple(o for o in c.operators if o.duration < endless) or c.operators)
            for c in job.configurations
        )
        return replace(
            job,
            copies=min(job.copies, 2),
            iterations=rng.randint(1, 2),
            release=rng.choice((0, 0, 0, turn, turn // 2)),
            deadline=rng.choice((None, turn - 1, turn, 2 * turn, 2 * turn + 1, 3 * turn - 1)),
            devices=tuple(name for name in job.devices if name in names),
            configurations=configurations,
        )

    jobs = tuple(timed(job) for job in problem.jobs[:2])
    migrate = rng.random() < 0.3
    return replace(problem, iterations=iterations, jobs=jobs, devices=devices, objective=objective, migrate=migrate)


def check(problem: FillProblem) -> Fraction | None:
    """The optimum over REPETITIONS repetitions by lives.mod and by exhaustive search, both certified; None: not all can finish."""
    lives = Lives(problem, REPETITIONS)
    text, unit = lives.data()
    found, best = solve("lives.mod", text, seconds=60), lives.best()
    if found is None or best is None:
        assert found is None
        assert best is None
        return None
    for plan in (lives.plan_of(found), best[1]):
        certificate = certify(problem, plan)
        assert certificate.valid, (problem.name, certificate.violations)
        assert certificate.objective == best[0] == found.objective * unit, problem.name
    return best[0]


def is_truthful(problem: FillProblem, best: Fraction | None) -> bool:
    """Whether our solver's answer agrees with the optimum over REPETITIONS repetitions; True if it is proved to be the optimum.

    With more repetitions more may be done: a plan may be better than `best`, and one may be there where `best` is None.
    """
    found = solve_by_us(problem, limits=Limits(seed=1))
    if found.outcome is Outcome.INFEASIBLE:
        assert best is None
        return True
    if best is None:
        return False
    assert found.objective is not None
    assert found.bound is not None
    sign = 1 if problem.objective is Objective.ON_TIME else -1
    assert sign * found.objective <= sign * found.bound
    assert sign * best <= sign * found.bound, (problem.name, best, found.bound)
    if found.outcome is Outcome.OPTIMAL:
        assert found.objective == found.bound
        assert sign * best <= sign * found.objective
    return found.objective == best == found.bound


def small(seeds: range, objective: Objective) -> Iterator[FillProblem]:
    """The problems of these seeds that have modes, and not too many."""
    for seed in seeds:
        problem = over_time(seed, objective)
        if 0 < sum(map(len, Lives(problem, 1).modes)) <= MOST_MODES:
            yield problem


@pytest.mark.parametrize("objective", OBJECTIVES)
def test_random_problems(objective: Objective) -> None:
    problems = list(small(range(36), objective))
    optima = [check(problem) for problem in problems]
    assert len(optima) >= 24
    assert sum(optimum not in (None, 0) for optimum in optima) >= 8
    proved = sum(is_truthful(problem, best) for problem, best in zip(problems, optima, strict=True))
    assert proved >= 5


WORSE = ("stricter_fraction", "stricter_margin", "larger_carry")
BETTER = (
    "more_bubbles",
    "longer_bubbles",
    "more_memory",
    "more_devices",
    "allowed_everywhere",
    "faster_devices",
    "cheaper_switches",
    "merged_bubbles",
)
ALIKE = (
    "permuted_devices",
    "permuted_jobs",
    "split_class",
    "split_job",
    "repeated_configuration",
    "rotated_period",
    "larger_bytes",
    "empty_bubble",
)


@pytest.mark.parametrize("objective", OBJECTIVES)
def test_changes_of_the_data(objective: Objective) -> None:
    """As for the throughput (docs/metamorphic.md), in whole repetitions. Costs are the less the better, infinite if not all can finish."""
    told = 0
    for seed in range(60, 90):
        problem = over_time(seed, objective, rounded=False)
        if not 0 < sum(map(len, Lives(problem, 1).modes)) <= 12 or told == 8:
            continue
        told += 1
        before = cost(problem)
        for name in (*ALIKE, *BETTER, *WORSE):
            changed = CHANGES[name].transform(problem, random.Random(f"{name}-{problem.name}"))
            if changed is None:
                continue
            after = cost(changed)
            assert (name in WORSE and after >= before) or (name in BETTER and after <= before) or after == before, name
        fewer = fewer_jobs(problem, random.Random(problem.name))
        assert cost(fewer) >= before if objective is Objective.ON_TIME else cost(fewer) <= before
        assert cost(longer_times(problem, random.Random())) == TIMES * cost(even(problem))
        factor = Fraction(1) if objective is Objective.MAKESPAN else WEIGHTS
        assert cost(heavier(problem, random.Random())) == factor * before
    assert told == 8


def cost(problem: FillProblem) -> Fraction | float:
    """The optimum over REPETITIONS repetitions, negative for the on-time value; infinite where not all can finish."""
    best = Lives(problem, REPETITIONS).best()
    if best is None:
        return inf
    return -best[0] if problem.objective is Objective.ON_TIME else best[0]


def by_hand(*jobs: Job, lengths: tuple[int, ...] = (10,), objective: Objective = Objective.MAKESPAN) -> FillProblem:
    """One device whose main iteration takes 100 ticks."""
    problem = fill_problem(*jobs, lengths=lengths)
    return replace(problem, period=100, objective=objective)


def test_two_jobs_share_a_bubble() -> None:
    """a and b take 5 ticks an iteration each: beside each other they fit 11 ticks with the change, and both end after 3 repetitions."""
    a, b = (replace(job(name, (5,)), iterations=3) for name in "ab")
    assert check(by_hand(a, b, lengths=(11,))) == 300
    assert check(by_hand(a, b, lengths=(10,))) == 400  # two laps of one job in a bubble, 2 + 1 each
    assert check(by_hand(a, b, lengths=(9,))) is None  # needs 6 repetitions, more than are looked at


def test_the_heavier_job_goes_first() -> None:
    a, b = replace(job("a", (10,)), iterations=2), replace(job("b", (10,)), iterations=1, weight=Fraction(5))
    assert check(by_hand(a, b, objective=Objective.COMPLETION)) == 5 * 100 + 300


def test_a_release_waits_for_the_next_repetition() -> None:
    late = replace(job("a", (10,)), iterations=1, release=101)
    assert check(by_hand(late)) == 300
    assert check(by_hand(replace(late, release=100))) == 200


def test_a_deadline_counts_ends_of_repetitions() -> None:
    """Nothing is finished before tick 100: a deadline of 99 earns nothing, which is the optimum."""
    a = replace(job("a", (10,)), iterations=3)
    for deadline, iterations in ((99, 0), (100, 1), (299, 2), (1000, 3), (None, 3)):
        assert check(by_hand(replace(a, deadline=deadline), objective=Objective.ON_TIME)) == 10 * iterations


def test_migration_may_be_the_only_way() -> None:
    """Operator 0 needs the bytes of d, operator 1 the time of e (a plan that runs once)."""
    problem = by_hand(replace(job("a", (8, 20)), iterations=1, devices=("d", "e")), lengths=(8,))
    (own,) = problem.jobs
    heavy, long = own.configurations[0].operators
    chain = replace(own.configurations[0], operators=(replace(heavy, memory=500), long))
    (d,) = problem.devices
    e = replace(d, name="e", bubbles=(replace(d.bubbles[0], length=20, free=100),))
    problem = replace(problem, devices=(d, e), jobs=(replace(own, configurations=(chain,)),), repeat=False)
    assert check(problem) is None
    assert check(replace(problem, migrate=True)) == 200


def test_what_does_not_fit_never_ends() -> None:
    assert (
        check(by_hand(replace(job("a", (10,)), iterations=1), replace(job("b", (9,), resident=10**6), iterations=1)))
        is None
    )
