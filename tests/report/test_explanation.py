"""Certificates and explanations in words and numbers."""

from __future__ import annotations

import json
from fractions import Fraction

from pipefill_opt.fill.certificate import Certificate, Violation
from pipefill_opt.fill.explain import Explanation, Limit, explain
from pipefill_opt.report.certificate import certificate_csv, certificate_json, certificate_text
from pipefill_opt.report.explanation import WORDS, explanation_csv, explanation_json, explanation_text, rest_lines
from tests.report.samples import MS, plan, problem


def test_every_limit_has_words() -> None:
    assert set(WORDS) == set(Limit)


def test_rests_of_a_plan() -> None:
    """Bubble 0 (30 ms) is used for 18 ms, bubble 1 (20 ms) for 9 ms, on two devices; the third is empty: 50 ms."""
    got = explain(problem(), plan())
    assert sum(got.ticks.values()) == (2 * (12 + 11) + 50) * MS
    assert f"{96} ms of bubble time per iteration stays empty:" in rest_lines(got)[0]
    document = json.loads(explanation_json(got))
    assert [rest["rest"] // MS for rest in document["rests"]] == [12, 11, 30, 20]
    assert sum(Fraction(ticks) for ticks in document["ticks"].values()) == 96 * MS
    assert explanation_csv(got).count("\n") == 5
    assert "a × 2" in explanation_text(got)


def test_nothing_stays_empty() -> None:
    assert rest_lines(Explanation((), {})) == ["nothing stays empty"]


def test_certificates() -> None:
    valid = Certificate((), Fraction(7, 2))
    assert certificate_text(valid) == "valid: every rule holds; objective 7/2\n"
    assert json.loads(certificate_json(valid)) == {"valid": True, "objective": "7/2", "violations": []}
    broken = Certificate((Violation("fit", "patterns[0]", "too long", {"used": 3}),), None)
    assert certificate_text(broken) == "1 violation(s)\n  fit: patterns[0]: too long\n"
    assert json.loads(certificate_json(broken))["violations"][0]["numbers"] == {"used": 3}
    assert certificate_csv(broken) == "code,place,message\nfit,patterns[0],too long\n"
