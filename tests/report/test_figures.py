"""Figures of a plan worked out by hand."""

from __future__ import annotations

from dataclasses import replace
from fractions import Fraction

from pipefill_opt.report.figures import figures
from tests.report.samples import MS, plan, problem


def test_figures() -> None:
    """Three devices with 50 of 100 ms of main work; two of them run 4 + 5 + 6 = 15 ms of fill work."""
    got = figures(problem(), plan())
    assert (got.devices, got.period, got.total, got.main, got.bubbles) == (3, 100 * MS, 300 * MS, 150 * MS, 150 * MS)
    assert got.fill == got.useful == 30 * MS
    assert got.before == Fraction(1, 2)
    assert got.after == Fraction(3, 5)
    assert got.gpus == Fraction(3, 10)
    kept, swapped = got.jobs
    assert (kept.copies_used, kept.copies, kept.iterations, kept.samples, kept.fill) == (2, 2, 2, 4, 20 * MS)
    assert (swapped.copies_used, swapped.copies, swapped.iterations, swapped.samples, swapped.fill) == (
        2,
        2,
        2,
        2,
        10 * MS,
    )


def test_useful_time_is_the_least_exclusive_time() -> None:
    """A second configuration that is twice as fast per sample halves what the first one's operators are worth."""
    given = problem()
    job = given.jobs[1]
    slow = job.configurations[0]
    fast = replace(slow, name="fast", samples=Fraction(2))
    changed = replace(given, jobs=(given.jobs[0], replace(job, configurations=(slow, fast))))
    got = figures(changed, plan())
    assert got.fill == 30 * MS
    assert got.useful == 25 * MS
