"""Rules 1 to 6, each alone, by a feasible and an infeasible pair that differ by one tick, one byte or one operator."""

from __future__ import annotations

from fractions import Fraction

import pytest

from pipefill_opt.fill.plan import Segment
from pipefill_opt.fill.problem import Configuration, Operator
from pipefill_opt.fill.rules import chain_on_device, work_ticks
from tests.fill.samples import Change, codes, drop, operator, problem, put, verdict

SECOND = "patterns.0.occurrences.1.segments"
KEPT_IN_SECOND = put(SECOND, [{"slot": 0, "first": 0, "count": 2}, {"slot": 1, "first": 0, "count": 1}])
"""Bubble 1: enter 1, a and b 6, between 1, in 1.5, s 2, out 3, leave 1 = 15.5 ms."""


def test_the_sample_is_valid() -> None:
    found = verdict(problem())
    assert found.valid
    assert found.objective == 10_000_000


PAIRS: dict[str, tuple[str, list[Change], list[Change], list[Change]]] = {
    # name: code, changes of the instance that is feasible, further ones that break it, changes of the plan in both
    "bubble to the tick": ("fit", [], [put("devices.0.bubbles.0.length", "7999999ns")], []),
    "transfers count": (
        "fit",
        [put("devices.0.bubbles.1.length", "8500us")],
        [put("devices.0.bubbles.1.length", "8499999ns")],
        [],
    ),
    "between counts": (
        "fit",
        [put("devices.0.bubbles.1.length", "15500us")],
        [put("devices.0.bubbles.1.length", "15499999ns")],
        [KEPT_IN_SECOND],
    ),
    "between from a table": (
        "fit",
        [
            put("switch.between", {"kept": {"kept": 0, "swapped": "1500us"}, "swapped": {"kept": 0, "swapped": 0}}),
            put("devices.0.bubbles.1.length", "16ms"),
        ],
        [put("switch.between", {"kept": {"kept": 0, "swapped": "1500001ns"}, "swapped": {"kept": 0, "swapped": 0}})],
        [KEPT_IN_SECOND],
    ),
    "guard rounds down": (
        "fit",
        [put("guard", {"fraction": 0.8, "margin": "1ms"}), put("devices.0.bubbles.0.length", "11250000ns"),
         put("devices.0.bubbles.1.length", "40ms")],
        [put("devices.0.bubbles.0.length", "11249999ns")],
        [],
    ),
    "a guard of 0 leaves nothing": (
        "fit",
        [put("guard", {"fraction": 1})],
        [put("guard", {"fraction": 0})],
        [],
    ),
    "speed rounds each operator up": (
        "fit",
        [put("devices.0.speed", 0.7), put("devices.0.bubbles.0.length", "10571430ns")],
        [put("devices.0.bubbles.0.length", "10571429ns")],
        [drop("patterns.0.occurrences.1"), drop("patterns.0.occurrences.0.segments.0.start")],
    ),
    "memory to the byte": (
        "memory",
        [put("devices.0.bubbles.0.free", "500MB")],
        [put("devices.0.bubbles.0.free", "499999999B")],
        [],
    ),
    "resident and carried bytes of the others": (
        "memory",  # swapped 100 + 200, kept 100 and the 50 that b carries
        [put("devices.0.bubbles.1.free", "450MB")],
        [put("devices.0.bubbles.1.free", "449999999B")],
        [],
    ),
    "a swapped slot is in up to its last segment": (
        "memory",  # a runs while s is in: 100 + 300 + 100 + 50 (carried by s)
        [put("devices.0.bubbles.1", {"start": "50ms", "length": "30ms", "free": "650MB"})],
        [put("devices.0.bubbles.1.free", "549999999B")],
        [
            put(SECOND, [{"slot": 1, "first": 0, "count": 1}, {"slot": 0, "first": 0, "count": 1}, {"slot": 1, "first": 0, "count": 1}]),
            put("patterns.0.occurrences.0.segments", [{"slot": 0, "first": 1, "count": 1}]),
            put("patterns.0.slots.0.first", 1),
        ],
    ),
    "kept slots between bubbles": (
        "resident",  # 100 and the 100 that a carries
        [put("devices.0.resident_free", "200MB")],
        [put("devices.0.resident_free", "199999999B")],
        [
            put("patterns.0.occurrences.0.segments", [{"slot": 0, "first": 0, "count": 1}]),
            put(SECOND, [{"slot": 0, "first": 1, "count": 1}]),
        ],
    ),
    "kept slots that carry from the plan before": (
        "resident",
        [put("devices.0.resident_free", "200MB")],
        [put("devices.0.resident_free", "199999999B")],
        [
            put("patterns.0.slots.0.first", 1),
            put("patterns.0.occurrences.0.segments", [{"slot": 0, "first": 1, "count": 2}]),
        ],
    ),
    "an idle kept slot": (
        "resident",
        [put("devices.0.resident_free", "200MB")],
        [put("devices.0.resident_free", "199999999B")],
        [
            put("patterns.0.slots", [{"job": "kept", "config": "c"}, {"job": "kept", "config": "c"}]),
            put("patterns.0.occurrences", []),
        ],
    ),
}  # fmt: skip


