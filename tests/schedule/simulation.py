"""A plain replay of an order, for tests: knows the rules of pipelines from scratch and shares only `Schedule` with the package.

Whole micro-batches, pairs one after the other, stages with equal costs.
"""

from __future__ import annotations

from dataclasses import dataclass
from itertools import pairwise

from pipefill_opt.schedule.actions import Kind
from pipefill_opt.schedule.schedule import Schedule

Slot = tuple[str, int, int]  # letter, stage, micro-batch


class StuckError(Exception):
    """No device can go on: a deadlock."""


@dataclass(frozen=True)
class Replay:
    """Start and end of every action, by its place in the rows."""

    rows: list[list[Slot]]
    times: list[list[tuple[int, int]]]

    @property
    def makespan(self) -> int:
        return max(end for row in self.times for _, end in row)

    @property
    def busy(self) -> list[int]:
        return [sum(end - start for start, end in row) for row in self.times]


def rows_of(schedule: Schedule) -> list[list[Slot]]:
    """Letters, stages and micro-batches of each row, compute actions only."""
    table = list(zip(schedule.kind.tolist(), schedule.stage.tolist(), schedule.microbatch.tolist(), strict=True))
    bounds = schedule.row_start.tolist()
    return [
        [(Kind(kind).name, stage, microbatch) for kind, stage, microbatch in table[begin:end] if microbatch >= 0]
        for begin, end in pairwise(bounds)
    ]


def replay(schedule: Schedule, costs: dict[str, int], *, lag: int = 0) -> Replay:
    """Run all rows as early as their order and the data allow. Raises StuckError."""
    rows = rows_of(schedule)
    home = schedule.placement
    before = {stage: pipe[at - 1] if at else None for pipe in schedule.pipes for at, stage in enumerate(pipe)}
    behind = {
        stage: pipe[at + 1] if at + 1 < len(pipe) else None for pipe in schedule.pipes for at, stage in enumerate(pipe)
    }
    forward: dict[tuple[int, int], int] = {}
    gradient: dict[tuple[int, int], int] = {}
    times: list[list[tuple[int, int]]] = [[] for _ in rows]
    now = [0] * len(rows)

    def ready(slot: Slot, device: int) -> int | None:
        """When the inputs of an action are there; None while one is not made yet."""
        letter, stage, microbatch = slot
        if letter == "F":
            source, own = before[stage], 0
            if source is None:
                return 0
            made = forward.get((source, microbatch))
        elif letter == "W":
            return gradient.get((stage, microbatch))
        else:
            source, own = behind[stage], forward.get((stage, microbatch), -1)
            if source is None or letter == "R" or own < 0:
                return own if own >= 0 else None
            made = gradient.get((source, microbatch))
        return None if made is None else max(own, made + (lag if home[source] != device else 0))

    moved = True
    while moved:
        moved = False
        for device, row in enumerate(rows):
            while len(times[device]) < len(row):
                slot = row[len(times[device])]
                when = ready(slot, device)
                if when is None:
                    break
                start = max(now[device], when)
                now[device] = start + costs[slot[0]]
                times[device].append((start, now[device]))
                if slot[0] == "F":
                    forward[slot[1:]] = now[device]
                elif slot[0] not in "WR":
                    gradient[slot[1:]] = now[device]
                moved = True
    for device, row in enumerate(rows):
        if len(times[device]) < len(row):
            letter, stage, microbatch = row[len(times[device])]
            raise StuckError(f"rank {device} waits at {stage}{letter}{microbatch}")
    return Replay(rows, times)


def peak_in_flight(schedule: Schedule) -> list[int]:
    """Largest number of forwards of a device whose backward (its weight gradient, where split) is not done yet."""
    peaks = []
    for row in rows_of(schedule):
        held = peak = 0
        for letter, _, _ in row:
            held += {"F": 1, "B": -1, "W": -1}.get(letter, 0)
            peak = max(peak, held)
        peaks.append(peak)
    return peaks
