"""The objectives over time on instances that are hard on numbers, or cannot be done, each with its optimum by hand."""

from __future__ import annotations

import logging
from collections.abc import Iterator
from dataclasses import replace
from fractions import Fraction
from typing import Final

import pytest

from pipefill_opt.fill.problem import FillProblem, Job, Objective
from pipefill_opt.solve.facade import solve
from pipefill_opt.solve.result import Limits, Outcome
from tests.solve import nasty
from tests.solve.nasty import HOUR, TIB

MAKESPAN, COMPLETION, ON_TIME = Objective.MAKESPAN, Objective.COMPLETION, Objective.ON_TIME


@pytest.fixture(autouse=True)
def _quiet(caplog: pytest.LogCaptureFixture) -> Iterator[None]:
    """Jobs that fit nowhere are among the instances."""
    with caplog.at_level(logging.ERROR):
        yield


def job(
    durations: list[int],
    iterations: int | None,
    *,
    name: str = "a",
    release: int = 0,
    deadline: int | None = None,
    **more: object,
) -> Job:
    """A job of `nasty`, with what it wants and when."""
    made = nasty.job(name, durations, **more)  # type: ignore[arg-type]
    return replace(made, iterations=iterations, release=release, deadline=deadline)


def problem(
    objective: Objective, jobs: list[Job], *, period: int = 100, bubble: tuple[int, int] = (5, 0), **more: object
) -> FillProblem:
    """One bubble of (ticks, bytes)."""
    made = nasty.problem(jobs, [bubble], **more)  # type: ignore[arg-type]
    return replace(made, objective=objective, period=period)


WEIGHT: Final = Fraction(1, 10**9)
THIRD: Final = Fraction(1, 3)
SLOT: Final = {"resident": TIB, "memory": 1}
PROVED: Final[dict[str, tuple[FillProblem, int | Fraction]]] = {
    "a deadline a tick before the end of the first repetition": (problem(ON_TIME, [job([5], 3, deadline=99)]), 0),
    "a deadline at its end": (problem(ON_TIME, [job([5], 3, deadline=100)]), 5),
    "a release after the deadline": (problem(ON_TIME, [job([5], 3, release=300, deadline=200)]), 0),
    "a deadline in thirty years, no number wanted": (problem(ON_TIME, [job([5], None, deadline=10**18)]), 5 * 10**16),
    "values of 62 bits": (problem(ON_TIME, [job([5], 3, deadline=300, values=[Fraction(2**62)])]), 3 * 2**62),
    "a billion iterations": (
        problem(MAKESPAN, [job([HOUR], 10**9)], period=2 * HOUR, bubble=(HOUR, 0)),
        2 * HOUR * 10**9,
    ),
    "a billion iterations of weight 1/3": (
        problem(COMPLETION, [job([HOUR], 10**9, weight=THIRD)], period=2 * HOUR, bubble=(HOUR, 0)),
        Fraction(2 * HOUR * 10**9, 3),
    ),
    "a late and odd release": (
        problem(MAKESPAN, [job([1], 1, release=10**15 + 1)], period=2, bubble=(1, 0)),
        10**15 + 4,
    ),
    "no weight": (problem(COMPLETION, [job([5], 1, weight=0)]), 0),
    "a weight of 1e-9": (problem(COMPLETION, [job([5], 2, weight=WEIGHT)]), 200 * WEIGHT),
    "hours beside nanoseconds": (
        problem(MAKESPAN, [job([3 * HOUR, 1], 2)], period=4 * HOUR, bubble=(3 * HOUR + 1, 0)),
        8 * HOUR,
    ),
    "a byte too few for two TiB at once": (
        problem(
            MAKESPAN,
            [job([1], 1, **SLOT), job([1], 1, name="b", **SLOT)],
            bubble=(2, 2 * TIB),
            resident_free=2 * TIB,
        ),
        200,
    ),
    "a hundred thousand devices": (problem(MAKESPAN, [job([5], 7, copies=10**5)], count=10**5), 700),
    "three copies on two devices": (problem(MAKESPAN, [job([5], 10, copies=3)], count=2), 2000),
}


@pytest.mark.parametrize("name", PROVED)
def test_proved(name: str) -> None:
    own, optimum = PROVED[name]
    found = solve(own, limits=Limits(seed=1))
    assert found.certificate is not None
    assert found.certificate.valid
    assert (found.objective, found.bound, found.outcome) == (optimum, optimum, Outcome.OPTIMAL)


OPEN: Final[dict[str, tuple[FillProblem, int | Fraction]]] = {
    "weights of 1/3 and a billionth more": (
        problem(COMPLETION, [job([5], 1, weight=THIRD), job([5], 1, name="b", weight=THIRD + WEIGHT)]),
        100 * (THIRD + WEIGHT) + 200 * THIRD,
    ),
    "bytes for two TiB at once": (
        problem(
            MAKESPAN,
            [job([1], 1, **SLOT), job([1], 1, name="b", **SLOT)],
            bubble=(2, 2 * TIB + 1),
            resident_free=2 * TIB,
        ),
        100,
    ),
    "values of a thousand devices": (problem(ON_TIME, [job([5], 7, copies=1000, deadline=650)], count=1000), 30 * 1000),
}


@pytest.mark.parametrize("name", OPEN)
def test_truthful(name: str) -> None:
    """Not all of these are proved; what is said of them is true."""
    own, optimum = OPEN[name]
    found = solve(own, limits=Limits(seed=1))
    assert found.objective is not None
    assert found.bound is not None
    sign = 1 if own.objective is ON_TIME else -1
    assert sign * found.objective <= sign * optimum <= sign * found.bound
    assert (found.outcome is Outcome.OPTIMAL) == (found.objective == found.bound)


@pytest.mark.parametrize("objective", [MAKESPAN, COMPLETION])
def test_what_can_never_finish_is_infeasible(objective: Objective) -> None:
    fits, large = job([5], 1), job([5], 1, name="b", memory=1)
    endless = job([5, 50], 1, name="c")
    for jobs in ([job([6], 1)], [fits, large], [fits, endless]):
        found = solve(problem(objective, jobs), limits=Limits(seed=1))
        assert found.outcome is Outcome.INFEASIBLE
        assert found.plan is None


def test_what_can_never_finish_earns_nothing() -> None:
    never = job([5, 50], 1, deadline=10**6)
    assert solve(problem(ON_TIME, [never])).objective == 0
    other = job([5], 3, name="b", deadline=1000)
    assert solve(problem(ON_TIME, [never, other])).objective == 15


@pytest.mark.parametrize("objective", [MAKESPAN, COMPLETION, ON_TIME])
def test_where_nothing_is_wanted_nothing_is_to_be_done(objective: Objective) -> None:
    for jobs in ([], [job([5], 1, copies=0)]):
        found = solve(problem(objective, jobs))
        assert (found.objective, found.bound, found.outcome) == (0, 0, Outcome.OPTIMAL)
