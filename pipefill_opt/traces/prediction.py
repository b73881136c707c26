"""Do durations and lags of some steps predict the idle share of another? The error, beside the steps' own difference."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from fractions import Fraction
from typing import Final

from pipefill_opt.timeline.compute import timeline
from pipefill_opt.traces.main_document import main_document
from pipefill_opt.traces.measured import Measured
from pipefill_opt.traces.summary import StepTimes, idle_share, is_compute, median, step_times
from pipefill_opt.workload.main_file import main_from_document

MOST: Final = 10
"""Steps that are predicted, at most."""


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
    """A prediction for each step, or for MOST of them spread evenly; none where there is only one step."""
    count = len(measured.steps)
    if count < 2:
        return ()
    times = [step_times(step) for step in measured.steps]
    found = []
    for index in sorted({(2 * place + 1) * count // (2 * min(MOST, count)) for place in range(min(MOST, count))}):
        step = measured.steps[index]
        others = replace(measured, steps=measured.steps[:index] + measured.steps[index + 1 :])
        known = times[:index] + times[index + 1 :]
        plain, gaps = (predicted_share(others, count_gaps=count_gaps, times=known) for count_gaps in (False, True))
        found.append(StepPrediction(step.number, idle_share(step), plain, gaps))
    return tuple(found)


def predicted_share(
    measured: Measured, *, count_gaps: bool = False, times: Sequence[StepTimes] | None = None
) -> Fraction:
    """The idle share of an iteration by the timeline of these steps' medians; time between actions is idle, as in `idle_share`.

    times: those of the steps, where they are known already.
    """
    times = times or [step_times(step) for step in measured.steps]
    result = timeline(main_from_document(main_document(measured, count_gaps=count_gaps, times=times)))
    if not result.period:
        return Fraction(0)
    work = sum(
        median([of_step.durations[key] for of_step in times]) for key in times[0].durations if is_compute(key[1])
    )
    return 1 - Fraction(work) / (len(measured.ranks) * result.period)


def difference_of_steps(predictions: Sequence[StepPrediction]) -> Fraction:
    """The largest difference between the measured shares of two steps."""
    shares = [prediction.measured for prediction in predictions]
    return max(shares) - min(shares)
