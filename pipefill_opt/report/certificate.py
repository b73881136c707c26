"""A certificate as text, JSON and CSV."""

from __future__ import annotations

import json

from pipefill_opt.fill.certificate import Certificate
from pipefill_opt.report.tables import csv_text, exact_number


def certificate_text(certificate: Certificate) -> str:
    """One line for a valid plan; else one line for each violation."""
    if certificate.valid:
        return f"valid: every rule holds; objective {exact_number(certificate.objective)}\n"
    lines = [f"{len(certificate.violations)} violation(s)"]
    lines += [f"  {v.code}: {v.place or 'plan'}: {v.message}" for v in certificate.violations]
    return "\n".join(lines) + "\n"


def certificate_json(certificate: Certificate) -> str:
    """{valid, objective (exact text, or null), violations: [{code, place, message, numbers}]}."""
    violations = [
        {"code": v.code, "place": v.place, "message": v.message, "numbers": v.numbers} for v in certificate.violations
    ]
    document = {
        "valid": certificate.valid,
        "objective": exact_number(certificate.objective),
        "violations": violations,
    }
    return json.dumps(document, indent=2) + "\n"


def certificate_csv(certificate: Certificate) -> str:
    """One row a violation; none for a valid plan."""
    return csv_text(("code", "place", "message"), [(v.code, v.place, v.message) for v in certificate.violations])
