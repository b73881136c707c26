"""The suite as a table, with the counts that it is made for."""

from __future__ import annotations

from dataclasses import replace
from fractions import Fraction

import pytest

from pipefill_opt.fill.suite import Entry, read_suite
from pipefill_opt.report.suite import Count, counts, suite_csv, suite_table

ENTRY = Entry(
    file="inner/a.yaml",
    family="inner",
    objective="throughput",
    sense="max",
    instance="sha256:0",
    best=Fraction(100),
    bound=Fraction(100),
    proved_by="solver dp: capacity",
    date="2026-11-30",
    plan="inner/plans/a.json",
    greedy=Fraction(95),
    pattern_bound=Fraction(102),
    traits="carry swap H>1",
)


def numbers(*entries: Entry) -> list[int]:
    return [count.number for count in counts(entries)]


def test_counts_at_their_thresholds() -> None:
    assert numbers(ENTRY) == [1, 1, 1, 1, 1]
    assert numbers(replace(ENTRY, greedy=Fraction(951, 10), pattern_bound=Fraction(1019, 10), traits="swap")) == [
        0,
        0,
        0,
        1,
        0,
    ]
    assert numbers(replace(ENTRY, greedy=None, pattern_bound=None, traits="")) == [0, 0, 0, 0, 0]
    assert numbers(replace(ENTRY, family="tiny")) == [0, 0, 0, 0, 0]


def test_an_open_gap_counts_against_both() -> None:
    """The optimum may be anywhere between best and bound: greedy is held against the one, the pattern bound against the other."""
    open_gap = replace(ENTRY, best=Fraction(99), bound=Fraction(101))
    assert numbers(open_gap)[:2] == [0, 0]


def test_how_many_are_wanted() -> None:
    assert [count.least for count in counts([ENTRY] * 7)] == [4, 3, 20, 20, 20]


def test_table_and_csv() -> None:
    open_gap = replace(ENTRY, file="inner/b.yaml", bound=Fraction(201, 2), greedy=None, pattern_bound=None)
    lines = suite_table([ENTRY, open_gap]).splitlines()
    assert lines[1].split() == [
        "inner/a.yaml",
        "throughput",
        "100",
        "100",
        "proved",
        "-5.0",
        "%",
        "2.0",
        "%",
        "carry",
        "swap",
        "H>1",
    ]
    assert "gap 0.500 %" in lines[2]
    assert "2 instances, 1 proved; of the 2 besides tiny:" in lines
    assert suite_csv([open_gap]).splitlines()[1] == (
        "inner/b.yaml,inner,throughput,100,201/2,solver dp: capacity,2026-11-30,,,carry swap H>1"
    )


@pytest.mark.parametrize("count", counts(read_suite()), ids=lambda count: count.what)
def test_the_suite_has_what_it_is_made_for(count: Count) -> None:
    assert count.number >= count.least, count
