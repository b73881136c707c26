"""The per-bubble pattern bound: each bubble gets the best set of operator runs, wherever the slots stand.

A *pattern* of a bubble is a set of runs of consecutive operators, one run a slot, that fits its usable ticks. The bound adds up the
best pattern of every bubble. What it relaxes: a run may begin at any operator of its chain, so that bubbles do not depend on each
other (rules 3 and 6); each operator is only held against the free bytes with its own slot's resident bytes, as if others held nothing,
but for the number of kept slots that fit at all (rules 4, 5); of the transfers and changes the cheapest count; copies limit a
bubble, not the plan (rule 7). Residents may change from bubble to bubble. It does not depend on H: it holds for every number of iterations.

With `repeat: true` a lap's value may as well be spread in proportion to time, since plans do whole laps: the better of the two counts.
"""

from __future__ import annotations

from collections.abc import Iterator
from fractions import Fraction
from itertools import accumulate
from math import floor
from typing import Final

import numpy as np

from pipefill_opt.solve.device import Chain, Compiled, DeviceProblem
from pipefill_opt.solve.reach import least_moves
from pipefill_opt.solve.stairs import Index, Stairs, joined, stairs

ORIGIN: Final = "per-bubble patterns"
BIG: Final = 2**60


def pattern_bound(compiled: Compiled) -> Fraction:
    """An upper bound, in units per main iteration, on every plan of the whole problem, for every H."""
    problem = compiled.problem
    known: dict[tuple[object, ...], int] = {}
    total = 0
    for c, device in enumerate(problem.devices):
        empty = compiled.device(c, (), 1)
        chains = [
            (compiled.chain(c, j, k), job.copies)
            for j, job in enumerate(problem.jobs)
            if device.name in job.devices and job.copies
            for k in range(len(job.configurations))
        ]
        key = (
            device.speed,
            empty.rooms,
            empty.resident_free,
            tuple((chain.job, chain.configuration) for chain, _ in chains),
        )
        if key not in known:
            known[key] = class_pattern_bound(empty, chains, _between(compiled, [chain.job for chain, _ in chains]))
        total += device.count * known[key]
    return Fraction(total)


def class_pattern_bound(empty: DeviceProblem, chains: list[tuple[Chain, int]], between: int) -> int:
    """The bound of one device per main iteration, in units.

    empty: the device without slots. chains: what may run on it, with copies. between: least ticks from one copy to another.
    """
    spreads = (False, True) if empty.repeat else (False,)
    return min(sum(_best(empty, chains, between, smooth=smooth)) for smooth in spreads)


def _best(empty: DeviceProblem, chains: list[tuple[Chain, int]], between: int, *, smooth: bool) -> Iterator[int]:
    """The best pattern of each bubble; bubbles of the same free bytes are looked up in one list."""
    slots = _most_slots(empty, chains)
    for free in sorted({room.free for room in empty.rooms}):
        nets = [room.usable - empty.enter - empty.leave for room in empty.rooms if room.free == free]
        nets = [net for net in nets if net > 0]
        if not nets or not slots:
            continue
        single = runs_of_chains([chain for chain, _ in chains], free, max(nets), smooth=smooth)
        yield from _most_worth(single, between, slots, np.array(nets, dtype=np.int64))


def _most_worth(single: Stairs, between: int, slots: int, nets: Index) -> list[int]:
    """By net ticks: the most that up to `slots` runs are worth, by doubling; never more than the best value per tick allows."""
    most = int(nets.max())
    if len(single.ticks) == 1:
        return []
    slots = min(slots, (most + between) // (int(single.ticks[1]) + between))
    power, several = single, None
    while True:
        if slots % 2:
            several = power if several is None else joined(several, power, between, most)
        slots //= 2
        if not slots:
            break
        twice = joined(power, power, between, most)
        if _same(twice, power):
            several = power
            break
        power = twice
    assert several is not None
    steps = list(zip(single.ticks[1:].tolist(), single.value[1:].tolist(), strict=True))
    apart = max(Fraction(value, ticks) for ticks, value in steps)
    changed = max(Fraction(value, ticks + between) for ticks, value in steps)
    found = several.value[several.at(nets)].tolist()
    return [
        min(value, floor(apart * net), floor(changed * (net + between)))
        for value, net in zip(found, nets.tolist(), strict=True)
    ]


def _same(a: Stairs, b: Stairs) -> bool:
    """Whether one more doubling has changed nothing: then no number of slots does."""
    return len(a.ticks) == len(b.ticks) and bool((a.ticks == b.ticks).all() and (a.value == b.value).all())


def runs_of_chains(chains: list[Chain], free: int, most: int, *, smooth: bool) -> Stairs:
    """All runs of all chains that fit `most` ticks and `free` bytes alone, the cheapest transfers included."""
    ticks: list[int] = []
    values: list[int] = []
    for chain in chains:
        for time, value in _runs(chain, free, most, smooth=smooth):
            ticks.append(time)
            values.append(value)
    kind = object if max(values, default=0) * (1 + most // min(ticks, default=1)) >= BIG else np.int64
    return stairs(np.array(ticks, dtype=np.int64), np.array(values, dtype=kind))


def _runs(chain: Chain, free: int, most: int, *, smooth: bool) -> Iterator[tuple[int, int]]:
    """(ticks, value) of each run of a chain, from each operator on as far as it fits."""
    n, moves = chain.length, least_moves(chain)
    wall = [chain.resident + memory > free for memory in chain.memory]
    elapsed = list(accumulate(chain.ticks, initial=0))
    lap, total = sum(chain.value), elapsed[n]
    worth = [lap * t // total for t in elapsed] if smooth else list(accumulate(chain.value, initial=0))
    for first in range(n):
        k = first
        while not wall[k % n]:
            k += 1
            time = moves + (k // n) * total + elapsed[k % n] - elapsed[first]
            if time > most:
                break
            yield time, (k // n) * lap + worth[k % n] - worth[first]


def _most_slots(empty: DeviceProblem, chains: list[tuple[Chain, int]]) -> int:
    """Most slots that work in one bubble: as copies allow, of kept ones as many as their least resident bytes fit at once."""
    room = empty.resident_free
    copies = {chain.job: count for chain, count in chains}
    slots = sum(count for job, count in copies.items() if not _kept(chains, job))
    sizes = sorted(
        (min(chain.resident for chain, _ in chains if chain.job == job), count)
        for job, count in copies.items()
        if _kept(chains, job)
    )
    for size, count in sizes:
        fitting = min(count, room // size) if size else count
        slots += fitting
        room -= fitting * size
    return slots


def _kept(chains: list[tuple[Chain, int]], job: int) -> bool:
    return next(chain.keep for chain, _ in chains if chain.job == job)


def _between(compiled: Compiled, jobs: list[int]) -> int:
    """Least ticks of a change between copies of these jobs."""
    between = compiled.problem.switch.between
    if isinstance(between, int):
        return between
    names = {compiled.problem.jobs[j].name for j in jobs}
    return min((between[a][b] for a in names for b in names), default=0)
