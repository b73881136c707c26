"""Do durations and lags of some steps predict the idle share of another? The error, beside the steps' own difference."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from fractions import Fraction

from pipefill_opt.timeline.compute import timeline
from pipefill_opt.traces.main_document import main_document
from pipefill_opt.traces.measured import Measured
from pipefill_opt.traces.summary import idle_share, is_compute, median, samples
from pipefill_opt.workload.main_file import main_from_document


@dataclass(frozen=True, slots=True)
class StepPrediction:
    """Idle shares of one step: measured, and predicted from the medians of all others.

    plain: from durations and lags alone. with_gaps: with the time between actions counted too (`count_gaps`).
    """

    step: int
    measured: Fraction
    plain: Fraction
    with_gaps: Fraction


def predict_steps(measured: Measured) -> tuple[StepPrediction, ...]:
    """One prediction for each step; none where there is only one step."""
    if len(measured.steps) < 2:
        return ()
    found = []
    for step in measured.steps:
        others = replace(measured, steps=tuple(other for other in measured.steps if other is not step))
        found.append(
            StepPrediction(
                step.number, idle_share(step), predicted_share(others), predicted_share(others, count_gaps=True)
            )
        )
    return tuple(found)


def predicted_share(measured: Measured, *, count_gaps: bool = False) -> Fraction:
    """The idle share of an iteration by the timeline of these steps' medians. Time between actions is idle, as in `idle_share`."""
    result = timeline(main_from_document(main_document(measured, count_gaps=count_gaps)))
    work = sum(median(values) for (_, entry), values in samples(measured).items() if is_compute(entry))
    if not result.period:
        return Fraction(0)
    return 1 - Fraction(work) / (len(measured.ranks) * result.period)


def difference_of_steps(predictions: Sequence[StepPrediction]) -> Fraction:
    """The largest difference between the measured shares of two steps."""
    shares = [prediction.measured for prediction in predictions]
    return max(shares) - min(shares)
