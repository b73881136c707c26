"""What CP-SAT and HiGHS have in common: they solve integer programs."""

from __future__ import annotations

import itertools
import random
import threading
from fractions import Fraction
from types import ModuleType

import pytest

from pipefill_opt.solve import cpsat, milp
from pipefill_opt.solve.column import Column
from pipefill_opt.solve.program import Program, Row
from pipefill_opt.solve.result import Limits, Progress, Reason
from tests.solve.devices import random_devices

BOTH = pytest.mark.parametrize("solver", [cpsat, milp], ids=["cpsat", "milp"])


def knapsack(items: int, seed: int) -> Program:
    """Items of nearly equal value for their size, in four sacks: hard to prove."""
    rng = random.Random(seed)
    sizes = [rng.randint(10**6, 2 * 10**6) for _ in range(items)]
    values = tuple(size + rng.randint(-1000, 1000) for size in sizes)
    rows = [
        Row(tuple(range(items)), tuple(rng.randint(1, 2) * size + rng.randint(0, 999) for size in sizes), None, half)
        for half in (sum(sizes) // 2 + k for k in range(4))
    ]
    return Program(values, (1,) * items, tuple(rows))


@BOTH
def test_small_programs_against_enumeration(solver: ModuleType) -> None:
    rng = random.Random(7)
    for _ in range(40):
        upper = tuple(rng.randint(1, 2) for _ in range(5))
        rows = []
        for _ in range(3):
            coefficients = tuple(rng.randint(0, 9) for _ in upper)
            rows.append(Row(tuple(range(5)), coefficients, None, rng.randint(1, 15)))
        rows.append(Row((0, 1, 2), (1, -1, 1), 0, 0))
        program = Program(tuple(rng.randint(0, 9) for _ in upper), upper, tuple(rows))
        points = itertools.product(*(range(most + 1) for most in upper))
        best = max(program.worth(p) for p in points if all(row.holds(p) for row in rows))
        answer = solver.maximize(program, Limits(), None)
        assert answer.point is not None
        assert all(row.holds(answer.point) for row in rows)
        assert (program.worth(answer.point), answer.bound, answer.reason) == (best, best, Reason.PROVED)


@BOTH
def test_a_program_without_points(solver: ModuleType) -> None:
    program = Program((1, 1), (1, 1), (Row((0, 1), (1, 1), 1, 1), Row((0,), (1,), 1, 1), Row((1,), (1,), 1, 1)))
    answer = solver.maximize(program, Limits(), None)
    assert (answer.point, answer.reason) == (None, Reason.PROVED)


@BOTH
def test_no_time_leaves_the_hint_and_a_bound_that_holds(solver: ModuleType) -> None:
    program = knapsack(60, 1)
    hint = (0,) * 59 + (1,)
    answer = solver.maximize(program, Limits(time=0.0), hint)
    assert answer.point is not None
    assert program.worth(hint) <= program.worth(answer.point) <= answer.bound <= program.trivial_bound()
    assert answer.reason is Reason.TIME_LIMIT


@BOTH
def test_a_stop_event_ends_the_search_and_keeps_what_was_found(solver: ModuleType) -> None:
    program = knapsack(80, 2)
    stop = threading.Event()
    stop.set()
    hint = (0,) * 79 + (1,)
    answer = solver.maximize(program, Limits(stop=stop), hint)
    assert answer.point is not None
    assert all(row.holds(answer.point) for row in program.rows)
    assert program.worth(hint) <= program.worth(answer.point) <= answer.bound
    assert answer.reason in (Reason.INTERRUPTED, Reason.PROVED)


@BOTH
def test_a_work_limit_is_repeatable_and_never_called_proved(solver: ModuleType) -> None:
    program = knapsack(50, 3)
    hint = (0,) * 50
    work = 0.02 if solver is cpsat else 3.0
    first, second = (solver.maximize(program, Limits(work=work, seed=5), hint) for _ in range(2))
    assert first == second
    assert first.reason is Reason.WORK_LIMIT
    assert program.worth(first.point) < first.bound


@BOTH
def test_a_gap_limit_is_told_as_such(solver: ModuleType) -> None:
    program = knapsack(80, 3)
    answer = solver.maximize(program, Limits(gap=Fraction(1, 20)), (0,) * 80)
    value = program.worth(answer.point)
    assert value < answer.bound <= value * Fraction(21, 20)
    assert answer.reason is Reason.GAP_LIMIT


@BOTH
def test_progress_tells_incumbents_and_bounds(solver: ModuleType) -> None:
    told: list[Progress] = []
    program = knapsack(30, 4)
    answer = solver.maximize(program, Limits(on_progress=told.append, work=0.5 if solver is cpsat else 20.0), None)
    assert told
    for news in told:
        assert news.value is not None
        assert news.bound is not None
        assert news.value <= program.worth(answer.point) <= answer.bound
        assert news.value <= news.bound <= program.trivial_bound()


@BOTH
def test_nothing_is_printed(solver: ModuleType, capfd: pytest.CaptureFixture[str]) -> None:
    solver.maximize(knapsack(10, 4), Limits(), None)
    assert capfd.readouterr() == ("", "")


@BOTH
def test_the_master(solver: ModuleType) -> None:
    """Five devices of one class, three of another; two copies of job 1: the pair is worth it once."""
    columns = [Column(0, ((0, 0),)), Column(0, ((0, 0), (1, 0))), Column(1, ((1, 0), (1, 0))), Column(1, ((0, 0),))]
    result = solver.solve_master([3, 8, 9, 2], columns, [5, 3], [7, 2], Limits())
    assert (result.multiplicity, result.value, result.bound) == ((3, 2, 0, 2), 29, 29)
    assert result.reason is Reason.PROVED


@BOTH
def test_devices_against_brute_force(solver: ModuleType) -> None:
    for device, own in random_devices(range(2000, 2006)):
        best = own.best(device.iterations)
        result = solver.solve_device(device, Limits())
        assert result.plan is not None
        assert result.value == result.plan.value(device)
        assert result.value * device.unit == (0 if best is None else own.worth_of(best)), device
        assert result.proved
