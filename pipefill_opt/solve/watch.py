"""Keeps the limits of one solve: the clock, the deterministic work, the stop event, and the news for whoever listens."""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from fractions import Fraction
from time import monotonic

from pipefill_opt.solve.result import Limits, Progress, Reason


@dataclass(slots=True)
class Watch:
    """Started when made. `work` counts what deterministic solvers spend, against `limits.work`."""

    limits: Limits
    began: float = field(default_factory=monotonic)
    work: float = 0.0

    def seconds(self) -> float:
        """Wall-clock seconds since the start."""
        return monotonic() - self.began

    def spend(self, work: float) -> None:
        """Count deterministic work."""
        self.work += work

    def ended(self) -> Reason | None:
        """The reason to stop now, if there is one."""
        if self.limits.stop.is_set():
            return Reason.INTERRUPTED
        if self.limits.time is not None and self.seconds() >= self.limits.time:
            return Reason.TIME_LIMIT
        if self.limits.work is not None and self.work >= self.limits.work:
            return Reason.WORK_LIMIT
        return None

    def left(self, *, gap: Fraction = Fraction(0)) -> Limits:
        """The limits that remain, for a part of the search; it reports no progress of its own."""
        time = None if self.limits.time is None else max(0.0, self.limits.time - self.seconds())
        work = None if self.limits.work is None else max(0.0, self.limits.work - self.work)
        return Limits(time=time, work=work, gap=gap, seed=self.limits.seed, stop=self.limits.stop)

    def at_least(self, seconds: float) -> Watch:
        """The same watch, but one whose time does not end before `seconds`."""
        time = None if self.limits.time is None else max(self.limits.time, seconds)
        return Watch(replace(self.limits, time=time), self.began, self.work)

    def report(self, value: Fraction | None, bound: Fraction | None, note: str = "") -> None:
        """Tell the listener, if any, the best value and bound so far."""
        if self.limits.on_progress is not None:
            self.limits.on_progress(Progress(self.seconds(), value, bound, note))
