"""`FillPlan`: the decisions. What it says is not checked here; `certify` does that."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Slot:
    """A copy of a job that lives on the device, with its configuration; `first`: the operator at which it stands at the beginning.

    `copy` names the copy in plans of several phases: equal names are the same copy (docs/fill.md, Objectives).
    """

    job: str
    configuration: str
    first: int = 0
    copy: str | None = None


@dataclass(frozen=True, slots=True)
class Segment:
    """`count` operators of a slot in a row, cyclically, from `first`. `start`: ticks from the bubble's start, or None.

    A plan read from a file may hold a count that is not whole: `certify` reports it as `split`.
    """

    slot: int
    first: int
    count: int
    start: int | None = None


@dataclass(frozen=True, slots=True)
class Occurrence:
    """What runs in one bubble of one main iteration (0 to H - 1), in order."""

    iteration: int
    bubble: int
    segments: tuple[Segment, ...]


@dataclass(frozen=True, slots=True)
class Phase:
    """A plan of H main iterations that is run `repetitions` times; None: for ever (`throughput`)."""

    slots: tuple[Slot, ...]
    occurrences: tuple[Occurrence, ...]
    repetitions: int | None = None


@dataclass(frozen=True, slots=True)
class Pattern:
    """What `multiplicity` devices of a class do: one phase for `throughput`, a sequence of phases for the objectives over time."""

    device: str
    multiplicity: int
    phases: tuple[Phase, ...]


@dataclass(frozen=True, slots=True)
class FillPlan:
    """`iterations` is H. `instance` is the hash of the instance it was made for, or None."""

    patterns: tuple[Pattern, ...]
    iterations: int | None = None
    instance: str | None = None
