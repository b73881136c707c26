"""Messages between devices as actions, SEND and RECV: put them into an order, or take them out. See docs/design.md, section 3."""

from __future__ import annotations

from dataclasses import replace
from itertools import pairwise
from typing import Final

import numpy as np

from pipefill_opt.schedule.actions import Kind
from pipefill_opt.schedule.schedule import Bool, Int64, Schedule

MESSAGES: Final = frozenset({Kind.SEND_F, Kind.RECV_F, Kind.SEND_B, Kind.RECV_B})
"""Kinds that send or receive what another device needs or made."""


def is_message(schedule: Schedule) -> Bool:
    """bool[n]: true on SEND and RECV."""
    found: Bool = np.isin(schedule.kind, [int(kind) for kind in MESSAGES])
    return found


def without_messages(schedule: Schedule) -> Schedule:
    """The order without its SENDs and RECVs."""
    kept = ~is_message(schedule)
    if kept.all():
        return schedule
    return replace(
        schedule,
        row_start=np.append(0, np.cumsum(kept))[schedule.row_start],
        kind=schedule.kind[kept],
        stage=schedule.stage[kept],
        microbatch=schedule.microbatch[kept],
        part=schedule.part[kept],
        paired=schedule.paired[kept],
    )


def with_messages(schedule: Schedule, *, block: bool = False) -> Schedule:
    """The order with a SEND right after each action whose output another device needs, and a RECV right before that which needs it.

    An order that has messages already stays as it is. With `block`, the messages of an overlapped pair stand before and after all
    of it, those of F first; else they may stand between its F and its B, which then are no pair any more.
    """
    if is_message(schedule).any():
        return schedule
    before, behind = _neighbours(schedule)
    stage = schedule.stage  # STEP, of stage -1, is neither forward nor backward
    forward = schedule.kind == Kind.F
    backward = (schedule.kind == Kind.B) | (schedule.kind == Kind.I)
    sent = np.flatnonzero((forward & behind[stage]) | (backward & before[stage]))
    received = np.flatnonzero((forward & before[stage]) | (backward & behind[stage]))
    after, ahead = sent + 1, received.copy()
    paired = schedule.paired
    if block:
        after += paired[sent]
        ahead -= np.append(False, paired)[received]
    else:
        paired = paired.copy()
        paired[sent] = False
        paired[received[received > 0] - 1] = False

    made_by = np.concatenate([sent, received])
    kinds = np.concatenate(
        [
            np.where(forward[sent], Kind.SEND_F, Kind.SEND_B),
            np.where(forward[received], Kind.RECV_F, Kind.RECV_B),
        ]
    )
    return _insert(replace(schedule, paired=paired), np.concatenate([after, ahead]), made_by, kinds)


def _neighbours(schedule: Schedule) -> tuple[Bool, Bool]:
    """bool[stages] each: whether the stage before, and the one behind, is on another device."""
    before, behind = (np.zeros(schedule.stages + 1, dtype=np.bool_) for _ in range(2))
    for pipe in schedule.pipes:
        for stage, following in pairwise(pipe):
            if schedule.placement[stage] != schedule.placement[following]:
                behind[stage] = before[following] = True
    return before, behind


def _insert(schedule: Schedule, at: Int64, made_by: Int64, kinds: Int64) -> Schedule:
    """Messages before the places `at`; equal places in the order given. Each has stage, micro-batch and part of `made_by`."""
    added = np.bincount(schedule.device()[made_by], minlength=schedule.devices)
    return replace(
        schedule,
        row_start=schedule.row_start + np.append(0, np.cumsum(added)),
        kind=np.insert(schedule.kind, at, kinds),
        stage=np.insert(schedule.stage, at, schedule.stage[made_by]),
        microbatch=np.insert(schedule.microbatch, at, schedule.microbatch[made_by]),
        part=np.insert(schedule.part, at, schedule.part[made_by]),
        paired=np.insert(schedule.paired, at, False),
    )
