"""`Timeline`: what `timeline(main)` returns."""

from __future__ import annotations

from dataclasses import dataclass

from pipefill_opt.schedule.schedule import Int64
from pipefill_opt.workload.costs import MainJob


@dataclass(frozen=True, slots=True)
class Cause:
    """Why a bubble ended when it did: the predecessor (index of an action) and the edge that released the next action.

    edge: `data` (a stage waits for another action), `order` (the device's own order), `barrier` (the iteration boundary).
    """

    action: int | None
    device: int | None
    edge: str


@dataclass(frozen=True, slots=True)
class Bubble:
    """A maximal idle interval of a device in the cyclic period: [start, start + length), start < period.

    kind: `fill-drain`, `fwd-bwd`, `sync` or `inner`. phase: `warm-up`, `steady` or `cool-down`. `next_action` is the
    index of the action that ends it (None on a device without work). slack: total float of that action, ticks. free:
    bytes, None without a memory model.
    """

    device: int
    start: int
    length: int
    kind: str
    phase: str
    cause: Cause
    slack: int
    free: int | None
    next_action: int | None


@dataclass(frozen=True, slots=True, eq=False)
class Timeline:
    """Exact times of a main job.

    start, end: int64[n] ticks. slack: int64[n], total float against the makespan. period = makespan for the `barrier` boundary.
    span: largest (last end - first start) of a device. busy, peak: int64[devices]; peak is None without a memory model.
    """

    main: MainJob
    start: Int64
    end: Int64
    slack: Int64
    period: int
    makespan: int
    span: int
    busy: Int64
    peak: Int64 | None
    bubbles: tuple[tuple[Bubble, ...], ...]
