"""Seeded problems whose devices are monotone: where value iteration and the dynamic program must agree."""

from __future__ import annotations

import random
from dataclasses import replace
from fractions import Fraction

from pipefill_opt.fill.problem import FillProblem, Guard, Switch
from tests.solve.devices import fill_problem, job


def monotone_problem(seed: int, *, slots: int, bubbles: int, operators: int) -> FillProblem:
    """One device, one copy of each job, memory that other slots never spoil but that closes some bubbles to some operators."""
    rng = random.Random(seed)
    jobs = []
    for s in range(slots):
        ticks = tuple(rng.randint(20, 60) for _ in range(rng.randint(2, operators)))
        made = job(f"j{s}", ticks, memory=rng.choice((10, 60)), carry=(0, rng.randint(0, 9)), keep=rng.random() < 0.6)
        jobs.append(replace(made, weight=Fraction(rng.randint(1, 20), 10)))
    problem = fill_problem(
        *jobs, lengths=tuple(rng.randint(30, 200) for _ in range(bubbles)), repeat=rng.random() < 0.7
    )
    (device,) = problem.devices
    rooms = tuple(replace(bubble, free=rng.choice((1000, 1000, 70 + 5 * slots))) for bubble in device.bubbles)
    return replace(
        problem,
        iterations=rng.choice((1, 1, 2, 3)),
        devices=(replace(device, bubbles=rooms),),
        guard=Guard(Fraction(9, 10), rng.randint(0, 3)),
        switch=Switch(rng.randint(0, 5), rng.randint(0, 5), rng.randint(0, 9), Fraction(10**9), Fraction(10**9)),
    )
