"""Errors put into a replay on purpose: what is measured then differs from what is predicted, and `compare` must say where."""

from __future__ import annotations

import copy
import re
from dataclasses import dataclass
from enum import StrEnum
from fractions import Fraction
from typing import Any, Final

from pipefill_opt.errors import InputError
from pipefill_opt.harness.program import Scenario
from pipefill_opt.units import exact

Document = dict[str, Any]


class Fault(StrEnum):
    """What is wrong in the run."""

    BUBBLE = "bubble"  # a bubble ends sooner or later
    SWITCH = "switch"  # entering and leaving take longer
    OPERATOR = "operator"  # a job's operator takes longer
    MEMORY = "memory"  # an operator takes more memory


@dataclass(frozen=True, slots=True)
class Injection:
    """`factor` times as much. place: of a bubble its number, of operator and memory `JOB` or `JOB:INDEX`, of switch empty."""

    fault: Fault
    factor: Fraction
    place: str = ""

    def __str__(self) -> str:
        return ":".join(part for part in (self.fault.value, self.place, str(self.factor)) if part)


EXAMPLES: Final = "bubble:1:0.8, switch:2, operator:bert:3:2 or memory:bert:10"


def parse_injection(text: str) -> Injection:
    """Such as `bubble:1:0.8`, `switch:2`, `operator:bert:3:2`, `memory:bert:10`. Raises InputError."""
    fault, _, rest = text.partition(":")
    place, _, factor = rest.rpartition(":")
    if fault not in [entry.value for entry in Fault] or (fault == Fault.SWITCH) != (place == ""):
        raise InputError(f"expected an error such as {EXAMPLES}", value=text)
    number = exact(factor, what="a factor")
    if not 0 < number <= 1000 or (fault == Fault.BUBBLE and not re.fullmatch("[0-9]{1,6}", place)):
        raise InputError(f"expected an error such as {EXAMPLES}", value=text)
    return Injection(Fault(fault), number, place)


def inject(found: Scenario, program: Document, injection: Injection) -> Document:
    """The request with the error in it. Raises InputError where it has no such place."""
    changed = copy.deepcopy(program)
    devices = {device["name"]: device for device in changed["devices"]}
    hit = False
    for watched in found.devices:
        device = devices[watched.name]
        if injection.fault is Fault.BUBBLE:
            hit |= _bubble(found, watched.bubbles, device, injection)
        for turn, visits in enumerate(device["turns"]):
            planned = [visit for visit in watched.visits if visit.iteration == turn]
            for visit, known in zip(visits, planned, strict=True):
                if injection.fault is Fault.SWITCH:
                    extra = injection.factor - 1
                    visit["enter"] = _longer(visit.get("enter"), found.scaled(known.enter) * extra)
                    visit["leave"] = _longer(visit.get("leave"), found.scaled(known.leave) * extra)
                    hit = True
                for operator, entry in zip(visit["operators"], known.operators, strict=True):
                    if injection.place not in (entry.job, f"{entry.job}:{entry.index}"):
                        continue
                    hit = True
                    if injection.fault is Fault.OPERATOR:
                        operator["work"]["loops"] = max(1, round(operator["work"].get("loops", 1) * injection.factor))
                    elif injection.fault is Fault.MEMORY:
                        operator["memory"] = round(operator["memory"] * injection.factor)
    if not hit:
        raise InputError("expected a place that the watched devices have", value=str(injection))
    return changed


def _longer(work: Document | None, extra: Fraction) -> Document:
    loops = 0 if work is None or work["kind"] != "sleep" else work["loops"]
    return {"kind": "sleep", "loops": max(0, loops + round(extra))}


def _bubble(found: Scenario, bubbles: tuple[tuple[int, int, int], ...], device: Document, injection: Injection) -> bool:
    """The action after the bubble no longer waits for its messages, only so long."""
    number = int(injection.place)
    if number >= len(bubbles):
        return False
    _, length, before = bubbles[number]
    if before >= len(device["actions"]):
        raise InputError("expected a bubble inside an iteration, not the one around its boundary", value=str(injection))
    action = device["actions"][before]
    action.pop("waits", None)
    action["pause"] = found.scaled(round(length * injection.factor))
    return True
