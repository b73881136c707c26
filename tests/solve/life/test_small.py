"""Small queues: turns, lives and sharing out against exhaustive search."""

from __future__ import annotations

import random
from dataclasses import replace
from fractions import Fraction
from itertools import product
from typing import Final

import numpy as np
import pytest

from pipefill_opt.fill.certify import certify
from pipefill_opt.fill.plan import FillPlan
from pipefill_opt.fill.problem import FillBubble, FillProblem, Guard, Objective, Operator
from pipefill_opt.solve.device import DevicePlan, compile_problem
from pipefill_opt.solve.life import menu as menus_module
from pipefill_opt.solve.life.dispatch import dispatch, grouped
from pipefill_opt.solve.life.incumbent import Incumbent, grain
from pipefill_opt.solve.life.lattice import NEVER, Lattice
from pipefill_opt.solve.life.menu import Menu
from pipefill_opt.solve.life.phases import plan_of
from pipefill_opt.solve.life.points import maximal
from pipefill_opt.solve.life.priced import offers_of, pieces_of
from pipefill_opt.solve.life.search import solve_life
from pipefill_opt.solve.life.shares import shares
from pipefill_opt.solve.life.shop import ends, open_shop
from pipefill_opt.solve.life.small import search_small
from pipefill_opt.solve.life.together import least_turns
from pipefill_opt.solve.life.turns import laps_of
from pipefill_opt.solve.result import Limits, Outcome
from pipefill_opt.solve.watch import Watch
from tests.solve.life.brute_force import Copy, Turns, optimum
from tests.solve.life.instances import crowd, tiny
from tests.solve.life.test_search import HORIZON, SLOW

MANY: Final = 60


def queues(objective: Objective) -> list[FillProblem]:
    """Those that the search of small queues takes, and the exhaustive one answers soon."""
    found = [tiny(seed, objective) for seed in range(MANY) if seed not in SLOW[objective]]
    if objective is Objective.COMPLETION:
        found += [crowd(seed) for seed in range(8)]
    return [problem for problem in found if problem.repeat and problem.iterations is not None]


def listed(problem: FillProblem) -> Incumbent | None:
    """The best plan of list scheduling alone, for the search to start from."""
    compiled = compile_problem(problem)
    length = problem.iterations or 1
    found = shares(compiled, range(length, length + 1), tuple(job.iterations for job in problem.jobs))
    best = Incumbent(problem, Watch(Limits()), grain(problem, found.unit))
    shop = open_shop(compiled, length)
    lives = dispatch(shop, offers_of(pieces_of(shop)), shop.copies, [[()] * count for count in shop.counts])
    if lives is None:
        return None
    best.keep(shop, grouped(lives), "list scheduling")
    return best


@pytest.mark.parametrize("objective", [Objective.MAKESPAN, Objective.COMPLETION, Objective.ON_TIME])
def test_small_queues_are_proved_and_no_bound_is_beyond_the_optimum(objective: Objective) -> None:
    sign = -1 if objective is Objective.ON_TIME else 1
    proved = equal = better = 0
    for problem in queues(objective):
        if objective is Objective.ON_TIME and any(job.deadline is None for job in problem.jobs):
            continue
        least = optimum(problem, HORIZON)
        best = listed(problem)
        if best is None or best.shop is None or best.value is None or least is None:
            continue
        first = best.value
        search_small(best.shop, best)
        assert best.bound is not None
        assert sign * best.bound <= sign * least
        assert sign * best.bound <= sign * best.value
        verdict = certify(problem, plan_of(best.shop, best.lives))
        assert verdict.valid
        assert verdict.objective == best.value
        proved += best.proved
        better += best.value != first
        if best.proved and max((ends(entry.life) for entry in best.lives), default=0) <= HORIZON:
            assert best.value == least
            equal += 1
    assert proved >= 10
    assert equal >= 8
    assert better >= 1


