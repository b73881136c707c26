"""Seeded tiny problems of the objectives over time, small enough for the brute force."""

from __future__ import annotations

import random
from fractions import Fraction

from pipefill_opt.fill.problem import (
    Configuration,
    DeviceClass,
    FillBubble,
    FillProblem,
    Guard,
    Job,
    Objective,
    Operator,
    Switch,
    ValueRule,
)

PERIOD = 100


def tiny(seed: int, objective: Objective) -> FillProblem:
    """One or two classes of one or two devices, up to three jobs of one to three copies; times in ticks of 1 ns."""
    rng = random.Random(f"life-{objective}-{seed}")
    repeat = rng.random() < 0.65
    names = ["a"] if rng.random() < 0.5 else ["a", "b"]
    auto = repeat and rng.random() < 0.15
    iterations = None if auto else rng.choice((1, 1, 1, 2))
    jobs = tuple(_job(rng, j, names, objective) for j in range(rng.choice((1, 2, 2, 3))))
    devices = tuple(
        DeviceClass(
            name=name,
            count=rng.choice((1, 1, 2)),
            speed=Fraction(rng.choice((1, 1, 2))),
            resident_free=rng.choice((3, 5, 8)),
            bubbles=tuple(
                FillBubble(start=30 * b, length=rng.choice((6, 8, 10, 13)), free=rng.choice((5, 7, 12)), kind="inner")
                for b in range(rng.choice((1, 2)))
            ),
        )
        for name in names
    )
    return FillProblem(
        name=f"tiny-{seed}",
        period=PERIOD,
        iterations=iterations,
        max_iterations=2,
        repeat=repeat,
        devices=devices,
        guard=Guard(Fraction(1), rng.choice((0, 0, 1))),
        switch=Switch(rng.choice((0, 1)), rng.choice((0, 1)), rng.choice((0, 1)), Fraction(10**10), Fraction(10**10)),
        jobs=jobs,
        objective=objective,
        migrate=False,
    )


def _job(rng: random.Random, number: int, names: list[str], objective: Objective) -> Job:
    configurations = tuple(
        Configuration(
            name=f"c{k}",
            samples=Fraction(k + 1),
            resident=rng.choice((0, 1, 2, 3)),
            operators=tuple(
                Operator(
                    f"o{i}", rng.choice((2, 3, 4, 5)), rng.choice((1, 2, 3)), rng.choice((0, 0, 1)), Fraction(1), None
                )
                for i in range(rng.choice((1, 1, 2, 3)))
            ),
        )
        for k in range(rng.choice((1, 1, 2)))
    )
    deadline = rng.choice((100, 200, 250, 300, 400)) if objective is Objective.ON_TIME else None
    endless = deadline is not None and rng.random() < 0.3
    if deadline is not None and not endless and rng.random() < 0.1:
        deadline = None
    return Job(
        name=f"j{number}",
        copies=rng.choice((1, 1, 2, 3)),
        weight=Fraction(rng.choice((1, 2, 3, 7)), rng.choice((1, 1, 2))),
        iterations=None if endless else rng.choice((1, 2, 3, 4)),
        release=rng.choice((0, 0, 0, 100, 150)),
        deadline=deadline,
        devices=tuple(names) if rng.random() < 0.8 else (rng.choice(names),),
        keep=rng.random() < 0.75,
        value_rule=ValueRule.TIME,
        configurations=configurations,
    )


def crowd(seed: int, kinds: int = 0) -> FillProblem:
    """Weighted completion where several copies fit a device, with short chains: one or two classes, up to three jobs (or so many)."""
    rng = random.Random(f"crowd-{seed}")
    names = ["a"] if rng.random() < 0.5 else ["a", "b"]
    jobs = tuple(_light_job(rng, j, names) for j in range(kinds or rng.choice((1, 2, 2, 3))))
    devices = tuple(
        DeviceClass(
            name=name,
            count=rng.choice((1, 1, 2)),
            speed=Fraction(1),
            resident_free=rng.choice((3, 5, 8)),
            bubbles=tuple(
                FillBubble(start=30 * b, length=rng.choice((4, 5, 6, 7, 8)), free=rng.choice((4, 5, 8)), kind="inner")
                for b in range(rng.choice((1, 2)))
            ),
        )
        for name in names
    )
    return FillProblem(
        name=f"crowd-{seed}",
        period=PERIOD,
        iterations=1,
        max_iterations=1,
        repeat=True,
        devices=devices,
        guard=Guard(Fraction(1), 0),
        switch=Switch(rng.choice((0, 1)), 0, rng.choice((0, 1, 2)), None, None),
        objective=Objective.COMPLETION,
        migrate=False,
        jobs=jobs,
    )


def _light_job(rng: random.Random, number: int, names: list[str]) -> Job:
    configurations = tuple(
        Configuration(
            name=f"c{k}",
            samples=Fraction(1),
            resident=rng.choice((0, 1, 1, 2)),
            operators=tuple(
                Operator(f"o{i}", rng.choice((1, 2, 2, 3)), rng.choice((0, 1, 1, 2)), 0, Fraction(1), None)
                for i in range(rng.choice((1, 1, 2)))
            ),
        )
        for k in range(rng.choice((1, 1, 1, 2)))
    )
    return Job(
        name=f"j{number}",
        copies=rng.choice((1, 1, 2)),
        weight=Fraction(rng.choice((1, 2, 3, 5))),
        iterations=rng.choice((1, 2, 3, 4)),
        release=0,
        deadline=None,
        devices=tuple(names) if rng.random() < 0.8 else (rng.choice(names),),
        keep=True,
        value_rule=ValueRule.TIME,
        configurations=configurations,
    )
