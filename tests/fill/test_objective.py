"""The certifier's values against the solvers' own, and against values worked out by hand."""

from __future__ import annotations

from fractions import Fraction
from typing import Any

import pytest

from pipefill_opt.fill.objective import chain_values
from pipefill_opt.fill.problem import Job
from pipefill_opt.fill.values import operator_values, time_per_sample
from tests.fill.samples import operator, problem, put


def job(*configs: dict[str, Any], **more: Any) -> Job:
    return problem(put("jobs.0", {"name": "kept", "configs": list(configs), **more})).jobs[0]


def config(name: str, samples: Any, *operators: dict[str, Any]) -> dict[str, Any]:
    return {"name": name, "samples": samples, "resident": 0, "operators": list(operators)}


WIDE = config("wide", 3, operator("o", 2.5, 1))
SLOW = config("slow", 4, operator("a", 0.8, 1), operator("b", 2.2, 1), operator("c", 1, 1))


def test_useful_time_is_that_of_the_fastest_configuration_rounded_down_cumulatively() -> None:
    entry = job(WIDE, SLOW)
    assert time_per_sample(entry) == Fraction(2_500_000, 3)
    # an iteration of slow: 10000000 / 3, after 0.8, 3 and 4 of 4 ms
    expected = [666_666, 2_500_000 - 666_666, 3_333_333 - 2_500_000]
    assert chain_values(entry, entry.configurations[1]) == expected
    assert chain_values(entry, entry.configurations[0]) == [2_500_000]


@pytest.mark.parametrize(
    "entry",
    [
        job(WIDE, SLOW),
        job(WIDE),
        job(config("half", 0.5, operator("a", 0.000007, 1), operator("b", 0.000011, 1, repeat=5)), SLOW),
        job(config("f", 7, operator("a", 1, 1, flops=3e11), operator("b", 2, 1, flops=7, value=0)), value="flops"),
        job(config("v", 7, operator("a", 1, 1, value=2.75), operator("b", 2, 1)), SLOW),
    ],
)
def test_solvers_values_are_the_same(entry: Job) -> None:
    for configuration in entry.configurations:
        values = operator_values(entry, configuration)
        assert list(values) == chain_values(entry, configuration)


def test_flops_and_own_values() -> None:
    entry = job(
        config("f", 7, operator("a", 1, 1, flops=3e11), operator("b", 2, 1, flops=7, value=2.75)), value="flops"
    )
    assert operator_values(entry, entry.configurations[0]) == (Fraction(300_000_000_000), Fraction(11, 4))
