"""The split of a model's layers with the shortest iteration, by exact timelines.

The slowest device bounds the period from below, but does not decide it alone: a late stage keeps few micro-batches in flight, so that a
heavy one is felt more. Starts: the split with the fastest slowest device, the one with the shortest longest stage, and equal numbers.
Then layers are moved, one at a time, while that helps. The bound is proved, the split is the best one found.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field
from fractions import Fraction
from math import ceil
from pathlib import Path
from typing import Any

from pipefill_opt.timeline.compute import timeline
from pipefill_opt.workload.main_file import main_from_document
from pipefill_opt.workload.model.split_file import SplitSpec
from pipefill_opt.workload.model.split_problem import Objective, Split
from pipefill_opt.workload.model.split_stages import split_layers

Counts = tuple[int, ...]
GIVERS = 3
"""Stages, the slowest ones, from which layers are moved."""


def shortest_period(spec: SplitSpec, tell: Callable[[str], None] = lambda text: None) -> tuple[Split, int | None]:
    """The best split found (its value and bound: ticks of the period, rounded up), and the period with equal numbers of layers, None
    where these do not fit. tell: takes words on how far it is. Raises InfeasibleError where memory allows no split.
    """
    assert spec.main is not None
    periods = _Periods(spec, spec.main, tell)
    device, stage = (split_layers(spec.problem, objective) for objective in (Objective.DEVICE, Objective.STAGE))
    best = min((device.counts, stage.counts, spec.equal), key=lambda counts: (periods.of(counts), counts))
    while True:
        near = min(_neighbours(spec, best), key=lambda counts: (periods.of(counts), counts), default=best)
        if periods.of(near) >= periods.of(best):
            break
        best = near
    equal = periods.of(spec.equal)
    bound = spec.microbatches * device.bound
    found = Split(spec.problem, best, Objective.PERIOD, ceil(periods.of(best)), bound)
    return found, None if equal == INFINITE else ceil(equal)


INFINITE = Fraction(2**62)
"""The period of a split that does not fit."""


@dataclass(frozen=True, slots=True)
class _Periods:
    spec: SplitSpec
    main: Mapping[str, Any]
    tell: Callable[[str], None]
    known: dict[Counts, Fraction] = field(default_factory=dict)

    def of(self, counts: Counts) -> Fraction:
        """Exact; each split is timed once."""
        if counts not in self.known:
            self.tell(f"{len(self.known)} splits timed")
            self.known[counts] = self._timed(counts) if self.spec.problem.fits(counts) else INFINITE
        return self.known[counts]

    def _timed(self, counts: Counts) -> Fraction:
        document = {**self.main, "split": self.spec.main_split(counts)}
        result = timeline(main_from_document(document, folder=Path(self.spec.source).parent))
        return result.ticks(result.period)


def _neighbours(spec: SplitSpec, counts: Counts) -> Iterator[Counts]:
    """One layer moved from one of the slowest stages to another, those between shifted."""
    times = spec.problem.stage_times(counts)
    slowest = sorted(range(len(counts)), key=lambda stage: (-times[stage], stage))[:GIVERS]
    for giver in slowest:
        for taker in range(len(counts)):
            if giver != taker and counts[giver] > 1:
                moved = list(counts)
                moved[giver] -= 1
                moved[taker] += 1
                yield tuple(moved)
