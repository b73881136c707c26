"""Why a device waits: from each bubble back to what started it.

An action starts when the last thing that it waits for is there. Going from it to that thing, and on from there, gives a chain
without gaps: every tick of it is work, or a message under way.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np

from pipefill_opt.schedule.messages import MESSAGES
from pipefill_opt.schedule.schedule import Bool, Int8, Int64
from pipefill_opt.timeline.release import release
from pipefill_opt.timeline.timeline import EDGES, Timeline
from pipefill_opt.timeline.times import settle


class Step(NamedTuple):
    """An action on a chain. start, end: ticks in the iteration of the chain's last action, below 0 for the iteration before.

    edge: how it released the next action on the chain, one of `EDGES`. work, message: ticks of the chain that are spent in this action,
    and between its end and the start of the next one (a SEND or RECV is message, too); of a bubble's chain only those within the bubble.
    crosses: whether that next one is of the next iteration.
    """

    action: int
    start: int
    end: int
    edge: str
    work: int
    message: int
    crosses: bool


@dataclass(frozen=True, slots=True, eq=False)
class Releases:
    """What released each of the n actions, as `release` says.

    action: int64[n], its index, -1 where nothing did. edge: int8[n], places in `EDGES`. before: bool[n], true where it is an action of the
    iteration before. origin: int64[n], where the waiting for other devices comes from: back from each action over all that were
    released by another device in the same iteration, the first that was not.
    """

    action: Int64
    edge: Int8
    before: Bool
    origin: Int64


def releases(timeline: Timeline) -> Releases:
    """What released each action."""
    schedule = timeline.main.schedule
    if not schedule.size:
        none = np.zeros(0, dtype=np.int64)
        return Releases(none, none.astype(np.int8), none.astype(np.bool_), none)
    own = np.arange(schedule.size)
    edge, action = release(settle(timeline.main), own)
    device = schedule.device()
    same_row = (action >= own) & (device[action] == device)
    before = (edge == EDGES.index("barrier")) | ((edge == EDGES.index("order")) & same_row)
    waited = (action >= 0) & (device[action] != device) & ~before
    origin = np.where(waited, action, own)
    while not np.array_equal(origin, further := origin[origin]):
        origin = further
    return Releases(action.astype(np.int64), edge, before, origin)


def chain(timeline: Timeline, released: Releases, index: int) -> tuple[Step, ...]:
    """The chain of causes of the bubble at `index` of `bubble_table`, in order of time.

    Its first action was under way when the bubble began, or its message was; its last one released the action that ended the bubble.
    Work and messages add up to the length of the bubble; with `flow`, what is missing was waiting for the start of all devices at 0.
    `origin` of the first action goes on from there. Empty for a device without work.
    """
    table = timeline.bubble_table
    after = int(table.next_action[index])
    if after < 0:
        return ()
    begin = int(timeline.start[after]) - int(table.length[index])
    return tuple(back(timeline, released, after, begin))[::-1]


def back(timeline: Timeline, released: Releases, action: int, begin: int) -> Iterator[Step]:
    """Steps from the one that released `action` back to the first that started at `begin` or before."""
    shift, now = 0, int(timeline.start[action])
    while now > begin and released.action[action] >= 0:
        edge, crosses = EDGES[released.edge[action]], bool(released.before[action])
        action = int(released.action[action])
        shift -= timeline.period if crosses else 0
        found = step(timeline, action, edge, crosses, shift=shift, now=now, begin=begin)
        yield found
        now = found.start


def step(
    timeline: Timeline, action: int, edge: str, crosses: bool, *, shift: int, now: int, begin: int | None = None
) -> Step:
    """The step of an action that runs `shift` later than in the timeline and releases one that starts at `now`; only what lies behind
    `begin` counts.
    """
    start, end = int(timeline.start[action]) + shift, int(timeline.end[action]) + shift
    since = start if begin is None else max(start, begin)
    work = 0 if timeline.main.schedule.kind[action] in MESSAGES else max(0, min(end, now) - since)
    return Step(action, start, end, edge, work, now - since - work, crosses)
