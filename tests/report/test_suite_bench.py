"""Tables of runs over the suite: there and back, and what changed."""

from __future__ import annotations

from dataclasses import replace
from fractions import Fraction

import pytest

from pipefill_opt.errors import InputError
from pipefill_opt.report.suite_bench import bench_csv, bench_markdown, compare, comparison_text, read_bench
from pipefill_opt.solve.suite import FAILED, REFUSED, Run

RUN = Run(
    "inner/a.yaml",
    "sha256:0",
    "dp",
    "10",
    "max",
    "feasible, time limit",
    Fraction(99),
    Fraction(201, 2),
    1.25,
    "capacity, twice",
)
REFUSAL = replace(RUN, solver="greedy", status=REFUSED, value=None, bound=None, detail="expected throughput")


def test_there_and_back() -> None:
    runs = (RUN, REFUSAL)
    assert read_bench(bench_csv(runs), file="t.csv") == runs


@pytest.mark.parametrize(
    ("old", "new", "message"),
    [
        ("file,", "fil,", "t.csv: expected a table with the columns file, instance"),
        ("99,", "9x9,", "t.csv: row 2: 9x9: expected a fraction"),
        ("1.25", "soon", "t.csv: row 2: expected a row of this table"),
        (",1.25", "", "t.csv: row 2"),
    ],
)
def test_a_broken_table(old: str, new: str, message: str) -> None:
    with pytest.raises(InputError, match=message):
        read_bench(bench_csv([RUN]).replace(old, new, 1), file="t.csv")


def test_markdown() -> None:
    lines = bench_markdown([RUN, replace(RUN, bound=Fraction(99)), REFUSAL]).splitlines()
    assert "| inner | dp | 2 | 1 | 0.758 % | 1.515 % | 2.5 |" in lines
    assert "| inner/a.yaml | dp | 10 | feasible, time limit | 99 | 100.5 | 1.515 % | 1.25 |" in lines
    assert f"| inner/a.yaml | greedy | 10 | {REFUSED} |  |  |  | 1.25 |" in lines


def compared(new: Run, old: Run) -> tuple[int, int, int]:
    found = compare([new], [old], [])
    return len(found.better), len(found.worse), found.same


def test_better_and_worse_by_value_and_sense() -> None:
    more = replace(RUN, value=Fraction(100))
    assert compared(more, RUN) == (1, 0, 0)
    assert compared(RUN, more) == (0, 1, 0)
    assert compared(RUN, RUN) == (0, 0, 1)
    assert compared(replace(more, sense="min"), replace(RUN, sense="min")) == (0, 1, 0)
    assert compared(replace(RUN, sense="min"), replace(more, sense="min")) == (1, 0, 0)


def test_what_is_not_compared() -> None:
    more = replace(RUN, value=Fraction(100))
    assert compared(replace(RUN, limit="5"), more) == (0, 0, 1)
    assert compared(RUN, replace(more, instance="sha256:1")) == (0, 0, 0)
    assert compared(RUN, replace(more, solver="cg")) == (0, 0, 0)
    assert compared(RUN, REFUSAL) == (0, 0, 0)


def test_no_value_is_worse_than_one() -> None:
    failed = replace(RUN, status=FAILED, value=None, bound=None)
    found = compare([failed], [RUN], [])
    assert found.bad
    assert comparison_text(found).splitlines() == [
        "worse: inner/a.yaml dp: , was 99",
        "0 better, 1 worse, 0 as before, 0 broken",
    ]