@pytest.mark.parametrize("name", PAIRS)
def test_pairs_of_instances(name: str) -> None:
    code, feasible, infeasible, plan_changes = PAIRS[name]
    good, bad = problem(*feasible), problem(*feasible, *infeasible)
    assert codes(verdict(good, *plan_changes)) == set()
    assert codes(verdict(bad, *plan_changes)) == {code}


PLANS: dict[str, tuple[str, list[Change], list[Change]]] = {
    # name: code, changes of the plan that is feasible, further ones that break it
    "start of a swapped slot": ("start", [], [put(f"{SECOND}.0.start", 2_499_999)]),
    "start need not be stated": (
        "start",
        [drop("patterns.0.occurrences.0.segments.0.start")],
        [put("patterns.0.occurrences.0.segments.0.start", 0)],
    ),
    "order in the next bubble": (
        "order",
        [
            put("patterns.0.occurrences.0.segments", [{"slot": 0, "first": 0, "count": 1}]),
            put(SECOND, [{"slot": 0, "first": 1, "count": 1}]),
        ],
        [put(f"{SECOND}.0", {"slot": 0, "first": 0, "count": 2})],
    ),
    "cycle": (
        "cycle",
        [],
        [put("patterns.0.occurrences.0.segments.0.count", 1)],
    ),
}


@pytest.mark.parametrize("name", PLANS)
def test_pairs_of_plans(name: str) -> None:
    code, feasible, infeasible = PLANS[name]
    assert codes(verdict(problem(), *feasible)) == set()
    assert codes(verdict(problem(), *feasible, *infeasible)) == {code}


def test_once_begins_at_the_first_operator() -> None:
    once = problem(put("repeat", False))
    begins = [put("patterns.0.slots.0.first", 1), put("patterns.0.occurrences.0.segments.0.first", 1)]
    swapped_start = put(f"{SECOND}.0.start", 2_000_000)
    assert codes(verdict(once, swapped_start)) == set()
    assert codes(verdict(once, swapped_start, *begins)) == {"first"}
    assert codes(verdict(problem(), *begins)) == set()


def test_once_may_end_anywhere_and_first_moves_carry_nothing() -> None:
    """Moved in with its 100 resident MB only: 1 ms, not 1.5; the operator still carries 50 MB out."""
    once = problem(put("repeat", False), put("devices.0.bubbles.1.length", "8ms"))
    changes = [
        put("patterns.0.occurrences.0.segments.0.count", 1),
        put("patterns.0.slots.0.first", 0),
        put(f"{SECOND}.0.start", 2_000_000),
    ]
    found = verdict(once, *changes)
    assert found.valid
    assert found.objective == 3_000_000 + 4_000_000
    assert codes(verdict(problem(put("devices.0.bubbles.1.length", "8ms")), *changes[2:])) == {"fit", "start"}


def test_occurrences_run_in_order_of_time_however_they_are_listed() -> None:
    def listed_backwards(document: dict[str, list[dict[str, list[object]]]]) -> None:
        document["patterns"][0]["occurrences"].reverse()

    assert verdict(problem(), listed_backwards).valid


def test_an_empty_occurrence_costs_nothing() -> None:
    tight = problem(put("devices.0.bubbles.1.length", "1ms"))
    found = verdict(tight, put(SECOND, []))
    assert found.valid
    assert found.objective == 6_000_000


def test_a_segment_may_pass_the_end_of_the_chain() -> None:
    long = problem(put("devices.0.bubbles.0.length", "20ms"))
    found = verdict(long, put("patterns.0.occurrences.0.segments.0.count", 6))
    assert found.valid
    assert found.objective == 3 * 6_000_000 + 4_000_000
    assert codes(verdict(long, put("patterns.0.occurrences.0.segments.0.count", 8))) == {"fit"}


def test_a_huge_count_is_counted_not_walked() -> None:
    found = verdict(problem(), put("patterns.0.occurrences.0.segments.0.count", 2 * 10**17))
    (violation,) = found.violations
    assert violation.code == "fit"
    assert violation.numbers["used"] == 6_000_000 * 10**17 + 2_000_000
    assert found.objective is None


def test_violations_name_place_and_numbers() -> None:
    found = verdict(problem(put("devices.0.bubbles.0.length", "7ms")))
    (violation,) = found.violations
    assert violation.place == "patterns[0] (d).occurrences[0]"
    assert violation.numbers == {"used": 8_000_000, "usable": 7_000_000}
    assert "8000000" in violation.message
    assert "7000000" in violation.message


