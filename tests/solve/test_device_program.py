from __future__ import annotations

from collections import Counter

from pipefill_opt.solve.device import DevicePlan, DeviceProblem, Run, Visit
from pipefill_opt.solve.device_program import DeviceProgram
from pipefill_opt.solve.network import Network
from tests.solve.devices import best_plan, device_of, fill_problem, job, random_devices, with_table


def keeps(device: DeviceProblem, *runs: Run, first: tuple[int, ...] | None = None) -> bool:
    """True if the plan with these runs in one bubble is a point of the program."""
    model = DeviceProgram(Network(device))
    plan = DevicePlan(first or (0,) * len(device.slots), (Visit(0, 0, runs),))
    point = model.point(plan)
    return point is not None and all(row.holds(point) for row in model.program().rows)


def test_every_optimal_plan_of_the_brute_force_is_a_point_of_the_same_value() -> None:
    """No plan is lost: in every kind of occurrence."""
    kinds: Counter[tuple[bool, bool, bool]] = Counter()
    for device, own in random_devices(range(150)):
        plan = best_plan(device, own)
        if plan is None:
            continue
        model = DeviceProgram(Network(device))
        program, point = model.program(), model.point(plan)
        assert point is not None
        assert [row for row in program.rows if not row.holds(point)] == []
        assert program.worth(point) == plan.value(device)
        assert model.plan(point).value(device) == plan.value(device)
        kinds.update((layer.places.once, layer.places.table, layer.places.coupled) for layer in model.network.layers)
    assert {kind for kind, number in kinds.items() if number > 20} >= {
        (True, False, False),
        (True, True, False),
        (False, False, True),
        (False, True, True),
        (False, True, False),
    }


def test_fit() -> None:
    jobs = (job("a", (4,)), job("b", (5,)))
    runs = (Run(0, 0, 1), Run(1, 0, 1))
    assert keeps(device_of(fill_problem(*jobs, lengths=(10,))), *runs)
    assert not keeps(device_of(fill_problem(*jobs, lengths=(9,))), *runs)


def test_fit_with_changes_of_their_own_time() -> None:
    table = {"a": {"a": 9, "b": 2, "c": 1}, "b": {"a": 1, "b": 9, "c": 1}, "c": {"a": 1, "b": 1, "c": 9}}
    jobs = [job(name, (4,)) for name in "abc"]
    there, back = (Run(0, 0, 1), Run(1, 0, 1)), (Run(1, 0, 1), Run(0, 0, 1))
    for length, both in ((10, True), (9, False)):
        device = device_of(with_table(fill_problem(*jobs, lengths=(length,)), table))
        assert keeps(device, *there) is both
        assert keeps(device, *back)


def test_cycle() -> None:
    device = device_of(fill_problem(job("a", (2, 2)), lengths=(10,)))
    assert keeps(device, Run(0, 1, 2), first=(1,))
    assert not keeps(device, Run(0, 1, 1), first=(1,))


def test_rest_between_two_kept_slots() -> None:
    """5 + 1 or 5 + 4 bytes each; either may rest with 4, both with 4 only if 18 are free."""
    jobs = [job(name, (1, 1), memory=1, carry=(4, 1)) for name in "ab"]
    runs = (Run(0, 0, 1), Run(1, 0, 1))
    for free, both in ((18, True), (17, False)):
        device = device_of(fill_problem(*jobs, free=free, repeat=False))
        assert keeps(device, *runs) is both
        assert keeps(device, *runs[:1])


def test_memory_while_another_slot_carries() -> None:
    """Operator of b: 5 + 10 bytes, a holds 5 + 1 or 5 + 4."""
    a, b = job("a", (1, 1), memory=1, carry=(4, 1)), job("b", (1,), memory=10)
    before, after = (Run(1, 0, 1), Run(0, 0, 1)), (Run(0, 0, 1), Run(1, 0, 1))
    for free, late in ((24, True), (23, False)):
        device = device_of(fill_problem(a, b, free=free, repeat=False))
        assert keeps(device, *before)
        assert keeps(device, *after) is late


def test_a_slot_between_two_segments_of_another() -> None:
    """A-B-A, where b fits only while a carries little."""
    a, b = job("a", (1, 1), memory=1, carry=(1, 4)), job("b", (1,), memory=10)
    device = device_of(fill_problem(a, b, free=21, repeat=True))
    model = DeviceProgram(Network(device))
    runs = (Run(0, 0, 1), Run(1, 0, 1), Run(0, 1, 1))
    point = model.point(DevicePlan((0, 0), (Visit(0, 0, runs),)))
    assert point is not None
    assert all(row.holds(point) for row in model.program().rows)
    assert model.plan(point).visits == (Visit(0, 0, runs),)


def test_a_plan_with_more_operators_than_fit_is_no_point() -> None:
    device = device_of(fill_problem(job("a", (4,))))
    assert DeviceProgram(Network(device)).point(DevicePlan((0,), (Visit(0, 0, (Run(0, 0, 3),)),))) is None
