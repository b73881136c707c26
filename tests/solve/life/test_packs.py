"""Sets of whole copies on a device, and horizons that are too short, against exhaustive search."""

from __future__ import annotations

import random
from collections import Counter
from dataclasses import replace
from itertools import combinations_with_replacement

from pipefill_opt.fill.problem import FillProblem, Objective
from pipefill_opt.solve.device import compile_problem
from pipefill_opt.solve.life.packed import Packed
from pipefill_opt.solve.life.packs import Packs
from pipefill_opt.solve.life.shares import shares
from pipefill_opt.solve.result import Limits
from pipefill_opt.solve.watch import Watch
from tests.solve.life.brute_force import optimum
from tests.solve.life.instances import tiny

HORIZON = 5


def repeating(seed: int) -> FillProblem | None:
    """A tiny problem with one H that repeats, copies of one or two iterations, memory for several."""
    problem = tiny(seed, Objective.MAKESPAN)
    if problem.iterations is None:
        return None
    rng = random.Random(seed)
    return replace(
        problem,
        repeat=True,
        jobs=tuple(replace(job, iterations=rng.randint(1, 4)) for job in problem.jobs),
        devices=tuple(replace(device, resident_free=rng.choice((4, 8, 12))) for device in problem.devices),
    )


def test_no_device_completes_a_set_sooner() -> None:
    tight = sets = 0
    for seed in range(40):
        problem = repeating(seed)
        if problem is None:
            continue
        compiled = compile_problem(problem)
        assert problem.iterations is not None
        found = shares(
            compiled, range(problem.iterations, problem.iterations + 1), tuple(j.iterations for j in problem.jobs)
        )
        for c, of in enumerate(found.of):
            packs = Packs(compiled, c, problem.iterations, of)
            for copies in (s for size in (1, 2) for s in combinations_with_replacement(sorted(of), size)):
                numbers = Counter(copies)
                if any(numbers[j] > problem.jobs[j].copies for j in numbers):
                    continue
                best = optimum(
                    replace(
                        problem,
                        devices=(replace(problem.devices[c], count=1),),
                        jobs=tuple(
                            replace(job, copies=numbers[j], release=0, devices=(problem.devices[c].name,))
                            for j, job in enumerate(problem.jobs)
                            if numbers[j]
                        ),
                    ),
                    HORIZON,
                )
                least = packs.least(copies, HORIZON)
                sets += len(copies) > 1
                assert best is not None or least > 0
                if best is not None:
                    turns = best / (problem.period * problem.iterations)
                    assert least <= turns
                    tight += len(copies) > 1 and least == turns
    assert sets > 40
    assert tight > 0.6 * sets


def test_no_plan_ends_by_a_horizon_that_is_too_short() -> None:
    decided = better = 0
    for seed in range(120):
        problem = repeating(seed)
        if problem is None or sum(job.copies for job in problem.jobs) > 3:
            continue
        best = optimum(problem, HORIZON)
        if best is None:
            continue
        compiled = compile_problem(problem)
        assert problem.iterations is not None
        found = shares(
            compiled, range(problem.iterations, problem.iterations + 1), tuple(j.iterations for j in problem.jobs)
        )
        turns = int(best / (problem.period * problem.iterations))
        least = Packed(compiled, found, Watch(Limits())).least(1, turns + 3)
        assert least <= turns
        decided += least == turns
        better += least > 1
    assert decided > 15
    assert better > 15
