"""How far one slot gets in one room on its own."""

from __future__ import annotations

from bisect import bisect_right
from itertools import accumulate

from pipefill_opt.solve.device import Chain, DeviceProblem, Room


def least_moves(slot: Chain) -> int:
    """Ticks of the cheapest transfers in and out, over all positions."""
    return min((*slot.move_in, slot.move_in_fresh)) + min(slot.move_out)


def reach_alone(device: DeviceProblem, slot: Chain, room: Room) -> list[int]:
    """By position: the most operators that the slot can do in the room, if nothing is carried and transfers are the cheapest.

    No plan does more of this slot in the room, whatever the other slots do.
    """
    net = room.usable - device.enter - device.leave - least_moves(slot)
    free = room.free - device.kept_resident - (0 if slot.keep else slot.resident)
    n = slot.length
    elapsed = [0, *accumulate(slot.ticks)]
    walls = [k for k in range(n) if slot.memory[k] > free]
    counts = []
    for k in range(n):
        if net <= 0:
            counts.append(0)
            continue
        laps, rest = divmod(elapsed[k] + net, elapsed[n])
        count = laps * n + bisect_right(elapsed, rest) - 1 - k
        if walls:
            wall = bisect_right(walls, k - 1)
            count = min(count, (walls[wall] if wall < len(walls) else walls[0] + n) - k)
        counts.append(count)
    return counts
