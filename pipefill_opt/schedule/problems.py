"""What can be wrong with an action, and where: the words of `validate`."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Final

import numpy as np

from pipefill_opt.schedule.actions import Kind
from pipefill_opt.schedule.schedule import Bool, Schedule

SHOWN: Final = 3
"""Problems named in one error."""


@dataclass(frozen=True, slots=True)
class Problem:
    """Something wrong at a device; `position` is the 0-based place in its row, None for what is not there."""

    code: str
    rank: int
    position: int | None
    action: str
    text: str

    def __str__(self) -> str:
        return f"{self.action}{'' if self.position is None else f' at position {self.position}'}: {self.text}"


def problems_at(schedule: Schedule, bad: Bool, code: str, text: Callable[[int], str]) -> Iterator[Problem]:
    """A problem for each bad action, the first few; rows follow each other, so that those are of the first devices."""
    for index in np.flatnonzero(bad)[: SHOWN + 1].tolist():
        kind = int(schedule.kind[index])
        action = str(schedule.action(index)) if 0 <= kind < len(Kind) else f"kind {kind}"
        yield Problem(code, *place(schedule, index), action, text(index))


def place(schedule: Schedule, index: int) -> tuple[int, int]:
    """Rank and position of an action."""
    rank = int(np.searchsorted(schedule.row_start, index, side="right")) - 1
    return rank, index - int(schedule.row_start[rank])
