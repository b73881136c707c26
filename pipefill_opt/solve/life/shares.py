"""What a copy must take up on a device, proved: the ground of all bounds on the objectives over time.

Times are in units of `unit` ticks, turns where H is given, main iterations where a plan chooses it. On a class, of a copy that does
all its wanted iterations there:

- `alone`: no plan finishes it in fewer units.
- `share`: units of a device, so that the copies that a device finishes have shares of at most the units that it has. Where a job can never
  work beside another copy, each turn in which it works is its own: the share is `alone`. Else a lap takes its ticks
  out of the class's net ticks.
- `tail`: it completes this much later than the mean time of its work, at the least; turns count at their middle.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, replace
from fractions import Fraction

import numpy as np

from pipefill_opt.solve.bounds import net_ticks
from pipefill_opt.solve.device import Compiled, DeviceProblem
from pipefill_opt.solve.life.alone import furthest, least_repetitions
from pipefill_opt.solve.reach import least_moves


@dataclass(frozen=True, slots=True)
class Share:
    """One job on one class. lap: the share of one lap of the chain, the least over its configurations.

    kinds: (configuration, share of one lap, most laps a unit) of each configuration; with `repeat: false` a lap begun counts.
    paces: by H of the lengths asked for, the most laps a turn. quick: a copy never does more than 1 / quick of its work in a unit.
    """

    share: Fraction
    alone: int
    tail: Fraction
    lap: Fraction
    kinds: tuple[tuple[int, Fraction, int], ...]
    paces: tuple[int, ...]
    quick: Fraction


@dataclass(frozen=True, slots=True)
class Shares:
    """of[c][j]: what a copy of job j takes on class c; a job that can do nothing there is missing. unit: ticks.

    own[c]: on class c no two copies can ever work in the same turn.
    """

    unit: int
    of: tuple[dict[int, Share], ...]
    own: tuple[bool, ...]


@dataclass(frozen=True, slots=True)
class Kind:
    """One (job, configuration) on a class: what it needs to run beside another one (see `columns`), and what it does alone.

    headroom: bytes that others may hold while it works: at its worst operator, as a turn has whole laps; with `repeat: false`
    at its best one, the only one that a turn may have. most[h]: no plan of h main iterations has more laps.
    """

    job: int
    configuration: int
    least: int
    headroom: int
    stays: int
    moves: int
    shortest: int
    lap: int
    most: tuple[int, ...]
    device: DeviceProblem


def shares(compiled: Compiled, lengths: range, wanted: tuple[int | None, ...]) -> Shares:
    """The shares of every job on every class, for all numbers H of main iterations in `lengths`. wanted: iterations by job, None: no end.

    With `migrate: true` a copy may do its laps on several classes: each counts where it is done, `alone` and `tail` are those of the
    best class.
    """
    fixed = lengths[0] if len(lengths) == 1 else None
    unit = compiled.problem.period * (fixed or 1)
    found = [_of_class(compiled, c, lengths, wanted) for c in range(len(compiled.problem.devices))]
    if compiled.problem.migrate:
        return Shares(unit, tuple(_as_on_the_best(of, found) for of, _ in found), (False,) * len(found))
    return Shares(unit, tuple(of for of, _ in found), tuple(own for _, own in found))


def _as_on_the_best(of: dict[int, Share], found: list[tuple[dict[int, Share], bool]]) -> dict[int, Share]:
    alike = {job: [other[job] for other, _ in found if job in other] for job in of}
    return {
        job: replace(share, alone=min(s.alone for s in alike[job]), tail=min(s.tail for s in alike[job]))
        for job, share in of.items()
    }


def _of_class(
    compiled: Compiled, c: int, lengths: range, wanted: tuple[int | None, ...]
) -> tuple[dict[int, Share], bool]:
    kinds = kinds_of(compiled, c, lengths)
    if not kinds:
        return {}, True
    problem = compiled.problem
    empty = compiled.device(c, (), lengths[-1])
    moves, shortest = min(kind.moves for kind in kinds), min(kind.shortest for kind in kinds)
    net = sum(net_ticks(empty, room, moves, shortest) for room in empty.rooms)
    beside = {kind.job: False for kind in kinds}
    for a, first in enumerate(kinds):
        for second in kinds[a:]:
            if first.job == second.job and problem.jobs[first.job].copies == 1:
                continue
            if can_share(empty, first, second, net * lengths[-1], repeat=problem.repeat):
                beside[first.job] = beside[second.job] = True
    per_unit = net * (lengths[0] if len(lengths) == 1 else 1)
    of: dict[int, Share] = {}
    for job, shared in beside.items():
        own = [kind for kind in kinds if kind.job == job]
        rule = _share_of_closed if problem.repeat else _share_of_walk
        entry = rule(own, lengths, wanted[job], per_unit, exclusive=not shared, whole=not problem.migrate)
        if entry is not None:
            of[job] = entry
    return of, not any(beside.values())


def kinds_of(compiled: Compiled, c: int, lengths: range) -> list[Kind]:
    """The configurations that can do anything on the class."""
    problem = compiled.problem
    found = []
    for j, job in enumerate(problem.jobs):
        if problem.devices[c].name not in job.devices:
            continue
        for k in range(len(job.configurations)):
            kind = _kind(compiled.device(c, ((j, k),), lengths[-1]), lengths)
            if kind is not None:
                found.append(kind)
    return found


def _kind(device: DeviceProblem, lengths: range) -> Kind | None:
    slot = device.slots[0]
    moves = least_moves(slot)
    headroom = []
    for k in range(slot.length):
        time = device.enter + slot.ticks[k] + device.leave + moves
        free = [room.free for room in device.rooms if room.usable >= time]
        headroom.append(max(free, default=-1) - slot.resident - slot.memory[k])
    stays = slot.resident + (min(slot.carry) if device.repeat else 0) if slot.keep else 0
    room = min(headroom) if device.repeat else max(headroom)
    if room < 0 or stays > device.resident_free:
        return None
    most = _most(device, lengths)
    if not any(most):
        return None
    return Kind(
        job=device.residents[0][0],
        configuration=device.residents[0][1],
        least=sum(slot.ticks) if device.repeat else slot.ticks[0],
        headroom=room,
        stays=stays,
        moves=moves,
        shortest=min(slot.ticks),
        lap=sum(slot.ticks),
        most=most,
        device=device,
    )


def _most(device: DeviceProblem, lengths: range) -> tuple[int, ...]:
    """By H: no plan has more laps of the slot. With `repeat: false`: operators, of one turn from anywhere."""
    advance = furthest(device)
    length = len(advance)
    position = start = np.arange(length, dtype=np.int64)
    most = []
    for iterations in range(1, lengths[-1] + 1):
        position = position + advance[position % length]
        if iterations >= lengths[0]:
            done = int((position - start).max())
            most.append(done // length if device.repeat else done)
    return tuple(most)


def rooms_of(empty: DeviceProblem, kinds: Sequence[Kind]) -> list[int]:
    """Net ticks of all rooms of a turn for these kinds."""
    moves, shortest = min(kind.moves for kind in kinds), min(kind.shortest for kind in kinds)
    nets = [net_ticks(empty, room, moves, shortest) for room in empty.rooms]
    return [net for net in nets if net > 0] * empty.iterations


def fit_in_memory(empty: DeviceProblem, kinds: Sequence[Kind]) -> bool:
    """Whether copies of these kinds may all work in one turn, for all that memory says; False is a proof."""
    stays = sum(kind.stays for kind in kinds)
    return stays <= empty.resident_free and all(kind.headroom >= stays - kind.stays for kind in kinds)


def can_work_together(compiled: Compiled, empty: DeviceProblem, kinds: Sequence[Kind]) -> bool:
    """Whether they may each close a lap in one turn, by memory, copies and net ticks; False is a proof. Plans that repeat."""
    if not fit_in_memory(empty, kinds):
        return False
    numbers = Counter(kind.job for kind in kinds)
    if any(number > compiled.problem.jobs[job].copies for job, number in numbers.items()):
        return False
    return sum(kind.least for kind in kinds) <= sum(rooms_of(empty, kinds))


def can_share(empty: DeviceProblem, a: Kind, b: Kind, room: int, *, repeat: bool) -> bool:
    """Whether two copies might both work in one turn; False is a proof. A copy that stays idle may be left out."""
    if not fit_in_memory(empty, (a, b)):
        return False
    return not repeat or a.least + b.least <= room


def _share_of_walk(
    kinds: list[Kind], lengths: range, wanted: int | None, per_unit: int, *, exclusive: bool, whole: bool
) -> Share | None:
    """`repeat: false`: operators, one after the other. The least over a job's configurations. whole: a copy stays on its device."""
    lap = min(Fraction(kind.lap, per_unit) for kind in kinds)
    each = tuple((k.configuration, Fraction(k.lap, per_unit), -(-k.most[0] // k.device.slots[0].length)) for k in kinds)
    paces = (max(laps for _, _, laps in each),)
    if wanted is None:
        return Share(lap, 1, Fraction(1, 2), lap, each, paces, Fraction(1))
    alone = []
    for kind in kinds:
        operators = wanted * kind.device.slots[0].length
        turns = least_repetitions(kind.device, operators) if whole else -(-operators // kind.most[0])
        if turns is not None:
            alone.append((turns, _tail(operators, kind.most[0])))
    if not alone:
        return None
    least = min(turns for turns, _ in alone)
    if exclusive and whole:
        return Share(Fraction(least), least, Fraction(least, 2), lap, each, paces, Fraction(least))
    quick = min(max(Fraction(1), Fraction(wanted * kind.device.slots[0].length, kind.most[0])) for kind in kinds)
    return Share(lap * wanted, least, min(tail for _, tail in alone), lap, each, paces, quick)


def _share_of_closed(
    kinds: list[Kind], lengths: range, wanted: int | None, per_unit: int, *, exclusive: bool, whole: bool
) -> Share | None:
    """`repeat: true`: whole laps in every turn. Units are turns for one H, else main iterations."""
    best = [max(kind.most[i] for kind in kinds) for i in range(len(lengths))]
    size = [1] if len(lengths) == 1 else list(lengths)
    usable = [(h, most) for h, most in zip(size, best, strict=True) if most]
    each = []
    for kind in kinds:
        paces = [Fraction(most, h) for h, most in zip(size, kind.most, strict=True)]
        part = Fraction(kind.lap, per_unit)
        part = max(part, 1 / max(paces)) if exclusive else part
        each.append((kind.configuration, part, -(-max(paces).numerator // max(paces).denominator)))
    lap = min(part for _, part, _ in each)
    parts = tuple(each)
    if wanted is None:
        return Share(lap, 1, Fraction(1, 2), lap, parts, tuple(best), Fraction(1))
    alone = min(h * -(-wanted // most) for h, most in usable)
    if exclusive and whole:
        return Share(Fraction(alone), alone, Fraction(alone, 2), lap, parts, tuple(best), Fraction(alone))
    tail = min(h * _tail(wanted, most) for h, most in usable)
    quick = min(max(Fraction(h), Fraction(wanted * h, most)) for h, most in usable)
    return Share(lap * wanted, alone, tail, lap, parts, tuple(best), quick)


def _tail(wanted: int, most: int) -> Fraction:
    """Turns from the mean time of work to completion, if no turn does more than `most` of `wanted`: least when the last ones are full."""
    whole, rest = divmod(wanted, most)
    late = Fraction(most * whole * whole, 2) + rest * (whole + Fraction(1, 2))
    return late / wanted
