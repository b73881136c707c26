"""Lives worked out by hand that an early version bounded wrongly."""

from __future__ import annotations

from dataclasses import replace
from fractions import Fraction

import pytest

from pipefill_opt.errors import CertificateError
from pipefill_opt.fill.certify import certify
from pipefill_opt.fill.plan import FillPlan, Occurrence, Pattern, Phase, Segment, Slot
from pipefill_opt.fill.problem import (
    Configuration,
    DeviceClass,
    FillBubble,
    FillProblem,
    Guard,
    Job,
    Objective,
    Operator,
    Switch,
    ValueRule,
)
from pipefill_opt.solve.life.search import solve_life
from pipefill_opt.solve.result import Outcome

OVER_TIME = [Objective.MAKESPAN, Objective.COMPLETION]


def job(name: str, resident: int, *operators: tuple[int, int], copies: int = 1) -> Job:
    """A chain of (ticks, bytes), wanted once."""
    chain = tuple(Operator("o", ticks, memory, 0, Fraction(1), None) for ticks, memory in operators)
    configurations = (Configuration("c", Fraction(1), resident, chain),)
    return Job(name, copies, Fraction(1), 1, 0, None, ("d",), True, ValueRule.TIME, configurations)


def problem(objective: Objective, *jobs: Job) -> FillProblem:
    """One device with one bubble of 10 ticks and 6 bytes; plans run once."""
    device = DeviceClass("d", 1, Fraction(1), 99, (FillBubble(0, 10, 6, "inner"),))
    switch = Switch(0, 0, 0, None, None)
    return FillProblem("x", 100, 1, 1, False, (device,), Guard(Fraction(1), 0), switch, jobs, objective, False)


@pytest.mark.parametrize("objective", OVER_TIME)
def test_a_copy_may_begin_beside_the_later_operators_of_another(objective: Objective) -> None:
    """a's first operator leaves no room for b, its second one does: two turns for both."""
    both = problem(objective, job("a", 1, (6, 5), (5, 1)), job("b", 2, (5, 1)))
    first, second = Slot("a", "c", copy="a"), Slot("b", "c", copy="b")
    phases = (
        Phase((first,), (Occurrence(0, 0, (Segment(0, 0, 1),)),), 1),
        Phase((replace(first, first=1), second), (Occurrence(0, 0, (Segment(0, 1, 1), Segment(1, 0, 1))),), 1),
    )
    plan = certify(both, FillPlan((Pattern("d", 1, phases),), 1))
    assert plan.objective == (200 if objective is Objective.MAKESPAN else 400)
    found = solve_life(both)
    assert found.bound is not None
    assert found.bound <= plan.objective


@pytest.mark.parametrize("objective", OVER_TIME)
def test_a_job_without_copies_is_finished(objective: Objective) -> None:
    found = solve_life(problem(objective, job("a", 0, (6, 5)), job("too large", 0, (6, 7), copies=0)))
    assert (found.outcome, found.objective, found.bound) == (Outcome.OPTIMAL, 100, 100)


@pytest.mark.parametrize("objective", list(Objective)[1:])
def test_nothing_to_do_takes_no_time(objective: Objective) -> None:
    found = solve_life(problem(objective))
    assert (found.outcome, found.objective, found.bound) == (Outcome.OPTIMAL, 0, 0)


def test_a_bound_that_the_plan_refutes_is_not_told(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("pipefill_opt.solve.life.search.least_horizon", lambda *_: 3)
    with pytest.raises(CertificateError, match="refuted by a plan of 100"):
        solve_life(problem(Objective.MAKESPAN, job("a", 0, (6, 5))))
