"""`compare --recalibrate`: switch costs as measured, and the guard that keeps the slowdown low at the least loss of fill work."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from fractions import Fraction
from statistics import median
from typing import Any, Final

import numpy as np
import numpy.typing as npt

from pipefill_opt.errors import InputError
from pipefill_opt.harness.compare import failure_text, switch_samples
from pipefill_opt.harness.samples import Samples, samples

Document = dict[str, Any]
Floats = npt.NDArray[np.float64]
FRACTIONS: Final = tuple(Fraction(percent, 100) for percent in range(100, -1, -1))
"""Down to a guard that leaves no room, which delays nothing."""
MARGINS: Final = tuple(Fraction(permille, 1000) for permille in (0, 5, 10, 20, 50, 100))
"""Margins that are tried, as shares of the median bubble."""


@dataclass(frozen=True, slots=True)
class Guarded:
    """A guard with what is to be expected of it: slowdown of the main job, and fill time in that of the plan as it is.

    margin: ticks of the main job. switch: ticks, as measured. slowdown_now: what the same estimate says of the plan as it is.
    """

    fraction: Fraction
    margin: int
    slowdown: float
    kept: float
    slowdown_now: float
    switch: dict[str, int]


@dataclass(frozen=True, slots=True)
class _Visit:
    """length: of the bubble as predicted. used: ns as planned. longer: used in the run over that, each sample.

    room: lengths of the bubble in the run, each sample. usable: of the length, as guarded now.
    """

    length: float
    used: float
    longer: Floats
    room: Floats
    usable: float


def recalibrate(document: Document, *, slowdown: float = 0.02) -> Guarded:
    """The best guard whose expected slowdown is at most `slowdown`. Raises InputError where no fill work was measured.

    Expected: of each visit, over all pairs of a measured lengthening and a measured bubble, what runs past the bubble; a guard leaves work
    in proportion to the time that it leaves.
    """
    if document.get("failure"):
        raise InputError(f"expected a RESULT that ended well ({failure_text(document)})")
    found = samples(document)
    visits = _visits(found, document)
    if not visits:
        raise InputError("expected a RESULT with fill work")
    turns = {found.turn(i) for i in found.which(with_fill=True)}
    period = float(median(found.periods(with_fill=False))) * len(turns)
    scale = Fraction(document["scale"])
    typical = median(visit.length for visit in visits)
    now = _expected(visits, Fraction(document["guard"]["fraction"]), 0.0, period)
    best: tuple[float, float, Fraction, float] | None = None
    for fraction, share in ((f, s) for f in FRACTIONS for s in MARGINS):
        margin = float(share) * typical
        slower, kept = _expected(visits, fraction, margin, period)
        if slower <= slowdown and (best is None or kept > best[0]):
            best = (kept, slower, fraction, margin)
    assert best is not None
    kept, slower, fraction, margin = best
    return Guarded(fraction, round(margin / scale), slower, kept, now[0], dict(_switch(found, document, scale)))


def _visits(found: Samples, document: Document) -> list[_Visit]:
    longer: dict[tuple[int, int], list[float]] = {}
    for visited in found.visits():
        visit = found.devices[visited.device]["visits"][visited.visit]
        used = visited.spans[-1][1] - visited.before + visit["leave"]
        longer.setdefault((visited.device, visited.visit), []).append(used / max(1, visit["used"]))
    fraction = float(Fraction(document["guard"]["fraction"]))
    margin = float(document["guard"]["margin"] * Fraction(document["scale"]))
    result = []
    for (number, index), factors in longer.items():
        visit = found.devices[number]["visits"][index]
        room = found.bubble(number, visit["before"])
        if room:
            usable = max(1.0, fraction * visit["length"] - margin)
            result.append(
                _Visit(visit["length"], visit["used"], np.array(factors), np.array(room, dtype=np.float64), usable)
            )
    return result


def _expected(visits: list[_Visit], fraction: Fraction, margin: float, period: float) -> tuple[float, float]:
    """(slowdown, share of the fill time that is left)."""
    late = left = whole = 0.0  # over all main iterations of the plan that were measured
    for visit in visits:
        usable = max(0.0, float(fraction) * visit.length - margin)
        used = visit.used * min(1.0, usable / visit.usable)
        past = used * visit.longer[:, None] - visit.room[None, :]
        late += float(np.maximum(past, 0.0).mean())
        left += used
        whole += visit.used
    return late / period, left / whole


def _switch(found: Samples, document: Document, scale: Fraction) -> Iterator[tuple[str, int]]:
    """Median costs; played ones are in scaled time, measured ones are what they are."""
    values = switch_samples(found)
    for name in ("enter", "between"):
        if name in values:
            measured = median(values[name][1])
            yield name, round(Fraction(measured) / scale) if document["switches_played"] else round(measured)
