"""The choice of devices: exact with any device solver, few evaluations, true bounds when something ends it early."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from fractions import Fraction
from itertools import product

import pytest

from pipefill_opt.fill.problem import DeviceClass, FillProblem
from pipefill_opt.solve import columns as listing
from pipefill_opt.solve.allocate import Allocation, allocate
from pipefill_opt.solve.column import Column, MasterResult
from pipefill_opt.solve.device import DevicePlan, DeviceProblem, DeviceResult, compile_problem
from pipefill_opt.solve.dp import solve_dp
from pipefill_opt.solve.result import Limits, Reason
from pipefill_opt.solve.watch import Watch
from tests.solve.devices import fill_problem, job


def every_choice(
    values: Sequence[int], columns: Sequence[Column], counts: Sequence[int], copies: Sequence[int], limits: Limits
) -> MasterResult:
    """The integer master by trying everything."""
    best: tuple[int, tuple[int, ...]] = (0, (0,) * len(columns))
    for number in product(*(range(counts[column.class_index] + 1) for column in columns)):
        used = [0] * len(copies)
        filled = [0] * len(counts)
        for column, k in zip(columns, number, strict=True):
            filled[column.class_index] += k
            for j, copies_used in column.usage:
                used[j] += k * copies_used
        fits = all(a <= b for a, b in zip(used + filled, [*copies, *counts], strict=True))
        value = sum(k * v for k, v in zip(number, values, strict=True))
        if fits and value > best[0]:
            best = (value, number)
    return MasterResult(best[1], best[0], best[0])


def shared(copies: tuple[int, int] = (2, 2), counts: tuple[int, int] = (2, 1)) -> FillProblem:
    """Two classes, two jobs that pair well, few copies."""
    names = ("d0", "d1")
    a = replace(job("a", (4,)), copies=copies[0], devices=names)
    b = replace(job("b", (3,)), copies=copies[1], devices=names)
    problem = fill_problem(a, b, lengths=(8, 5))
    (device,) = problem.devices
    classes = tuple(
        DeviceClass(name, count, device.speed, 1000, device.bubbles[k : k + 1])
        for k, (name, count) in enumerate(zip(names, counts, strict=True))
    )
    return replace(problem, devices=classes)


class Counting:
    """`solve_dp` that counts its calls, and gives up where `vague` says so."""

    def __init__(self, *, vague: bool = False) -> None:
        self.vague = vague
        self.calls = 0

    def __call__(self, device: DeviceProblem, limits: Limits, *, hint: DevicePlan | None = None) -> DeviceResult:
        self.calls += 1
        result = solve_dp(device, limits, hint=hint)
        return replace(result, bound=result.bound + 3, reason=Reason.WORK_LIMIT) if self.vague else result


def chosen(found: Allocation) -> list[tuple[int, list[int], int]]:
    return [(c.device.class_index, [j for j, _ in c.device.residents], c.multiplicity) for c in found.choices]


def test_exact_with_scarce_copies() -> None:
    """8 ticks hold a twice (8), b twice (6), or a and b (7); 5 ticks hold one of them. A slot uses a copy however often it runs."""
    found = allocate(compile_problem(shared()), 1, solve_dp, every_choice, Watch(Limits()))
    assert (found.value, found.bound, found.reason) == (8 + 8 + 3, 19, Reason.PROVED)
    found = allocate(compile_problem(shared(copies=(1, 1))), 1, solve_dp, every_choice, Watch(Limits()))
    assert found.value == 8 + 6
    assert chosen(found) == [(0, [0], 1), (0, [1], 1)]
    found = allocate(compile_problem(shared(copies=(0, 5))), 1, solve_dp, every_choice, Watch(Limits()))
    assert found.value == 6 + 6 + 3


def test_few_columns_are_evaluated() -> None:
    jobs = [replace(job(f"j{k}", (2 + k, 3)), copies=2) for k in range(4)]
    problem = fill_problem(*jobs, lengths=(40,))
    solver = Counting()
    found = allocate(compile_problem(problem), 1, solver, every_choice, Watch(Limits()))
    assert found.value == found.bound
    listed = listing.list_columns(compile_problem(problem), 1)
    assert 0 < solver.calls < len(listed.columns) / 2


def test_unproved_columns_leave_a_bound() -> None:
    problem = shared()
    compiled = compile_problem(problem)
    found = allocate(compiled, 1, Counting(vague=True), every_choice, Watch(Limits()))
    assert found.value <= 19 < found.bound <= 19 + 3 * 3
    assert found.value >= 18
    assert found.reason is Reason.WORK_LIMIT


def test_unlisted_columns_leave_a_bound(monkeypatch: pytest.MonkeyPatch) -> None:
    problem = replace(shared(), devices=shared().devices[:1])
    problem = replace(problem, jobs=tuple(replace(j, devices=("d0",)) for j in problem.jobs))
    monkeypatch.setattr(listing, "MAX_COLUMNS", 1)
    found = allocate(compile_problem(problem), 1, solve_dp, every_choice, Watch(Limits()))
    assert found.value <= 16 <= found.bound
    assert found.reason is not Reason.PROVED or found.bound == found.value


def test_nothing_better_than_what_is_known() -> None:
    solver = Counting()
    found = allocate(compile_problem(shared()), 1, solver, every_choice, Watch(Limits()), beat=10**9)
    assert (found.value, solver.calls, found.reason) == (0, 0, Reason.PROVED)
    assert found.bound >= 19


def test_equal_devices_are_solved_once() -> None:
    problem = shared(copies=(9, 9), counts=(1, 1))
    same = replace(problem, devices=tuple(replace(d, bubbles=problem.devices[0].bubbles) for d in problem.devices))
    one = replace(same, devices=same.devices[:1], jobs=tuple(replace(j, devices=("d0",)) for j in same.jobs))
    calls = []
    for case in (same, one):
        solver = Counting()
        allocate(compile_problem(case), 1, solver, every_choice, Watch(Limits()))
        calls.append(solver.calls)
    assert calls[0] == calls[1]


def test_gap_limit() -> None:
    problem = fill_problem(job("a", (4, 3)), job("b", (3, 6)), lengths=(11, 9, 13))
    limits = Limits(gap=Fraction(1, 2))
    solver = Counting()
    found = allocate(compile_problem(problem), 1, solver, every_choice, Watch(limits))
    assert found.bound <= found.value * Fraction(3, 2)
    full = Counting()
    allocate(compile_problem(problem), 1, full, every_choice, Watch(Limits()))
    assert solver.calls <= full.calls


def test_progress_is_told() -> None:
    news: list[tuple[int, int]] = []
    compiled = compile_problem(shared())
    allocate(compiled, 1, solve_dp, every_choice, Watch(Limits()), tell=lambda v, b, _: news.append((v, b)))
    assert all(value <= 19 <= bound for value, bound in news)
    assert [b for _, b in news] == sorted((b for _, b in news), reverse=True)
    assert news[-1] == (19, 19)
