"""`FillProblem`: the data of the fill problem, exact. See docs/design.md, section 4."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from enum import StrEnum
from fractions import Fraction

from pipefill_opt.workload.costs import MainJob


class Objective(StrEnum):
    """What a plan is judged by. All but the throughput look at a life of several phases."""

    THROUGHPUT = "throughput"
    MAKESPAN = "makespan"
    COMPLETION = "weighted-completion"
    ON_TIME = "on-time-value"


class ValueRule(StrEnum):
    """What an operator is worth where it states no value of its own."""

    TIME = "time"  # useful GPU time
    FLOPS = "flops"


@dataclass(frozen=True, slots=True)
class FillBubble:
    """A bubble of a device class: ticks from the start of the period, bytes free in it for fill work."""

    start: int
    length: int
    free: int
    kind: str


@dataclass(frozen=True, slots=True)
class DeviceClass:
    """`count` identical devices. `resident_free`: least free bytes over the whole period. Bubbles in order of start."""

    name: str
    count: int
    speed: Fraction
    resident_free: int
    bubbles: tuple[FillBubble, ...]
    main_device: int | None = None


@dataclass(frozen=True, slots=True)
class Guard:
    """usable = max(0, floor(fraction x length) - margin)."""

    fraction: Fraction
    margin: int


@dataclass(frozen=True, slots=True)
class Switch:
    """Switch costs in ticks, bandwidths in bytes per second.

    `between` is one time, or a table {from job: {to job: ticks}} that has every pair.
    """

    enter: int
    leave: int
    between: int | Mapping[str, Mapping[str, int]]
    h2d: Fraction | None
    d2h: Fraction | None


@dataclass(frozen=True, slots=True)
class Operator:
    """One operator of a chain: ticks at nominal speed; bytes while it runs; bytes carried if paused after it.

    `value` is what the file states for it, or None; `repeat` is already written out.
    """

    name: str
    duration: int
    memory: int
    carry: int
    flops: Fraction
    value: Fraction | None


@dataclass(frozen=True, slots=True)
class Configuration:
    """One way to run a job: a chain of operators, samples an iteration, resident bytes."""

    name: str
    samples: Fraction
    resident: int
    operators: tuple[Operator, ...]


@dataclass(frozen=True, slots=True)
class Job:
    """A fill job. `devices`: names of the classes it may run on. `keep`: state stays on the device between bubbles.

    `iterations` wanted by each copy (None: no end), `release` and `deadline` in ticks: only the objectives over time look at them.
    """

    name: str
    copies: int
    weight: Fraction
    iterations: int | None
    release: int
    deadline: int | None
    devices: tuple[str, ...]
    keep: bool
    value_rule: ValueRule
    configurations: tuple[Configuration, ...]

    def configuration(self, name: str) -> Configuration:
        """The configuration of that name; KeyError if there is none."""
        for configuration in self.configurations:
            if configuration.name == name:
                return configuration
        raise KeyError(name)


@dataclass(frozen=True, slots=True)
class FillProblem:
    """Everything that section 4 calls data. `iterations` is H, or None for `auto` (then at most `max_iterations`).

    `main` is the job whose bubbles these are, where the instance named one; it serves re-timing and pictures.
    """

    name: str
    period: int
    iterations: int | None
    max_iterations: int
    repeat: bool
    devices: tuple[DeviceClass, ...]
    guard: Guard
    switch: Switch
    jobs: tuple[Job, ...]
    objective: Objective
    migrate: bool
    main: MainJob | None = None

    def device(self, name: str) -> DeviceClass:
        """The device class of that name; KeyError if there is none."""
        for device in self.devices:
            if device.name == name:
                return device
        raise KeyError(name)

    def job(self, name: str) -> Job:
        """The job of that name; KeyError if there is none."""
        for job in self.jobs:
            if job.name == name:
                return job
        raise KeyError(name)
