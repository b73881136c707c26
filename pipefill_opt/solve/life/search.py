"""`solve_life`: plans and bounds for the objectives over time."""

from __future__ import annotations

import platform
from collections.abc import Sequence
from dataclasses import replace
from fractions import Fraction
from importlib.metadata import version
from typing import Final

from pipefill_opt.errors import InputError
from pipefill_opt.fill.problem import FillProblem, Objective
from pipefill_opt.solve.certified import certified, hold
from pipefill_opt.solve.device import Compiled, compile_problem
from pipefill_opt.solve.exact import solve_exact
from pipefill_opt.solve.life.alone import can_finish
from pipefill_opt.solve.life.blend import Blend
from pipefill_opt.solve.life.bounds import Bounds
from pipefill_opt.solve.life.dispatch import dispatch, grouped
from pipefill_opt.solve.life.incumbent import Incumbent, grain
from pipefill_opt.solve.life.modes import WORK, closed_alone, counting
from pipefill_opt.solve.life.packed import ORIGIN as PACKED
from pipefill_opt.solve.life.packed import Packed
from pipefill_opt.solve.life.phases import plan_of
from pipefill_opt.solve.life.priced import conclude, offers_of, pieces_of, search_priced
from pipefill_opt.solve.life.rounding import with_endless
from pipefill_opt.solve.life.shared import shared_pieces
from pipefill_opt.solve.life.shares import Shares, shares
from pipefill_opt.solve.life.shop import Life, Lives, Piece, Shop, ends, open_shop
from pipefill_opt.solve.life.shortest import LOADS, Shortest, least_horizon
from pipefill_opt.solve.life.small import search_small
from pipefill_opt.solve.life.turns import Turns
from pipefill_opt.solve.result import Limits, Outcome, Reason, Solution
from pipefill_opt.solve.transitions import transition_count
from pipefill_opt.solve.watch import Watch

NAME: Final = "life"
GOOD: Final = 0.96
"""Modes of several slots count from this part of the best one's worth on."""
BLENDED: Final = "what turns of all sets of residents gain at most, prices checked exactly"
FEW_LENGTHS: Final = 8
"""Up to so many H the exact search for a lap is done for each."""
MOST_LISTED: Final = 1_000_000
"""Most transitions of a device that is searched for a proof that a job fits nowhere."""
MOST_LAPS: Final = 1 << 24
"""Most laps of a copy in a turn beside which others are searched for."""
LENGTHS: Final = 3
"""Numbers of main iterations H that are searched, where a plan chooses it."""


def solve_life(problem: FillProblem, limits: Limits | None = None) -> Solution:
    """A plan of several phases with a proven bound, certified. A limit that is reached ends the search with the best plan so far.

    Raises InputError for a job without end, which no reader of files lets pass.
    """
    for j, job in enumerate(problem.jobs):
        if job.iterations is None and (problem.objective is not Objective.ON_TIME or job.deadline is None):
            raise InputError(f"expected a number, for objective {problem.objective}", where=f"jobs[{j}].iterations")
    watch = Watch(limits if limits is not None else Limits())
    problem = replace(  # the others say nothing
        problem,
        jobs=tuple(job for job in problem.jobs if job.copies),
        devices=tuple(device for device in problem.devices if device.count),
    )
    compiled = compile_problem(problem)
    lengths = range(1, problem.max_iterations + 1) if problem.iterations is None else [problem.iterations]
    every = range(lengths[0], lengths[-1] + 1)
    found = shares(compiled, every, tuple(job.iterations for job in problem.jobs))
    best = Incumbent(problem, watch, grain(problem, found.unit))
    nowhere = _nowhere(problem, found)
    if nowhere:
        return _infeasible(watch, nowhere)
    if problem.objective is not Objective.ON_TIME and problem.repeat and len(every) <= FEW_LENGTHS:
        stuck = _stuck(compiled, found, every)
        if stuck:
            return _infeasible(watch, stuck)
    for number, length in enumerate(promising(problem, found, every)):
        if number and best.over():
            break
        shop = open_shop(compiled, length)
        _search(shop, found if problem.iterations is not None else None, found, best)
        if not best.over():
            search_small(shop, best)
    stuck = _stuck_once(compiled) if best.value is None and best.watch.ended() is None else ""
    return _infeasible(watch, stuck) if stuck else _solution(best)


