"""Packed sequences, against `certify`: one tick or one byte less than packing says is needed breaks exactly that rule."""

from __future__ import annotations

from collections import defaultdict
from dataclasses import replace
from fractions import Fraction
from functools import cache

import pytest

from pipefill_opt.fill.certify import certify
from pipefill_opt.fill.packing import SlotState, initial_states, pack_occurrence, pack_plan, with_further_copy
from pipefill_opt.fill.plan import FillPlan, Segment
from pipefill_opt.fill.plan_file import plan_document, plan_from_document
from pipefill_opt.fill.problem import DeviceClass, FillProblem, Guard
from tests.fill.samples import codes, plan, problem, put
from tests.solve.brute_force import optimum
from tests.solve.random_instances import random_problem

SEEDS = range(70)


@cache
def solved(seed: int) -> tuple[FillProblem, FillPlan]:
    """A random problem without guard, and the plan that is optimal with it."""
    of = random_problem(seed)
    return replace(of, guard=Guard(Fraction(1), 0)), optimum(of)[1]


def test_the_sample_by_hand() -> None:
    of = problem()
    first, second = pack_plan(of, plan(of))[0, 0]
    assert (first.work, first.switch, first.used, first.peak, first.held) == (
        6_000_000,
        2_000_000,
        8_000_000,
        500_000_000,
        150_000_000,
    )
    (segment,) = second.segments
    assert (segment.start, segment.end, segment.move_in, segment.move_out) == (
        2_500_000,
        4_500_000,
        1_500_000,
        3_000_000,
    )
    assert second.used == 8_500_000
    assert second.peak == 100_000_000 + 200_000_000 + 150_000_000


def with_device(of: FillProblem, changed: DeviceClass) -> FillProblem:
    return replace(of, devices=tuple(changed if device.name == changed.name else device for device in of.devices))


def needs(of: FillProblem, found: FillPlan) -> dict[tuple[str, int], tuple[int, int]]:
    """For each visited bubble of each class: the most ticks and the most bytes that a pattern needs in it."""
    most: dict[tuple[str, int], tuple[int, int]] = defaultdict(lambda: (0, 0))
    for (index, _), occurrences in pack_plan(of, found).items():
        for entry in occurrences:
            key = (found.patterns[index].device, entry.bubble)
            most[key] = (max(most[key][0], entry.used), max(most[key][1], entry.peak))
    return most


@pytest.mark.parametrize("seed", SEEDS)
def test_bubbles_may_shrink_to_what_is_needed_and_no_further(seed: int) -> None:
    of, found = solved(seed)
    assert certify(of, found).valid
    for (name, index), (ticks, peak) in needs(of, found).items():
        device = of.device(name)

        def verdict(device: DeviceClass = device, index: int = index, **change: int) -> set[str]:
            bubbles = list(device.bubbles)
            bubbles[index] = replace(bubbles[index], **change)
            return codes(certify(with_device(of, replace(device, bubbles=tuple(bubbles))), found))

        assert verdict(length=ticks) == set()
        assert verdict(length=ticks - 1) == {"fit"}
        assert verdict(free=peak) == set()
        assert verdict(free=peak - 1) == {"memory"}


@pytest.mark.parametrize("seed", SEEDS[:60])
def test_written_starts_are_those_that_certify_expects(seed: int) -> None:
    of, found = solved(seed)
    document = plan_document(of, found)
    starts = [
        segment
        for pattern in document["patterns"]
        for occurrence in pattern["occurrences"]
        for segment in occurrence["segments"]
    ]
    assert all("start" in segment for segment in starts)
    assert certify(of, plan_from_document(document, of)).objective == certify(of, found).objective
    if starts:
        starts[-1]["start"] += 1
        assert codes(certify(of, plan_from_document(document, of))) == {"start"}


def test_named_copies_carry_into_later_phases() -> None:
    """Run once: in its second phase a copy moves in what it carried out of the first."""
    of = problem(
        put("repeat", False),
        put("objective", "makespan"),
        put("jobs.0.iterations", 1),
        put("jobs.1.iterations", 2),
    )
    visit = {"iteration": 0, "bubble": 1, "segments": [{"slot": 0, "first": 0, "count": 1}]}
    phase = {"repetitions": 1, "slots": [{"job": "swapped", "config": "c", "copy": "s"}], "occurrences": [visit]}
    packed = pack_plan(of, plan(of, put("patterns.1", {"device": "d", "multiplicity": 1, "phases": [phase, phase]})))
    assert [packed[1, number][0].segments[0].move_in for number in (0, 1)] == [1_000_000, 1_500_000]


@pytest.mark.parametrize("seed", SEEDS)
def test_a_further_copy_at_the_end_is_packed_as_if_it_were_a_slot(seed: int) -> None:
    of, found = solved(seed)
    for (index, number), occurrences in pack_plan(of, found).items():
        pattern = found.patterns[index]
        device, phase = of.device(pattern.device), pattern.phases[number]
        states = initial_states(of, phase)
        visits = {(entry.iteration, entry.bubble): entry for entry in phase.occurrences}
        for packed in occurrences:
            visit = visits[packed.iteration, packed.bubble]
            for job in of.jobs:
                for configuration in job.configurations:
                    further = SlotState(job, configuration, 0, configuration.operators[-1].carry)
                    longer = replace(visit, segments=(*visit.segments, Segment(len(states), 0, 1)))
                    expected = pack_occurrence(of, device, longer, [*states, further])
                    short = with_further_copy(of, device, packed, further)
                    assert (short.work, short.switch, short.held) == (expected.work, expected.switch, expected.held)
                    assert short.peak == expected.peak
            states = packed.states
