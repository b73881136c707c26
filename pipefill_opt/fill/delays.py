"""The main job's DAG with a place for a delay in every bubble: what re-timing runs on."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace

import numpy as np

from pipefill_opt.schedule.precedence import Edge, Precedence, precedence
from pipefill_opt.schedule.schedule import Int64
from pipefill_opt.timeline.timeline import Timeline
from pipefill_opt.timeline.times import earliest_starts
from pipefill_opt.workload.costs import MainJob
from pipefill_opt.workload.weights import action_durations, edge_lags, is_block


@dataclass(frozen=True, slots=True, eq=False)
class DelayedMain:
    """n actions; an edge across each of the k inner bubbles, and for each device a gate that holds up its first running action.

    main: the job as timed. own: its DAG. whole: with the edges across bubbles. duration: int64[n], as stated. own_edge: int64[e],
    places of the own edges in `whole`; inner_edge: int64[k], those across inner bubbles. opener, last: int64[devices], the first and
    the last running action of each, -1 for none.
    delay_of: {(device, start of a bubble): its place in a vector of delays}: k inner bubbles first, then one place a device for the
    bubble around the boundary. ready: int64[devices], when each device has ended, before the barrier (<= 0).
    """

    main: MainJob
    own: Precedence
    whole: Precedence
    duration: Int64
    own_edge: Int64
    inner_edge: Int64
    opener: Int64
    last: Int64
    delay_of: Mapping[tuple[int, int], int]
    ready: Int64

    @property
    def delays(self) -> int:
        """Places in a vector of delays."""
        return len(self.inner_edge) + len(self.last)

    def iteration(self, duration: Int64, inside: Int64, gate: Int64, *, runs: int) -> tuple[int, Int64]:
        """One main iteration: its makespan, and `ready` of each device at its end.

        duration: int64[n]. inside: int64[k] ticks of fill work in the inner bubbles. gate: int64[devices], before that no
        device begins. runs: how many such calls there will be.
        """
        lag = np.zeros(len(self.whole.pred), dtype=np.int64)
        lag[self.own_edge] = edge_lags(self.main, self.own, duration)
        lag[self.inner_edge] = inside
        since = np.zeros(len(duration), dtype=np.int64)
        since[self.opener[self.opener >= 0]] = gate[self.opener >= 0]
        start = earliest_starts(self.main, self.whole, duration, lag, since, runs=runs)
        end = start + duration
        makespan = int(end.max(initial=0))
        ready = np.where(self.last >= 0, end[self.last] - makespan, -makespan)
        return makespan, ready


def delayed_main(timeline: Timeline) -> DelayedMain:
    """The delayed DAG of a main job, from its timeline."""
    main, schedule, table = timeline.main, timeline.main.schedule, timeline.bubble_table
    n, devices = schedule.size, schedule.devices
    own = precedence(schedule, block=is_block(main), global_norm=main.global_norm)
    duration = action_durations(main)
    running = duration > 0
    if is_block(main):
        running[1:] &= ~schedule.paired[:-1]
    actions = np.flatnonzero(running)
    owner = schedule.device()[actions]
    opener, last = (np.full(devices, -1, dtype=np.int64) for _ in range(2))
    opener[owner[::-1]] = actions[::-1]
    last[owner] = actions

    delay_of: dict[tuple[int, int], int] = {}
    before: list[int] = []
    after: list[int] = []
    owners = np.repeat(np.arange(devices), np.diff(table.first)).tolist()
    for device, start, follower in zip(owners, table.start.tolist(), table.next_action.tolist(), strict=True):
        if follower >= 0 and follower != opener[device]:
            delay_of[device, start] = len(before)
            before.append(int(actions[np.searchsorted(actions, follower) - 1]))
            after.append(follower)
    for device, start, follower in zip(owners, table.start.tolist(), table.next_action.tolist(), strict=True):
        if follower >= 0 and follower == opener[device]:
            delay_of[device, start] = len(before) + device

    pred = np.concatenate([own.pred, np.array(before, dtype=np.int64)])
    follower_of = np.concatenate([own.successor(), np.array(after, dtype=np.int64)])
    by_follower = np.argsort(follower_of, kind="stable")
    place = np.empty(len(pred), dtype=np.int64)
    place[by_follower] = np.arange(len(pred))
    extra = len(pred) - len(own.pred)
    whole = replace(
        own,
        first=np.append(0, np.cumsum(np.bincount(follower_of, minlength=n))).astype(np.int64),
        pred=pred[by_follower].astype(np.int32),
        kind=np.append(own.kind, np.full(extra, Edge.ORDER, dtype=np.int8))[by_follower],
        crosses=np.append(own.crosses, np.zeros(extra, dtype=np.bool_))[by_follower],
    )
    ends = timeline.end
    return DelayedMain(
        main=main,
        own=own,
        whole=whole,
        duration=duration,
        own_edge=place[: len(own.pred)],
        inner_edge=place[len(own.pred) : len(own.pred) + len(before)],
        opener=opener,
        last=last,
        delay_of=delay_of,
        ready=np.where(last >= 0, ends[last] - timeline.period, -timeline.period) if n else -0 * last,
    )
