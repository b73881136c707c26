"""Zero bubble by greedy: 1F1B with split backward, planned for given costs under a cap on activations."""

from __future__ import annotations

from heapq import heappop, heappush
from itertools import product, starmap
from typing import Final, NamedTuple

import numpy as np

from pipefill_opt.schedule.actions import Kind
from pipefill_opt.schedule.families.family import Family, Option, Options, Size, StageCosts
from pipefill_opt.schedule.families.rows import Row

LARGEST: Final = 100_000
"""Devices x micro-batches up to which such a schedule is planned."""


class _Costs(NamedTuple):
    """Ticks of an action by kind, ticks of a message between devices, and activations that a device may hold."""

    ticks: dict[Kind, int]
    lag: int
    cap: int


class _Manner(NamedTuple):
    """How a plan is made. `per_hop`: forwards that a device may run ahead of its backwards for each device further on.

    `forward_first`: whether a forward goes before an input gradient. `patient`: whether a device leaves a weight gradient that
    would delay something it knows to be under way.
    """

    per_hop: int
    forward_first: bool
    patient: bool


class _Device:
    """A device while a plan is made. `inputs`: for F and I, when what micro-batch 0, 1, ... needs from another device is there."""

    __slots__ = ("ahead", "cap", "done", "inputs", "manner", "row", "until")

    def __init__(self, cap: int, ahead: int, manner: _Manner) -> None:
        self.cap = cap
        self.ahead = ahead
        self.manner = manner
        self.done = {Kind.F: 0, Kind.I: 0, Kind.W: 0}
        self.inputs: dict[Kind, list[int]] = {Kind.F: [], Kind.I: []}
        self.until = 0
        self.row: list[Kind] = []

    def choose(self, now: int, ticks: int) -> Kind | None:
        """A forward if one more may be held or an input gradient, else a weight gradient, which takes `ticks`."""
        done = self.done
        forward, inputs = self._next(Kind.F), self._next(Kind.I)
        if done[Kind.F] - done[Kind.W] >= self.cap or done[Kind.F] - done[Kind.I] >= self.ahead:
            forward = None
        if done[Kind.I] >= done[Kind.F]:
            inputs = None
        wanted = [(Kind.F, forward), (Kind.I, inputs)]
        for kind, time in wanted if self.manner.forward_first else reversed(wanted):
            if time is not None and time <= now:
                return kind
        delays = any(time is not None and time < now + ticks for _, time in wanted)
        return None if (self.manner.patient and delays) or done[Kind.W] >= done[Kind.I] else Kind.W

    def _next(self, kind: Kind) -> int | None:
        times = self.inputs[kind]
        return times[self.done[kind]] if self.done[kind] < len(times) else None


def _rows(size: Size, options: Options) -> list[Row]:
    """The shortest of eight plans; of equal ones the first."""
    ticks = {kind: options[name] or 0 for kind, name in _COSTS.items()}
    costs = _Costs(ticks, options["lag"] or 0, options["cap"] or size.devices)
    manners = starmap(_Manner, product((2, 1), (True, False), (True, False)))
    plans = [_plan(size, costs, manner) for manner in manners]
    best = min(plans, key=lambda plan: max(device.until for device in plan))
    return [_numbered(device.row, rank) for rank, device in enumerate(best)]


def _plan(size: Size, costs: _Costs, manner: _Manner) -> list[_Device]:
    """Time goes on from event to event; at each, the devices that are free choose.

    Forwards run ahead by one for each hop as in 1F1B or two as in ZB-H2, and by as many more as fit into a message there and back.
    """
    p, m, _ = size
    ticks, lag, cap = costs
    per_hop = manner.per_hop + 2 * lag // (ticks[Kind.F] + ticks[Kind.I])
    devices = [_Device(cap, per_hop * (p - 1 - rank) + 1, manner) for rank in range(p)]
    devices[0].inputs[Kind.F] = devices[-1].inputs[Kind.I] = [0] * m
    events = [0]
    while events:
        now = heappop(events)
        while events and events[0] == now:
            heappop(events)
        for rank, device in enumerate(devices):
            chosen = device.choose(now, ticks[Kind.W]) if device.until <= now else None
            if chosen is None:
                continue
            device.row.append(chosen)
            device.done[chosen] += 1
            device.until = now + ticks[chosen]
            heappush(events, device.until)
            to = rank + {Kind.F: 1, Kind.I: -1, Kind.W: p}[chosen]
            if 0 <= to < p:
                devices[to].inputs[chosen].append(device.until + lag)
                heappush(events, device.until + lag)
    return devices


def _numbered(kinds: list[Kind], rank: int) -> Row:
    """Micro-batches go through a device in order, in each kind."""
    row = np.zeros((len(kinds), 4), dtype=np.int32)
    row[:, 0] = kinds
    row[:, 1] = rank
    for kind in _COSTS:
        own = np.flatnonzero(row[:, 0] == kind)
        row[own, 2] = np.arange(len(own))
    return row


def _makespan(size: Size, costs: StageCosts) -> None:
    """Depends on the options."""


_COSTS: Final = {Kind.F: "forward", Kind.I: "input_gradient", Kind.W: "weight_gradient"}

ZB_GREEDY = Family(
    name="zb-greedy",
    summary="1F1B with split backward, planned for given costs under a cap on activations",
    source="our own greedy rule, after the heuristic of Qi et al., Zero Bubble Pipeline Parallelism",
    closed_form="none",
    in_flight="at most the cap",
    makespan=_makespan,
    rows=_rows,
    options={
        "forward": Option(1, 1, "what the plan takes a forward to last, in any unit"),
        "input_gradient": Option(1, 1, "the same for an input gradient"),
        "weight_gradient": Option(1, 1, "the same for a weight gradient"),
        "lag": Option(0, 0, "the same for a message between devices"),
        "cap": Option(None, 1, "activations that a device may hold; p by default"),
    },
    most=LARGEST,
)
