"""When being further along is never worse, and the relaxation that makes it so.

A device is *monotone* if (a) changing slots directly is never dearer than by way of a third, (b) whether an operator fits a room does
not depend on what other slots carry, (c) rule 5 lets the slots stand anywhere, (d) waiting never makes a transfer dearer than the operators
it saves. Then one segment a slot is enough in an occurrence; whoever is further along can follow any plan, doing only what is not
done yet; and all that is reached, less than it is reached too. Any device becomes monotone, and no plan is lost, when
what breaks this is dropped: cheapest ways between slots, least carried bytes, least transfers, rule 5 for resident bytes only.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import lru_cache
from itertools import pairwise, permutations

from pipefill_opt.solve.device import Chain, DeviceProblem, Room


@dataclass(frozen=True, slots=True)
class Relaxed:
    """A monotone device that allows every plan of the given one. exact: it allows no other.

    path[S]: least ticks of `between` to visit the set S of slots (bits), once each; order[S]: the order that takes them.
    never[room][s][k]: whether operator k of slot s does not fit the room's free bytes.
    """

    device: DeviceProblem
    exact: bool
    path: tuple[int, ...]
    order: tuple[tuple[int, ...], ...]
    never: dict[Room, tuple[tuple[bool, ...], ...]]

    def only(self, slots: Sequence[int]) -> Relaxed:
        """The same where no other slot runs anything."""
        device = self.device
        some = replace(
            device,
            residents=tuple(device.residents[s] for s in slots),
            slots=tuple(device.slots[s] for s in slots),
            between=tuple(tuple(device.between[a][b] for b in slots) for a in slots),
        )
        never = {room: tuple(walls[s] for s in slots) for room, walls in self.never.items()}
        path, order = _paths(some.between)
        return Relaxed(some, self.exact, path, order, never)


def relax(device: DeviceProblem) -> Relaxed:
    """The monotone relaxation, and whether it is the device itself."""
    between = _cheapest_ways(device.between)
    slots = tuple(_relaxed_moves(slot, repeat=device.repeat) for slot in device.slots)
    exact = between == device.between and slots == device.slots and _stands_anywhere(device)
    never: dict[Room, tuple[tuple[bool, ...], ...]] = {}
    held = _held(device)
    for room in set(device.rooms):
        never[room], same = _never(device, held, room)
        exact = exact and same
    path, order = _paths(between)
    return Relaxed(replace(device, slots=slots, between=between), exact, path, order, never)


@lru_cache(maxsize=1024)
def _cheapest_ways(between: tuple[tuple[int, ...], ...]) -> tuple[tuple[int, ...], ...]:
    """`between` where ways over other slots count too (the diagonal is never used and stays)."""
    table = [list(row) for row in between]
    n = len(table)
    for via in range(n):
        for a in range(n):
            for b in range(n):
                if len({a, b, via}) == 3:
                    table[a][b] = min(table[a][b], table[a][via] + table[via][b])
    return tuple(tuple(row) for row in table)


def _relaxed_moves(slot: Chain, *, repeat: bool) -> Chain:
    """The slot itself if its transfers keep (d), else with the least transfers everywhere."""
    if slot.keep:
        return slot
    n = slot.length
    into = slot.move_in if repeat else (slot.move_in_fresh, *slot.move_in[1:], slot.move_in[0])
    steps = range(n)
    fine = all(into[(p + 1) % len(into)] <= into[p] + slot.ticks[p] for p in steps)
    fine = fine and all(slot.move_out[p] <= slot.move_out[(p + 1) % n] + slot.ticks[p] for p in steps)
    if fine and (repeat or slot.move_in_fresh == slot.move_in[0]):
        return slot
    least = min((*slot.move_in, slot.move_in_fresh))
    return replace(slot, move_in=(least,) * n, move_in_fresh=least, move_out=(min(slot.move_out),) * n)


def _stands_anywhere(device: DeviceProblem) -> bool:
    """(c), with the most carried bytes everywhere."""
    return sum(slot.resident + max(slot.carry) for slot in device.slots if slot.keep) <= device.resident_free


def _held(device: DeviceProblem) -> list[tuple[int, int]]:
    """By slot: bytes that are held beside an operator of it, at the least and at the most."""
    found = []
    for s, slot in enumerate(device.slots):
        others = [other for o, other in enumerate(device.slots) if o != s and other.keep]
        base = device.kept_resident + (0 if slot.keep else slot.resident)
        least = sum(min(other.carry) if device.repeat else 0 for other in others)
        found.append((base + least, base + sum(max(other.carry) for other in others)))
    return found


def _never(
    device: DeviceProblem, held: Sequence[tuple[int, int]], room: Room
) -> tuple[tuple[tuple[bool, ...], ...], bool]:
    """Operators that do not fit even if the others carry the least, and whether that is so whatever they carry."""
    result = []
    same = True
    for slot, (least, most) in zip(device.slots, held, strict=True):
        if most + max(slot.memory) <= room.free:
            result.append((False,) * slot.length)
            continue
        result.append(tuple(least + memory > room.free for memory in slot.memory))
        same = same and all(
            (most + memory > room.free) == wall for memory, wall in zip(slot.memory, result[-1], strict=True)
        )
    return tuple(result), same


@lru_cache(maxsize=1024)
def _paths(between: tuple[tuple[int, ...], ...]) -> tuple[tuple[int, ...], tuple[tuple[int, ...], ...]]:
    """(least ticks, best order) by set of slots."""
    n = len(between)
    path, order = [], []
    for chosen in range(1 << n):
        members = [s for s in range(n) if chosen >> s & 1]
        best = min(
            permutations(members),
            key=lambda way: sum(between[a][b] for a, b in pairwise(way)),
        )
        order.append(best)
        path.append(sum(between[a][b] for a, b in pairwise(best)))
    return tuple(path), tuple(order)
