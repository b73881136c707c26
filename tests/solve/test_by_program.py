from __future__ import annotations

import itertools
import random
from collections.abc import Sequence

import pytest

from pipefill_opt.solve import network
from pipefill_opt.solve.by_program import master_program, solve_device_by, solve_master_by
from pipefill_opt.solve.column import Column
from pipefill_opt.solve.device import DevicePlan, Run, Visit
from pipefill_opt.solve.program import Answer, Program
from pipefill_opt.solve.result import Limits, Reason
from tests.solve.devices import device_of, fill_problem, job

DEVICE = device_of(fill_problem(job("a", (2, 3))))
ONE_LAP = DevicePlan((0,), (Visit(0, 0, (Run(0, 0, 2),)),))
TWO_LAPS = DevicePlan((0,), (Visit(0, 0, (Run(0, 0, 4),)),))


def finds_nothing(program: Program, limits: Limits, hint: Sequence[int] | None) -> Answer:
    """A solver stopped at once."""
    return Answer(None, program.trivial_bound(), "nothing", Reason.TIME_LIMIT)


def returns_hint(program: Program, limits: Limits, hint: Sequence[int] | None) -> Answer:
    """A solver that proves a bound and gives its first point back."""
    assert hint is not None
    return Answer(tuple(hint), program.worth(hint), "told", Reason.PROVED)


def test_what_is_known_stays_where_nothing_is_found() -> None:
    result = solve_device_by(finds_nothing, DEVICE, Limits(), ONE_LAP)
    assert (result.plan, result.reason) == (ONE_LAP, Reason.TIME_LIMIT)
    assert result.value == ONE_LAP.value(DEVICE) < result.bound
    assert solve_device_by(finds_nothing, DEVICE, Limits(), None).plan is None


def test_a_plan_that_meets_the_simple_bound_is_proved() -> None:
    result = solve_device_by(finds_nothing, DEVICE, Limits(), TWO_LAPS)
    assert (result.value, result.bound, result.origin, result.reason) == (10, 10, "capacity", Reason.PROVED)
    assert result.proved


def test_the_hint_goes_in_and_comes_out_as_a_plan() -> None:
    result = solve_device_by(returns_hint, DEVICE, Limits(), ONE_LAP)
    assert (result.plan, result.value, result.bound, result.origin) == (ONE_LAP, 5, 5, "told")


def test_a_device_without_slots_is_done() -> None:
    empty = device_of(fill_problem())
    result = solve_device_by(finds_nothing, empty, Limits(), None)
    assert (result.value, result.bound, result.plan) == (0, 0, DevicePlan((), ()))


def test_a_slot_that_can_rest_nowhere_earns_nothing() -> None:
    device = device_of(fill_problem(job("a", (2,), carry=(6,)), free=10))
    result = solve_device_by(finds_nothing, device, Limits(), None)
    assert (result.value, result.bound) == (0, 0)


def test_a_network_that_is_too_large_is_left_alone(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(network, "MAX_ARCS", 3)
    result = solve_device_by(returns_hint, DEVICE, Limits(), ONE_LAP)
    assert (result.plan, result.value, result.bound) == (ONE_LAP, 5, 10)
    assert (result.origin, result.reason) == ("capacity", Reason.WORK_LIMIT)


def test_the_points_of_the_master_are_the_choices_within_counts_and_copies() -> None:
    rng = random.Random(4)
    columns = [Column(c, r) for c, r in itertools.product(range(2), (((0, 0),), ((0, 0), (0, 1), (1, 0))))]
    for _ in range(10):
        counts, copies = [rng.randint(1, 3) for _ in range(2)], [rng.randint(0, 4) for _ in range(2)]
        program = master_program([1, 1, 1, 1], columns, counts, copies)
        for point in itertools.product(range(4), repeat=4):
            alone, pair = point[0] + point[2], point[1] + point[3]
            devices = point[0] + point[1] <= counts[0] and point[2] + point[3] <= counts[1]
            fits = devices and alone + 2 * pair <= copies[0] and pair <= copies[1]
            inside = all(x <= most for x, most in zip(point, program.upper, strict=True))
            assert (inside and all(row.holds(point) for row in program.rows)) is fits, (point, counts, copies)


def test_a_master_without_columns() -> None:
    result = solve_master_by(finds_nothing, [], [], [3], [1], Limits())
    assert (result.multiplicity, result.value, result.bound) == ((), 0, 0)


def test_a_master_that_finds_nothing_chooses_nothing() -> None:
    result = solve_master_by(finds_nothing, [5], [Column(0, ((0, 0),))], [3], [2], Limits())
    assert (result.multiplicity, result.value, result.bound) == ((0,), 0, 10)
