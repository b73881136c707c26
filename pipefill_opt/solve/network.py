"""The layered network of one device: each slot is a path of arcs through the places in which segments may run.

A layer is a place in an occurrence. In a layer a slot either stands still or runs a segment; both are arcs from where it stands
to where it stands afterwards. What couples the slots is left to the rows of `device_program`. The mathematics and the reasons are in
models/formulations/fill_throughput.md.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Final, NamedTuple

from pipefill_opt.solve.device import DeviceProblem
from pipefill_opt.solve.places import Places, places_of

MAX_ARCS: Final = 300_000
"""Largest network that is built."""

OUT, IN, GONE = 0, 1, 2
"""Phases of a swapped slot in an occurrence: not yet in, in, out again. A kept slot is always OUT: it has no transfers."""


class Node(NamedTuple):
    """Where a slot stands: a position (chain length: fresh, nothing done yet) and a phase."""

    position: int
    phase: int


class Arc(NamedTuple):
    """A slot in a layer: `operators` done (0: it stands still), ticks with transfers, value.

    bytes: while it runs, its resident bytes and the largest memory of its operators; while it stands still and is in, its resident and
    carried bytes.
    """

    slot: int
    layer: int
    tail: Node
    head: Node
    operators: int
    time: int
    value: int
    bytes: int


class TooLargeError(Exception):
    """The network would have more than MAX_ARCS arcs."""


@dataclass(frozen=True, slots=True)
class Layer:
    """A place of an occurrence; begins, ends: it is the first, the last of its occurrence."""

    occurrence: int
    places: Places
    begins: bool
    ends: bool


class Network:
    """All layers, and the arcs of all slots in them.

    running[layer]: indices of the arcs that run something; still[layer]: of those that hold bytes while they stand still.
    Raises TooLargeError.
    """

    def __init__(self, device: DeviceProblem) -> None:
        self.device = device
        self.slots = range(len(device.slots))
        shapes = {room: places_of(device, room) for room in set(device.rooms)}
        self.layers = [
            Layer(occurrence, shapes[room], place == 0, place == shapes[room].count - 1)
            for occurrence, room in enumerate(device.rooms * device.iterations)
            for place in range(shapes[room].count)
        ]
        self.arcs: list[Arc] = []
        self.running: list[list[int]] = [[] for _ in self.layers]
        self.still: list[list[int]] = [[] for _ in self.layers]
        for slot in self.slots:
            self._grow(slot)
        self._index = {(arc.layer, arc.slot, arc.tail, arc.head, arc.operators): k for k, arc in enumerate(self.arcs)}

    def find(self, layer: int, slot: int, tail: Node, head: Node, operators: int) -> int | None:
        """The index of an arc, or None if there is none."""
        return self._index.get((layer, slot, tail, head, operators))

    def of_slot(self, layer: int, slot: int) -> list[int]:
        """Arcs with which a slot runs something in a layer."""
        return [k for k in self.running[layer] if self.arcs[k].slot == slot]

    def fresh(self, slot: int) -> int:
        """The position of a slot that has done nothing yet, in a plan that runs once."""
        return self.device.slots[slot].length

    def resting(self, slot: int, position: int) -> int:
        """Bytes of a slot that is in and stands at a position."""
        chain = self.device.slots[slot]
        return chain.resident + (0 if position == chain.length else chain.carry[position - 1])

    def _grow(self, slot: int) -> None:
        """The arcs of a slot, layer by layer, from the nodes that can be reached."""
        starts = range(self.fresh(slot)) if self.device.repeat else (self.fresh(slot),)
        reached = {Node(position, OUT) for position in starts if self._may_rest(slot, position)}
        for number, layer in enumerate(self.layers):
            heads: set[Node] = set()
            for tail in sorted(reached):
                for arc in self._arcs(slot, number, tail):
                    if layer.ends:
                        if arc.head.phase == IN or not self._may_rest(slot, arc.head.position):
                            continue
                        arc = arc._replace(head=Node(arc.head.position, OUT))
                    self._add(arc)
                    heads.add(arc.head)
            reached = heads

    def _add(self, arc: Arc) -> None:
        if len(self.arcs) >= MAX_ARCS:
            raise TooLargeError
        if arc.operators:
            self.running[arc.layer].append(len(self.arcs))
        elif arc.bytes:
            self.still[arc.layer].append(len(self.arcs))
        self.arcs.append(arc)

    def _may_rest(self, slot: int, position: int) -> bool:
        """Rule 5 for this slot, if the others carry the least."""
        device, chain = self.device, self.device.slots[slot]
        if not chain.keep:
            return True
        others = device.kept_resident - chain.resident
        if device.repeat:
            others += sum(min(other.carry) for s, other in enumerate(device.slots) if other.keep and s != slot)
        return self.resting(slot, position) + others <= device.resident_free

    def _arcs(self, slot: int, number: int, tail: Node) -> Iterator[Arc]:
        """What a slot may do in a layer from a node."""
        chain, places = self.device.slots[slot], self.layers[number].places
        held = self.resting(slot, tail.position) if chain.keep or tail.phase == IN else 0
        yield Arc(slot, number, tail, tail, 0, 0, 0, held)
        if tail.phase == GONE:
            return
        first = tail.position % chain.length
        moved = chain.move_in_fresh if tail.position == self.fresh(slot) else chain.move_in[first]
        time = 0 if tail.phase == IN else moved
        done = value = largest = 0
        while True:
            operator = (first + done) % chain.length
            time += chain.ticks[operator]
            largest = max(largest, chain.resident + chain.memory[operator])
            if time > places.net or largest > places.free[slot]:
                return
            done += 1
            value += chain.value[operator]
            after = (first + done) % chain.length
            out = time + chain.move_out[after]
            if out <= places.net:
                head = Node(after, OUT if chain.keep else GONE)
                yield Arc(slot, number, tail, head, done, out, value, largest)
            if not places.once and not chain.keep:
                yield Arc(slot, number, tail, Node(after, IN), done, time, value, largest)
