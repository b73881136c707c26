"""The exact device solver without a modelling library: it chooses between the dynamic program and two kinds of value iteration."""

from __future__ import annotations

from dataclasses import replace
from math import floor
from typing import Final

from pipefill_opt.solve import balance
from pipefill_opt.solve.balance import balance_bound
from pipefill_opt.solve.bounds import simple_bound
from pipefill_opt.solve.device import DevicePlan, DeviceProblem, DeviceResult
from pipefill_opt.solve.dp import solve_dp
from pipefill_opt.solve.grid import fits_grid
from pipefill_opt.solve.monotone import relax
from pipefill_opt.solve.parts import solve_parts, takes_parts
from pipefill_opt.solve.result import Limits, Reason
from pipefill_opt.solve.transitions import state_count, transition_count
from pipefill_opt.solve.value_iteration import solve_value_iteration
from pipefill_opt.solve.value_iteration_coupled import fits_coupled, solve_coupled
from pipefill_opt.solve.watch import Watch

FEW_TRANSITIONS: Final = 5_000
"""Up to so many transitions the dynamic program answers sooner than compiled code loads."""
LISTED_AT_ONCE: Final = 200_000
"""Above so many transitions coupled slots are searched by value iteration first, which mostly proves its plan."""
MOST_TRANSITIONS: Final = 10_000_000
MOST_STATES: Final = 200_000


def solve_exact(device: DeviceProblem, limits: Limits, *, hint: DevicePlan | None = None) -> DeviceResult:
    """The optimum of a device, proved unless a limit ends the search.

    Slots that couple end without a proof (reason: work limit) where loose and strict tables differ and transitions are too many to
    list; what fits no table gets a bound only, with `hint` as its plan.
    """
    transitions = transition_count(device)
    if transitions <= FEW_TRANSITIONS:
        return solve_dp(device, limits, hint=hint)
    monotone = relax(device)
    if takes_parts(device, monotone):
        return solve_parts(device, monotone, limits, hint=hint)
    relaxed = monotone if fits_grid(device) else None
    if relaxed is not None and relaxed.exact:
        return solve_value_iteration(device, relaxed, limits, hint=hint)
    by_list = transitions <= MOST_TRANSITIONS and state_count(device) <= MOST_STATES
    if by_list and (relaxed is None or transitions <= LISTED_AT_ONCE or not fits_coupled(device)):
        return solve_dp(device, limits, hint=hint)
    if relaxed is not None:
        search = solve_coupled if fits_coupled(device) else solve_value_iteration
        watch = Watch(limits)
        first = search(device, relaxed, limits, hint=hint)
        if first.proved or first.reason is not Reason.WORK_LIMIT or not by_list or watch.ended():
            return first
        rest = replace(watch.left(gap=limits.gap), work=limits.work, on_progress=limits.on_progress)
        return _better(first, solve_dp(device, rest, hint=first.plan))
    value = hint.value(device) if hint is not None else 0
    bound, origin = quick_bound(device, limits)
    return DeviceResult(value, max(value, bound), hint, origin, Reason.WORK_LIMIT)


def quick_bound(device: DeviceProblem, limits: Limits) -> tuple[int, str]:
    """The better of the bounds that need no table of positions, with its origin."""
    watch = Watch(limits)
    best = simple_bound(device), "capacity"
    balanced = balance_bound(relax(device), lambda: watch.ended() is not None)
    return best if balanced is None else min(best, (floor(balanced * device.iterations), balance.ORIGIN))


def solve_auto(device: DeviceProblem, limits: Limits, *, hint: DevicePlan | None = None) -> DeviceResult:
    """`solve_exact`; what is too large for it goes on to CP-SAT, and the better plan and the better bound count."""
    watch = Watch(limits)
    first = solve_exact(device, limits, hint=hint)
    if first.proved or first.reason is not Reason.WORK_LIMIT or watch.ended():
        return first
    from pipefill_opt.solve.cpsat import solve_device

    second = solve_device(device, replace(watch.left(gap=limits.gap), work=limits.work), hint=first.plan)
    return _better(first, second)


def _better(first: DeviceResult, second: DeviceResult) -> DeviceResult:
    """The better plan and the better bound of two searches, the second one after the first."""
    best = second if second.value > first.value or first.plan is None else first
    tight = second if second.bound < first.bound else first
    reason = Reason.PROVED if best.value == tight.bound else second.reason
    return DeviceResult(best.value, tight.bound, best.plan, tight.origin, reason)
