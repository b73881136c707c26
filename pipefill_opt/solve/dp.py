"""The exact dynamic program for one device: rooms as transitions between states, plans as walks.

`repeat: false`: the best walk from the fresh state. `repeat: true`: the best closed walk of H iterations, over all starts. Starts
are tried in order of a bound: for any function V of the states, a closed walk from s is worth at most (T V - V)(s), T being the backward
sweep over the H iterations, since a walk from s to s has value + V(s) <= (T V)(s); and it is a sum of laps x chain values (`LapPoints`).
"""

from __future__ import annotations

from fractions import Fraction
from typing import Any

import numpy as np
from numpy.typing import NDArray

from pipefill_opt.solve.bounds import simple_bound
from pipefill_opt.solve.device import DevicePlan, DeviceProblem, DeviceResult, Visit
from pipefill_opt.solve.laps import lap_points
from pipefill_opt.solve.result import Limits, Reason
from pipefill_opt.solve.transitions import Rooms, Transitions, list_states
from pipefill_opt.solve.watch import Watch

Values = NDArray[Any]
ORIGIN = "dynamic program"
POTENTIALS = 3
"""Sweeps that bound the starts before any start is tried."""
CHUNK = 2_000_000
"""Transitions x starts that are swept at once."""


def solve_dp(device: DeviceProblem, limits: Limits, *, hint: DevicePlan | None = None) -> DeviceResult:
    """The optimum of a device, proved, unless a limit ends the search: then the best plan found (or `hint`) and a bound.

    `limits.work` counts transitions looked at.
    """
    states = list_states(device)
    start = int(states.allowed.argmax()) if device.repeat else states.fresh
    if not device.slots or not states.allowed[start]:
        return DeviceResult(0, 0, DevicePlan((0,) * len(device.slots), ()), ORIGIN)
    search = _Walks(device, Rooms(states), Watch(limits))
    if hint is not None:
        search.keep(hint.value(device), hint)
    if search.prepare() and (search.once() if not device.repeat else search.closed()):
        return DeviceResult(search.value, search.value, search.plan, ORIGIN)
    bound = max(search.value, search.bound)
    reason = search.watch.ended() or (Reason.GAP_LIMIT if search.near(search.value) else Reason.WORK_LIMIT)
    return DeviceResult(search.value, bound, search.plan, ORIGIN, reason)


