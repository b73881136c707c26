"""Gaps that the solver of the objectives over time reaches on seeded queues in a stated CPU time.

Device classes are those of a 1F1B pipeline: bubbles that shrink from stage to stage, and memory that grows. Jobs are training and
inference jobs of 10 to 60 operators.
"""

from __future__ import annotations

import random
import time
from collections.abc import Iterator
from dataclasses import replace
from threading import Event, Thread

from benchmarks.line import Line
from pipefill_opt.fill.problem import FillProblem
from pipefill_opt.fill.read import instance_from_document
from pipefill_opt.solve.life.search import solve_life
from pipefill_opt.solve.result import Limits


def lines() -> Iterator[Line]:
    """Gap in percent for the three objectives: queues of jobs that each need a device for themselves, and queues that share devices;
    where copies share devices also for other seeds, and for copies of ten times as many iterations."""
    for shared in (False, True):
        yield gap_line("makespan", 16, 512, 24, depth=10.0, shared=shared, seconds=60, target=1.0)
        yield gap_line("makespan", 16, 512, 24, depth=2.0, shared=shared, seconds=60, target=2.0)
        yield gap_line("weighted-completion", 16, 512, 24, depth=10.0, shared=shared, seconds=60, target=2.5)
        yield gap_line("weighted-completion", 64, 128, 48, depth=10.0, shared=shared, seconds=180, target=3.0)
        yield gap_line("on-time-value", 16, 512, 24, depth=10.0, shared=shared, seconds=60, target=3.0)
    for seed in (2, 3):
        yield gap_line("makespan", 16, 512, 24, depth=10.0, shared=True, seconds=60, target=1.0, seed=seed)
        yield gap_line("makespan", 16, 512, 24, depth=2.0, shared=True, seconds=60, target=2.0, seed=seed)
        yield gap_line("weighted-completion", 16, 512, 24, depth=10.0, shared=True, seconds=60, target=2.5, seed=seed)
    yield gap_line("makespan", 16, 512, 24, depth=2.0, shared=True, seconds=60, target=2.0, longer=10)


def gap_line(
    objective: str,
    classes: int,
    count: int,
    kinds: int,
    *,
    depth: float,
    shared: bool,
    seconds: float,
    target: float,
    seed: int = 1,
    longer: int = 1,
) -> Line:
    """The gap that is left after `seconds` of CPU time. longer: times as many iterations."""
    problem = queue(seed, objective, classes=classes, count=count, kinds=kinds, depth=depth, shared=shared)
    problem = replace(
        problem, jobs=tuple(replace(job, iterations=longer * (job.iterations or 0)) for job in problem.jobs)
    )
    limits = Limits()
    begun = time.process_time()
    done = Event()

    def watch() -> None:
        while not done.wait(0.01):
            if time.process_time() - begun >= seconds:
                limits.stop.set()

    watcher = Thread(target=watch, daemon=True)
    watcher.start()
    found = solve_life(problem, limits)
    used = time.process_time() - begun
    done.set()
    watcher.join()
    gap = 100.0 if found.gap is None else float(100 * found.gap)
    how = "shared" if shared else "one at a time"
    how += f", seed {seed}" if seed > 1 else ""
    how += f", {longer} times the iterations" if longer > 1 else ""
    name = f"{objective} gap after {seconds:g} s, {classes} x {count} devices, {kinds} kinds, {depth:g} copies a device, {how}"
    return Line(name, gap, target, "%", note=f"{found.outcome}, {found.bound_origin}, {used:.1f} s of CPU time")


def queue(
    seed: int,
    objective: str,
    *,
    classes: int,
    count: int,
    kinds: int,
    depth: float,
    shared: bool = False,
) -> FillProblem:
    """`kinds` jobs with `depth` copies a device in all, on `classes` classes of `count` devices. shared: several fit one device at once."""
    rng = random.Random(f"life-{seed}")
    period = 2_000
    devices = []
    for c in range(classes):
        part = (c + 1) / (classes + 1)
        first, second = 260 - round(120 * part), 60 + round(300 * (1 - part))
        devices.append(
            {
                "name": f"stage{c}",
                "count": count,
                "resident_free": f"{2600 + round((1400 if shared else 800) * part)}MB",
                "bubbles": [
                    {
                        "start": "0ms",
                        "length": f"{first}ms",
                        "free": f"{3400 + round(1400 * part)}MB",
                        "kind": "fill-drain",
                    },
                    {
                        "start": "900ms",
                        "length": f"{second}ms",
                        "free": f"{3200 + round(1400 * part)}MB",
                        "kind": "fwd-bwd",
                    },
                    {"start": "1500ms", "length": f"{20 + rng.randint(0, 30)}ms", "free": "3200MB", "kind": "inner"},
                ],
            }
        )
    total = round(classes * count * depth)
    parts = [rng.uniform(0.5, 1.5) for _ in range(kinds)]
    copies = [max(1, round(total * part / sum(parts))) for part in parts]
    jobs = [_job(rng, j, number, objective, depth, 400 if shared else 1750) for j, number in enumerate(copies)]
    return instance_from_document(
        {
            "period": f"{period}ms",
            "devices": devices,
            "switch": {"enter": "2ms", "leave": "1ms", "between": "1ms"},
            "guard": {"fraction": 0.9},
            "objective": objective,
            "jobs": jobs,
        }
    )


def _job(rng: random.Random, number: int, copies: int, objective: str, depth: float, least: int) -> dict[str, object]:
    resident = rng.randint(least, 2600)
    configs = []
    base = rng.uniform(0.4, 2.5)
    for size in (8, 16):
        count = rng.randint(10, 30)
        operators = [
            {
                "name": f"o{k}",
                "duration": f"{base * rng.uniform(0.5, 2.0) * (size / 8) ** 0.9:.3f}ms",
                "memory": f"{rng.randint(20, 60) * size}MB",
            }
            for k in range(count)
        ]
        configs.append({"name": f"bs{size}", "samples": size, "resident": f"{resident}MB", "operators": operators})
    job: dict[str, object] = {
        "name": f"job{number}",
        "copies": copies,
        "weight": rng.randint(1, 20),
        "iterations": rng.randint(40, 400),
        "configs": configs,
    }
    if objective == "on-time-value":
        job["deadline"] = f"{round(rng.uniform(0.2, 1.0) * 50 * depth) * 2}s"
    return job
