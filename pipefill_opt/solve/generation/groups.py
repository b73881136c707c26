"""Classes of devices that are alike for fill work, taken together: splitting a class in two changes nothing."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any

from pipefill_opt.solve.device import Compiled, DeviceProblem
from pipefill_opt.solve.greedy import Choice


@dataclass(frozen=True, slots=True)
class Group:
    """Classes (their indices) of the same speed, rooms, memory and allowed jobs; `count` devices in all."""

    classes: tuple[int, ...]
    count: int


def groups(compiled: Compiled) -> tuple[Group, ...]:
    """All classes with a device in groups, in the order of their first classes."""
    found: dict[Any, list[int]] = {}
    for c, device in enumerate(compiled.problem.devices):
        jobs = tuple(device.name in job.devices for job in compiled.problem.jobs)
        if device.count:
            found.setdefault((device.speed, device.resident_free, compiled.rooms(c), jobs), []).append(c)
    counts = [device.count for device in compiled.problem.devices]
    return tuple(Group(tuple(own), sum(counts[c] for c in own)) for own in found.values())


def spread(compiled: Compiled, group: Group, choices: Sequence[Choice]) -> list[Choice]:
    """Choices for the first class of a group dealt out to all its classes, as their counts allow."""
    left = {c: compiled.problem.devices[c].count for c in group.classes}
    dealt = []
    for choice in choices:
        number = choice.multiplicity
        for c in group.classes:
            part = min(number, left[c])
            if part:
                device = replace(choice.device, class_index=c)
                dealt.append(replace(choice, device=device, multiplicity=part))
                left[c] -= part
                number -= part
    return dealt


def anonymous(device: DeviceProblem) -> DeviceProblem:
    """The device without the names of its class and its jobs: equal ones have the same plans."""
    slots = tuple(replace(slot, job=0, configuration=0, job_name="") for slot in device.slots)
    return replace(device, class_index=0, residents=(), slots=slots)
