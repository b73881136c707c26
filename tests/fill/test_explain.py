"""Why the rest stays empty: each reason is proved again here, by `certify` on a problem with that one limit relaxed."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from fractions import Fraction

import pytest

from pipefill_opt.fill.certify import certify
from pipefill_opt.fill.explain import Limit, Proof, Rest, explain
from pipefill_opt.fill.plan import FillPlan, Occurrence, Pattern, Phase, Segment, Slot
from pipefill_opt.fill.problem import DeviceClass, FillProblem, Guard, Switch
from tests.fill.samples import Change, codes, drop, operator, plan, problem, put
from tests.solve.brute_force import optimum
from tests.solve.random_instances import random_problem

LARGE = 10**15


def relaxed(of: FillProblem, limit: Limit) -> FillProblem:
    """The problem with one limit gone (copies are counted apart)."""
    if limit is Limit.GUARD:
        return replace(of, guard=Guard(Fraction(1), 0))
    if limit is Limit.SWITCH:
        free = Fraction(10**30)
        return replace(of, switch=Switch(0, 0, 0, free, free))
    change = {Limit.MEMORY: {"free": LARGE}, Limit.TIME: {"length": LARGE}}.get(limit, {})

    def wider(device: DeviceClass) -> DeviceClass:
        bubbles = tuple(replace(bubble, **change) for bubble in device.bubbles)
        resident = LARGE if limit is Limit.MEMORY else device.resident_free
        return replace(device, bubbles=bubbles, resident_free=resident)

    return replace(of, devices=tuple(wider(device) for device in of.devices))


def bare(occurrence: Occurrence) -> Occurrence:
    return replace(occurrence, segments=tuple(replace(segment, start=None) for segment in occurrence.segments))


def extended(found: FillPlan, rest: Rest, proof: Proof) -> Iterator[tuple[FillPlan, str]]:
    """The plan with the proof's operator added in this bubble, in one way or another, and the place of the bubble."""
    phase = found.patterns[rest.pattern].phases[0]
    key = (rest.iteration, rest.bubble)
    others = [bare(entry) for entry in phase.occurrences if (entry.iteration, entry.bubble) != key]
    here = next(
        (bare(entry) for entry in phase.occurrences if (entry.iteration, entry.bubble) == key), Occurrence(*key, ())
    )
    slots = phase.slots
    slot = proof.slot
    if slot is None:
        slot = len(slots)
        slots = (*slots, Slot(proof.job, proof.configuration, proof.operator))
    longer = [(*here.segments, Segment(slot, proof.operator, 1))]
    own = [number for number, segment in enumerate(here.segments) if segment.slot == slot]
    if own:
        last = replace(here.segments[own[-1]], count=here.segments[own[-1]].count + 1)
        longer.append((*here.segments[: own[-1]], last, *here.segments[own[-1] + 1 :]))
    for segments in longer:
        changed = Phase(slots, (*others, replace(here, segments=segments)))
        pattern = Pattern(rest.device, 1, (changed,))
        yield FillPlan((pattern,), found.iterations), f"patterns[0] ({rest.device}).occurrences[{len(others)}]"


def fits(of: FillProblem, found: FillPlan, rest: Rest, proof: Proof) -> bool:
    """Whether some way to add the operator breaks no time and no memory: in this bubble, or anywhere for one more copy."""
    for longer, place in extended(found, rest, proof):
        broken = [
            violation for violation in certify(of, longer).violations if violation.code in ("fit", "memory", "resident")
        ]
        if proof.slot is not None:
            broken = [violation for violation in broken if violation.place.startswith(place)]
        assert not {"reference", "split"} & codes(certify(of, longer))
        if not broken:
            return True
    return False


def left(of: FillProblem, found: FillPlan, name: str) -> int:
    used = sum(p.multiplicity for p in found.patterns for slot in p.phases[0].slots if slot.job == name)
    return of.job(name).copies - used