class _Walks:
    """The search over walks. `bound` holds at any time; `value` and `plan` are the best found so far."""

    def __init__(self, device: DeviceProblem, rooms: Rooms, watch: Watch) -> None:
        self.device = device
        self.rooms = rooms
        self.watch = watch
        self.count = rooms.states.count
        self.bound = simple_bound(device)
        self.value = 0
        self.plan: DevicePlan | None = DevicePlan((0,) * len(device.slots), ()) if not device.repeat else None
        self.never = -1 - rooms.most_value * device.iterations

    def keep(self, value: int, plan: DevicePlan) -> None:
        """Remember a plan if it is the best so far."""
        if self.plan is None or value > self.value:
            self.value, self.plan = value, plan

    def near(self, value: int) -> bool:
        """True if the bound is within the wanted gap of a value."""
        return self.bound - value <= self.watch.limits.gap * max(1, value)

    def prepare(self) -> bool:
        """Find the transitions of every room; False if a limit came first."""
        for room in dict.fromkeys(self.device.rooms):
            if not self.rooms.find(room, lambda: self.watch.ended() is not None):
                return False
            self.watch.spend(len(self.rooms.of(room).target))
        return True

    def sweep(self, values: Values, transitions: Transitions) -> Values:
        """One room backwards: the best of value + `values` at the target, for each allowed state (column by column)."""
        gain = transitions.value if values.ndim == 1 else transitions.value[:, None]
        swept = np.full_like(values, self.never)
        if len(transitions.sources):
            best = np.maximum.reduceat(values[transitions.target] + gain, transitions.first[:-1], axis=0)
            swept[transitions.sources] = best
        return swept

    def backward(self, values: Values, history: list[Values] | None = None) -> Values | None:
        """H iterations backwards, None at a limit; `history` gets the values before each occurrence, last one first."""
        for _ in range(self.device.iterations):
            for room in reversed(self.device.rooms):
                if self.watch.ended():
                    return None
                transitions = self.rooms.of(room)
                self.watch.spend(transitions.target.size * (values.size // self.count))
                if history is not None:
                    history.append(values)
                values = self.sweep(values, transitions)
        return values

    def once(self) -> bool:
        """The best walk from the fresh state."""
        history: list[Values] = []
        fresh = self.rooms.states.fresh
        values = self.backward(self.rooms.array([0] * self.count), history)
        if values is None:
            return False
        self.keep(int(values[fresh]), self.walk(fresh, history))
        return True

    def closed(self) -> bool:
        """The best closed walk over all starts; False if a limit came first."""
        limit = self.start_bounds()
        order = sorted(np.flatnonzero(self.rooms.states.allowed).tolist(), key=lambda s: (-limit[s], s))
        widest = max(len(self.rooms.of(room).target) for room in self.device.rooms) if self.device.rooms else 1
        chunk = max(1, CHUNK // max(1, widest))
        best: tuple[int, int] | None = None
        finished = True
        for begin in range(0, len(order), chunk):
            self.bound = max(self.value, limit[order[begin]])
            self.watch.report(Fraction(self.value), Fraction(self.bound))
            known = self.value if best is None else max(self.value, best[0])
            if (self.plan is not None or best is not None) and self.near(known):
                finished = known >= limit[order[begin]]
                break
            starts = order[begin : begin + chunk]
            ends = np.full((self.count, len(starts)), self.never, dtype=object if self.rooms.big else np.int64)
            ends[starts, range(len(starts))] = 0
            values = self.backward(ends)
            if values is None:
                finished = False
                break
            found = [int(values[s, k]) for k, s in enumerate(starts)]
            top = max(range(len(starts)), key=found.__getitem__)
            if best is None or found[top] > best[0]:
                best = (found[top], starts[top])
        if best is not None and (self.plan is None or best[0] > self.value):
            self.keep(best[0], self.closed_walk(best[1]))
        return finished

    def start_bounds(self) -> list[int]:
        """By state: an upper bound on the closed walks from there."""
        bound: Values = self.rooms.array([self.bound] * self.count)
        allowed = self.rooms.states.allowed
        values: Values = self.rooms.array([0] * self.count)
        for _ in range(POTENTIALS):
            swept = self.backward(values)
            if swept is None:
                break
            bound[allowed] = np.minimum(bound, swept - values)[allowed]
            values = swept
        if not self.rooms.big:
            bound = lap_points(self.device, self.value, self.bound).floor(bound)
        result: list[int] = bound.tolist()
        return result

    def closed_walk(self, start: int) -> DevicePlan:
        """The best closed walk from a start, as a plan. Not cut short by limits."""
        values = self.rooms.array([self.never] * self.count)
        values[start] = 0
        history: list[Values] = []
        for room in reversed(self.device.rooms * self.device.iterations):
            history.append(values)
            values = self.sweep(values, self.rooms.of(room))
        return self.walk(start, history)

    def walk(self, start: int, history: list[Values]) -> DevicePlan:
        """The best walk from `start`, forwards through the values that `backward` left."""
        visits = []
        state = start
        for step, after in enumerate(reversed(history)):
            iteration, bubble = divmod(step, len(self.device.rooms))
            room = self.device.rooms[bubble]
            transitions = self.rooms.of(room)
            place = int(np.searchsorted(transitions.sources, state))
            own = slice(int(transitions.first[place]), int(transitions.first[place + 1]))
            chosen = own.start + int(np.argmax(transitions.value[own] + after[transitions.target[own]]))
            target = int(transitions.target[chosen])
            runs = self.rooms.runs(room, state, target, int(transitions.value[chosen]))
            if runs:
                visits.append(Visit(iteration, bubble, runs))
            state = target
        first = tuple(
            digit % slot.length for digit, slot in zip(self.rooms.states.digits(start), self.device.slots, strict=True)
        )
        return DevicePlan(first, tuple(visits))
