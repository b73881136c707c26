"""PipeFill's greedy: packing, closing the cycle, kinds of bubbles, sharing out copies."""

from __future__ import annotations

from dataclasses import replace

import pytest

from pipefill_opt.fill.problem import DeviceClass, FillProblem
from pipefill_opt.solve.device import Run, Visit, compile_problem
from pipefill_opt.solve.dp import solve_dp
from pipefill_opt.solve.greedy import contiguous, every_kind, greedy, pack
from pipefill_opt.solve.result import Limits
from pipefill_opt.solve.watch import Watch
from tests.solve.devices import device_of, fill_problem, job, random_devices
from tests.solve.plans import broken_rules


def test_packs_as_much_as_fits_and_goes_on() -> None:
    plan = pack(device_of(fill_problem(job("a", (3, 4, 2)), lengths=(8, 2, 7), repeat=False)))
    assert plan.visits == (
        Visit(0, 0, (Run(0, 0, 2),)),
        Visit(0, 1, (Run(0, 2, 1),)),
        Visit(0, 2, (Run(0, 0, 2),)),
    )


def test_closes_the_cycle_at_the_best_first_operator() -> None:
    """From operator 0: 3 4 | 2 3 leaves 4 2 behind, one lap; from operator 2: 2 3 | 4 2, then 3 is dropped, no more."""
    problem = fill_problem(job("a", (3, 4, 2)), lengths=(9, 9))
    device = device_of(problem)
    plan = pack(device)
    assert plan.value(device) == 18
    assert broken_rules(compile_problem(problem), device, plan) == []
    shorter = device_of(fill_problem(job("a", (3, 4, 2)), lengths=(8, 7)))
    assert pack(shorter).value(shorter) == 9


def test_a_chain_longer_than_the_plan_closes_no_lap() -> None:
    device = device_of(fill_problem(job("a", (5, 5, 5)), lengths=(10,)))
    assert pack(device).visits == ()
    assert pack(replace(device, iterations=2)).value(device) * device.unit == 15


def test_stops_only_where_carried_bytes_may_rest() -> None:
    device = device_of(fill_problem(job("a", (2, 2, 2), carry=(1, 99, 1)), lengths=(4, 4), free=100, repeat=False))
    assert [visit.runs[0].count for visit in pack(device).visits] == [1, 2]


def test_plans_never_beat_the_optimum() -> None:
    worth = 0
    for device, _ in random_devices(range(60)):
        if len(device.slots) == 1:
            value = pack(device).value(device)
            assert value <= solve_dp(device, Limits()).value
            worth += value > 0
    assert worth > 20


def test_single_monotone_slot_is_solved_optimally() -> None:
    for seed in range(30):
        ticks = tuple(2 + (seed * 7 + 5 * k) % 9 for k in range(2 + seed % 6))
        device = device_of(fill_problem(job("a", ticks), lengths=(13, 17 + seed % 5, 11)))
        assert pack(device).value(device) == solve_dp(device, Limits()).value


def _classes(*counts: int, copies: int) -> FillProblem:
    a = replace(job("a", (2,)), copies=copies, devices=tuple(f"d{c}" for c in range(len(counts))))
    problem = fill_problem(a, lengths=(5, 9))
    (device,) = problem.devices
    classes = tuple(
        DeviceClass(f"d{c}", count, device.speed, 100, device.bubbles[c : c + 1]) for c, count in enumerate(counts)
    )
    return replace(problem, devices=classes)


@pytest.mark.parametrize(("copies", "expected"), [(9, [(1, 3), (0, 2)]), (4, [(1, 3), (0, 1)]), (2, [(1, 2)])])
def test_copies_go_to_the_best_class_first(copies: int, expected: list[tuple[int, int]]) -> None:
    compiled = compile_problem(_classes(2, 3, copies=copies))
    choices = greedy(compiled, 1, every_kind, Watch(Limits()))
    assert [(choice.device.class_index, choice.multiplicity) for choice in choices] == expected


def test_kinds_of_bubbles() -> None:
    problem = fill_problem(job("a", (2,)), lengths=(4, 4, 4, 4))
    (device,) = problem.devices
    kinds = ("fill-drain", "fwd-bwd", "inner", "sync")
    bubbles = tuple(replace(bubble, kind=kind) for bubble, kind in zip(device.bubbles, kinds, strict=True))
    compiled = compile_problem(replace(problem, devices=(replace(device, bubbles=bubbles),)))
    values = {kind.__name__: greedy(compiled, 1, kind, Watch(Limits()))[0] for kind in (contiguous, every_kind)}
    assert [visit.bubble for visit in values["contiguous"].plan.visits] == [0, 1]
    assert [visit.bubble for visit in values["every_kind"].plan.visits] == [0, 1, 2, 3]
