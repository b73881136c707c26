"""Gaps that column generation reaches where the choice of residents is the problem: one device, 16 classes, and the suite's `large`.

Bubbles of 4 to 14 ms hold a few operators of 0.4 to 7 ms each, so that time alone bounds a set of residents 5 to 15 % too high. The hard
draws have operators of up to 14 ms, and weights of 0.1 to 0.99: many triples are worth about the same, and bubbles are hard to fill. Times
are CPU times of this process, as in `solvers`. Compiled code is warmed up first.
"""

from __future__ import annotations

import random
import resource
import time
from collections.abc import Iterator
from fractions import Fraction
from pathlib import Path
from threading import Event, Thread

from benchmarks.line import Line
from pipefill_opt.fill.problem import FillProblem
from pipefill_opt.fill.read import instance_from_document, read_instance
from pipefill_opt.solve.facade import solve
from pipefill_opt.solve.result import Limits

GIB = 2**30
BUBBLES = 24
BASE = 3_500_000
"""Longest operator of the smallest batch, in ticks; of the largest about twice as long."""
LARGE = ("1f1b-16", "gpipe-32", "1f1b-64", "mixed-48")
FOLDER = Path(__file__).parent.parent / "instances" / "large"


def lines() -> Iterator[Line]:
    """Gap in percent: all pairs, triples, 16 classes of 512 devices, 16,384 devices with 10,000 copies; then the memory used."""
    solve(instance(0, slots=2, iterations=2, configurations=6), solver="cg")
    solve(instance(0, slots=3, iterations=2, configurations=4), solver="cg")
    for iterations in (1, 8):
        for seed in range(2):
            problem = instance(seed, slots=2, iterations=iterations)
            yield gap_line(f"all pairs of 35 configurations, H = {iterations}, seed {seed}", problem, 10, 0)
    for iterations in (1, 8):
        problem = instance(0, slots=3, iterations=iterations)
        yield gap_line(f"triples of 35 configurations, H = {iterations}, seed 0", problem, 120, 1)
    cluster: tuple[tuple[int, int | str, int], ...] = ((2, 1, 300), (2, 8, 300), (2, "auto", 300), (3, 4, 500))
    for slots, length, copies in cluster:
        problem = instance(0, slots=slots, iterations=length, configurations=60, classes=16, count=512, copies=copies)
        name = f"16 classes x 512 devices, 60 configurations, up to {slots} slots, H = {length}"
        yield gap_line(name, problem, 60, 0.5)
    for seed, lightest in ((0, 60), (1, 60), (2, 60), (0, 10), (1, 10)):
        problem = instance(
            seed,
            slots=3,
            iterations=4,
            configurations=60,
            classes=16,
            count=512,
            copies=500,
            base=2 * BASE,
            lightest=lightest,
        )
        name = (
            f"16 classes x 512 devices, hard, weights of {lightest / 100:g} to 0.99, up to 3 slots, H = 4, seed {seed}"
        )
        yield gap_line(name, problem, 60, 0.5)
    for name in LARGE:
        yield gap_line(f"large/{name}", read_instance(FOLDER / f"{name}.yaml"), 300, 1)
    yield Line("memory of all of these", resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * 1024 / GIB, 4, "GiB")


def gap_line(name: str, problem: FillProblem, seconds: float, target: float) -> Line:
    """The gap that is left after `seconds` of CPU time; the search may end at half the target."""
    limits = Limits(gap=Fraction(target) / 200)
    begun = time.process_time()
    done = Event()

    def watch() -> None:
        while not done.wait(0.01):
            if time.process_time() - begun >= seconds:
                limits.stop.set()

    watcher = Thread(target=watch, daemon=True)
    watcher.start()
    found = solve(problem, solver="cg", limits=limits)
    used = time.process_time() - begun
    done.set()
    watcher.join()
    gap = float(100 * found.gap) if found.gap is not None else 100.0
    return Line(f"{name}: gap after {seconds:g} s", gap, target, "%", note=f"{found.outcome}, {used:.1f} s of CPU time")


def instance(
    seed: int,
    *,
    slots: int,
    iterations: int | str,
    configurations: int = 35,
    classes: int = 1,
    count: int = 1,
    copies: int = 1,
    base: int = BASE,
    lightest: int = 60,
) -> FillProblem:
    """Memory for `slots` slots at a time; three batch sizes a job, the larger 3 and 5 % better; weights of `lightest` / 100 to 0.99."""
    rng = random.Random(seed)
    return instance_from_document(
        {
            "period": f"{16 * BUBBLES}ms",
            "iterations": iterations,
            "devices": [_device(f"class{c}", count, slots, rng) for c in range(classes)],
            "switch": {"enter": "300us", "leave": "200us", "between": "100us"},
            "jobs": [
                _job(f"job{j}", min(3, configurations - 3 * j), copies, base, lightest, rng)
                for j in range(-(-configurations // 3))
            ],
        }
    )


def _device(name: str, count: int, slots: int, rng: random.Random) -> dict[str, object]:
    free = f"{4 * slots + 2}GiB"
    bubbles = [
        {"start": f"{16 * k}ms", "length": f"{rng.randint(4_000, 14_000)}us", "free": free, "kind": "inner"}
        for k in range(BUBBLES)
    ]
    return {"name": name, "count": count, "resident_free": free, "bubbles": bubbles}


def _job(
    name: str, configurations: int, copies: int, longest: int, lightest: int, rng: random.Random
) -> dict[str, object]:
    base = [rng.uniform(400_000, longest) for _ in range(rng.randint(6, 24))]
    configs = []
    for samples, longer in list(zip((10, 15, 20), (1, 1.45, 1.9), strict=True))[:configurations]:
        operators = [
            {"name": f"o{k}", "duration": f"{round(ticks * longer * rng.uniform(0.9, 1.1))}ns", "memory": "1GiB"}
            for k, ticks in enumerate(base)
        ]
        configs.append({"name": f"bs{samples}", "samples": samples, "resident": "4GiB", "operators": operators})
    return {"name": name, "copies": copies, "weight": rng.randint(lightest, 99) / 100, "configs": configs}
