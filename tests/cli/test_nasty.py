"""Instances from 1 ns to hours, up to TiB, with what can never be done: answers and exit codes of `solve`."""

from __future__ import annotations

import json
from fractions import Fraction
from typing import Any

import pytest

from tests.cli.samples import Shell

INSTANCE = """
period: 10h
objective: {objective}
devices:
  - {{name: d, count: {count}, resident_free: 3TiB, bubbles: [
      {{start: 0ns, length: 3h, free: 4TiB, kind: fill-drain}},
      {{start: 4h, length: 1ns, free: 4TiB, kind: inner}},
    ]}}
jobs:
  - {{name: long, copies: {count}, iterations: 2, weight: 0.01, deadline: {deadline}, configs: [{{name: c, resident: 3TiB,
      operators: [{{name: a, duration: 3h, memory: 1TiB}}, {{name: b, duration: 1ns, memory: 1B}}]}}]}}
"""
LARGE = """
  - {name: large, iterations: 1, configs: [{name: c, resident: 3TiB, operators: [{name: a, duration: 1ns, memory: 1099511627777B}]}]}
"""
LAP = 3 * 3600 * 10**9 + 1
ALL_LAPS = Fraction(1000 * LAP, 100)
"""One lap of each copy, weighted."""
TEN_HOURS = 10 * 3600 * 10**9


def solved(shell: Shell, objective: str, *, deadline: str = "20h", large: bool = False) -> tuple[int, Any]:
    """Exit code and JSON answer, or None. large: with a job that is one byte too large."""
    text = INSTANCE.format(objective=objective, count=1000, deadline=deadline)
    shell.write("nasty.yaml", text + LARGE if large else text)
    ran = shell("solve", "nasty.yaml", "--format", "json")
    return ran.code, json.loads(ran.out) if ran.out else None


@pytest.mark.parametrize(
    ("objective", "deadline", "optimum"),
    [
        ("throughput", "20h", ALL_LAPS),
        ("makespan", "20h", Fraction(2 * TEN_HOURS)),
        ("weighted-completion", "20h", Fraction(1000 * 2 * TEN_HOURS, 100)),
        ("on-time-value", "20h", 2 * ALL_LAPS),
        ("on-time-value", "71999999999999ns", ALL_LAPS),
        ("on-time-value", "9h", Fraction(0)),
    ],
)
def test_what_can_be_done(shell: Shell, objective: str, deadline: str, optimum: Fraction) -> None:
    code, answer = solved(shell, objective, deadline=deadline)
    assert code == 0
    assert Fraction(answer["objective"]) == optimum
    assert Fraction(answer["bound"]) == optimum
    assert answer["outcome"] == "optimal"


@pytest.mark.parametrize("objective", ["makespan", "weighted-completion"])
def test_a_job_that_can_never_finish_is_infeasible(shell: Shell, objective: str) -> None:
    code, answer = solved(shell, objective, large=True)
    assert code == 1
    assert answer is None or answer["outcome"] == "infeasible"


@pytest.mark.parametrize("objective", ["throughput", "on-time-value"])
def test_a_job_that_fits_nowhere_takes_nothing_away(shell: Shell, objective: str) -> None:
    code, answer = solved(shell, objective, large=True)
    assert code == 0
    assert Fraction(answer["objective"]) == (2 if objective == "on-time-value" else 1) * ALL_LAPS
