"""Re-timing: nothing at the stated durations for a valid plan, exactly what is too much for another; jitter by its seed."""

from __future__ import annotations

import json
from dataclasses import replace
from fractions import Fraction
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from pipefill_opt.errors import InputError
from pipefill_opt.fill.certify import certify
from pipefill_opt.fill.delays import delayed_main
from pipefill_opt.fill.plan import FillPlan
from pipefill_opt.fill.plan_file import plan_from_document
from pipefill_opt.fill.problem import FillProblem
from pipefill_opt.fill.read import instance_from_document
from pipefill_opt.fill.retime import retime
from pipefill_opt.timeline.compute import timeline
from tests.fill import samples

MEMORY = {"capacity": "8GB", "reserve": "1GB", "static": "1GB", "activation": "100MB"}
MAINS: dict[str, dict[str, Any]] = {
    "gpipe": {
        "schedule": {"family": "gpipe", "devices": 4, "microbatches": 3},
        "durations": {"unit": "ms", "F": [10, 11, 9, 10], "B": 20, "STEP": 3},
        "communication": {"mode": "lag", "lag": "700us"},
    },
    "1f1b": {
        "schedule": {"family": "1f1b", "devices": 4, "microbatches": 6},
        "durations": {"unit": "ms", "F": 10, "B": [20, 20, 23, 26]},
        "communication": {"mode": "lag", "lag": "1300us"},
    },
    "zbv": {
        "schedule": {"family": "zbv", "devices": 3, "microbatches": 6},
        "durations": {"unit": "ms", "F": 10, "I": 11, "W": 9},
        "communication": {"mode": "lag", "lag": "600us"},
    },
    "1f1b by links": {
        "schedule": {"family": "1f1b", "devices": 4, "microbatches": 6},
        "durations": {"unit": "ms", "F": 10, "B": [20, 20, 23, 26]},
        "communication": {"mode": "link", "latency": "500us", "bandwidth": "1GB/s", "bytes": "6MB"},
    },
    "interleaved, blocking": {
        "schedule": {"family": "interleaved-1f1b", "devices": 3, "microbatches": 6, "chunks": 2},
        "durations": {"unit": "ms", "F": 10, "B": 20},
        "communication": {"mode": "blocking", "lag": "2ms"},
    },
    "dualpipev blocks": {
        "schedule": {"family": "dualpipev", "devices": 2, "microbatches": 6},
        "durations": {"unit": "ms", "F": 10, "B": 21, "I": 11, "W": 10},
        "overlap": {"length": "25ms"},
        "communication": {"mode": "lag", "lag": "600us"},
    },
}
JOB = {
    "name": "j",
    "copies": 100,
    "configs": [{"name": "c", "resident": 0, "operators": [{"name": "o", "duration": "100us", "memory": "1MB"}]}],
}


