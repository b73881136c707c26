from __future__ import annotations

import pytest

from pipefill_opt.fill.problem import Job
from pipefill_opt.solve.places import Places, places_of
from tests.solve.devices import device_of, fill_problem, job, with_table


def shape(*jobs: Job, length: int = 10, free: int = 1000, table: dict[str, dict[str, int]] | None = None) -> Places:
    problem = fill_problem(*jobs, lengths=(length,), free=free)
    device = device_of(problem if table is None else with_table(problem, table))
    return places_of(device, device.rooms[0])


CHEAP_HUB = {"a": {"a": 9, "b": 1, "c": 1}, "b": {"a": 1, "b": 9, "c": 5}, "c": {"a": 1, "b": 5, "c": 9}}
TRIANGLE = {"a": {"a": 9, "b": 1, "c": 2}, "b": {"a": 1, "b": 9, "c": 2}, "c": {"a": 2, "b": 2, "c": 9}}


def test_one_place_where_nothing_couples_the_slots() -> None:
    assert shape(job("a", (2,)), job("b", (3,))) == Places(1, 10, (994, 994), True, False, 1, False)


def test_a_place_for_each_slot_where_changes_differ() -> None:
    places = shape(job("a", (2,)), job("b", (3,)), job("c", (3,)), table=TRIANGLE)
    assert (places.count, places.once, places.table, places.ordered) == (3, True, True, True)


def test_more_places_where_a_detour_is_cheaper() -> None:
    places = shape(job("a", (2,)), job("b", (2,)), job("c", (2,)), length=17, table=CHEAP_HUB)
    assert (places.count, places.once) == (6, False)  # 6 x 2 ticks and 5 changes of 1


@pytest.mark.parametrize(("free", "coupled"), [(10 + 5 + 5 + 9, True), (10 + 5 + 5 + 10, False), (10 + 5 + 5, False)])
def test_memory_couples_between_the_least_and_the_most_that_others_carry(free: int, coupled: bool) -> None:
    other = job("b", (2, 2), memory=1000, carry=(1, 10))
    assert shape(job("a", (2,)), other, free=free).coupled is coupled


def test_swapped_slots_couple_memory_only_where_they_may_stay() -> None:
    jobs = [job(name, (2,), keep=False) for name in "abc"]
    assert not shape(*jobs, free=20, table=TRIANGLE).coupled
    assert shape(*jobs, free=20, table=CHEAP_HUB).coupled
    assert not shape(*jobs, free=10 + 5 + 2 * (5 + 1), table=CHEAP_HUB).coupled


@pytest.mark.parametrize(("length", "count"), [(1, 1), (2, 1), (7, 2), (8, 2), (9, 3), (13, 4)])
def test_most_segments_take_turns(length: int, count: int) -> None:
    """Operators of 2 and 3 ticks, changes of 1: 2 | 2+1+3 | 2+1+3+1+2 | ..."""
    a, b, c = job("a", (2,)), job("b", (3,)), job("c", (7,))
    places = shape(a, b, c, length=length, table={**CHEAP_HUB, "c": {"a": 5, "b": 1, "c": 9}})
    assert places.count == count
