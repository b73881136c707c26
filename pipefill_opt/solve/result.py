"""What every solver is given and what it answers."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from enum import StrEnum
from fractions import Fraction
from threading import Event
from typing import TYPE_CHECKING

from pipefill_opt.fill.plan import FillPlan

if TYPE_CHECKING:
    from pipefill_opt.fill.certificate import Certificate


class Outcome(StrEnum):
    """What is known of the answer."""

    OPTIMAL = "optimal"
    FEASIBLE = "feasible"
    INFEASIBLE = "infeasible"
    UNKNOWN = "unknown"


class Reason(StrEnum):
    """Why the search ended."""

    PROVED = "proved"
    TIME_LIMIT = "time limit"
    WORK_LIMIT = "work limit"
    GAP_LIMIT = "gap limit"
    INTERRUPTED = "interrupted"
    HEURISTIC = "heuristic finished"


@dataclass(frozen=True, slots=True)
class Progress:
    """One line of news from a running solver: seconds since its start, best value and bound so far."""

    seconds: float
    value: Fraction | None
    bound: Fraction | None
    note: str = ""


@dataclass(frozen=True, slots=True)
class Limits:
    """When to stop. `time`: wall-clock seconds of the whole search. `gap`: stop at this relative gap. `stop`: set from outside (Ctrl-C),
    solvers end soon and keep the incumbent. `work`: a deterministic limit, for repeatable runs, of each device, master or whole model
    that is searched by itself, not of their sum (CP-SAT's deterministic time, HiGHS's nodes, transitions of the dynamic program)."""

    time: float | None = None
    work: float | None = None
    gap: Fraction = Fraction(0)
    seed: int = 0
    stop: Event = field(default_factory=Event, compare=False)
    on_progress: Callable[[Progress], None] | None = field(default=None, compare=False)


@dataclass(frozen=True, slots=True)
class Solution:
    """A solver's answer. `objective` and `bound` are exact, per main iteration; `bound_origin` says what proved the bound.

    `certificate` is set by the facade: no plan leaves `solve()` uncertified.
    """

    outcome: Outcome
    reason: Reason
    plan: FillPlan | None
    objective: Fraction | None
    bound: Fraction | None
    bound_origin: str
    solver: str
    seconds: float = 0.0
    seed: int = 0
    versions: dict[str, str] = field(default_factory=dict)
    notes: tuple[str, ...] = ()
    certificate: Certificate | None = None

    @property
    def gap(self) -> Fraction | None:
        """|bound - value| / max(1, |value|), or None where one of the two is unknown."""
        if self.objective is None or self.bound is None:
            return None
        return abs(self.bound - self.objective) / max(Fraction(1), abs(self.objective))
