"""What one turn of a class may hold: whole laps of copies side by side. No plan that repeats has a turn beyond these.

Laps of a turn take their ticks out of its rooms, what is left of its bubbles after the guard, enter and leave. Two copies share a room,
which costs a change of at least `between`, or each has rooms of its own. Larger sets of copies are not listed, only what bounds them.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from itertools import combinations
from typing import Final

import numpy as np
from numpy.typing import NDArray

from pipefill_opt.solve.device import Compiled, DeviceProblem
from pipefill_opt.solve.life.shares import Kind, Share, fit_in_memory, rooms_of

Ints = NDArray[np.int64]
MOST_ROOMS: Final = 10
"""Up to so many rooms a turn the ways to give each copy its own are gone through."""
MOST_PAIRS: Final = 400_000
FINEST: Final = 1024
"""A class with more points of two copies, or a lap that is a smaller part of a turn, is not bounded so."""


@dataclass(frozen=True, slots=True, eq=False)
class Many:
    """What sets of three and more copies take. By kind: row of one lap, most laps, ticks of a lap, bytes that stay, most bytes beside.

    room: ticks of three of them in a turn. apart: the rooms, where three copies may have one each, and only so pay no change; else none.
    again: whether there are two copies. Each copy more than `free` costs a change of `between` more.
    """

    first: Ints
    most: Ints
    ticks: Ints
    stays: Ints
    cap: Ints
    again: Ints
    room: int
    apart: tuple[int, ...]
    between: int
    free: int


@dataclass(frozen=True, slots=True, eq=False)
class Mixes:
    """Entry e: copies of jobs[e], that take wanted[e] laps, at most most[e] a turn; row first[e] + x - 1 stands for x laps in one turn.

    A lap of a job that never works beside another one is a turn. pairs: rows of two copies in one turn; -1: nobody beside. Only the
    most laps of the second beside those of the first are listed; less is always possible.
    """

    jobs: Ints
    wanted: Ints
    most: Ints
    first: Ints
    pairs: Ints
    many: Many


def mixes_of(compiled: Compiled, c: int, length: int, kinds: Sequence[Kind], shares: dict[int, Share]) -> Mixes | None:
    """The mixes of class c in turns of `length` main iterations; None: too many. shares: those of the class."""
    empty = compiled.device(c, (), length)
    entry = {job: e for e, job in enumerate(shares)}
    laps = {job: share for job, share in shares.items() if share.share == share.lap * _wanted(compiled, job)}
    kinds = undominated([_for_one(kind, _wanted(compiled, kind.job)) for kind in kinds if kind.job in laps])
    most = [max((k.most[0] for k in kinds if k.job == job), default=1) if job in laps else 1 for job in shares]
    wanted = [_wanted(compiled, job) if job in laps else share.alone for job, share in shares.items()]
    first = np.cumsum([0, *most])[:-1]
    many = _many(compiled, empty, kinds, {job: int(first[entry[job]]) for job in laps})
    if any(many.ticks * FINEST < many.room):
        return None
    found: dict[tuple[int, int], Ints] = {}
    size = 0
    for i, a in enumerate(kinds):
        for b in kinds[i:]:
            if not fit_in_memory(empty, (a, b)):
                continue
            if a.job == b.job and compiled.problem.jobs[a.job].copies < 2:
                continue
            beside = most_beside(empty, a, b, least_between(compiled, a.job, b.job))
            key = (entry[a.job], entry[b.job])
            row = found.setdefault(key, np.full(most[key[0]] + 1, -1))
            row[1 : len(beside) + 1] = np.maximum(row[1 : len(beside) + 1], beside)
            size += len(beside)
        if size > MOST_PAIRS:
            return None
    return Mixes(
        jobs=np.array(list(shares), dtype=np.int64),
        wanted=np.array(wanted, dtype=np.int64),
        most=np.array(most, dtype=np.int64),
        first=np.array(first, dtype=np.int64),
        pairs=np.array(_alone(first, most) + _points(found, first), dtype=np.int64).reshape(-1, 2),
        many=many,
    )


def _for_one(kind: Kind, wanted: int) -> Kind:
    """The kind with no more laps a turn than a copy wants: what a slot does beyond them counts for nobody."""
    return replace(kind, most=(min(kind.most[0], wanted),))


def _wanted(compiled: Compiled, job: int) -> int:
    return compiled.problem.jobs[job].iterations or 0


def least_between(compiled: Compiled, a: int, b: int) -> int:
    """Least ticks of a change between copies of two jobs, in either order."""
    between, jobs = compiled.problem.switch.between, compiled.problem.jobs
    if isinstance(between, int):
        return between
    return min(between[jobs[a].name][jobs[b].name], between[jobs[b].name][jobs[a].name])


def undominated(kinds: Sequence[Kind]) -> list[Kind]:
    """The kinds without those of which another one of the same job takes less in all respects; of equals the first stays."""

    def beats(a: Kind, b: Kind) -> bool:
        less = a.lap <= b.lap and a.stays <= b.stays and a.moves <= b.moves and a.shortest <= b.shortest
        return a.job == b.job and less and a.headroom >= b.headroom and a.most[0] >= b.most[0]

    return [
        b
        for i, b in enumerate(kinds)
        if not any(beats(a, b) and (not beats(b, a) or k < i) for k, a in enumerate(kinds) if k != i)
    ]


def most_beside(empty: DeviceProblem, a: Kind, b: Kind, between: int) -> Ints:
    """By laps x = 1, 2, ... of one kind: the most laps of the other one in the same turn at most; -1: x are too many.

    Where both work in some room, its time less one change is what both share. Else x laps have rooms of their own, of at least their ticks
    in all, and the others are left. Of many rooms the ways to do so are not gone through: then no change is paid.
    """
    rooms = rooms_of(empty, (a, b))
    taken = np.arange(1, a.most[0] + 1, dtype=np.int64) * a.lap
    if len(rooms) > MOST_ROOMS:
        left = sum(rooms) - taken
    else:
        sums = sorted({sum(own) for size in range(len(rooms) + 1) for own in combinations(rooms, size)})
        least = np.searchsorted(np.array(sums, dtype=np.int64), taken)
        own = np.array([*sums, sum(rooms) + 1], dtype=np.int64)[least]
        left = np.maximum(sum(rooms) - taken - between, sum(rooms) - own)
    beside: Ints = np.where(left < 0, -1, np.minimum(b.most[0], left // b.lap))
    return beside


def _alone(first: Ints, most: Sequence[int]) -> list[tuple[int, int]]:
    """The points of one copy."""
    return [(int(row) + number - 1, -1) for row, number in zip(first, most, strict=True)]


def _points(found: dict[tuple[int, int], Ints], first: Ints) -> list[tuple[int, int]]:
    """Rows of all points (laps of one entry, most of the other) that no other one of the same two has more of."""
    rows = []
    for (i, k), beside in found.items():
        best = 0
        for x in range(len(beside) - 1, 0, -1):
            if beside[x] > best:
                best = int(beside[x])
                rows.append((int(first[i]) + x - 1, int(first[k]) + best - 1))
    return rows


def _many(compiled: Compiled, empty: DeviceProblem, kinds: Sequence[Kind], first: dict[int, int]) -> Many:
    """k copies in R rooms cost k - R changes at least. Three copies in three rooms have one each, or cost one too."""
    kinds = sorted(kinds, key=lambda kind: -kind.lap)
    rooms = rooms_of(empty, kinds) if kinds else []
    jobs = {kind.job for kind in kinds}
    between = min((least_between(compiled, a, b) for a in jobs for b in jobs), default=0)
    few = len(rooms) <= 3
    changes = max(1, 3 - len(rooms)) if few else 0
    return Many(
        first=np.array([first[kind.job] for kind in kinds], dtype=np.int64),
        most=np.array([kind.most[0] for kind in kinds], dtype=np.int64),
        ticks=np.array([kind.lap for kind in kinds], dtype=np.int64),
        stays=np.array([kind.stays for kind in kinds], dtype=np.int64),
        cap=np.array([min(empty.resident_free, kind.headroom + kind.stays) for kind in kinds], dtype=np.int64),
        again=np.array([compiled.problem.jobs[kind.job].copies > 1 for kind in kinds], dtype=np.int64),
        room=max(0, sum(rooms) - changes * between),
        apart=tuple(rooms) if between and len(rooms) == 3 else (),
        between=between,
        free=max(3, len(rooms) + 1) if few else len(rooms),
    )
