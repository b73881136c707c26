"""`rank(spec)`: every schedule family for one job, by period, with what fits and why the rest does not."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from fractions import Fraction
from typing import Any

import numpy as np

from pipefill_opt.errors import ScheduleError
from pipefill_opt.timeline.compute import timeline
from pipefill_opt.timeline.timeline import KINDS
from pipefill_opt.units import MAX_BYTES
from pipefill_opt.workload.costs import MainJob
from pipefill_opt.workload.main_file import main_from_document
from pipefill_opt.workload.rank_file import Candidate, RankSpec, candidates, is_uneven, layers_by_stage, main_document


@dataclass(frozen=True, slots=True)
class Figures:
    """What a candidate comes to. period, makespan: ticks. work: mean ticks at work of a device. ratios: of each of `KINDS`, its share of
    all GPU time; they add up to the bubble ratio. peak: bytes by device, None without a memory model. lacking: bytes by which the main
    job exceeds the memory of `tightest`, the device with the least room, below 0 where it fits.
    """

    main: Mapping[str, Any]
    period: Fraction
    makespan: Fraction
    work: Fraction
    ratios: tuple[Fraction, ...]
    peak: tuple[int, ...] | None
    lacking: int
    tightest: int

    @property
    def ratio(self) -> Fraction:
        """The bubble ratio."""
        return sum(self.ratios, Fraction(0))


@dataclass(frozen=True, slots=True)
class Entry:
    """A candidate with its figures and layers by stage (where there are layers), or the reason why its family does not hold here.

    place: among those that fit, 1 for the shortest period, the same for equal ones; None for the others. uneven: the stages of
    a device differ by a tick, since whole ticks cannot be divided equally.
    """

    candidate: Candidate
    figures: Figures | None
    refusal: str
    layers: tuple[int, ...] | None = None
    uneven: bool = False
    place: int | None = None

    @property
    def fits(self) -> bool:
        """Whether it can run: its family holds, and it has memory enough."""
        return self.figures is not None and self.figures.lacking <= 0


def rank(spec: RankSpec) -> tuple[Entry, ...]:
    """All candidates: first those that fit, by period, then bytes of the highest peak, then as `candidates` gives them; then those
    without memory enough, likewise; then those whose family does not hold. Raises InputError for a wrong part of the SPEC.
    """
    entries = [_entry(spec, candidate) for candidate in candidates(spec)]
    order = sorted(entries, key=_key)
    placed: list[Entry] = []
    for number, entry in enumerate(order, start=1):
        if not entry.fits:
            placed.append(entry)
            continue
        before = placed[-1] if placed else None
        tied = before is not None and _period(before) == _period(entry)
        placed.append(replace(entry, place=before.place if tied and before is not None else number))
    return tuple(placed)


def _key(entry: Entry) -> tuple[int, Fraction, int]:
    if entry.figures is None:
        return 2, Fraction(0), 0
    return int(not entry.fits), entry.figures.period, max(entry.figures.peak or (0,))


def _period(entry: Entry) -> Fraction:
    return entry.figures.period if entry.figures is not None else Fraction(0)


def _entry(spec: RankSpec, candidate: Candidate) -> Entry:
    try:
        document = main_document(spec, candidate)
        main = main_from_document(document, file=spec.source)
    except ScheduleError as error:
        if error.code != "size":
            raise
        place = error.where.removeprefix("schedule.")
        return Entry(candidate, None, ": ".join(str(part) for part in (place, error.value, error.expected) if part))
    return Entry(
        candidate, _figures(document, main), "", layers_by_stage(spec, candidate), uneven=is_uneven(spec, candidate)
    )


def _figures(document: Mapping[str, Any], main: MainJob) -> Figures:
    memory = main.memory
    if memory is not None:  # without end, so that no log warns of what the ranking tells
        main = replace(main, memory=replace(memory, capacity=(MAX_BYTES,) * main.schedule.devices))
    result = timeline(main)
    devices, table = len(result.busy), result.bubble_table
    whole = devices * result.period
    idle = [int(table.length[table.kind == kind].sum()) for kind in range(len(KINDS))]
    lacking, tightest = 0, 0
    if memory is not None and result.peak is not None:
        excess = result.peak - (np.array(memory.capacity) - np.array(memory.reserve))
        tightest = int(np.argmax(excess))
        lacking = int(excess[tightest])
    return Figures(
        main=document,
        period=Fraction(result.period, result.scale),
        makespan=Fraction(result.makespan, result.scale),
        work=Fraction(int(result.busy.sum()), devices * result.scale),
        ratios=tuple(Fraction(ticks, whole) if whole else Fraction(0) for ticks in idle),
        peak=None if result.peak is None else tuple(result.peak.tolist()),
        lacking=lacking,
        tightest=tightest,
    )