def test_two_iterations_divide_the_value() -> None:
    two = problem(put("iterations", 2))
    found = verdict(two, drop("patterns.0.occurrences.1"))
    assert found.valid
    assert found.objective == Fraction(6_000_000, 2)


THREE = put(
    "jobs.0.configs.0.operators", [operator("a", 1, 300, 10), operator("b", 2, 350, 20), operator("c", 3, 400, 30)]
)


def test_a_chain_of_three_goes_round() -> None:
    """Net 6 and 10 ms: c a b | c a b."""
    begins = [
        put("patterns.0.slots.0.first", 2),
        put("patterns.0.occurrences.0.segments.0", {"slot": 0, "first": 2, "count": 3}),
    ]
    again = [{"slot": 0, "first": 2, "count": 1}, {"slot": 0, "first": 0, "count": 2}]
    found = verdict(problem(THREE), *begins, put(SECOND, again))
    assert found.valid
    assert found.objective == 2 * 6_000_000
    assert codes(verdict(problem(THREE), *begins, put(f"{SECOND}", [{"slot": 0, "first": 1, "count": 3}]))) == {
        "order",
        "cycle",
    }


def test_speed_counts_in_a_part_of_the_chain() -> None:
    """a and b at speed 0.7: 1428572 and 2857143 ns."""
    slow = problem(THREE, put("devices.0.speed", 0.7), put("repeat", False))
    part = [
        put(
            "patterns.0.occurrences", [{"iteration": 0, "bubble": 0, "segments": [{"slot": 0, "first": 0, "count": 2}]}]
        )
    ]
    for length, expected in ((6_285_715, set()), (6_285_714, {"fit"})):
        shorter = problem(
            THREE, put("devices.0.speed", 0.7), put("repeat", False), put("devices.0.bubbles.0.length", f"{length}ns")
        )
        assert codes(verdict(shorter, *part)) == expected
    assert verdict(slow, *part).objective == 3_000_000


def test_memory_is_reported_for_the_largest_operator() -> None:
    found = verdict(problem(put("devices.0.bubbles.0.free", "450MB")))
    (violation,) = found.violations
    assert violation.place == "patterns[0] (d).occurrences[0].segments[0]"
    assert violation.numbers == {"operator": 1, "needed": 500_000_000, "free": 450_000_000}
    assert "operator 1 (b) needs 500000000 bytes, 450000000 are free" in violation.message


def test_only_the_operators_that_run_need_memory() -> None:
    """a and b fit 450 MB, c would not."""
    of = problem(THREE, put("devices.0.bubbles.0.free", "450MB"))
    rest = [put("patterns.0.occurrences.0.segments.0.count", 2), put(SECOND, [{"slot": 0, "first": 2, "count": 1}])]
    assert verdict(of, *rest).valid
    assert codes(verdict(of)) == {"cycle"}
    assert codes(verdict(of, put("patterns.0.occurrences.0.segments.0.count", 3))) == {"memory"}


def test_a_swapped_slot_is_out_after_its_last_segment() -> None:
    """s runs beside 150 MB of the other, in 450; then a needs 400, which would be 550 with s still in."""
    of = problem(put("devices.0.bubbles.1", {"start": "50ms", "length": "20ms", "free": "450MB"}))
    begins = [
        put("patterns.0.slots.0.first", 1),
        put("patterns.0.occurrences.0.segments.0", {"slot": 0, "first": 1, "count": 1}),
    ]
    assert verdict(
        of, *begins, put(SECOND, [{"slot": 1, "first": 0, "count": 1}, {"slot": 0, "first": 0, "count": 1}])
    ).valid


def test_nothing_is_usable_where_the_margin_is_the_length() -> None:
    free = [put("switch.enter", 0), put("switch.leave", 0), put("devices.0.bubbles.0.length", "1ns")]
    tick = put("jobs.0.configs.0.operators", [operator("tick", 0.000001, 1)])
    plan = [
        put(
            "patterns.0.occurrences", [{"iteration": 0, "bubble": 0, "segments": [{"slot": 0, "first": 0, "count": 1}]}]
        )
    ]
    assert verdict(problem(*free, tick), *plan).valid
    assert codes(verdict(problem(*free, tick, put("guard", {"margin": "5ns"})), *plan)) == {"fit"}


@pytest.mark.parametrize("speed", [Fraction(1), Fraction(7, 10), Fraction(3)])
def test_work_is_the_sum_of_operators_one_by_one(speed: Fraction) -> None:
    operators = tuple(Operator(f"o{k}", 10 + k * k, 3 * k % 5, 0, Fraction(0), None) for k in range(5))
    chain = chain_on_device(Configuration("only", Fraction(1), 0, operators), speed)
    ticks = [-(-operator.duration // speed) for operator in operators]
    for first in range(5):
        for count in range(1, 17):
            one_by_one = sum(ticks[(first + step) % 5] for step in range(count))
            assert work_ticks(chain, Segment(0, first, count)) == one_by_one