def test_points_are_those_of_exhaustive_search() -> None:
    pairs = 0
    for seed in range(40):
        problem = tiny(seed, Objective.COMPLETION)
        if not problem.repeat or problem.iterations is None:
            continue
        compiled = compile_problem(problem)
        for c, device in enumerate(problem.devices):
            menu = Menu(compiled, c, problem.iterations, Watch(Limits()))
            assert menu.whole
            brute = Turns(problem, device, problem.iterations)
            for points in {id(choice.points): choice.points for choice in menu.choices}.values():
                assert points is not None
                sizes = [slot.length for slot in points.device.slots]
                for start in product(*map(range, sizes)):
                    copies = tuple(Copy(*pair, p, 0) for pair, p in zip(points.device.residents, start, strict=True))
                    if copies != tuple(sorted(copies)) and len(set(points.device.residents)) < len(copies):
                        continue
                    laps = {tuple(n // k for n, k in zip(done, sizes, strict=True)) for done in exact(brute, copies)}
                    wanted = {point for point in maximal(laps) if all(point)}
                    assert set(points.of.get(start, ())) == wanted
                    for point in wanted:
                        assert laps_of(points.plan(start, point), sizes) == point
                    pairs += len(start) > 1 and bool(wanted)
    assert pairs >= 5


def exact(brute: Turns, copies: tuple[Copy, ...]) -> list[tuple[int, ...]]:
    """Operators done, in the order of the copies: the search sorts them."""
    order = sorted(range(len(copies)), key=lambda k: copies[k])
    found = []
    for counts in brute.options(tuple(copies[k] for k in order)):
        done = [0] * len(copies)
        for place, k in enumerate(order):
            done[k] = counts[place]
        found.append(tuple(done))
    return found


def test_plans_of_points_are_certified() -> None:
    problem = replace(crowd(2), objective=Objective.THROUGHPUT)
    assert problem.iterations is not None
    compiled = compile_problem(problem)
    menu = Menu(compiled, 0, problem.iterations, Watch(Limits()))
    assert any(len(choice.laps) > 1 for choice in menu.choices)
    rest = tuple(
        compiled.pattern(compiled.device(c, (), problem.iterations), DevicePlan((), ()), device.count - (c == 0))
        for c, device in enumerate(problem.devices)
        if device.count > (c == 0)
    )
    for choice in menu.choices:
        assert choice.points is not None
        for start, found in choice.points.of.items():
            for point in found:
                plan = choice.points.plan(start, point)
                own = compiled.pattern(choice.points.device, plan, 1)
                verdict = certify(problem, FillPlan((own, *rest), problem.iterations))
                assert verdict.valid, verdict.violations


def test_loose_turns_leave_nothing_out(monkeypatch: pytest.MonkeyPatch) -> None:
    checked = 0
    for seed in range(12):
        problem = crowd(seed)
        if not problem.repeat or problem.iterations is None:
            continue
        compiled = compile_problem(problem)
        exactly = Menu(compiled, 0, problem.iterations, Watch(Limits()))
        with monkeypatch.context() as patched:
            patched.setattr(menus_module, "MOST_WORK", -1)
            loosely = Menu(compiled, 0, problem.iterations, Watch(Limits()))
        assert all(choice.points is None for choice in loosely.choices)
        for choice in exactly.choices:
            assert any(
                sorted(other.kinds) == sorted(choice.kinds)
                and all(a >= b for a, b in zip(other.laps, choice.laps, strict=True))
                for other in loosely.choices
            )
            checked += 1
    assert checked >= 20


@pytest.mark.parametrize("most", [False, True])
def test_sharing_out_is_the_best_of_all_ways(most: bool) -> None:
    rng = random.Random(f"share-{most}")
    for _ in range(20):
        lattice = Lattice([rng.randint(0, 2) for _ in range(3)])
        costs = [
            np.array(
                [NEVER if rng.random() < 0.2 else rng.randint(-5, 20) for _ in range(lattice.size)], dtype=np.int64
            )
            for _ in range(3)
        ]
        if most:
            costs = [np.where(cost < NEVER, np.abs(cost), NEVER) for cost in costs]
        low, chosen = lattice.share(costs, lattice.size - 1, most=most)
        join = max if most else sum
        ways = [
            join(int(cost[i]) for cost, i in zip(costs, way, strict=True))
            for way in product(range(lattice.size), repeat=3)
            if (lattice.counts[list(way)].sum(axis=0) == lattice.copies).all()
            and all(cost[i] < NEVER for cost, i in zip(costs, way, strict=True))
        ]
        assert low == min(ways, default=NEVER)
        if ways:
            assert (lattice.counts[chosen].sum(axis=0) == lattice.copies).all()
            assert join(int(cost[i]) for cost, i in zip(costs, chosen, strict=True)) == low


def test_all_devices_together_need_no_more_turns_than_the_optimum() -> None:
    near = checked = 0
    for problem in queues(Objective.MAKESPAN):
        length = problem.iterations or 1
        least = optimum(problem, HORIZON)
        if least is None:
            continue
        compiled = compile_problem(problem)
        shop = open_shop(compiled, length)
        menus = [Menu(compiled, c, length, Watch(Limits())) for c in range(len(problem.devices))]
        wanted = [job.iterations or 0 for job in problem.jobs]
        turns = least_turns(menus, shop.counts, shop.copies, wanted, shop.release)
        assert turns * shop.turn <= least
        near += turns * shop.turn == least
        checked += 1
    assert checked >= 15
    assert near >= checked // 2


def test_copies_that_move_make_plans_shorter() -> None:
    moved = shorter = 0
    for seed in range(60):
        problem = tiny(seed, Objective.MAKESPAN)
        if not problem.repeat or problem.iterations is None:
            continue
        problem = replace(problem, migrate=True)
        best = listed(problem)
        if best is None or best.shop is None:
            continue
        first = best.value
        search_small(best.shop, best)
        assert best.value is not None
        assert best.bound is not None
        assert best.bound <= best.value
        plan = plan_of(best.shop, best.lives)
        verdict = certify(problem, plan)
        assert verdict.valid, verdict.violations
        assert verdict.objective == best.value
        moved += not certify(replace(problem, migrate=False), plan).valid
        shorter += best.value != first
    assert moved >= 1
    assert shorter >= 3


def test_one_copy_moves_to_the_device_that_is_left() -> None:
    """Three copies of three laps on two devices, a lap a turn: five turns, where staying takes six."""
    problem = tiny(1, Objective.MAKESPAN)
    configuration = replace(
        problem.jobs[0].configurations[0],
        resident=1,
        operators=(Operator("one", duration=5, memory=0, carry=0, flops=Fraction(0), value=None),),
    )
    job = replace(
        problem.jobs[0],
        copies=3,
        iterations=3,
        release=0,
        devices=frozenset(["a"]),
        keep=True,
        configurations=(configuration,),
    )
    device = replace(
        problem.devices[0],
        name="a",
        count=2,
        speed=Fraction(1),
        resident_free=1,
        bubbles=(FillBubble(0, 5, 5, "inner"),),
    )
    queue = replace(
        problem,
        jobs=(job,),
        devices=(device,),
        iterations=1,
        repeat=True,
        migrate=True,
        guard=Guard(Fraction(1), 0),
        switch=replace(problem.switch, enter=0, leave=0),
    )
    found = solve_life(queue)
    assert found.objective == 5 * queue.period
    assert found.outcome is Outcome.OPTIMAL
    stay = solve_life(replace(queue, migrate=False))
    assert stay.objective == 6 * queue.period
    assert stay.outcome is Outcome.OPTIMAL


def test_a_class_without_devices_changes_nothing() -> None:
    checked = 0
    for seed in range(0, 60, 4):
        for objective in (Objective.MAKESPAN, Objective.COMPLETION, Objective.ON_TIME):
            problem = tiny(seed, objective)
            if len(problem.devices) < 2:
                continue
            fewer = replace(problem, devices=(replace(problem.devices[0], count=0), *problem.devices[1:]))
            found, without = solve_life(fewer), solve_life(replace(problem, devices=problem.devices[1:]))
            assert found.outcome is not Outcome.UNKNOWN
            assert (found.outcome, found.objective, found.bound) == (without.outcome, without.objective, without.bound)
            if found.plan is not None:
                assert certify(fewer, found.plan).valid
            checked += 1
    assert checked >= 12


def test_a_job_that_fits_nowhere_once_is_a_proof() -> None:
    problem = tiny(9, Objective.MAKESPAN)
    assert not problem.repeat
    assert optimum(problem, HORIZON) is None
    found = solve_life(problem)
    assert found.outcome is Outcome.INFEASIBLE
    assert "not even alone" in found.bound_origin
    easier = replace(
        problem,
        devices=tuple(
            replace(d, resident_free=10**6, bubbles=tuple(replace(b, free=10**6, length=25) for b in d.bubbles))
            for d in problem.devices
        ),
    )
    assert solve_life(easier).outcome in (Outcome.OPTIMAL, Outcome.FEASIBLE)


def test_values_in_thirds_stay_exact() -> None:
    problem = queues(Objective.COMPLETION)[0]
    jobs = tuple(replace(job, weight=Fraction(k + 1, 3)) for k, job in enumerate(problem.jobs))
    found = solve_life(replace(problem, jobs=jobs))
    whole = solve_life(replace(problem, jobs=tuple(replace(job, weight=3 * job.weight) for job in jobs)))
    assert found.objective is not None
    assert whole.objective == 3 * found.objective
