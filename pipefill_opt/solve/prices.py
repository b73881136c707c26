"""Shadow prices: what one more millisecond, GiB, copy or device, or a millisecond less of a switch cost, is worth.

Each is the difference of two optima, the problem's own and that of the problem with this one change, both searched for and
bounded: so a price is an interval that is proved to hold the true one, a single number where both searches end with a proof.
"""

from __future__ import annotations

import logging
from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from enum import StrEnum
from fractions import Fraction
from typing import Final

from pipefill_opt.errors import InfeasibleError, LimitError
from pipefill_opt.fill.plan import FillPlan
from pipefill_opt.fill.problem import DeviceClass, FillProblem, Job, Objective, Switch
from pipefill_opt.solve.facade import AUTO, SOLVERS, solve
from pipefill_opt.solve.result import Limits, Outcome, Solution

LOG = logging.getLogger(__name__)
MILLISECOND: Final = 10**6
GIB: Final = 2**30
MINIMISED: Final = (Objective.MAKESPAN, Objective.COMPLETION)


class Scarce(StrEnum):
    """What there may be more of (of a switch cost: less)."""

    TIME = "time"
    MEMORY = "memory"
    COPY = "copy"
    DEVICE = "device"
    SWITCH = "switch"


@dataclass(frozen=True, slots=True)
class Change:
    """The problem with one thing changed.

    of: class, job or switch cost. kind: of the bubbles that get longer, else empty. units: how many milliseconds, GiB, copies or
    devices that is in all, over the devices of a class and their bubbles. relaxes: all plans stay valid, so it can only help.
    """

    what: Scarce
    of: str
    kind: str
    units: int
    relaxes: bool
    problem: FillProblem


@dataclass(frozen=True, slots=True)
class Price:
    """What a change is worth in the measure of the objective, better counted as more: least <= the true worth <= most.

    found: by the two plans; the true worth where both are optimal.
    """

    change: Change
    found: Fraction
    least: Fraction
    most: Fraction

    @property
    def proved(self) -> bool:
        """True if the worth is known exactly."""
        return self.least == self.most

    @property
    def each(self) -> Fraction:
        """`found` for one unit."""
        return self.found / self.change.units


@dataclass(frozen=True, slots=True)
class Prices:
    """`base`: the answer for the problem as it is. left_out: changes that were not tried, because the search was stopped.

    without_plan: changes after which no plan was found (only for the objectives over time), so that nothing is known of their worth.
    """

    base: Solution
    prices: tuple[Price, ...]
    left_out: int
    without_plan: tuple[Change, ...] = ()


def shadow_prices(
    problem: FillProblem,
    limits: Limits,
    *,
    solver: str = AUTO,
    start: FillPlan | None = None,
    tell: Callable[[int, int, str], None] | None = None,
) -> Prices:
    """The prices of all changes. limits: of each search by itself; start: a plan to begin with; tell(done, of, name) hears of progress.

    Raises what `solve` raises; InfeasibleError or LimitError where the problem as it is has no plan, or none was found.
    """
    every = tuple(changes(problem))
    if tell is not None:
        tell(0, len(every) + 1, "the problem as it is")
    base = _solved(problem, limits, solver, start)
    if base.outcome is Outcome.INFEASIBLE:
        raise InfeasibleError(f"there is no plan to price ({base.bound_origin})")
    if base.plan is None:
        raise LimitError(f"no plan found to price: {base.reason} after {base.seconds:.1f} s")
    prices = []
    without_plan = []
    for number, change in enumerate(every):
        if limits.stop.is_set():
            break
        if tell is not None:
            tell(number + 1, len(every) + 1, f"{change.what} {change.of} {change.kind}".rstrip())
        price = _price(problem, base, change, limits, solver)
        LOG.info("%s %s %s: %s", change.what, change.of, change.kind, None if price is None else price.found)
        if price is None:
            without_plan.append(change)
        else:
            prices.append(price)
    return Prices(base, tuple(prices), len(every) - len(prices) - len(without_plan), tuple(without_plan))


