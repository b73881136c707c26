"""Least times inside one occurrence: from given positions, the least total time for every vector of operators done.

A label is (operators done by each slot, the slot that runs last, the swapped slots that are in); its cost is time, and the
least time of a label is all that the rest of the occurrence can depend on. So the search is exact for all of rules 1, 2 and 4 and
for swapped slots: A-B-A sequences, slots that stay in between two segments, operators that fit only while others carry little,
`between` as any table.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, Final

from pipefill_opt.solve.device import DeviceProblem, Run

UNREACHED: Final = 2**62


def flat_tables(device: DeviceProblem, wrap: Callable[[list[int]], Any]) -> tuple[Any, ...]:
    """The slots of a device as the leading arguments of `least_times`; `wrap` makes a sequence of a list.

    Entry offset[s] + k belongs to operator (or position) k of slot s; between has slots x slots entries; swap_bit is 0 for a kept slot.
    """
    slots = device.slots
    offset, bits, swapped = [0], [], 0
    for slot in slots:
        offset.append(offset[-1] + slot.length)
        bits.append(0 if slot.keep else 1 << swapped)
        swapped += not slot.keep

    def flat(name: str) -> Any:
        return wrap([number for slot in slots for number in getattr(slot, name)])

    return (
        len(slots),
        wrap(offset),
        wrap([slot.length for slot in slots]),
        flat("ticks"),
        flat("memory"),
        flat("carry"),
        flat("move_in"),
        wrap([slot.move_in_fresh for slot in slots]),
        flat("move_out"),
        wrap([slot.resident for slot in slots]),
        wrap(bits),
        wrap([number for row in device.between for number in row]),
        device.enter,
        device.leave,
        device.kept_resident,
    )


def least_times(
    slots: int,
    offset: Any,
    length: Any,
    ticks: Any,
    memory: Any,
    carry: Any,
    move_in: Any,
    move_in_fresh: Any,
    move_out: Any,
    resident: Any,
    swap_bit: Any,
    between: Any,
    enter: int,
    leave: int,
    kept_resident: int,
    usable: int,
    free: int,
    position: Any,
    fresh: Any,
    stride: Any,
    box: int,
    masks: int,
    time: Any,
    parent: Any,
    least: Any,
    last: Any,
    done: Any,
) -> None:
    """Fill least[d] (total time, `enter` to `leave`) and last[d] (its final label) for each vector d of operators done.

    d is an index with `stride`; a label is (d x slots + slot that ran last) x masks + set of swapped slots that are in. time and parent are
    by label; time and least must come filled with UNREACHED. `done` is scratch of one entry a slot. Plain arithmetic on
    flat sequences, so that it runs as it stands and compiled.
    """
    for d in range(box):
        for s in range(slots):
            done[s] = d // stride[s] % (stride[s + slots] + 1)
        for now in range(slots if d else 1):
            for inside in range(masks if d else 1):
                label = (d * slots + now) * masks + inside
                at = time[label] if d else enter
                if at >= UNREACHED:
                    continue
                if d:
                    k = (position[now] + done[now]) % length[now]
                    if inside == 0 or inside == swap_bit[now]:
                        total = at + leave
                        if inside:
                            total += move_out[offset[now] + k]
                        if total <= usable and total < least[d]:
                            least[d] = total
                            last[d] = label
                for s in range(slots):
                    if done[s] == stride[s + slots]:
                        continue
                    bit = swap_bit[s]
                    moves_in = bit != 0 and inside & bit == 0
                    if moves_in and done[s]:
                        continue
                    for take_out in range(2):
                        arrival = at
                        present = inside
                        if take_out and (d == 0 or s == now or swap_bit[now] == 0):
                            continue
                        if d and s != now:
                            if take_out:
                                arrival += move_out[offset[now] + (position[now] + done[now]) % length[now]]
                                present -= swap_bit[now]
                            arrival += between[now * slots + s]
                        k = (position[s] + done[s]) % length[s]
                        if moves_in:
                            arrival += move_in_fresh[s] if fresh[s] else move_in[offset[s] + k]
                            present += bit
                        arrival += ticks[offset[s] + k]
                        if arrival + leave > usable:
                            continue
                        need = kept_resident + memory[offset[s] + k]
                        for other in range(slots):
                            own = swap_bit[other]
                            if own != 0 and present & own == 0:
                                continue
                            if own != 0:
                                need += resident[other]
                            if other != s and not (fresh[other] and done[other] == 0):
                                need += carry[offset[other] + (position[other] + done[other] - 1) % length[other]]
                        if need > free:
                            continue
                        successor = ((d + stride[s]) * slots + s) * masks + present
                        if arrival < time[successor]:
                            time[successor] = arrival
                            parent[successor] = label if d else -1


def strides(limits: Sequence[int]) -> tuple[list[int], int]:
    """Mixed-radix strides of the box of vectors d <= limits, followed by the limits, and the size of the box."""
    result, size = [], 1
    for limit in limits:
        result.append(size)
        size *= limit + 1
    return [*result, *limits], size


def runs_of(
    parent: Any, label: int, slots: int, masks: int, positions: Sequence[int], lengths: Sequence[int]
) -> tuple[Run, ...]:
    """The segments that lead to a label: one operator a step, joined where the same slot goes on."""
    order: list[int] = []
    while label >= 0:
        order.append(label // masks % slots)
        label = int(parent[label])
    standing = list(positions)
    runs: list[Run] = []
    for slot in reversed(order):
        if runs and runs[-1].slot == slot:
            runs[-1] = Run(slot, runs[-1].first, runs[-1].count + 1)
        else:
            runs.append(Run(slot, standing[slot] % lengths[slot], 1))
        standing[slot] += 1
    return tuple(runs)
