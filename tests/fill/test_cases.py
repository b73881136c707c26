"""The shared fill cases: stated optima pass with their value, each broken plan fails with exactly its code."""

from __future__ import annotations

import json
from fractions import Fraction
from pathlib import Path
from typing import Any

import pytest

from pipefill_opt.fill.certify import certify
from pipefill_opt.fill.plan_file import plan_document, plan_from_document, read_plan
from pipefill_opt.fill.read import read_instance
from tests.cases import cases_folder
from tests.fill.samples import codes


@pytest.fixture(scope="module")
def folder() -> Path:
    return cases_folder("fill")


@pytest.fixture(scope="module")
def expected(folder: Path) -> dict[str, Any]:
    table: dict[str, Any] = json.loads((folder / "expected.json").read_text(encoding="utf-8"))
    assert len(table) == 30
    return table


def test_valid_plans_have_their_value(folder: Path, expected: dict[str, Any]) -> None:
    seen = 0
    for name, case in expected.items():
        problem = read_instance(folder / f"{name}.yaml")
        plans = [(case["plan"], case["optimum"])]
        plans += [(entry["plan"], entry["objective"]) for entry in case.get("valid", [])]
        for file, value in plans:
            plan = read_plan(folder / file, problem)
            verdict = certify(problem, plan)
            assert verdict.valid, (file, verdict.violations)
            assert verdict.objective == Fraction(value), file
            written = plan_from_document(plan_document(problem, plan), problem)
            assert certify(problem, written).objective == Fraction(value), file
            seen += 1
    assert seen == 35


def test_broken_plans_break_exactly_their_rule(folder: Path, expected: dict[str, Any]) -> None:
    seen = 0
    for name, case in expected.items():
        problem = read_instance(folder / f"{name}.yaml")
        for entry in case.get("broken", []):
            verdict = certify(problem, read_plan(folder / entry["plan"], problem))
            assert codes(verdict) == {entry["code"]}, (entry, verdict.violations)
            assert verdict.objective is None
            seen += 1
    assert seen == 76
