"""The random problems are the same everywhere, cover every field and every branch of the rules, and leave no slack."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from dataclasses import replace
from itertools import pairwise

from pipefill_opt.fill.plan import FillPlan
from pipefill_opt.fill.problem import FillProblem, ValueRule
from tests.solve.brute_force import optimum
from tests.solve.random_instances import ENDLESS, KINDS, PERIOD, random_problem

SEEDS = 2000


def features(problem: FillProblem) -> Iterator[str]:
    """What a problem has, in words."""
    yield f"H {problem.iterations}, repeat {problem.repeat}"
    yield f"migrate {problem.migrate}"
    yield f"fraction {problem.guard.fraction}"
    yield f"margin {problem.guard.margin}"
    yield f"{len(problem.devices)} classes"
    yield f"{len(problem.jobs)} jobs"
    switch = problem.switch
    yield "enter" if switch.enter else "no enter"
    yield "leave" if switch.leave else "no leave"
    yield f"h2d {switch.h2d}"
    yield f"d2h {switch.d2h}"
    if isinstance(switch.between, int):
        yield f"between {switch.between}"
    else:
        yield "between table"
        names = list(switch.between)
        detour = any(
            switch.between[a][c] > switch.between[a][b] + switch.between[b][c]
            for a in names
            for b in names
            for c in names
            if len({a, b, c}) == 3
        )
        yield "between without triangle" if detour else "between with triangle"
    for device in problem.devices:
        yield f"count {device.count}"
        yield f"speed {device.speed}"
        yield f"{len(device.bubbles)} bubbles"
        yield "wraps" if device.bubbles[-1].start + device.bubbles[-1].length > PERIOD else "does not wrap"
        for bubble in device.bubbles:
            yield f"kind {bubble.kind}"
            yield "free is resident_free" if bubble.free == device.resident_free else "free above resident_free"
            yield "odd length" if bubble.length % 1000 else "round length"
    for job in problem.jobs:
        yield f"copies {job.copies}"
        yield f"weight {job.weight}"
        yield f"keep {job.keep}"
        yield f"rule {job.value_rule}"
        yield "all classes" if len(job.devices) == len(problem.devices) else "some classes"
        yield "iterations" if job.iterations else "no iterations"
        yield "release" if job.release else "no release"
        yield "deadline" if job.deadline else "no deadline"
        yield f"{len(job.configurations)} configurations"
        for configuration in job.configurations:
            chain = configuration.operators
            yield f"chain of {len(chain)}"
            yield f"samples {configuration.samples}"
            yield "repeated operator" if any(a is b for a, b in pairwise(chain)) else "no repeat"
            yield "endless operator" if chain[-1].duration == ENDLESS else "no endless operator"
            for operator, before in zip(chain, (chain[-1], *chain[:-1]), strict=True):
                yield "stated value" if operator.value is not None else "value by rule"
                yield "no flops" if not operator.flops else "flops"
                yield "memory below carry" if operator.memory < max(before.carry, operator.carry) else "memory"
                yield "odd duration" if operator.duration % 1000 else "round duration"


EXPECTED = {
    *(f"H {h}, repeat True" for h in (1, 2, None)),
    *(f"H {h}, repeat False" for h in (1, 2)),
    *(f"migrate {m}" for m in (True, False)),
    *(f"fraction {f}" for f in ("1", "17/25", "9/10", "57/100", "17/20")),
    *(f"margin {m}" for m in (0, 123_457, 300_000)),
    *(f"{n} classes" for n in (1, 2, 3)),
    *(f"{n} jobs" for n in (1, 2, 3, 4)),
    *("enter", "no enter", "leave", "no leave", "h2d None", "d2h None", "h2d 6400000000", "d2h 6400000000"),
    *("between 0", "between 333333", "between table", "between with triangle", "between without triangle"),
    *(f"count {n}" for n in (1, 2, 3)),
    *(f"speed {s}" for s in ("1", "7/10", "17/20", "13/10", "9/10")),
    *(f"{n} bubbles" for n in (1, 2, 3)),
    *("wraps", "does not wrap", "free is resident_free", "free above resident_free", "odd length", "round length"),
    *(f"kind {kind}" for kind in KINDS),
    *("copies 1", "copies 2", "weight 1", "weight 3/2", "weight 3/10", "weight 1/2", "keep True", "keep False"),
    *(f"rule {rule}" for rule in ValueRule),
    *("all classes", "some classes", "iterations", "no iterations", "release", "no release", "deadline", "no deadline"),
    *("1 configurations", "2 configurations", "samples 5/2", "samples 1", "samples 8"),
    *(f"chain of {n}" for n in (1, 2, 3, 4)),
    *("repeated operator", "no repeat", "endless operator", "no endless operator", "stated value", "value by rule"),
    *("no flops", "flops", "memory below carry", "memory", "odd duration", "round duration"),
}


def test_every_field_and_branch_occurs_many_times() -> None:
    seen: Counter[str] = Counter()
    for seed in range(SEEDS):
        seen.update(set(features(random_problem(seed))))
    assert {feature: seen[feature] for feature in EXPECTED if seen[feature] < 20} == {}


def test_a_seed_gives_one_problem() -> None:
    assert random_problem(11) == random_problem(11)
    assert random_problem(11) != random_problem(12)


def shapes(problem: FillProblem, plan: FillPlan) -> Iterator[str]:
    """What an optimal plan does."""
    for pattern in plan.patterns:
        phase = pattern.phases[0]
        yield f"{min(len(phase.slots), 2)} slots"
        if len({slot.job for slot in phase.slots}) < len(phase.slots):
            yield "two copies of one job"
        for slot in phase.slots:
            yield "begins inside its chain" if slot.first else "begins with its chain"
        for occurrence in phase.occurrences:
            slots = [segment.slot for segment in occurrence.segments]
            yield f"{min(len(slots), 3)} segments"
            yield "iteration 1" if occurrence.iteration else "iteration 0"
            if len(set(slots)) < len(slots):
                yield "A-B-A"
            for segment in occurrence.segments:
                slot = phase.slots[segment.slot]
                yield "kept" if problem.job(slot.job).keep else "swapped"
                if segment.count > len(problem.job(slot.job).configuration(slot.configuration).operators):
                    yield "more than a lap"


def test_optimal_plans_take_every_shape() -> None:
    seen: Counter[str] = Counter()
    for seed in range(0, SEEDS, 8):
        problem = random_problem(seed)
        seen.update(set(shapes(problem, optimum(problem)[1])))
    wanted = {
        *("0 slots", "1 slots", "2 slots", "two copies of one job", "begins inside its chain", "1 segments"),
        *("2 segments", "3 segments", "A-B-A", "iteration 1", "kept", "swapped", "more than a lap"),
    }
    assert {shape for shape in wanted if not seen[shape]} == set()


def changed(problem: FillProblem, *, ticks: int = 0, size: int = 0) -> FillProblem:
    """The problem with so many ticks and bytes more in each bubble."""
    return replace(
        problem,
        devices=tuple(
            replace(
                device,
                resident_free=max(0, device.resident_free + size),
                bubbles=tuple(replace(b, length=b.length + ticks, free=max(0, b.free + size)) for b in device.bubbles),
            )
            for device in problem.devices
        ),
    )


def test_one_tick_and_one_byte_matter() -> None:
    """Often enough that a solver that is off by one is found out many times."""
    seen: Counter[str] = Counter()
    for seed in range(0, SEEDS, 20):
        problem = random_problem(seed)
        best, _ = optimum(problem)
        seen["ticks"] += any(optimum(changed(problem, ticks=more))[0] != best for more in (-1, 2))
        seen["bytes"] += any(optimum(changed(problem, size=more))[0] != best for more in (-1, 1))
    assert seen["ticks"] >= 25
    assert seen["bytes"] >= 12
