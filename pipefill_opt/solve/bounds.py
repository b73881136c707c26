"""Simple upper bounds on one device's value, each a proof that needs no search over plans."""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Sequence
from fractions import Fraction

from pipefill_opt.solve.device import Chain, DeviceProblem, Room
from pipefill_opt.solve.reach import least_moves, reach_alone

ROOM_VISITS = 20_000
"""About how many rooms `most_laps` walks through; more make it tighter."""
MAX_SUMS = 200_000
"""Most different sums of laps that `LapSums` lists."""


def net_ticks(device: DeviceProblem, room: Room) -> int:
    """Most ticks of operators that fit a room, whatever runs: after enter, leave, and the cheapest transfers if all slots are swapped."""
    if not device.slots:
        return 0
    moves = min(least_moves(slot) for slot in device.slots)
    net = room.usable - device.enter - device.leave - moves
    return net if net >= min(min(slot.ticks) for slot in device.slots) else 0


def capacity(device: DeviceProblem) -> int:
    """Net ticks of all rooms over the H iterations: no plan runs operators for longer."""
    return device.iterations * sum(net_ticks(device, room) for room in device.rooms)


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


def value_after(slot: Chain, operators: int) -> int:
    """Value of the first `operators` operators from the chain's beginning."""
    laps, rest = divmod(operators, slot.length)
    return laps * sum(slot.value) + sum(slot.value[:rest])


def simple_bound(device: DeviceProblem) -> int:
    """An upper bound on the value of any plan of the device: each slot's own best, and the best use of all net ticks by value per tick."""
    room = capacity(device)
    if device.repeat:
        items = [(sum(slot.value), sum(slot.ticks), most_laps(device, slot)) for slot in device.slots]
        return fractional_knapsack(items, room)
    alone = [most_operators(device, slot) for slot in device.slots]
    own = sum(value_after(slot, count) for slot, count in zip(device.slots, alone, strict=True))
    items = []
    for slot, count in zip(device.slots, alone, strict=True):
        for k, (value, ticks) in enumerate(zip(slot.value, slot.ticks, strict=True)):
            items.append((value, ticks, max(0, -((k - count) // slot.length))))
    return min(own, fractional_knapsack(items, room))


def fractional_knapsack(items: Sequence[tuple[int, int, int]], room: int) -> int:
    """floor of the best fractional choice of (value, size, most) in `room`: an upper bound on every whole choice."""
    total = 0
    for value, size, most in sorted(items, key=lambda item: Fraction(-item[0], item[1])):
        whole = min(most, room // size)
        total += whole * value
        room -= whole * size
        if whole < most:
            return total + value * room // size
    return total


class LapSums:
    """The values that a plan which repeats can have: sums of laps x value of a chain. Rounds bounds down to them."""

    def __init__(self, device: DeviceProblem) -> None:
        sums = {0}
        for slot in device.slots:
            lap, most = sum(slot.value), most_laps(device, slot)
            if len(sums) * (most + 1) > MAX_SUMS:
                self._sums: list[int] | None = None
                return
            sums = {known + k * lap for known in sums for k in range(most + 1)}
        self._sums = sorted(sums)

    def floor(self, bound: int) -> int:
        """The largest possible value up to `bound` (of 0 or more)."""
        if self._sums is None:
            return bound
        return self._sums[bisect_right(self._sums, bound) - 1]
