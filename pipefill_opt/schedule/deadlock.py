"""Show a deadlock as a short cycle of actions."""

from __future__ import annotations

from collections import deque
from dataclasses import dataclass
from typing import Final

import numpy as np

from pipefill_opt.errors import ScheduleError
from pipefill_opt.schedule.schedule import Int32, Int64, Schedule

SHOWN: Final = 8
"""A longer cycle is cut in the message; `ScheduleError.cycle` has all of it."""


@dataclass(frozen=True, slots=True)
class _Stop:
    """Where two devices meet in a cycle: `front`, at which one stops, waits for `blocker`, in the other's row."""

    front: int
    blocker: int


def deadlock(schedule: Schedule, first: Int64, pred: Int32, position: Int64, block: bool) -> ScheduleError:
    """The error for a schedule whose rows run only as far as `position`: a shortest cycle among the actions at which they stop.

    first, pred: predecessors as in `Precedence`. `cycle` in the error goes against time: each action waits for the one before it.
    """
    stops = _shortest_cycle(_waits(schedule, first, pred, position))
    steps: list[
        tuple[int, bool]
    ] = []  # actions in the direction of waiting; true if it stands behind the next one in a row
    for stop, after in zip(stops, stops[1:] + stops[:1], strict=True):
        steps.append((stop.front, False))
        if _shown(schedule, stop.blocker, block) != _shown(schedule, after.front, block):
            steps.append((stop.blocker, True))
    names = [_shown(schedule, action, block) for action, _ in steps]
    places = [_place(schedule, action) for action, _ in steps]
    parts = [f"{names[0]} (rank {places[0][0]}, position {places[0][1]})"]
    for number in range(1, len(steps) + 1):
        verb = "stands behind" if steps[number - 1][1] else "waits for"
        at = number % len(steps)
        place = f" (rank {places[at][0]}, position {places[at][1]})" if at else ""
        if number <= SHOWN or not at:
            parts.append(f"{verb} {names[at]}{place}")
        elif number == SHOWN + 1:
            parts.append(f"... ({len(steps)} actions in all)")
    return ScheduleError(
        f"expected an order that can run, but there is a deadlock: {', which '.join(parts)}",
        code="deadlock",
        rank=places[0][0],
        position=places[0][1],
        cycle=tuple(reversed(names)),
    )


def _waits(schedule: Schedule, first: Int64, pred: Int32, position: Int64) -> dict[int, dict[int, _Stop]]:
    """For every device that stops: the devices that it waits for, each with the place."""
    ends = schedule.row_start[1:]
    waits: dict[int, dict[int, _Stop]] = {}
    for device in np.flatnonzero(position < ends).tolist():
        front = int(position[device])
        waits[device] = {}
        for blocker in sorted(pred[first[front] : first[front + 1]].tolist()):
            other = int(np.searchsorted(ends, blocker, side="right"))
            if blocker >= position[other]:
                waits[device].setdefault(other, _Stop(front, blocker))
    return waits


def _shortest_cycle(waits: dict[int, dict[int, _Stop]]) -> list[_Stop]:
    """Every device in `waits` waits for another one in it, so there is a cycle; ties go to the smallest device."""
    best: list[int] = []
    for start in waits:
        path = _way_back(waits, start, len(best))
        if path and (not best or len(path) < len(best)):
            best = path
    return [waits[device][other] for device, other in zip(best, best[1:] + best[:1], strict=True)]


def _way_back(waits: dict[int, dict[int, _Stop]], start: int, limit: int) -> list[int]:
    """The devices of a shortest cycle through `start` with fewer than `limit` devices (0: any number), or none."""
    came: dict[int, int] = {}
    queue = deque([(start, 1)])
    while queue:
        device, length = queue.popleft()
        if limit and length >= limit:
            return []
        for other in waits[device]:
            if other == start:
                path = [device]
                while path[-1] != start:
                    path.append(came[path[-1]])
                return path[::-1]
            if other not in came:
                came[other] = device
                queue.append((other, length + 1))
    return []


def _shown(schedule: Schedule, action: int, block: bool) -> str:
    """Text of an action; of the whole pair where pairs are one block."""
    if block:
        if schedule.paired[action]:
            return f"({schedule.action(action)};{schedule.action(action + 1)})OVERLAP_F_B"
        if action > 0 and schedule.paired[action - 1]:
            return f"({schedule.action(action - 1)};{schedule.action(action)})OVERLAP_F_B"
    return str(schedule.action(action))


def _place(schedule: Schedule, action: int) -> tuple[int, int]:
    """Rank, and position in its row counted from 0, a pair counted as one."""
    rank = int(np.searchsorted(schedule.row_start[1:], action, side="right"))
    start = int(schedule.row_start[rank])
    return rank, action - start - int(schedule.paired[start:action].sum())
