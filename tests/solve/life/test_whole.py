"""Bounds by whole laps in every turn, at all kinds of prices, against exhaustive search."""

from __future__ import annotations

import random

import numpy as np

from pipefill_opt.fill.problem import Objective
from pipefill_opt.solve.device import compile_problem
from pipefill_opt.solve.life.bounds import Bounds
from pipefill_opt.solve.life.shares import shares
from pipefill_opt.solve.life.whole import usable, whole_bound
from pipefill_opt.solve.result import Limits
from pipefill_opt.solve.watch import Watch
from tests.solve.life.brute_force import optimum
from tests.solve.life.instances import tiny
from tests.solve.life.test_search import HORIZON, SLOW


def test_no_prices_prove_more_than_the_optimum() -> None:
    checked = tighter = near = 0
    for seed in range(75):
        problem = tiny(seed, Objective.COMPLETION)
        if seed in SLOW[Objective.COMPLETION] or not problem.repeat or problem.iterations is None:
            continue
        length = problem.iterations
        assert length is not None
        found = shares(compile_problem(problem), range(length, length + 1), tuple(j.iterations for j in problem.jobs))
        bounds = Bounds(problem, found, 3 * HORIZON)
        if not usable(bounds) or any(not any(j in of for of in found.of) for j in range(len(problem.jobs))):
            continue
        best = optimum(problem, HORIZON)
        if best is None:
            continue
        rng = random.Random(seed)
        for _ in range(12):
            prices = np.array([float(job.weight) * rng.uniform(0.5, HORIZON + 1) for job in problem.jobs])
            least = whole_bound(bounds, prices, Watch(Limits()))
            assert least is not None
            assert least * found.unit <= best
            checked += 1
            tighter += least > bounds.certain(prices)
            near += least * found.unit > best * 0.9
    assert checked > 60
    assert tighter > 5
    assert near > 0
