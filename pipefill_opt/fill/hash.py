"""The hash that ties a plan to its instance: SHA-256 of a canonical JSON form. docs/fill.md defines the form."""

from __future__ import annotations

import hashlib
import json
from fractions import Fraction
from typing import Any

from pipefill_opt.fill.problem import Configuration, DeviceClass, FillProblem, Job


def instance_hash(problem: FillProblem) -> str:
    """`sha256:...` of the problem's data. Names of the instance, and the main job its bubbles came from, are left out."""
    text = json.dumps(canonical(problem), sort_keys=True, separators=(",", ":"), ensure_ascii=True)
    return "sha256:" + hashlib.sha256(text.encode("ascii")).hexdigest()


def canonical(problem: FillProblem) -> dict[str, Any]:
    """The canonical form: all defaults and units resolved, times in ticks, sizes in bytes, exact numbers as fractions."""
    switch = problem.switch
    between = switch.between
    return {
        "format": 1,
        "period": problem.period,
        "iterations": problem.iterations if problem.iterations is not None else ["auto", problem.max_iterations],
        "repeat": problem.repeat,
        "devices": [_device(device) for device in problem.devices],
        "guard": [_number(problem.guard.fraction), problem.guard.margin],
        "switch": {
            "enter": switch.enter,
            "leave": switch.leave,
            "between": between if isinstance(between, int) else {job: dict(row) for job, row in between.items()},
            "h2d": None if switch.h2d is None else _number(switch.h2d),
            "d2h": None if switch.d2h is None else _number(switch.d2h),
        },
        "jobs": [_job(job) for job in problem.jobs],
        "objective": problem.objective.value,
        "migrate": problem.migrate,
    }


def _number(value: Fraction) -> str:
    """In lowest terms: `17/25`, `3`."""
    return str(value)


def _device(device: DeviceClass) -> dict[str, Any]:
    return {
        "name": device.name,
        "count": device.count,
        "speed": _number(device.speed),
        "resident_free": device.resident_free,
        "bubbles": [[bubble.start, bubble.length, bubble.free, bubble.kind] for bubble in device.bubbles],
    }


def _job(job: Job) -> dict[str, Any]:
    return {
        "name": job.name,
        "copies": job.copies,
        "weight": _number(job.weight),
        "iterations": job.iterations,
        "release": job.release,
        "deadline": job.deadline,
        "devices": sorted(job.devices),
        "keep": job.keep,
        "value": job.value_rule.value,
        "configs": [_configuration(entry) for entry in job.configurations],
    }


def _configuration(configuration: Configuration) -> dict[str, Any]:
    return {
        "name": configuration.name,
        "samples": _number(configuration.samples),
        "resident": configuration.resident,
        "operators": [
            [
                operator.name,
                operator.duration,
                operator.memory,
                operator.carry,
                _number(operator.flops),
                None if operator.value is None else _number(operator.value),
            ]
            for operator in configuration.operators
        ],
    }