def _stuck_once(compiled: Compiled) -> str:
    """A job that no device can finish where plans run once, not even alone."""
    problem = compiled.problem
    if problem.repeat or problem.iterations is None or (problem.migrate and len(problem.devices) > 1):
        return ""
    for j, job in enumerate(problem.jobs):
        places = [
            compiled.device(c, ((j, k),), problem.iterations)
            for c, device in enumerate(problem.devices)
            if device.name in job.devices
            for k in range(len(job.configurations))
        ]
        if all(transition_count(place) <= MOST_LISTED for place in places) and not any(
            can_finish(place, (job.iterations or 0) * place.slots[0].length) for place in places
        ):
            return f"no device can ever finish a copy of job {job.name!r}, not even alone"
    return ""


def _nowhere(problem: FillProblem, found: Shares) -> str:
    """A job that can never be finished on any device: then no plan finishes all, where all must be."""
    if problem.objective is Objective.ON_TIME:
        return ""
    for j, job in enumerate(problem.jobs):
        if not any(j in of for of in found.of):
            return f"no device can ever finish a copy of job {job.name!r}"
    return ""


def _stuck(compiled: Compiled, found: Shares, lengths: range) -> str:
    """A job of which no device closes a single lap, by exact search of each: others beside it would only be in its way."""
    for j, job in enumerate(compiled.problem.jobs):
        places = [
            compiled.device(c, ((j, k),), length)
            for c, of in enumerate(found.of)
            if j in of
            for k, _, _ in of[j].kinds
            for length in lengths
        ]
        if not any(closed_alone(device).laps for device in places) and not any(
            solve_exact(counting(device), Limits(work=WORK)).bound for device in places
        ):
            return f"no device can close a lap of job {job.name!r}"
    return ""


def promising(problem: FillProblem, found: Shares, lengths: range) -> list[int]:
    """The numbers H to search, by the work of all copies averaged over all devices, each alone: best first."""
    if len(lengths) == 1:
        return list(lengths)
    return sorted(lengths, key=lambda h: (_score(problem, found, lengths, h), h))[:LENGTHS]