@pytest.mark.parametrize("seed", range(70))
def test_every_reason_is_proved(seed: int) -> None:
    of = random_problem(seed)
    found = optimum(of)[1]
    for rest in explain(of, found).rests:
        for proof in rest.proofs:
            exists = proof.slot is not None or left(of, found, proof.job) > 0
            if proof.limit is Limit.JOBS:
                assert not exists
            elif proof.limit is Limit.CHOICE:
                assert exists
            else:
                assert not fits(of, found, rest, proof) or not exists, (rest, proof)
            if proof.limit is not Limit.SEVERAL:
                assert fits(relaxed(of, proof.limit), found, rest, proof), (rest, proof)


def only_rest(*changes: Change, plan_change: Change | None = None, bubble: int = 0) -> Rest:
    of = problem(*changes)
    found = plan(of, *([plan_change] if plan_change else []))
    assert certify(of, found).valid
    return next(rest for rest in explain(of, found).rests if rest.pattern == 0 and rest.bubble == bubble)


ALONE = put(
    "jobs", [{"name": "kept", "devices": ["d"], "configs": [{"name": "c", "resident": "100MB", "operators": [operator("a", 3, 300, 100)]}]}]
)  # fmt: skip
ONE = put("patterns.0", {"device": "d", "multiplicity": 1, "slots": [{"job": "kept", "config": "c"}], "occurrences": [
    {"iteration": 0, "bubble": 0, "segments": [{"slot": 0, "first": 0, "count": 2}]}]})  # fmt: skip


@pytest.mark.parametrize(
    ("changes", "reason"),
    [
        ([], Limit.FULL),
        ([put("devices.0.bubbles.0.length", "9ms")], Limit.SWITCH),  # 9 ms hold three operators, 11 with the switches
        ([put("devices.0.bubbles.0.length", "8999999ns")], Limit.TIME),
        ([put("devices.0.bubbles.0.length", "11ms")], Limit.CHOICE),
        ([put("devices.0.bubbles.0.length", "11ms"), put("guard", {"margin": "1ns"})], Limit.GUARD),
    ],
)
def test_reasons_by_hand(changes: list[Change], reason: Limit) -> None:
    """One kept job of 3 ms operators, twice in a bubble of 8 ms; 1 ms in and out."""
    assert only_rest(ALONE, *changes, plan_change=ONE).reason is reason


def test_memory_keeps_a_bubble_empty() -> None:
    rest = only_rest(ALONE, put("devices.0.bubbles.1.free", "399MB"), plan_change=ONE, bubble=1)
    assert rest.reason is Limit.MEMORY
    (proof,) = [proof for proof in rest.proofs if proof.limit is Limit.MEMORY]
    assert proof.peak == 400_000_000
    assert (rest.used, rest.rest) == (0, 12_000_000)


def test_no_job_left() -> None:
    of = problem(ALONE, put("devices.0.count", 3))
    found = plan(of, ONE, put("patterns.1.multiplicity", 2))
    rests = {rest.pattern: rest for rest in explain(of, found).rests if rest.bubble == 1}
    assert rests[1].reason is Limit.JOBS
    assert rests[1].multiplicity == 2


def test_ticks_by_reason_add_up() -> None:
    of = problem(put("iterations", 2))
    found = plan(of, drop("patterns.0.occurrences.1"))
    result = explain(of, found)
    total = sum((Fraction(rest.multiplicity * rest.rest, 2) for rest in result.rests), Fraction(0))
    assert sum(result.ticks.values()) == total
    assert total == 2 * 20_000_000 - Fraction(8_000_000, 2)
    assert list(result.ticks.values()) == sorted(result.ticks.values(), reverse=True)


def test_a_class_that_no_job_may_use() -> None:
    bubble = {"start": 0, "length": "9ms", "free": "1GB"}
    of = problem(put("devices.1.bubbles", [bubble]), put("jobs.1.devices", ["d"]))
    rest = next(rest for rest in explain(of, plan(of)).rests if rest.device == "other")
    assert (rest.reason, rest.proofs) == (Limit.JOBS, ())
