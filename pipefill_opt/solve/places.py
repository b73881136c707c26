"""How many segments a bubble may need, and what couples its slots: the shape of a room in the layered network."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from pipefill_opt.solve.device import Chain, DeviceProblem, Room
from pipefill_opt.solve.reach import least_moves


@dataclass(frozen=True, slots=True)
class Places:
    """count: places for segments. net: ticks between enter and leave. free: by slot, most bytes that it may use itself.

    once: one segment a slot is enough; then slots run one after the other in any order, unless `table`. table: changes of slot
    differ in time; else each takes `change`. coupled: whether an operator fits may depend on what the other slots hold.
    """

    count: int
    net: int
    free: tuple[int, ...]
    once: bool
    table: bool
    change: int
    coupled: bool

    @property
    def ordered(self) -> bool:
        """True if a place takes one segment; else there is one place for all slots."""
        return self.table or not self.once


def places_of(device: DeviceProblem, room: Room) -> Places:
    """The shape of a room that loses no plan of any value.

    Where kept slots do not couple memory and changes keep the triangle inequality, all segments of a slot may move to its first one:
    no operator loses its memory (swapped slots are out while others run), changes get no dearer, transfers stay. Else there are
    as many places as segments fit, and swapped slots may be in while others run.
    """
    net = room.usable - device.enter - device.leave
    slots = range(len(device.slots))
    kept = [slot for slot in slots if device.slots[slot].keep]
    free = tuple(room.free - _least_held(device, kept, slot) for slot in slots)
    needs = [[chain.resident + size for size in chain.memory] for chain in device.slots]
    fits = {
        s: [t for t, need in zip(device.slots[s].ticks, needs[s], strict=True) if t <= net and need <= free[s]]
        for s in slots
    }
    shortest = {slot: min(ticks) for slot, ticks in fits.items() if ticks}

    def coupled(held: Sequence[int]) -> bool:
        """True if the most that the slots `held` may hold decides whether an operator of another fits."""
        most = [room.free - sum(_most_held(device.slots[s]) for s in held if s != slot) for slot in slots]
        return any(most[slot] < need <= free[slot] for slot in slots for need in needs[slot])

    changes = {device.between[a][b] for a in shortest for b in shortest if a != b}
    change = min(changes, default=0)
    table = len(changes) > 1
    if len(shortest) < 2 or (not coupled(kept) and _triangle(device, list(shortest))):
        return Places(len(shortest) if table else 1, net, free, True, table, change, coupled(kept))
    moves = sorted(least_moves(device.slots[slot]) for slot in shortest)
    count = _most_segments(net - sum(moves[:2]), change, sorted(shortest.values())[:2])
    return Places(count, net, free, False, table, change, coupled(slots))


def _most_segments(net: int, change: int, shortest: list[int]) -> int:
    """Most segments in `net` ticks, each of one operator at least: neighbours are of two slots, so at best the two quickest take turns.

    `net` is what two slots leave that move in and out; if only one runs, one segment is enough.
    """
    pairs, rest = divmod(net + change, sum(shortest) + 2 * change)
    return max(1, 2 * pairs + (rest >= shortest[0] + change))


def _least_held(device: DeviceProblem, kept: Sequence[int], slot: int) -> int:
    """Least bytes that the kept slots but this one hold while it runs."""
    others = [device.slots[s] for s in kept if s != slot]
    return sum(chain.resident + (min(chain.carry) if device.repeat else 0) for chain in others)


def _most_held(chain: Chain) -> int:
    """Most bytes that a slot holds while it is in and stands still."""
    return chain.resident + max(chain.carry)


def _triangle(device: DeviceProblem, slots: list[int]) -> bool:
    """True if leaving a slot out of a sequence never makes its changes dearer."""
    cost = device.between
    return all(
        cost[a][c] <= cost[a][b] + cost[b][c]
        for a in slots
        for b in slots
        for c in slots
        if a != b and b != c and a != c
    )