def _score(problem: FillProblem, found: Shares, lengths: range, length: int) -> Fraction:
    total = Fraction(0)
    turn = length * problem.period
    for j, job in enumerate(problem.jobs):
        weight = Fraction(1) if problem.objective is Objective.MAKESPAN else job.weight
        for c, of in enumerate(found.of):
            if j not in of:
                continue
            number = weight * job.copies * problem.devices[c].count
            pace = of[j].paces[length - lengths[0]]
            if problem.objective is not Objective.ON_TIME:
                assert job.iterations is not None
                turns = -(-job.iterations // pace) if pace else 2 * job.iterations * lengths[-1]
                total += number * turns * length
            elif job.deadline is not None:
                inside = pace * max(0, job.deadline // turn - -(-job.release // turn))
                total -= number * (inside if job.iterations is None else min(inside, job.iterations))
    return total


def _search(shop: Shop, own: Shares | None, every: Shares, best: Incumbent) -> None:
    """Search for plans of one H. own: the shares in its turns, for bounds that lives help to find. every: those that hold for all H."""
    pieces = pieces_of(shop)
    offers = offers_of(pieces)
    turns = _turns(shop, every, best.watch)
    ready: list[list[Life]] = [[()] * count for count in shop.counts]
    copies = list(shop.copies)
    if shop.objective is Objective.ON_TIME:
        copies = [0 if shop.deadline[j] is None else number for j, number in enumerate(copies)]
    lives = dispatch(shop, offers, copies, ready)
    if lives is None:
        return
    start = grouped(lives)
    last = int(max((ends(entry.life) for entry in start), default=1))
    best.keep(shop, with_endless(shop, start), "list scheduling")
    if not best.problem.jobs:
        best.prove(Fraction(0), "no copy is to be done")
        return
    scale = shop.turn // every.unit
    if shop.objective is Objective.MAKESPAN:
        if best.bound is None:
            low = least_horizon(best.problem, every, int(shop.total(start)) * scale)
            best.prove(Fraction(low * every.unit), LOADS)
        search = Shortest(shop, own, best, pieces, offers, turns)
        if search.wide:  # its modes help the search
            prove_blended(shop, own, turns, pieces, last, best)
        assert best.bound is not None
        low = -(-best.bound.numerator // (best.bound.denominator * shop.turn))
        if own is not None and turns and not best.problem.migrate:
            low = Packed(shop.compiled, own, best.watch).least(low, last)
            best.prove(Fraction(low * shop.turn), PACKED)
        search.search(low, start)
        if not search.wide and not best.over() and all(own.complete for own in turns):  # its bound may still help
            prove_blended(shop, own, turns, pieces, last, best)
        return
    horizon = _horizon(shop, start, pieces)
    bounds = Bounds(best.problem, every, horizon * scale) if own is not None or best.bound is None else None
    if bounds is not None:
        conclude(bounds, best, bounds.simple(), "each copy by itself")
    search_priced(shop, bounds, best, horizon, start, pieces, turns)


def _turns(shop: Shop, every: Shares, watch: Watch) -> list[Turns]:
    """What turns each class can have, where copies can share a device at all; none where numbers are too large for prices."""
    if not shop.compiled.problem.repeat or (all(every.own) and not shop.compiled.problem.migrate):
        return []
    found = [Turns(shop.compiled, c, shop.iterations, watch) for c in range(len(shop.counts))]
    return [] if any(int(own.most.max(initial=0)) > MOST_LAPS for own in found) else found


def prove_blended(
    shop: Shop, own: Shares | None, turns: Sequence[Turns], pieces: list[list[Piece]], last: int, best: Incumbent
) -> None:
    """Take in what a blend of turns proves."""
    blend = blended(shop, turns, pieces, last)
    if blend is not None and own is not None:
        best.prove(blend.bound * shop.turn, BLENDED)


def blended(shop: Shop, turns: Sequence[Turns], pieces: list[list[Piece]], horizon: int) -> Blend | None:
    """Add pieces of modes of several slots to those of each class: modes that matter in a blend."""
    if not turns:
        return None
    laps = [
        job.copies * (job.iterations or 0) if shop.objective is not Objective.ON_TIME or job.deadline is not None else 0
        for job in shop.compiled.problem.jobs
    ]
    blend = Blend(shop, turns, laps)
    blend.generate()
    for c, modes in enumerate(blend.useful(GOOD)):
        for mode in modes:
            pieces[c] += shared_pieces(shop, mode, horizon, [float(price) for price in blend.prices])
    return blend


def _horizon(shop: Shop, lives: Sequence[Lives], pieces: Sequence[Sequence[object]]) -> int:
    """Turns in which all that matters happens."""
    if shop.objective is Objective.ON_TIME:
        return max([1, *(deadline for deadline in shop.deadline if deadline is not None)])
    last = max((ends(entry.life) for entry in lives), default=1)
    return last + last // 2 + 1


def _infeasible(watch: Watch, why: str) -> Solution:
    return Solution(
        outcome=Outcome.INFEASIBLE,
        reason=Reason.PROVED,
        plan=None,
        objective=None,
        bound=None,
        bound_origin=why,
        solver=NAME,
        seconds=watch.seconds(),
        seed=watch.limits.seed,
        versions=_versions(),
    )


def _solution(best: Incumbent) -> Solution:
    """The best lives as a certified plan."""
    watch = best.watch
    if best.shop is None or best.value is None:
        reason = watch.ended() or Reason.HEURISTIC
        return Solution(
            Outcome.UNKNOWN,
            reason,
            None,
            None,
            best.bound,
            best.origin,
            NAME,
            watch.seconds(),
            watch.limits.seed,
            _versions(),
        )
    reason = Reason.PROVED if best.proved else watch.ended() or (Reason.GAP_LIMIT if best.near() else Reason.HEURISTIC)
    plan = plan_of(best.shop, best.lives)
    certificate = certified(best.problem, plan, best.value, NAME)
    hold(best.problem, best.value, best.bound, best.origin)
    return Solution(
        outcome=Outcome.OPTIMAL if best.proved else Outcome.FEASIBLE,
        reason=reason,
        plan=plan,
        objective=best.value,
        bound=best.bound,
        bound_origin=best.origin,
        solver=NAME,
        seconds=watch.seconds(),
        seed=watch.limits.seed,
        versions=_versions(),
        certificate=certificate,
    )


def _versions() -> dict[str, str]:
    packages = ("pipefill_opt", "numpy", "numba", "scipy")
    return {"python": platform.python_version(), **{name: version(name) for name in packages}}
