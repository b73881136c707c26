"""Hanayo: micro-batches go down and up the devices in waves, one pipe, no second copy of the model."""

from __future__ import annotations

from heapq import heappop, heappush
from typing import Final

import numpy as np

from pipefill_opt.schedule.actions import Kind
from pipefill_opt.schedule.families.family import Expected, Family, Option, Options, Size, StageCosts, vee
from pipefill_opt.schedule.families.rows import Row

LARGEST: Final = 1_000_000
"""Devices x micro-batches x chunks up to which such a schedule is planned."""
TICKS: Final = {Kind.F: 1, Kind.B: 2}
"""What the rule takes an action to last."""


def _domain(size: Size) -> Expected | None:
    return Expected("chunks", "an even number of chunks, two for each wave") if size.chunks % 2 else None


def _rows(size: Size, options: Options) -> list[Row]:
    """Whoever is free takes a backward before a forward, the older micro-batch before the newer, the later stage before the earlier.

    A micro-batch enters when fewer than `cap` are under way. Times are those of `TICKS`.
    """
    p, m, _ = size
    cap = options["cap"] or 2 * p
    home = vee(size)
    last = len(home) - 1
    rows: list[list[tuple[int, int, int, int]]] = [[] for _ in range(p)]
    ready: list[list[tuple[int, int, int]]] = [
        [] for _ in range(p)
    ]  # of each device, best first: (-kind, micro-batch, -stage)
    busy = [False] * p
    ends: list[tuple[int, int, Kind, int, int]] = []  # what runs: (end, device, kind, stage, micro-batch)
    ready[home[0]] = [(-Kind.F, microbatch, 0) for microbatch in range(min(cap, m))]
    now = 0
    while True:
        for device in range(p):
            if not busy[device] and ready[device]:
                kind, microbatch, stage = heappop(ready[device])
                busy[device] = True
                rows[device].append((-kind, -stage, microbatch, 0))
                heappush(ends, (now + TICKS[Kind(-kind)], device, Kind(-kind), -stage, microbatch))
        if not ends:
            return [np.array(row, dtype=np.int32) for row in rows]
        now = ends[0][0]
        while ends and ends[0][0] == now:
            _, device, kind, stage, microbatch = heappop(ends)
            busy[device] = False
            if kind is Kind.F:
                kind, stage = (Kind.F, stage + 1) if stage < last else (Kind.B, stage)
            else:
                stage -= 1
            if stage >= 0:
                heappush(ready[home[stage]], (-kind, microbatch, -stage))
            elif microbatch + cap < m:
                heappush(ready[home[0]], (-Kind.F, microbatch + cap, 0))


def _makespan(size: Size, costs: StageCosts) -> int | None:
    p, m, v = size
    twice = costs.input_gradient + costs.weight_gradient == 2 * costs.forward
    return (10 * p - 4) * costs.forward if m == p and v == 2 and twice else None


HANAYO = Family(
    name="hanayo",
    summary="one pipe that goes down and up the devices in waves, two chunks a device for each wave",
    source="Liu et al., Hanayo; our own greedy rule for its order",
    closed_form="makespan (10p-4)F where m = p, v = 2 and B = 2F",
    in_flight="at most v times the cap",
    makespan=_makespan,
    rows=_rows,
    placement=vee,
    domain=_domain,
    chunks=2,
    fixed_chunks=False,
    options={"cap": Option(None, 1, "micro-batches under way at most; 2p by default")},
    most=LARGEST,
)
