"""How many segments a bubble may need, and what couples its slots: the shape of a room in the layered network."""

from __future__ import annotations

from dataclasses import dataclass

from pipefill_opt.solve.device import DeviceProblem, Room


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

    Where memory is not coupled and changes keep the triangle inequality, all segments of a slot may move to its first one: no
    operator loses its memory, changes get no dearer, transfers stay. Else there are as many places as segments fit.
    """
    net = room.usable - device.enter - device.leave
    slots = range(len(device.slots))
    least, most = zip(*(_held_by_others(device, s) for s in slots), strict=True)
    free = tuple(room.free - held for held in least)
    needs = [[chain.resident + bytes_ for bytes_ in chain.memory] for chain in device.slots]
    coupled = any(room.free - most[s] < need <= free[s] for s in slots for need in needs[s])
    shortest = {
        s: min(ticks)
        for s in slots
        if (
            ticks := [
                t for t, need in zip(device.slots[s].ticks, needs[s], strict=True) if t <= net and need <= free[s]
            ]
        )
    }
    changes = {device.between[a][b] for a in shortest for b in shortest if a != b}
    change = min(changes, default=0)
    table = len(changes) > 1
    once = len(shortest) < 2 or (not coupled and _triangle(device, list(shortest)))
    if once:
        count = len(shortest) if table else 1
    else:
        count = _most_segments(net, change, sorted(shortest.values())[:2])
    return Places(count, net, free, once, table, change, coupled)


def _most_segments(net: int, change: int, shortest: list[int]) -> int:
    """Most segments in `net` ticks, each of one operator at least: neighbours are of two slots, so at best the two quickest take turns."""
    pairs, rest = divmod(net + change, sum(shortest) + 2 * change)
    return max(1, 2 * pairs + (rest >= shortest[0] + change))


def _held_by_others(device: DeviceProblem, slot: int) -> tuple[int, int]:
    """Least and most bytes that the kept slots but this one hold while it runs."""
    others = [chain for s, chain in enumerate(device.slots) if s != slot and chain.keep]
    resident = sum(chain.resident for chain in others)
    least = sum(min(chain.carry) for chain in others) if device.repeat else 0
    return resident + least, resident + sum(max(chain.carry) for chain in others)


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
