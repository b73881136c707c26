"""The numbers on the precedence of a main job: a duration for every action, a lag for every edge."""

from __future__ import annotations

from dataclasses import replace
from typing import Final

import numpy as np

from pipefill_opt.errors import InputError
from pipefill_opt.schedule.actions import NO_MICROBATCH, Action, Kind
from pipefill_opt.schedule.messages import MESSAGES, with_messages, without_messages
from pipefill_opt.schedule.precedence import Edge, Precedence
from pipefill_opt.schedule.schedule import Bool, Int64, Schedule
from pipefill_opt.workload.costs import MainJob, Mode

LONGEST: Final = 2**61
"""All durations and lags of a main job add up to less, in ticks, so that times and floats fit 64 bits."""


def as_timed(main: MainJob) -> MainJob:
    """The job with the actions that take their place in time: in `blocking` mode SEND and RECV too, where the order has them or, if
    it has none, right after and before the actions that they join; in the other modes none of them.
    """
    if main.communication.mode is Mode.BLOCKING:
        return replace(main, schedule=with_messages(main.schedule, block=is_block(main)))
    return replace(main, schedule=without_messages(main.schedule))


def action_durations(main: MainJob) -> Int64:
    """int64[n] ticks: by kind and stage (STEP: by device), unless stated for the single action. With pairs as one block, F and B of
    a pair both have the block's length.

    SEND and RECV take the lag in `blocking` mode, else 0. Raises InputError for an action without duration, except those without
    micro-batch (REDUCE, STEP, UNSHARD, RESHARD), which then take 0; for a single action that the schedule has not; for a negative one;
    and if all durations and lags do not fit 64 bits.
    """
    schedule, costs = main.schedule, main.durations
    table = np.zeros((len(Kind), max(schedule.stages, 1)), dtype=np.int64)
    known = np.zeros(len(Kind), dtype=np.bool_)
    known[list(NO_MICROBATCH | MESSAGES)] = True
    if main.communication.mode is Mode.BLOCKING:
        table[list(MESSAGES)] = main.communication.lag
    for kind, ticks in costs.by_stage.items():
        table[kind, : schedule.stages] = ticks
        known[kind] = True
    duration: Int64 = table[schedule.kind, schedule.stage]
    stated: Bool = known[schedule.kind]
    if costs.step:
        steps = np.flatnonzero(schedule.kind == Kind.STEP)
        duration[steps] = np.array(costs.step, dtype=np.int64)[schedule.device()[steps]]
    if costs.actions:
        single = _find(schedule, list(costs.actions))
        duration[single] = list(costs.actions.values())
        stated[single] = True
    if costs.overlap_length is not None:
        pairs = pair_members(schedule)
        duration[pairs] = costs.overlap_length
        stated |= pairs
    if not stated.all():
        first = schedule.action(int(np.argmin(stated)))
        expected = f"missing a duration for {first.kind.name}, which the schedule uses ({first})"
        raise InputError(expected, where="durations")
    _check_size(duration, main.communication.lag)
    return duration


def edge_lags(main: MainJob, precedence: Precedence, duration: Int64) -> Int64:
    """int64[e] ticks: the communication lag on edges between devices; minus the earlier one's duration on those that join two starts,
    from the F of a block to its B and from a SEND to its RECV.
    """
    lag: Int64 = precedence.crosses * np.int64(main.communication.lag)
    starts = np.flatnonzero((precedence.kind == Edge.BLOCK) | (precedence.kind == Edge.MESSAGE))
    lag[starts] = -duration[precedence.pred[starts]]
    return lag


def is_block(main: MainJob) -> bool:
    """Whether overlapped pairs are one block of a stated length."""
    return main.durations.overlap_length is not None


def pair_members(schedule: Schedule) -> Bool:
    """bool[n]: true on both members of every overlapped pair."""
    members = schedule.paired.copy()
    members[1:] |= schedule.paired[:-1]
    return members


def _check_size(duration: Int64, lag: int) -> None:
    """A path has every action at most once, with at most one lag before it."""
    if len(duration) and int(duration.min()) < 0:
        raise InputError("expected durations of 0 or more", value=int(duration.min()), where="durations")
    size = len(duration)
    total = size * (int(duration.max(initial=0)) + lag)
    if total >= LONGEST:  # so much for the rough sum; the exact one in two halves
        total = int((duration >> 30).sum()) * 2**30 + int((duration & (2**30 - 1)).sum()) + size * lag
    if total >= LONGEST:
        expected = f"expected durations and lags that add up to less than {LONGEST} ns"
        raise InputError(expected, value=total, where="durations")


def _find(schedule: Schedule, actions: list[Action]) -> Int64:
    """int64[len(actions)]: where single actions stand."""
    table = np.stack([schedule.kind, schedule.stage, schedule.microbatch, schedule.part], axis=1, dtype=np.int64)
    wanted = np.array(actions, dtype=np.int64)
    sizes = table.max(axis=0, initial=0) + 2
    keys, sought = ((rows + 1) @ np.cumprod([1, *sizes[:3]]) for rows in (table, wanted))
    by_key = np.argsort(keys)
    at: Int64 = by_key[np.minimum(np.searchsorted(keys, sought, sorter=by_key), len(keys) - 1)]
    found = (table[at] == wanted).all(axis=1) & (wanted[:, 0] != Kind.STEP)
    if not found.all():
        alien = actions[int(np.argmin(found))]
        expected = (
            "an action of this schedule" if alien.kind is not Kind.STEP else "STEP by device, not as a single action"
        )
        raise InputError(f"expected {expected}", value=alien, where="durations.actions")
    return at
