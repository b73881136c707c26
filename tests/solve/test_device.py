"""The compiled device problem: roundings, values in whole units, transfers, plans as patterns."""

from __future__ import annotations

from dataclasses import replace
from fractions import Fraction

import pytest

from pipefill_opt.errors import InputError
from pipefill_opt.fill.plan import Occurrence, Segment, Slot
from pipefill_opt.fill.problem import FillProblem, Guard, Switch
from pipefill_opt.solve.device import DevicePlan, Room, Run, Visit, compile_problem
from tests.solve.devices import device_of, fill_problem, job, with_table
from tests.solve.plans import broken_rules


def test_durations_round_up_by_speed_and_values_do_not_change() -> None:
    problem = fill_problem(job("a", (7, 3)))
    slow = replace(problem, devices=(replace(problem.devices[0], speed=Fraction(7, 10)),))
    slot = device_of(slow).slots[0]
    assert slot.ticks == (10, 5)
    assert slot.value == (7, 3)


def test_guard_rounds_down_and_stops_at_nothing() -> None:
    problem = replace(fill_problem(job("a", (1,)), lengths=(10, 1)), guard=Guard(Fraction(68, 100), 2))
    assert [room.usable for room in device_of(problem).rooms] == [4, 0]


def test_values_are_whole_multiples_of_the_largest_unit() -> None:
    half = replace(job("a", (4, 6)), weight=Fraction(1, 2))
    third = replace(job("b", (9,)), weight=Fraction(1, 3))
    compiled = compile_problem(fill_problem(half, third))
    assert compiled.unit == 1
    assert compiled.value == (((2, 3),), ((3,),))
    compiled = compile_problem(fill_problem(replace(half, weight=Fraction(1, 4)), third))
    assert compiled.unit == Fraction(1, 2)
    assert compiled.value == (((2, 3),), ((6,),))


def test_a_problem_without_value_compiles() -> None:
    compiled = compile_problem(fill_problem(replace(job("a", (4,)), weight=Fraction(0))))
    assert (compiled.unit, compiled.value) == (1, (((0,),),))


def test_transfers_carry_what_the_operator_before_carries() -> None:
    slot = device_of(fill_problem(job("a", (1, 1, 1), carry=(2, 3, 4), resident=10, keep=False))).slots[0]
    assert slot.move_in == (14, 12, 13)
    assert slot.move_out == (14, 12, 13)
    assert slot.move_in_fresh == 10
    assert (slot.carried(0), slot.carried(1), slot.carried(3), slot.carried(4)) == (0, 2, 4, 2)


def test_kept_slots_move_nothing_and_count_their_residents() -> None:
    device = device_of(fill_problem(job("a", (1,), resident=10), job("b", (1,), resident=20, keep=False)))
    assert device.slots[0].move_in == (0,)
    assert device.kept_resident == 10


def test_swapped_job_needs_bandwidths() -> None:
    problem = fill_problem(job("a", (1,), keep=False))
    with pytest.raises(InputError, match="h2d"):
        device_of(replace(problem, switch=Switch(0, 0, 0, None, None)))


def test_between_by_slot() -> None:
    problem = with_table(fill_problem(job("a", (1,)), job("b", (1,))), {"a": {"a": 1, "b": 2}, "b": {"a": 3, "b": 4}})
    assert device_of(problem).between == ((1, 2), (3, 4))


def _plan() -> tuple[FillProblem, DevicePlan]:
    problem = fill_problem(job("a", (2, 3)), lengths=(5, 10))
    return problem, DevicePlan((1,), (Visit(0, 1, (Run(0, 1, 3), Run(0, 0, 1))),))


def test_plan_value_counts_laps() -> None:
    problem, plan = _plan()
    assert plan.value(device_of(problem)) == 3 + 2 + 3 + 2
    assert broken_rules(compile_problem(problem), device_of(problem), plan) == []


def test_pattern() -> None:
    problem, plan = _plan()
    pattern = compile_problem(problem).pattern(device_of(problem), plan, 7)
    assert (pattern.device, pattern.multiplicity) == ("d", 7)
    (phase,) = pattern.phases
    assert phase.slots == (Slot("a", "c", 1),)
    assert phase.occurrences == (Occurrence(0, 1, (Segment(0, 1, 3), Segment(0, 0, 1))),)


def test_rooms_and_residents() -> None:
    device = device_of(fill_problem(job("a", (1,)), lengths=(5, 6), free=9))
    assert device.rooms == (Room(5, 9), Room(6, 9))
    assert device.residents == ((0, 0),)
