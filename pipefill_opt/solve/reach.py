"""How far one slot gets in one room on its own."""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Sequence
from functools import lru_cache
from itertools import accumulate

from pipefill_opt.solve.device import Chain, DeviceProblem, Room


def least_moves(slot: Chain) -> int:
    """Ticks of the cheapest transfers in and out, over all positions."""
    if slot.keep:
        return 0
    return min((*slot.move_in, slot.move_in_fresh)) + min(slot.move_out)


def never_fits(device: DeviceProblem, slot: Chain, room: Room) -> list[bool]:
    """By operator: whether its memory does not fit the room, though other slots carry nothing."""
    free = room.free - device.kept_resident - (0 if slot.keep else slot.resident)
    if max(slot.memory) <= free:
        return [False] * slot.length
    return [memory > free for memory in slot.memory]


def reach_alone(device: DeviceProblem, slot: Chain, room: Room, never: Sequence[bool] | None = None) -> tuple[int, ...]:
    """By position: the most operators that the slot can do in the room, on its own and with the cheapest transfers.

    never: operators that do not fit the room's memory (`never_fits` where it is not given). No plan does more of this slot in the
    room, whatever the other slots do.
    """
    net = room.usable - device.enter - device.leave - least_moves(slot)
    walls = never_fits(device, slot, room) if never is None else never
    return reach(slot.ticks, net, tuple(k for k, wall in enumerate(walls) if wall) if any(walls) else ())


@lru_cache(maxsize=2**16)
def reach(ticks: tuple[int, ...], net: int, walls: tuple[int, ...]) -> tuple[int, ...]:
    """By position: how many operators fit in `net` ticks before the next wall (an operator that does not fit)."""
    n = len(ticks)
    if net <= 0:
        return (0,) * n
    elapsed = list(accumulate(ticks, initial=0))
    counts = []
    for k in range(n):
        laps, rest = divmod(elapsed[k] + net, elapsed[n])
        count = laps * n + bisect_right(elapsed, rest) - 1 - k
        if walls:
            wall = bisect_right(walls, k - 1)
            count = min(count, (walls[wall] if wall < len(walls) else walls[0] + n) - k)
        counts.append(count)
    return tuple(counts)
