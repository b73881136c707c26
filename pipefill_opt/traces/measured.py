"""What every importer yields, and what it becomes: runs of actions on ranks, then steps. Times are ns on one clock a rank."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Final, Protocol, TypeAlias, TypeVar

from pipefill_opt.errors import InputError
from pipefill_opt.schedule.actions import Action, Kind, Pair

Entry: TypeAlias = Action | Pair
Interval: TypeAlias = tuple[int, int]
"""[start, end) in ns."""

STEP: Final = Action(Kind.STEP, -1)
"""The optimizer step of a device."""


@dataclass(frozen=True, slots=True)
class Run:
    """One execution of an action, waits cut out. `step`: the step that holds it, None where the trace marks no steps."""

    action: Entry
    start: int
    end: int
    step: int | None = None


@dataclass(frozen=True, slots=True)
class RankRuns:
    """One rank of a trace: its runs in order of start.

    windows: the steps that the trace marks, number -> [start, end). communication: when messages were on their way or waited for.
    capacity, reserved: bytes of the device, and the most that the program held of it; 0 where that is not known.
    """

    rank: int
    source: str
    runs: tuple[Run, ...]
    windows: Mapping[int, Interval]
    communication: tuple[Interval, ...] = ()
    capacity: int = 0
    reserved: int = 0


@dataclass(frozen=True, slots=True)
class Step:
    """One complete step: for each device (rank of the pipeline) its runs in order, and its window [start, end).

    communication: ns of the window in which a device's messages were on their way or waited for; () if that is not known.
    """

    number: int
    rows: tuple[tuple[Run, ...], ...]
    windows: tuple[Interval, ...]
    communication: tuple[int, ...] = ()

    @property
    def order(self) -> tuple[tuple[Entry, ...], ...]:
        """The actions of each device, in order."""
        return tuple(tuple(run.action for run in row) for row in self.rows)


@dataclass(frozen=True, slots=True)
class Measured:
    """Complete steps of one pipeline, all of the same actions on the same devices.

    notes: what was left out or corrected, in sentences. memory: capacity and reserved bytes of each device, () if not known.
    """

    ranks: tuple[int, ...]
    steps: tuple[Step, ...]
    notes: tuple[str, ...] = ()
    memory: tuple[tuple[int, int], ...] = ()


def members(entry: Entry) -> tuple[Action, ...]:
    """The elementary actions of an entry: those of a pair, or itself."""
    return tuple(entry) if isinstance(entry, Pair) else (entry,)


def producer(action: Action, last: int) -> Action | None:
    """The action of another stage whose output `action` needs, in one pipe of stages 0 to `last`."""
    if action.kind is Kind.F and action.stage > 0:
        return action._replace(stage=action.stage - 1)
    if action.kind in (Kind.B, Kind.I) and action.stage < last:
        return action._replace(stage=action.stage + 1)
    return None


def step_at(time: int, windows: Mapping[int, Interval]) -> int | None:
    """The step whose window holds a time."""
    return next((number for number, (start, end) in windows.items() if start <= time < end), None)


def covered(intervals: Iterable[Interval]) -> int:
    """Length of the union of intervals in order of start."""
    total, ready = 0, None
    for start, end in intervals:
        begin = start if ready is None else max(start, ready)
        total += max(0, end - begin)
        ready = end if ready is None else max(ready, end)
    return total


class _Ranked(Protocol):
    @property
    def rank(self) -> int: ...
    @property
    def source(self) -> str: ...


Ranked = TypeVar("Ranked", bound=_Ranked)


def by_rank(traces: Sequence[Ranked]) -> list[Ranked]:
    """The traces in order of rank. Raises InputError for a rank that comes twice."""
    seen: dict[int, str] = {}
    for trace in traces:
        if trace.rank in seen:
            expected = f"expected each rank once, and {seen[trace.rank]} is of this rank too"
            raise InputError(expected, value=f"rank {trace.rank}", file=trace.source)
        seen[trace.rank] = trace.source
    return sorted(traces, key=lambda trace: trace.rank)