def _solved(problem: FillProblem, limits: Limits, solver: str, start: FillPlan | None) -> Solution:
    takes_start = solver == AUTO or SOLVERS[solver].exact
    if start is not None and takes_start and problem.objective is Objective.THROUGHPUT:
        return solve(problem, solver=solver, limits=limits, start=start)
    return solve(problem, solver=solver, limits=limits)


def _price(problem: FillProblem, base: Solution, change: Change, limits: Limits, solver: str) -> Price | None:
    """Solve the changed problem, from the plan for the problem as it is where that plan stays valid. None: no plan was found."""
    start = base.plan if change.relaxes and change.what is not Scarce.DEVICE else None
    after = _solved(change.problem, limits, solver, start)
    if after.plan is None:
        return None
    sign = -1 if problem.objective in MINIMISED else 1
    (old, old_bound), (new, new_bound) = _known(base), _known(after)
    least, most = sorted((sign * (new - old_bound), sign * (new_bound - old)))
    if change.relaxes:
        least, most = max(least, Fraction(0)), max(most, Fraction(0))
    return Price(change, min(max(sign * (new - old), least), most), least, most)


def _known(solution: Solution) -> tuple[Fraction, Fraction]:
    assert solution.objective is not None
    assert solution.bound is not None
    return solution.objective, solution.bound


def changes(problem: FillProblem) -> Iterator[Change]:
    """One change after the other: switch costs, each class's bubbles by kind, its memory, one more device of it, one more copy."""
    yield from _cheaper_switches(problem)
    for index, device in enumerate(problem.devices):
        yield from _longer_bubbles(problem, index)
        yield _with_device(
            problem,
            index,
            replace(
                device,
                resident_free=device.resident_free + GIB,
                bubbles=tuple(replace(bubble, free=bubble.free + GIB) for bubble in device.bubbles),
            ),
            Scarce.MEMORY,
            units=device.count,
        )
        yield _with_device(problem, index, replace(device, count=device.count + 1), Scarce.DEVICE, units=1)
    for index, job in enumerate(problem.jobs):
        more = replace(job, copies=job.copies + 1)
        relaxes = problem.objective not in MINIMISED
        yield Change(Scarce.COPY, job.name, "", 1, relaxes, replace(problem, jobs=_put(problem.jobs, index, more)))


def _cheaper_switches(problem: FillProblem) -> Iterator[Change]:
    """Each switch cost a millisecond less, as far as it is one."""
    switch = problem.switch
    cheaper: dict[str, Switch] = {
        "enter": replace(switch, enter=_less(switch.enter)),
        "leave": replace(switch, leave=_less(switch.leave)),
        "between": replace(
            switch,
            between=_less(switch.between)
            if isinstance(switch.between, int)
            else {a: {b: _less(ticks) for b, ticks in row.items()} for a, row in switch.between.items()},
        ),
    }
    for name, changed in cheaper.items():
        if changed != switch:
            yield Change(Scarce.SWITCH, name, "", 1, True, replace(problem, switch=changed))


def _less(ticks: int) -> int:
    return max(0, ticks - MILLISECOND)


def _longer_bubbles(problem: FillProblem, index: int) -> Iterator[Change]:
    """All bubbles of a kind of one class a millisecond longer. Only lengths count, so the starts stay where they are."""
    device = problem.devices[index]
    for kind in sorted({bubble.kind for bubble in device.bubbles}):
        longer = tuple(
            replace(bubble, length=bubble.length + MILLISECOND) if bubble.kind == kind else bubble
            for bubble in device.bubbles
        )
        number = sum(bubble.kind == kind for bubble in device.bubbles)
        changed = replace(device, bubbles=longer)
        yield _with_device(problem, index, changed, Scarce.TIME, kind=kind, units=number * device.count)


def _with_device(
    problem: FillProblem, index: int, device: DeviceClass, what: Scarce, *, units: int, kind: str = ""
) -> Change:
    devices = (*problem.devices[:index], device, *problem.devices[index + 1 :])
    return Change(what, device.name, kind, units, True, replace(problem, devices=devices))


def _put(jobs: tuple[Job, ...], index: int, job: Job) -> tuple[Job, ...]:
    return (*jobs[:index], job, *jobs[index + 1 :])
