"""V-half and V-min: one building block in a V, repeated every six slots, then pulled ahead where memory allows.

All is planned in slots, one for each F, I and W of a chunk. A block says when a micro-batch passes each device: forward down the V
(chunk 0), forward up (chunk 1), input gradient down (chunk 1), input gradient up (chunk 0). Repeated every six slots, blocks never
meet, and two of six slots stay free for the weight gradients. Warm-up and cool-down then use the memory that only the steady part needs.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Final

import numpy as np
import numpy.typing as npt

from pipefill_opt.kernels import kernel
from pipefill_opt.schedule.actions import Kind
from pipefill_opt.schedule.families.family import Family, Options, Rule, Size, StageCosts, vee
from pipefill_opt.schedule.families.rows import Row, run
from pipefill_opt.schedule.schedule import Int8, Int64

PERIOD: Final = 6
"""Slots from one micro-batch to the next: three actions of two chunks."""
LARGEST: Final = 100_000
"""Devices x micro-batches x chunks up to which such a schedule is planned."""

# Passes of a block, in the order in which a micro-batch makes them; W stands for both chunks' weight gradients.
_DOWN, _UP, _BACK_DOWN, _BACK_UP, _W = range(5)
_FREE: Final = -1


def _v_min(p: int) -> list[Int64]:
    """Backward follows forward at the same pace, one slot a hop; two slots later where 3 divides p, lest blocks meet."""
    rank, wait = np.arange(p), 2 * (p % 3 == 0)
    return [rank, 2 * p - 1 - rank, 2 * p + wait + rank, 4 * p - 1 + wait - rank]


def _v_half(p: int) -> list[Int64]:
    """Two slots a hop down the V and one up; three slots later where p is even, lest blocks meet."""
    rank, wait = np.arange(p), 3 * (p % 2 == 0)
    return [2 * rank, 3 * p - 2 - rank, 3 * p - 1 + wait + 2 * rank, 6 * p - 2 + wait - rank]


def _planned(block: Callable[[int], list[Int64]]) -> Rule:
    """The rule that plans with a building block."""

    def rows(size: Size, options: Options) -> list[Row]:
        p, m, _ = size
        slots = np.stack(block(p))[:, :, None] + PERIOD * np.arange(m)
        weights = [_queue(slots[:, rank]) for rank in range(p)]
        slots, weights = _pull_ahead(slots, weights)
        slots, _ = _squeeze(slots, weights)
        slots, _ = _pull_ahead(slots, [])
        slots, _ = _squeeze(slots, [_queue(slots[:, rank]) for rank in range(p)])
        return [_row(slots[:, rank], rank, 2 * p - 1 - rank) for rank in range(p)]

    return rows


def _queue(slots: Int64) -> Int64:
    """Slots of a device's weight gradients, in the order of their input gradients: each in the first slot that is free for it.

    slots: int64[4, m], those of the device's passes.
    """
    gradients = np.sort(slots[_BACK_DOWN:], axis=None)
    free = np.setdiff1d(np.arange(slots.max() + gradients.size + 1), slots)
    return _first_free(gradients, free)


def _first_free(gradients: Int64, free: Int64) -> Int64:
    """One slot of `free` for each gradient, behind it and behind that of the one before; both rising."""
    place = np.searchsorted(free, gradients)
    number = np.arange(len(gradients))
    taken: Int64 = free[np.maximum.accumulate(place - number) + number]
    return taken


def _row(slots: Int64, down: int, up: int) -> Row:
    """The order of a device; of the weight gradients that could go next, those of the second chunk go first."""
    m = slots.shape[1]
    microbatches = np.arange(m)
    free = np.setdiff1d(np.arange(slots.max() + 2 * m + 1), slots)
    early = _first_free(slots[_BACK_DOWN], free)
    late = _first_free(slots[_BACK_UP], np.setdiff1d(free, early))
    passes = (
        (Kind.F, down, slots[_DOWN]),
        (Kind.F, up, slots[_UP]),
        (Kind.I, up, slots[_BACK_DOWN]),
        (Kind.I, down, slots[_BACK_UP]),
        (Kind.W, up, early),
        (Kind.W, down, late),
    )
    row = np.concatenate([run(kind, stage, microbatches) for kind, stage, _ in passes])
    return row[np.argsort(np.concatenate([slots for _, _, slots in passes]))]


def _sorted(slots: Int64, weights: list[Int64]) -> Int64:
    """int64[n, 4]: slot, device, pass and number of every action, by slot, then by device."""
    tables = [np.stack([slots.ravel(), *np.indices(slots.shape)[[1, 0, 2]].reshape(3, -1)], axis=1)]
    for rank, own in enumerate(weights):
        number = np.arange(len(own))
        tables.append(np.stack([own, np.full_like(own, rank), np.full_like(own, _W), number], axis=1))
    table = np.concatenate(tables)
    ordered: Int64 = table[np.lexsort((table[:, 1], table[:, 0]))]
    return ordered


def _pull_ahead(slots: Int64, weights: list[Int64]) -> tuple[Int64, list[Int64]]:
    """Each action of warm-up and cool-down, in order, to the first free slot behind what it waits for that keeps the peak.

    Warm-up lasts until the first backward is through; cool-down begins behind the last forward of a device. The peak, of all
    devices, is that of the plan as it comes. Without `weights`, only the cool-down moves, and weight gradients take the slots
    that stay free.
    """
    what = _sorted(slots, weights)
    _, p, m = slots.shape
    position = np.arange(len(what))
    through = np.flatnonzero((what[:, 2] == _BACK_UP) & (what[:, 1] == 0))[0]
    entered = np.flatnonzero((what[:, 2] == _DOWN) & (what[:, 3] == m - 1) & (position > through))
    cool_down = int(entered[0]) + 1 if len(entered) else len(what)
    moves = (position < through) & bool(weights) | (position >= cool_down)
    grid = np.full((p, int(what[:, 0].max()) + 1), _FREE, dtype=np.int8)
    grid[what[:, 1], what[:, 0]] = what[:, 2]
    slots = slots.copy()
    queue = np.array(weights, dtype=np.int64).reshape(-1, 2 * m)
    kernel(_pull, len(what) * grid.shape[1] // 4)(what, moves, grid, slots, queue, bool(weights))
    return slots, list(queue)


def _pull(what: Int64, moves: npt.NDArray[np.bool_], grid: Int8, slots: Int64, queue: Int64, own_weights: bool) -> None:
    """Kernel of `_pull_ahead`. grid: int8[devices, slots], the pass in each slot. Changes grid, slots and queue."""
    devices, length = grid.shape
    limit = 0
    for step in range(-devices, len(what)):
        device = step + devices
        slot = target = 0
        kind = number = -1
        if step >= 0:  # before that, one step for each device finds the peak
            if not moves[step]:
                continue
            slot, device, kind, number = what[step, 0], what[step, 1], what[step, 2], what[step, 3]
            ready = -1
            if kind in (_DOWN, _BACK_DOWN) and device > 0:
                ready = slots[kind, device - 1, number]
            if kind in (_UP, _BACK_UP) and device + 1 < devices:
                ready = slots[kind, device + 1, number]
            if kind == _W:
                left = number + 1
                while left > 0:
                    ready += 1
                    if grid[device, ready] in (_BACK_DOWN, _BACK_UP):
                        left -= 1
                if number > 0:
                    ready = max(ready, queue[device, number - 1])
            else:
                if kind > 0:
                    ready = max(ready, slots[kind - 1, device, number])
                if number > 0:
                    ready = max(ready, slots[kind, device, number - 1])
            target = ready + 1
        row = grid[device]
        while True:
            while target < slot and row[target] != _FREE:
                target += 1
            if step >= 0:
                row[slot] = _FREE
                row[target] = kind
                if target == slot:
                    break
            held = peak = pending = 0
            for place in range(length):
                entry = row[place]
                if entry in (_DOWN, _UP):
                    held += 1
                    peak = max(peak, held)
                elif entry in (_BACK_DOWN, _BACK_UP):
                    pending += 1
                elif entry == _W or (entry == _FREE and not own_weights and pending > 0):
                    held -= 1
                    pending -= 1
            if step < 0:
                limit = max(limit, peak)
                break
            if peak <= limit:
                break
            row[target] = _FREE
            row[slot] = kind
            target += 1
        if step >= 0:
            if kind == _W:
                queue[device, number] = target
            else:
                slots[kind, device, number] = target


def _squeeze(slots: Int64, weights: list[Int64]) -> tuple[Int64, list[Int64]]:
    """The same order on every device, each action in the earliest slot."""
    what = _sorted(slots, weights)
    slots, queue = slots.copy(), np.stack(weights)
    kernel(_settle, len(what))(what, slots, queue)
    return slots, list(queue)


def _settle(what: Int64, slots: Int64, queue: Int64) -> None:
    """Kernel of `_squeeze`: new slots, in the order of the old ones."""
    devices = slots.shape[1]
    now = np.full(devices, -1, dtype=np.int64)
    for step in range(len(what)):
        device, kind, number = what[step, 1], what[step, 2], what[step, 3]
        ready = now[device]
        if kind in (_DOWN, _BACK_DOWN) and device > 0:
            ready = max(ready, slots[kind, device - 1, number])
        if kind in (_UP, _BACK_UP) and device + 1 < devices:
            ready = max(ready, slots[kind, device + 1, number])
        now[device] = ready + 1
        if kind == _W:
            queue[device, number] = ready + 1
        else:
            slots[kind, device, number] = ready + 1


def _v_half_makespan(size: Size, costs: StageCosts) -> int | None:
    p, m, _ = size
    if not costs.equal or m < 2 * p - 1:
        return None
    bubble = (0, 1)[p - 1] if p < 3 else 3 * p - 4 if p % 2 else 3 * p - 7
    return (PERIOD * m + bubble) * costs.forward


def _v_min_makespan(size: Size, costs: StageCosts) -> int | None:
    p, m, _ = size
    if not costs.equal or m <= p:
        return None
    bubble = 4 * p - 5 - 2 * (p % 3 == 0) if p > 1 else 0
    return (PERIOD * m + bubble) * costs.forward


SOURCE: Final = (
    "Qi et al., Pipeline Parallelism with Controllable Memory; order of the public schedulers of sail-sg/zero-bubble"
)

V_HALF = Family(
    name="v-half",
    summary="two chunks a device in a V, split backward, half of the activation memory of 1F1B",
    source=SOURCE,
    closed_form="makespan (6m+3p-7)F for even p > 2, (6m+3p-4)F for odd p > 2, where F = I = W, for m >= 2p-1 (found by simulation)",
    in_flight="2 floor(p/2) + 2 for m >= p",
    makespan=_v_half_makespan,
    rows=_planned(_v_half),
    placement=vee,
    chunks=2,
    most=LARGEST,
)

V_MIN = Family(
    name="v-min",
    summary="two chunks a device in a V, split backward, a third of the activation memory of 1F1B",
    source=SOURCE,
    closed_form="makespan (6m+4p-5)F, two less where 3 divides p, where F = I = W, for m > p > 1 (found by simulation)",
    in_flight="2 floor((p+4)/3) for m >= p",
    makespan=_v_min_makespan,
    rows=_planned(_v_min),
    placement=vee,
    chunks=2,
    most=LARGEST,
)
