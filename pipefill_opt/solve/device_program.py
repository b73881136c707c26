"""One device as an integer program: a variable for each arc of its network, then one for each change of slot that has its own time.

Rule numbers are those of docs/design.md, section 4. Rule 3 is in the arcs, flow conservation keeps rule 6.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import replace
from typing import NamedTuple

from pipefill_opt.solve.device import DevicePlan, Run, Visit
from pipefill_opt.solve.network import GONE, IN, OUT, Network, Node
from pipefill_opt.solve.places import Places
from pipefill_opt.solve.program import Program, Row


class Change(NamedTuple):
    """From slot `a` in the layer before to slot `b` in `layer`."""

    layer: int
    a: int
    b: int


class DeviceProgram:
    """The program of a network, and what its points mean as plans."""

    def __init__(self, network: Network) -> None:
        self.network = network
        self.changes = {change: len(network.arcs) + k for k, change in enumerate(_changes(network))}

    def program(self) -> Program:
        """Its points are the plans."""
        network, changes = self.network, self.changes
        rows = [*_flow(network), *_rests(network), *_times(network, changes), *_memories(network)]
        rows += _orders(network, changes)
        value = (*(arc.value for arc in network.arcs), *(0 for _ in changes))
        return Program(value, (1,) * len(value), tuple(row for row in rows if row.variables))

    def plan(self, point: Sequence[int]) -> DevicePlan:
        """The plan that a point stands for."""
        device, layers = self.network.device, self.network.layers
        first = [0] * len(device.slots)
        runs: dict[int, list[Run]] = defaultdict(list)
        chosen = [arc for arc, x in zip(self.network.arcs, point, strict=False) if x]
        for arc in sorted(chosen, key=lambda arc: (arc.layer, arc.slot)):
            begin = arc.tail.position % device.slots[arc.slot].length
            if arc.layer == 0:
                first[arc.slot] = begin
            if arc.operators:
                own = runs[layers[arc.layer].occurrence]
                if own and own[-1].slot == arc.slot:
                    own[-1] = replace(own[-1], count=own[-1].count + arc.operators)
                else:
                    own.append(Run(arc.slot, begin, arc.operators))
        return DevicePlan(
            tuple(first), tuple(Visit(*divmod(o, len(device.rooms)), tuple(runs[o])) for o in sorted(runs))
        )

    def point(self, plan: DevicePlan) -> tuple[int, ...] | None:
        """The point of a plan, or None if it takes an arc that is not there."""
        network = self.network
        device = network.device
        visits = {visit.iteration * len(device.rooms) + visit.bubble: visit for visit in plan.visits}
        at = [Node(plan.first[s] if device.repeat else network.fresh(s), OUT) for s in network.slots]
        point = [0] * (len(network.arcs) + len(self.changes))
        queue: list[tuple[int, int]] = []
        before = -1
        for number, layer in enumerate(network.layers):
            if layer.begins:
                queue = _segments(visits.get(layer.occurrence), layer.places)
            taken = 1 if layer.places.ordered else len(queue)
            now, queue = dict(queue[:taken]), queue[taken:]
            for slot in network.slots:
                head = self._head(at[slot], slot, now.get(slot, 0), stays=slot in dict(queue))
                head = head._replace(phase=OUT) if layer.ends else head
                arc = network.find(number, slot, at[slot], head, now.get(slot, 0))
                if arc is None:
                    return None
                point[arc] = 1
                at[slot] = head
            if layer.places.table and now:
                (slot,) = now
                if not layer.begins:
                    point[self.changes[Change(number, before, slot)]] = 1
                before = slot
            if layer.ends and queue:
                return None
        return tuple(point)

    def _head(self, tail: Node, slot: int, operators: int, *, stays: bool) -> Node:
        """Where a slot stands after `operators` more; stays: it runs again in this occurrence."""
        if not operators:
            return tail
        chain = self.network.device.slots[slot]
        position = (tail.position % chain.length + operators) % chain.length
        return Node(position, OUT if chain.keep else IN if stays else GONE)


def _segments(visit: Visit | None, places: Places) -> list[tuple[int, int]]:
    """(slot, operators) of the segments of a visit: one for each slot where one is enough, else neighbours of one slot joined."""
    joined: list[tuple[int, int]] = []
    for run in visit.runs if visit is not None else ():
        same = [k for k, (slot, _) in enumerate(joined) if slot == run.slot]
        if same and (places.once or same[-1] == len(joined) - 1):
            joined[same[-1]] = (run.slot, joined[same[-1]][1] + run.count)
        else:
            joined.append((run.slot, run.count))
    return joined


def _changes(network: Network) -> Iterator[Change]:
    """Every change inside an occurrence, where changes differ in time."""
    for number, layer in enumerate(network.layers):
        if layer.places.table and not layer.begins:
            before = {network.arcs[k].slot for k in network.running[number - 1]}
            here = {network.arcs[k].slot for k in network.running[number]}
            yield from (Change(number, a, b) for a in sorted(before) for b in sorted(here) if a != b)


def _row(terms: Iterable[tuple[int, int]], least: int | None, most: int) -> Row:
    pairs = list(terms)
    return Row(tuple(k for k, _ in pairs), tuple(a for _, a in pairs), least, most)


def _flow(network: Network) -> Iterator[Row]:
    """Each slot is somewhere and goes on from where it stands; with `repeat` the last layer leads to the first (rule 6)."""
    into: dict[tuple[int, int, Node], set[int]] = defaultdict(set)
    out: dict[tuple[int, int, Node], set[int]] = defaultdict(set)
    begin: dict[int, list[int]] = {slot: [] for slot in network.slots}
    last, repeat = len(network.layers) - 1, network.device.repeat
    for k, arc in enumerate(network.arcs):
        if arc.layer == 0:
            begin[arc.slot].append(k)
        if arc.layer > 0 or repeat:
            out[arc.layer, arc.slot, arc.tail].add(k)
        if arc.layer < last or repeat:
            into[(arc.layer + 1) % (last + 1), arc.slot, arc.head].add(k)
    for own in begin.values():
        yield _row(((k, 1) for k in own), 1, 1)
    for node in sorted({*into, *out}):
        come, go = into[node] - out[node], out[node] - into[node]
        yield _row([*((k, 1) for k in sorted(come)), *((k, -1) for k in sorted(go))], 0, 0)


def _rests(network: Network) -> Iterator[Row]:
    """Rule 5: kept slots fit at the beginning and after each occurrence."""
    device = network.device
    kept = [chain for chain in device.slots if chain.keep]
    if sum(chain.resident + max(chain.carry) for chain in kept) <= device.resident_free:
        return
    terms: dict[int, list[tuple[int, int]]] = defaultdict(list)
    for k, arc in enumerate(network.arcs):
        if device.slots[arc.slot].keep:
            if network.layers[arc.layer].ends:
                terms[arc.layer].append((k, network.resting(arc.slot, arc.head.position)))
            if arc.layer == 0:
                terms[-1].append((k, network.resting(arc.slot, arc.tail.position)))
    for pairs in terms.values():
        yield _row(pairs, None, device.resident_free)


def _times(network: Network, changes: dict[Change, int]) -> Iterator[Row]:
    """Rule 1: what runs in an occurrence, with its transfers and changes, fits between enter and leave.

    Where all changes take the same time, each segment brings one, and so does the room: there is one less than there are segments.
    """
    terms: dict[int, list[tuple[int, int]]] = defaultdict(list)
    room: dict[int, int] = {}
    for layer, running in zip(network.layers, network.running, strict=True):
        change = 0 if layer.places.table else layer.places.change
        room[layer.occurrence] = layer.places.net + change
        terms[layer.occurrence] += [(k, network.arcs[k].time + change) for k in running]
    for (number, a, b), k in changes.items():
        terms[network.layers[number].occurrence].append((k, network.device.between[a][b]))
    for occurrence, pairs in terms.items():
        if pairs:
            yield _row(pairs, None, room[occurrence])


def _orders(network: Network, changes: dict[Change, int]) -> Iterator[Row]:
    """One segment a place, places taken from the first one on, neighbours of two slots, and the changes that follow from it."""
    for number, layer in enumerate(network.layers):
        if not layer.places.ordered:
            continue
        here = [(k, 1) for k in network.running[number]]
        if layer.begins:
            yield _row(here, None, 1)
        elif not layer.places.table:
            yield _row([*here, *((k, -1) for k in network.running[number - 1])], None, 0)
            for slot in network.slots:
                both = network.of_slot(number - 1, slot) + network.of_slot(number, slot)
                yield _row(((k, 1) for k in both), None, 1)
        else:
            for slot in network.slots:
                came = [k for change, k in changes.items() if change.layer == number and change.b == slot]
                went = [k for change, k in changes.items() if change.layer == number and change.a == slot]
                here = [(k, 1) for k in network.of_slot(number, slot)]
                before = [(k, -1) for k in network.of_slot(number - 1, slot)]
                yield _row([*here, *((k, -1) for k in came)], 0, 0)
                yield _row([*((k, 1) for k in went), *before], None, 0)


def _memories(network: Network) -> Iterator[Row]:
    """Rule 4, where it depends on what the others do: if anything runs in a layer, all bytes fit."""
    device = network.device
    for number, layer in enumerate(network.layers):
        if not layer.places.coupled:
            continue
        most: dict[int, int] = defaultdict(int)
        for k in network.still[number]:
            arc = network.arcs[k]
            most[arc.slot] = max(most[arc.slot], arc.bytes)
        free = device.rooms[layer.occurrence % len(device.rooms)].free
        excess = max(0, sum(most.values()) - free)  # what may be held too much while nothing runs
        running = [(k, network.arcs[k].bytes + excess) for k in network.running[number]]
        if running:
            yield _row([*running, *((k, network.arcs[k].bytes) for k in network.still[number])], None, free + excess)
