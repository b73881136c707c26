"""Gaps that the exact solvers reach on seeded instances in a stated time: one device, a plan that repeats.

Times are CPU times of this process (the solvers run on one core), so that other work on the machine counts little. Compiled code is
warmed up first. 500 inner bubbles hold about three operators each, so that packing and pairing matter; 20 or 40 mixed ones from one to a
dozen, as in one pipeline iteration, where few laps fit and which ones do matters.
"""

from __future__ import annotations

import random
import time
from collections.abc import Iterator
from threading import Thread

from benchmarks.line import Line
from pipefill_opt.fill.problem import FillProblem
from pipefill_opt.fill.read import instance_from_document
from pipefill_opt.solve.device import compile_problem
from pipefill_opt.solve.exact import solve_exact
from pipefill_opt.solve.facade import solve
from pipefill_opt.solve.result import Limits, Solution

BUBBLES = 500
OPERATORS = 37
SEEDS = range(5)
MIXED = ((2, 20, 30), (2, 40, 30), (3, 20, 20), (3, 20, 30), (3, 40, 30), (3, 40, 60))
FOUR = ((20, 20), (20, 30), (20, 40), (40, 30))
"""(Slots,) bubbles, operators of a chain."""
SEVERAL = 4
"""Main iterations of the plans that are longer than one."""


def lines() -> Iterator[Line]:
    """Gaps in percent."""
    solve(instance(0, slots=2, bubbles=60), solver="dp")
    mixed_line(0, slots=3, bubbles=4, operators=9, seconds=60, target=0.0)
    mixed_line(0, slots=3, bubbles=20, operators=9, seconds=60, target=0.0, iterations=2)
    mixed_line(0, slots=3, bubbles=4, operators=12, seconds=60, target=0.0, carry=True)
    for seed in SEEDS:
        yield gap_line(seed, slots=2, seconds=2, target=0.3)
    yield gap_line(0, slots=3, seconds=30, target=0.7)
    for slots, bubbles, operators in MIXED:
        for seed in range(3):
            yield mixed_line(seed, slots=slots, bubbles=bubbles, operators=operators, seconds=5, target=0.0)
    for operators in (20, 30):
        for seed in range(8):
            yield mixed_line(seed, slots=3, bubbles=20, operators=operators, seconds=5, target=0.0, iterations=SEVERAL)
    for bubbles, operators in FOUR:
        for seed in range(3):
            yield mixed_line(seed, slots=4, bubbles=bubbles, operators=operators, seconds=30, target=1.0)
    for seed in range(2):
        yield mixed_line(seed, slots=2, bubbles=20, operators=30, seconds=5, target=0.0, carry=True)
        yield mixed_line(seed, slots=3, bubbles=20, operators=20, seconds=15, target=1.0, carry=True)


def gap_line(seed: int, *, slots: int, seconds: float, target: float) -> Line:
    """The gap that is left after `seconds` of CPU time, with 500 inner bubbles."""
    begun = time.process_time()
    found = solve(instance(seed, slots=slots), solver="dp", limits=cpu_limits(seconds))
    used = time.process_time() - begun
    name = f"gap after {seconds:g} s, {slots} jobs, {BUBBLES} inner bubbles, {OPERATORS**slots} states, seed {seed}"
    return Line(name, float(100 * (found.gap or 0)), target, "%", note=f"{note(found)}, {used:.2f} s of CPU time")


def mixed_line(
    seed: int,
    *,
    slots: int,
    bubbles: int,
    operators: int,
    seconds: float,
    target: float,
    carry: bool = False,
    iterations: int = 1,
) -> Line:
    """The gap of one device with given residents after `seconds` of CPU time."""
    compiled = compile_problem(mixed(seed, slots=slots, bubbles=bubbles, operators=operators, carry=carry))
    device = compiled.device(0, tuple((j, 0) for j in range(slots)), iterations)
    begun = time.process_time()
    found = solve_exact(device, cpu_limits(seconds))
    used = time.process_time() - begun
    gap = 100 * (found.bound - found.value) / max(1, found.value)
    kind = "slots that carry" if carry else "slots"
    length = f", H = {iterations}" if iterations > 1 else ""
    name = (
        f"gap after {seconds:g} s, {slots} {kind}, {bubbles} mixed bubbles, {operators} operators{length}, seed {seed}"
    )
    return Line(name, gap, target, "%", note=f"{found.origin}, {used:.2f} s of CPU time")


def cpu_limits(seconds: float) -> Limits:
    """Limits that end a search after so much CPU time of this process from now on."""
    limits = Limits()
    end = time.process_time() + seconds

    def watch() -> None:
        while not limits.stop.wait(0.005):
            if time.process_time() >= end:
                limits.stop.set()

    Thread(target=watch, daemon=True).start()
    return limits


def note(found: Solution) -> str:
    """Outcome and slots used."""
    slots = max(len(pattern.phases[0].slots) for pattern in found.plan.patterns) if found.plan else 0
    return f"{found.outcome}, {slots} slots"


def mixed(seed: int, *, slots: int, bubbles: int, operators: int, carry: bool) -> FillProblem:
    """One device, jobs of 0.5 to 5 ms operators, bubbles of 4 to 30 ms; carry: memory and carried bytes that decide what fits."""
    rng = random.Random(seed)
    free = 4000 if slots == 2 else 6000

    def operator(k: int) -> dict[str, str]:
        found = {"name": f"o{k}", "duration": f"{rng.randint(500_000, 5_000_000)}ns", "memory": "1GB"}
        if carry:
            found |= {"memory": f"{rng.randint(500, 1500)}MB", "carry": f"{rng.randint(0, 1200)}MB"}
        return found

    jobs = [
        {
            "name": f"job{j}",
            "weight": rng.randint(60, 99),
            "configs": [{"name": "only", "resident": "500MB", "operators": [operator(k) for k in range(operators)]}],
        }
        for j in range(slots)
    ]
    rooms = [
        {
            "start": f"{40 * k}ms",
            "length": f"{rng.randint(4_000_000, 30_000_000)}ns",
            "free": f"{rng.choice((free, free * 3 // 4)) if carry else 16_000}MB",
            "kind": "inner",
        }
        for k in range(bubbles)
    ]
    device = {"name": "only", "resident_free": f"{free * 2 // 3 if carry else 16_000}MB", "bubbles": rooms}
    return instance_from_document(
        {
            "period": f"{40 * bubbles}ms",
            "devices": [device],
            "switch": {"enter": "300us", "leave": "200us", "between": "100us"},
            "jobs": jobs,
        }
    )


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
