"""The per-bubble pattern bound: each bubble gets the best set of operator runs, wherever the slots stand.

A *pattern* of a bubble is a set of runs of consecutive operators, one run a slot, that fits its usable ticks. The bound adds up the
best pattern of every bubble. What it relaxes: a run may begin at any operator of its chain, so that bubbles do not depend on each
other (rules 3 and 6); each operator is only held against the free bytes with its own slot's resident bytes, as if others held nothing,
but for the number of kept slots that fit at all (rules 4, 5); of the transfers and changes the cheapest count; copies limit a
bubble, not the plan (rule 7). Residents may change from bubble to bubble. It does not depend on H: it holds for every number of iterations.

With `repeat: true` a lap's value may as well be spread in proportion to time, since plans do whole laps: the better of the two counts.
"""

from __future__ import annotations

from collections import defaultdict
from fractions import Fraction
from itertools import accumulate
from math import floor
from typing import Final

import numpy as np

from pipefill_opt.solve.device import Chain, Compiled, DeviceProblem
from pipefill_opt.solve.reach import least_moves, reach
from pipefill_opt.solve.runs import along, runs_of
from pipefill_opt.solve.stairs import Index, Stairs, joined, stairs

ORIGIN: Final = "per-bubble patterns"
BIG: Final = 2**60
Walls = tuple[int, ...]


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
    nets: dict[tuple[tuple[Walls, ...], int], list[int]] = defaultdict(list)
    for room in empty.rooms:
        net = room.usable - empty.enter - empty.leave
        if net > 0 and chains:
            walls = tuple(_walls(chain, room.free) for chain, _ in chains)
            nets[walls, net.bit_length() // 2].append(net)  # of like size: long lists are thinned by the longest one
    slots = _most_slots(empty, chains)
    spreads = (False, True) if empty.repeat and any(_uneven(chain) for chain, _ in chains) else (False,)
    bounds = []
    for smooth in spreads:
        total = 0
        for (walls, _), own in nets.items():
            single = _runs_of_chains(chains, walls, max(own), smooth=smooth, repeat=empty.repeat)
            total += sum(_most_worth(single, between, slots, np.array(own)))
        bounds.append(total)
    return min(bounds)


def _walls(chain: Chain, free: int) -> Walls:
    """The operators that do not fit that many bytes, with the resident bytes of their own slot only."""
    return tuple(k for k, memory in enumerate(chain.memory) if chain.resident + memory > free)


def _uneven(chain: Chain) -> bool:
    """Whether values are off from proportion to time by more than a thousandth of a lap anywhere."""
    lap, total = sum(chain.value), sum(chain.ticks)
    pairs = zip(accumulate(chain.value), accumulate(chain.ticks), strict=True)
    return any(1000 * abs(value * total - lap * ticks) > lap * total for value, ticks in pairs)


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
    apart, changed = _rate(single, 0), _rate(single, between)
    found = several.value[several.at(nets)].tolist()
    return [
        min(value, floor(apart * net), floor(changed * (net + between)))
        for value, net in zip(found, nets.tolist(), strict=True)
    ]


def _rate(single: Stairs, between: int) -> Fraction:
    """The most value per tick, with `between` ticks for each run."""
    rough = single.value[1:].astype(float) / (single.ticks[1:] + between)
    near = np.flatnonzero(rough >= rough.max() * (1 - 1e-9)) + 1
    return max(Fraction(int(single.value[k]), int(single.ticks[k]) + between) for k in near)


def _same(a: Stairs, b: Stairs) -> bool:
    """Whether one more doubling has changed nothing: then no number of slots does."""
    return len(a.ticks) == len(b.ticks) and bool((a.ticks == b.ticks).all() and (a.value == b.value).all())


def _runs_of_chains(
    chains: list[tuple[Chain, int]], walls: tuple[Walls, ...], most: int, *, smooth: bool, repeat: bool
) -> Stairs:
    """All runs of all chains of at most `most` ticks, their transfers included, between their walls."""
    longest = max(most // sum(chain.ticks) + 2 for chain, _ in chains)
    runs = most // min(min(chain.ticks) for chain, _ in chains) + 2
    big = longest * runs * max(sum(chain.value) for chain, _ in chains) >= BIG
    kind = object if big else np.int64
    parts = [
        _runs(chain, own, most, kind, smooth=smooth, repeat=repeat)
        for (chain, _), own in zip(chains, walls, strict=True)
    ]
    return stairs(
        np.concatenate([part.ticks[1:] for part in parts]),
        np.concatenate([part.value[1:] for part in parts]),
    )


def _runs(chain: Chain, walls: Walls, most: int, kind: type, *, smooth: bool, repeat: bool) -> Stairs:
    """The runs of a chain, from each operator on as far as it fits."""
    found = runs_of(chain, reach(chain.ticks, most - least_moves(chain), walls), most, repeat=repeat)
    elapsed = list(accumulate(chain.ticks, initial=0))
    lap = sum(chain.value)
    worth = [lap * t // elapsed[-1] for t in elapsed] if smooth else list(accumulate(chain.value, initial=0))
    whole = along(worth, int(found.last.max(initial=chain.length)), kind)
    return stairs(found.ticks, whole[found.last] - whole[found.first])


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
