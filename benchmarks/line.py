"""What a benchmark reports: a figure that does not depend on the machine (a ratio, a gap, a size) and its target."""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import dataclass
from typing import TypeVar

T = TypeVar("T")


@dataclass(frozen=True, slots=True)
class Line:
    """One figure. It holds if it is at most `target`, or at least `target` where `at_least`."""

    name: str
    value: float
    target: float
    unit: str = ""
    at_least: bool = False
    note: str = ""

    @property
    def holds(self) -> bool:
        """Whether the target is met."""
        return self.value >= self.target if self.at_least else self.value <= self.target


def seconds(function: Callable[[], T], *, repeats: int = 3) -> tuple[float, T]:
    """CPU time of this process in the shortest of some runs, and what the last one returned; other work on the machine counts little."""
    best, result = float("inf"), None
    for _ in range(repeats):
        begun = time.process_time()
        result = function()
        best = min(best, time.process_time() - begun)
    assert result is not None
    return best, result
