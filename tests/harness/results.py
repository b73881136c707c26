"""A small main job with a fill plan, and RESULT documents made by arithmetic: what a device without any noise would measure."""

from __future__ import annotations

import copy
from collections.abc import Callable
from typing import Any

from pipefill_opt.fill.plan import FillPlan
from pipefill_opt.fill.problem import FillProblem
from pipefill_opt.fill.read import instance_from_document
from pipefill_opt.harness.program import Iterations, Scenario, scenario
from pipefill_opt.harness.replay import FORMAT, predicted
from pipefill_opt.solve.facade import solve

Document = dict[str, Any]
MAIN = """
schedule: {family: 1f1b, devices: 3, microbatches: 4}
durations: {unit: ms, F: 4, B: 8}
communication: {mode: lag, unit: ms, lag: 0.5}
memory: {capacity: 16GiB, reserve: 1GiB, static: 4GiB, activation: 512MiB, freed_by_I: 0, checkpoint: 0, workspace: 64MiB}
"""


def instance(folder: Any, **changes: Any) -> FillProblem:
    """Two jobs on the devices of a 1F1B pipeline, times of milliseconds."""
    (folder / "main.yaml").write_text(MAIN, encoding="utf-8")
    document: Document = {
        "name": "small",
        "main": {"file": "main.yaml"},
        "guard": {"fraction": 0.9},
        "switch": {"enter": "1ms", "leave": "0.5ms", "between": "1ms"},
        "jobs": [
            {
                "name": "long",
                "devices": ["device0"],
                "configs": [
                    {
                        "name": "c",
                        "resident": "1GiB",
                        "operators": [{"name": "a", "duration": "2ms", "memory": "1GiB", "repeat": 3}],
                    }
                ],
            },
            {
                "name": "short",
                "copies": 2,
                "devices": ["device1", "device2"],
                "configs": [
                    {"name": "c", "resident": 0, "operators": [{"name": "s", "duration": "1ms", "memory": "512MiB"}]}
                ],
            },
        ],
    }
    return instance_from_document({**document, **changes}, folder=folder)


def planned(problem: FillProblem) -> FillPlan:
    plan = solve(problem).plan
    assert plan is not None
    return plan


def ideal(
    problem: FillProblem, plan: FillPlan, watched: tuple[str, ...] = (), **changes: Callable[..., int]
) -> Document:
    """The RESULT of a device that does exactly what is predicted, but for changes.

    changes: `bubble`, `action`, `operator`, `enter`, each (name or index, ns) -> ns.
    """
    found = scenario(problem, plan, watched)
    iterations = Iterations(warmup=1, block=3, rounds=2)
    flags = iterations.with_fill()
    measured = [_device(found, number, flags, changes) for number in range(len(found.devices))]
    return {
        "format": FORMAT,
        "kind": "replay",
        "date": "2000-01-01",
        "instance": problem.name,
        "instance_hash": "",
        "backend": "host",
        "device": {"name": "arithmetic"},
        "clock": {},
        "scale": "1",
        "work": "sleep",
        "switches_played": True,
        "iterations": {"warmup": 1, "block": 3, "rounds": 2},
        "with_fill": flags,
        "injected": [],
        "tuned": [],
        "guard": {"fraction": str(problem.guard.fraction), "margin": problem.guard.margin},
        "predicted": copy.deepcopy(predicted(found)),
        "measured": measured,
        "failure": None,
    }


def _device(found: Scenario, number: int, flags: list[bool], changes: dict[str, Callable[..., int]]) -> Document:
    """Each action begins as late after the one before it as predicted, or when the fill work between them has ended."""

    def changed(kind: str, name: Any, ticks: int) -> int:
        return changes[kind](name, ticks) if kind in changes else ticks

    device = found.devices[number]
    lengths = {before: changed("bubble", index, length) for index, (_, length, before) in enumerate(device.bubbles)}
    size = len(device.actions)
    first = lengths.get(size, 0) - (found.period - device.actions[-1][1] - device.actions[-1][2])
    actions, fills, clock, filling = [], [], 0, 0
    for i, flag in enumerate(flags):
        turn = sum(flags[:i]) % found.turns
        visits = {visit.before: visit for visit in device.visits if flag and visit.iteration == turn}
        row, ran = [], []
        end = clock
        for place in range(size + 1):
            gap = lengths.get(place, 0) + (first if place == 0 else 0)
            if place in visits:
                filling = end + changed("enter", "", visits[place].enter)
                last = visits[place].enter
                for operator in visits[place].operators:
                    filling += operator.start - last
                    took = changed("operator", operator.job, operator.duration)
                    ran.append([filling, filling + took])
                    filling += took
                    last = operator.start + operator.duration
                filling += visits[place].leave
            if place == size:
                break
            start = max(end + gap, filling)
            filling = 0
            end = start + changed("action", device.actions[place][0], device.actions[place][2])
            row.append([start, end])
        tail = lengths.get(size, 0) - first if size in lengths else 0
        clock = end + tail
        actions.append(row)
        fills.append(ran)
    return {
        "name": device.name,
        "real": True,
        "actions": actions,
        "fills": fills,
        "main_high": device.main_peak,
        "fill_high": device.fill_peak,
    }
