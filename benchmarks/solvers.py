"""Gaps that the exact solver reaches on seeded instances in a stated time: one device, 500 inner bubbles, a plan that repeats.

Times are CPU times of this process (the solver runs on one core), so that other work on the machine counts little. Compiled code
is warmed up first. Bubbles hold about three operators, so that packing and pairing matter.
"""

from __future__ import annotations

import random
import time
from collections.abc import Iterator
from threading import Event, Thread

from benchmarks.line import Line
from pipefill_opt.fill.problem import FillProblem
from pipefill_opt.fill.read import instance_from_document
from pipefill_opt.solve.facade import solve
from pipefill_opt.solve.result import Limits, Solution

BUBBLES = 500
OPERATORS = 37
SEEDS = range(5)


def lines() -> Iterator[Line]:
    """Gap in percent for two and for three slots."""
    solve(instance(0, slots=2, bubbles=60), solver="dp")
    for seed in SEEDS:
        yield gap_line(seed, slots=2, seconds=2, target=0.3)
    yield gap_line(0, slots=3, seconds=30, target=0.7)


def gap_line(seed: int, *, slots: int, seconds: float, target: float) -> Line:
    """The gap that is left after `seconds` of CPU time."""
    problem = instance(seed, slots=slots)
    limits = Limits()
    begun = time.process_time()
    done = Event()

    def watch() -> None:
        while not done.wait(0.005):
            if time.process_time() - begun >= seconds:
                limits.stop.set()

    watcher = Thread(target=watch, daemon=True)
    watcher.start()
    found = solve(problem, solver="dp", limits=limits)
    used = time.process_time() - begun
    done.set()
    watcher.join()
    name = f"gap after {seconds:g} s, {slots} jobs, {BUBBLES} inner bubbles, {OPERATORS**slots} states, seed {seed}"
    return Line(name, float(100 * (found.gap or 0)), target, "%", note=f"{note(found)}, {used:.2f} s of CPU time")


def note(found: Solution) -> str:
    """Outcome and slots used."""
    slots = max(len(pattern.phases[0].slots) for pattern in found.plan.patterns) if found.plan else 0
    return f"{found.outcome}, {slots} slots"


def instance(seed: int, *, slots: int, bubbles: int = BUBBLES) -> FillProblem:
    """One device, one copy each of `slots` jobs of 0.5 to 5 ms operators, bubbles of 4 to 14 ms, costs of 0.1 to 0.3 ms."""
    rng = random.Random(seed)
    jobs = [
        {
            "name": f"job{j}",
            "weight": rng.randint(60, 99),
            "configs": [
                {
                    "name": "only",
                    "resident": "1GiB",
                    "operators": [
                        {"name": f"o{k}", "duration": f"{rng.randint(500_000, 5_000_000)}ns", "memory": "1GiB"}
                        for k in range(OPERATORS)
                    ],
                }
            ],
        }
        for j in range(slots)
    ]
    lengths = [rng.randint(4_000_000, 14_000_000) for _ in range(bubbles)]
    starts = [20_000_000 * k for k in range(bubbles)]
    return instance_from_document(
        {
            "period": f"{20 * bubbles}ms",
            "iterations": 1,
            "repeat": True,
            "devices": [
                {
                    "name": "only",
                    "count": 1,
                    "resident_free": "16GiB",
                    "bubbles": [
                        {"start": f"{start}ns", "length": f"{length}ns", "free": "16GiB", "kind": "inner"}
                        for start, length in zip(starts, lengths, strict=True)
                    ],
                }
            ],
            "switch": {"enter": "300us", "leave": "200us", "between": "100us"},
            "jobs": jobs,
        }
    )
