"""The per-bubble pattern bound: true on random problems, exact on what can be seen by hand, whatever the size of the numbers."""

from __future__ import annotations

from dataclasses import replace
from fractions import Fraction

import pytest

from pipefill_opt.fill.problem import FillProblem
from pipefill_opt.solve.device import compile_problem
from pipefill_opt.solve.pattern_bound import pattern_bound
from tests.solve.brute_force import optimum
from tests.solve.devices import fill_problem, job, with_table
from tests.solve.random_instances import random_problem


def bound_of(problem: FillProblem) -> Fraction:
    compiled = compile_problem(problem)
    return pattern_bound(compiled) * compiled.unit


def test_no_plan_of_a_random_problem_is_worth_more() -> None:
    tight = 0
    for seed in range(120):
        problem = random_problem(seed)
        best, _ = optimum(problem)
        bound = bound_of(problem)
        assert bound >= best, problem.name
        tight += bound == best > 0
    assert tight > 5


def test_bubbles_choose_where_they_begin() -> None:
    """Operators of 3, 4 and 5 ticks: 7 ticks take 3 + 4, 9 take 4 + 5, though no plan can do both in turn."""
    assert bound_of(fill_problem(job("a", (3, 4, 5)), lengths=(7, 9))) == 16
    assert bound_of(fill_problem(job("a", (3, 4, 5)), lengths=(7, 9, 2))) == 16


def test_a_change_of_slot_costs_a_tick() -> None:
    pair = fill_problem(job("a", (3,)), job("b", (5,)), lengths=(8,))
    assert bound_of(replace(pair, switch=replace(pair.switch, between=0))) == 8
    assert bound_of(pair) == 6
    free = with_table(pair, {"a": {"a": 1, "b": 0}, "b": {"a": 1, "b": 1}})
    assert bound_of(free) == 8


@pytest.mark.parametrize(("free", "worth"), [(20, 11), (19, 10)])
def test_kept_bytes_limit_the_slots_of_a_bubble(free: int, worth: int) -> None:
    """Two jobs of 10 resident bytes; alone, a does its operator twice in 10 ticks."""
    jobs = (job("a", (5,), memory=0, carry=(0,), resident=10), job("b", (6,), memory=0, carry=(0,), resident=10))
    problem = fill_problem(*jobs, lengths=(11,), free=free)
    assert bound_of(replace(problem, switch=replace(problem.switch, between=0))) == worth


def test_enter_leave_memory_and_transfers_count() -> None:
    problem = fill_problem(job("a", (3, 4), memory=10, carry=(0,), resident=5, keep=False), lengths=(20,))
    assert bound_of(problem) == 10  # 20 - 5 in - 5 out: 3 + 4 + 3
    assert bound_of(replace(problem, switch=replace(problem.switch, enter=2, leave=1))) == 7
    (device,) = problem.devices
    bubbles = tuple(replace(bubble, free=14) for bubble in device.bubbles)
    assert bound_of(replace(problem, devices=(replace(device, bubbles=bubbles),))) == 0


def test_huge_numbers_change_nothing() -> None:
    jobs = (job("a", (3, 4, 5)), job("b", (6, 2)))
    heavy = tuple(replace(one, weight=Fraction(2) ** 70 * (s + 2)) for s, one in enumerate(jobs))
    light = tuple(replace(one, weight=Fraction(s + 2)) for s, one in enumerate(jobs))
    odd = (replace(heavy[0], weight=heavy[0].weight + 1), heavy[1])
    lengths = (7, 9, 14, 23)
    assert bound_of(fill_problem(*heavy, lengths=lengths)) == 2**70 * bound_of(fill_problem(*light, lengths=lengths))
    assert bound_of(fill_problem(*odd, lengths=lengths)) >= bound_of(fill_problem(*heavy, lengths=lengths))
