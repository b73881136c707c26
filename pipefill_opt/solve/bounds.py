"""Simple upper bounds on one device's value, each a proof that needs no search over plans."""

from __future__ import annotations

from collections.abc import Sequence
from fractions import Fraction

from pipefill_opt.solve.device import Chain, DeviceProblem, Room
from pipefill_opt.solve.reach import least_moves, reach_alone

ROOM_VISITS = 20_000
"""About how many rooms `most_laps` walks through; more make it tighter."""


Item = tuple[int, int, int]
"""(value, ticks, most pieces)."""


def net_ticks(device: DeviceProblem, room: Room, moves: int, shortest: int) -> int:
    """Most ticks of operators that fit a room after enter, leave and `moves` ticks of transfers, if none is shorter than `shortest`."""
    net = room.usable - device.enter - device.leave - moves
    return net if net >= shortest else 0


def capacity(device: DeviceProblem) -> int:
    """Net ticks of all rooms over the H iterations: no plan runs operators for longer. Some slot's transfers are paid wherever one runs."""
    if not device.slots:
        return 0
    moves = min(least_moves(slot) for slot in device.slots)
    shortest = min(min(slot.ticks) for slot in device.slots)
    return device.iterations * sum(net_ticks(device, room, moves, shortest) for room in device.rooms)


def most_operators(device: DeviceProblem, slot: Chain, periods: int = 1) -> int:
    """Most operators of a slot over `periods` x H iterations from its first one, alone, with nothing carried and the cheapest transfers.

    Taking as many as fit in each room is best: the map from position to position is monotone, for whoever is further along can wait.
    """
    counts = {room: reach_alone(device, slot, room) for room in set(device.rooms)}
    position = 0
    for _ in range(periods * device.iterations):
        for room in device.rooms:
            position += counts[room][position % slot.length]
    return position


def most_laps(device: DeviceProblem, slot: Chain) -> int:
    """Most laps of a slot in a plan of H iterations that repeats.

    With l laps from some start s < n the monotone map f of P plans gives f(s) >= s + P l n, and f(s) <= f(n) = f(0) + n; so
    P l n <= f(0) + n.
    """
    rooms = device.iterations * len(device.rooms)
    periods = max(1, min(8, ROOM_VISITS // max(1, rooms)))
    return (most_operators(device, slot, periods) // slot.length + 1) // periods


def knapsack_items(device: DeviceProblem, slot: Chain) -> list[Item]:
    """What a slot can do at most, in pieces: whole laps if the plan repeats, else each operator of the chain."""
    if device.repeat:
        return [(sum(slot.value), sum(slot.ticks), most_laps(device, slot))]
    count = most_operators(device, slot)
    times = [max(0, -((k - count) // slot.length)) for k in range(slot.length)]
    return list(zip(slot.value, slot.ticks, times, strict=True))


def simple_bound(device: DeviceProblem) -> int:
    """An upper bound on the value of any plan: each slot's own best, and the best use of all net ticks by value per tick."""
    items = [item for slot in device.slots for item in knapsack_items(device, slot)]
    return fractional_knapsack(items, capacity(device))


def fractional_knapsack(items: Sequence[Item], room: int) -> int:
    """floor of the best fractional choice of (value, size, most) in `room`: an upper bound on every whole choice."""
    total = 0
    for value, size, most in sorted(items, key=lambda item: Fraction(-item[0], item[1])):
        whole = min(most, room // size)
        total += whole * value
        room -= whole * size
        if whole < most:
            return total + value * room // size
    return total
