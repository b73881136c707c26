"""Zero bubble by greedy: 1F1B with split backward, planned for given costs under a cap on activations."""

from __future__ import annotations

from itertools import product
from typing import Final

import numpy as np

from pipefill_opt.kernels import kernel
from pipefill_opt.schedule.actions import Kind
from pipefill_opt.schedule.families.family import Family, Option, Options, Size, StageCosts
from pipefill_opt.schedule.families.rows import Row
from pipefill_opt.schedule.schedule import Int8, Int64

LARGEST: Final = 1_000_000
"""Devices x micro-batches up to which such a schedule is planned."""
_ORDER: Final = (Kind.F, Kind.I, Kind.W)
_COSTS: Final = ("forward", "input_gradient", "weight_gradient")
_F, _I, _W = range(3)
_NEVER: Final = 2**62


def _rows(size: Size, options: Options) -> list[Row]:
    """The shortest of eight plans; of equal ones the first.

    Forwards run ahead of backwards by two for each device further on as in ZB-H2 or by one as in 1F1B, and by as many more as fit into
    a message there and back; a forward goes before an input gradient or behind it; devices are patient or not.
    """
    p, m, _ = size
    ticks = np.array([options[name] for name in _COSTS], dtype=np.int64)
    lag, cap = options["lag"] or 0, options["cap"] or p
    best, plan = _NEVER, np.zeros((0, 0), dtype=np.int8)
    for per_hop, forward_first, patient in product((2, 1), (True, False), (True, False)):
        ahead = (per_hop + 2 * lag // int(ticks[_F] + ticks[_I])) * np.arange(p - 1, -1, -1) + 1
        kinds = np.empty((p, 3 * m), dtype=np.int8)
        makespan = kernel(_play, 48 * p * m)(ticks, lag, cap, ahead, forward_first, patient, m, kinds)
        if makespan < best:
            best, plan = makespan, kinds
    return [_numbered(kinds, rank) for rank, kinds in enumerate(plan)]


def _play(
    ticks: Int64, lag: int, cap: int, ahead: Int64, forward_first: bool, patient: bool, microbatches: int, kinds: Int8
) -> int:
    """Kernel: play a plan from event to event; at each, every device that is free chooses. Returns the makespan.

    A device chooses a forward, while it holds fewer than `cap` activations and is less than `ahead` in front of its backwards, or an
    input gradient; if neither can start, a weight gradient, unless it is `patient` and that would delay one of the two, which it knows
    to be under way. kinds: int8[devices, 3m], filled with 0, 1, 2 for F, I, W.
    """
    devices = len(ahead)
    inputs = np.full(
        (2, devices, microbatches + 1), _NEVER, dtype=np.int64
    )  # when what an F or I needs is there, if known
    inputs[_F, 0, :microbatches] = 0
    inputs[_I, devices - 1, :microbatches] = 0
    done = np.zeros((devices, 3), dtype=np.int64)
    until = np.zeros(devices, dtype=np.int64)
    now = 0
    while now < _NEVER:
        following = _NEVER
        for rank in range(devices):
            if until[rank] <= now:
                forward, backward = inputs[_F, rank, done[rank, _F]], inputs[_I, rank, done[rank, _I]]
                if done[rank, _F] - done[rank, _W] >= cap or done[rank, _F] - done[rank, _I] >= ahead[rank]:
                    forward = _NEVER
                if done[rank, _I] >= done[rank, _F]:
                    backward = _NEVER
                soonest = min(forward, backward)
                if forward <= now and (forward_first or backward > now):
                    chosen = _F
                elif backward <= now:
                    chosen = _I
                elif done[rank, _W] < done[rank, _I] and not (patient and soonest < now + ticks[_W]):
                    chosen = _W
                else:
                    following = min(following, soonest)
                    continue
                kinds[rank, done[rank].sum()] = chosen
                until[rank] = now + ticks[chosen]
                to = rank + 1 if chosen == _F else rank - 1
                if chosen != _W and 0 <= to < devices:
                    inputs[chosen, to, done[rank, chosen]] = until[rank] + lag
                    following = min(following, until[rank] + lag)
                done[rank, chosen] += 1
            following = min(following, until[rank])
        now = following
    return int(until.max())


def _numbered(kinds: Int8, rank: int) -> Row:
    """Micro-batches go through a device in order, in each kind."""
    row = np.zeros((len(kinds), 4), dtype=np.int32)
    row[:, 1] = rank
    for number, kind in enumerate(_ORDER):
        own = np.flatnonzero(kinds == number)
        row[own, 0] = kind
        row[own, 2] = np.arange(len(own))
    return row


def _makespan(size: Size, costs: StageCosts) -> None:
    """Depends on the options."""


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