def filled(folder: Path, main: dict[str, Any], *, extra: int = 0, iterations: int = 1) -> tuple[FillProblem, FillPlan]:
    """An instance on two pipelines of `main`, and a plan that packs every bubble of the second full, and `extra` more."""
    (folder / "main.json").write_text(json.dumps(main | {"memory": MEMORY}))
    document = {
        "main": {"file": "main.json", "count": 2},
        "iterations": iterations,
        "switch": {"enter": "20us", "leave": "10us"},
        "jobs": [JOB],
    }
    problem = instance_from_document(document, folder=folder)
    patterns: list[dict[str, Any]] = []
    for device in problem.devices:
        occurrences = [
            {
                "iteration": iteration,
                "bubble": index,
                "segments": [{"slot": 0, "first": 0, "count": (bubble.length - 30_000) // 100_000 + extra}],
            }
            for iteration in range(iterations)
            for index, bubble in enumerate(device.bubbles)
            if bubble.length >= 130_000
        ]
        patterns.append({"device": device.name, "multiplicity": 1, "slots": [], "occurrences": []})
        patterns.append(
            {
                "device": device.name,
                "multiplicity": 1,
                "slots": [{"job": "j", "config": "c"}],
                "occurrences": occurrences,
            }
        )
    return problem, plan_from_document({"patterns": patterns}, problem)


@pytest.mark.parametrize("iterations", [1, 2])
@pytest.mark.parametrize("name", MAINS)
def test_a_valid_plan_costs_nothing_as_stated(name: str, iterations: int, tmp_path: Path) -> None:
    problem, plan = filled(tmp_path, MAINS[name], iterations=iterations)
    assert certify(problem, plan).valid
    found = retime(problem, plan, iterations=30)
    assert found.stated == 0
    assert 0 < found.mean <= found.worst
    assert found.p95 <= found.worst


@pytest.mark.parametrize("name", MAINS)
def test_too_much_work_costs_something(name: str, tmp_path: Path) -> None:
    problem, plan = filled(tmp_path, MAINS[name], extra=30)
    assert {violation.code for violation in certify(problem, plan).violations} == {"fit"}
    assert retime(problem, plan, iterations=2).stated > 0


TWO = {
    "schedule": {"family": "gpipe", "devices": 2, "microbatches": 1},
    "durations": {"unit": "ms", "F": 10, "B": 20},
}
"""F0 0-10, F1 10-20, B1 20-40, B0 40-60. Device 0 idles 10-40, device 1 from 40 to 70 (10 of the next)."""


@pytest.mark.parametrize(
    ("device", "operators", "longer"),
    [
        (0, 299, 0),  # 29.93 ms fit 30
        (0, 349, Fraction(34_930 - 30_000, 60_000)),  # B0 waits for device 0's own fill work
        (1, 299, 0),
        (1, 349, Fraction(34_930 - 30_000, 60_000)),  # F1 of the next iteration waits, past the barrier
    ],
)
def test_by_hand(device: int, operators: int, longer: Fraction, tmp_path: Path) -> None:
    (tmp_path / "main.json").write_text(json.dumps(TWO | {"memory": MEMORY}))
    switch = {"enter": "20us", "leave": "10us"}
    document = {"main": {"file": "main.json"}, "switch": switch, "jobs": [JOB]}
    problem = instance_from_document(document, folder=tmp_path)
    visit = {"iteration": 0, "bubble": 0, "segments": [{"slot": 0, "first": 0, "count": operators}]}
    working = {
        "device": f"device{device}",
        "multiplicity": 1,
        "slots": [{"job": "j", "config": "c"}],
        "occurrences": [visit],
    }
    idle = {"device": f"device{1 - device}", "multiplicity": 1, "slots": [], "occurrences": []}
    plan = plan_from_document({"patterns": [working, idle]}, problem)
    assert certify(problem, plan).valid == (longer == 0)
    assert retime(problem, plan, iterations=2).stated == longer


def test_seed_and_jitter(tmp_path: Path) -> None:
    problem, plan = filled(tmp_path, MAINS["1f1b"])
    one = retime(problem, plan, jitter=Fraction(1, 20), seed=1, iterations=40)
    assert retime(problem, plan, jitter=Fraction(1, 20), seed=1, iterations=40) == one
    assert retime(problem, plan, jitter=Fraction(1, 20), seed=2, iterations=40).mean != one.mean
    still = retime(problem, plan, jitter=Fraction(0), iterations=5)
    assert (still.mean, still.p95, still.worst) == (0, 0, 0)
    assert (one.jitter, one.seed, one.iterations) == (Fraction(1, 20), 1, 40)
    small = retime(problem, plan, jitter=Fraction(1, 200), seed=1, iterations=40)
    assert small.mean < one.mean


def test_an_empty_plan_costs_nothing_under_jitter(tmp_path: Path) -> None:
    problem, _ = filled(tmp_path, MAINS["1f1b"])
    idle = [{"device": d.name, "multiplicity": 2, "slots": [], "occurrences": []} for d in problem.devices]
    found = retime(problem, plan_from_document({"patterns": idle}, problem), iterations=20)
    assert (found.stated, found.mean, found.worst) == (0, 0, 0)


def test_needs_a_main_job_and_one_phase(tmp_path: Path) -> None:
    of = samples.problem()
    with pytest.raises(InputError, match="expected an instance with main"):
        retime(of, samples.plan(of))
    problem, _ = filled(tmp_path, MAINS["1f1b"])
    with pytest.raises(InputError, match="expected a plan of one phase"):
        retime(
            problem, plan_from_document({"patterns": [{"device": "device0", "multiplicity": 1, "phases": []}]}, problem)
        )


@pytest.mark.parametrize("name", MAINS)
def test_without_delays_it_is_the_timeline(name: str, tmp_path: Path) -> None:
    """And a delay of every bubble's whole length, or a gate up to the first action's start, changes nothing."""
    problem, _ = filled(tmp_path, MAINS[name])
    assert problem.main is not None
    times = timeline(problem.main)
    main = delayed_main(times)
    inner = len(main.inner_edge)
    delay = np.zeros(main.delays, dtype=np.int64)
    for device in range(problem.main.schedule.devices):
        for bubble in times.bubbles[device]:
            delay[main.delay_of[device, bubble.start]] = bubble.length
    gate = np.maximum(0, main.ready + delay[inner:])
    for inside, before in ((0 * delay[:inner], 0 * gate), (delay[:inner], gate)):
        makespan, ready = main.iteration(main.duration, inside, before, runs=1)
        assert makespan == times.makespan
        assert (ready == main.ready).all()
    if inner:
        delay[np.argmax(delay[:inner])] += times.makespan
        assert main.iteration(main.duration, delay[:inner], gate, runs=1)[0] > times.makespan


@pytest.mark.parametrize(("iteration", "late"), [(0, False), (1, True)])
def test_work_of_a_bubble_that_wraps_delays_the_next_iteration(iteration: int, late: bool, tmp_path: Path) -> None:
    """Two iterations that alternate: what overruns in the second one's last bubble delays the first one, as they repeat."""
    problem, plan = filled(tmp_path, MAINS["1f1b"], extra=20, iterations=2)
    (device,) = (d for d in problem.devices if d.main_device == 1)
    last = device.bubbles[-1]
    assert last.start + last.length > problem.period
    patterns = [
        replace(
            pattern,
            phases=tuple(
                replace(
                    phase,
                    occurrences=tuple(
                        occurrence
                        for occurrence in phase.occurrences
                        if pattern.device == device.name
                        and occurrence.bubble == len(device.bubbles) - 1
                        and occurrence.iteration == iteration
                    ),
                )
                for phase in pattern.phases
            ),
        )
        for pattern in plan.patterns
    ]
    only = replace(plan, patterns=tuple(patterns))
    first = retime(problem, only, jitter=Fraction(0), iterations=1)
    assert (first.mean > 0) is late
    assert retime(problem, only, jitter=Fraction(0), iterations=2).mean > 0
