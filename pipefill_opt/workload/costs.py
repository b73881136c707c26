"""What a schedule costs: `Costs` = durations, lags and memory, all integers."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from enum import StrEnum
from fractions import Fraction
from typing import Any

from pipefill_opt.schedule.actions import Action, Kind
from pipefill_opt.schedule.schedule import Schedule


@dataclass(frozen=True, slots=True)
class Durations:
    """Ticks. `by_stage[kind][stage]` for every kind that the schedule uses; STEP by device; `actions` overrides one by one.

    `overlap_length` is the length of an overlapped pair as one block, or None where F and B run one after the other.
    """

    by_stage: Mapping[Kind, tuple[int, ...]]
    step: tuple[int, ...] = ()
    actions: Mapping[Action, int] = field(default_factory=dict)
    overlap_length: int | None = None


class Mode(StrEnum):
    """How activations and gradients pass between devices."""

    LAG = "lag"  # each arrives a fixed time after its producer's end
    LINK = "link"  # they queue for the directed link between two devices
    BLOCKING = "blocking"  # they take the time of sender and receiver: SEND and RECV are actions


class Boundary(StrEnum):
    """What comes between two iterations."""

    BARRIER = "barrier"  # all devices begin together, when the last one has ended
    FLOW = "flow"  # each device goes on by itself


@dataclass(frozen=True, slots=True)
class Communication:
    """What an edge between different devices costs, in ticks; resolved when the file is read.

    lag: fixed, or latency + ceil(size / bandwidth). Mode `lag`: the message is there `lag` ticks after the producer's end. `link`: it
    is there `lag` ticks after the link has begun to send it, and keeps the link busy for the first `occupancy` of them, ceil(size /
    bandwidth). `blocking`: SEND and RECV take `lag` each.
    """

    lag: int = 0
    mode: Mode = Mode.LAG
    occupancy: int = 0


@dataclass(frozen=True, slots=True)
class Memory:
    """Bytes. capacity, reserve and static by device; the rest by stage, for one micro-batch (one part of it, with slices).

    `activation` is allocated at F start and freed at B end; with I and W, `freed_by_input` at I end and the rest at W end. With R, F
    keeps `checkpoint` until R ends, and R allocates `activation`. `workspace` is held while any action of the stage runs.
    """

    capacity: tuple[int, ...]
    reserve: tuple[int, ...]
    static: tuple[int, ...]
    activation: tuple[int, ...]
    freed_by_input: tuple[int, ...]
    checkpoint: tuple[int, ...]
    workspace: tuple[int, ...]


@dataclass(frozen=True, slots=True)
class Derived:
    """What an analytic model made of a job that a file gives by names (`model: gpt-40b`); see docs/cost-model.md.

    replicas: devices behind each device of the schedule, which do the same at the same time. samples, flops: of an iteration, all devices
    together; flops without recomputation. peak: FLOPs per second of a device. layers: of each stage. document: MAIN with numbers for names.
    """

    model: str
    hardware: str
    coefficients: str
    replicas: int
    samples: int
    sequence: int
    flops: int
    peak: Fraction
    layers: tuple[int, ...]
    document: Mapping[str, Any]


@dataclass(frozen=True, slots=True)
class Samples:
    """What durations were measured from, in ticks: by action, one for each step; lags of messages that were waited for."""

    actions: Mapping[Action, tuple[int, ...]]
    lags: tuple[int, ...] = ()
    steps: tuple[int, ...] = ()


@dataclass(frozen=True, slots=True)
class MainJob:
    """A schedule with its costs: what the timeline is computed from. `memory` may be absent. `source`: the file it came from, for errors.

    With `global_norm`, every STEP waits for the REDUCE of every stage. `boundary`: what comes between two iterations. derived: where its
    numbers come from an analytic model. samples: where they were measured.
    """

    schedule: Schedule
    durations: Durations
    communication: Communication = Communication()
    memory: Memory | None = None
    source: str = ""
    global_norm: bool = False
    boundary: Boundary = Boundary.BARRIER
    derived: Derived | None = None
    samples: Samples | None = None
