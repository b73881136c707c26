"""Why the rest of each bubble stays empty: as text, JSON and CSV."""

from __future__ import annotations

import json
from fractions import Fraction
from typing import Any

from pipefill_opt.fill.explain import Explanation, Limit, Rest
from pipefill_opt.report.causes import Causes, causes_json, causes_text
from pipefill_opt.report.tables import csv_text, exact_number, percent, text_table
from pipefill_opt.units import format_bytes, format_time

WORDS = {
    Limit.CHOICE: "a further operator fits, but the order of a chain, the cycle or another bubble speaks against it",
    Limit.GUARD: "the next operator fits without the guard",
    Limit.SWITCH: "the next operator fits if switching costs nothing",
    Limit.MEMORY: "the next operator fits with more memory",
    Limit.JOBS: "no job left: one more copy would fit",
    Limit.TIME: "too short for the next operator",
    Limit.SEVERAL: "more than one limit stands against every next operator",
    Limit.FULL: "full",
}


def rest_lines(explanation: Explanation) -> list[str]:
    """Lines for people: empty GPU time per main iteration by reason."""
    total = sum(explanation.ticks.values(), Fraction(0))
    if not total:
        return ["nothing stays empty"]
    lines = [f"{format_time(total)} of bubble time per iteration stays empty:"]
    rows = [(format_time(ticks), percent(ticks / total, 1), WORDS[limit]) for limit, ticks in explanation.ticks.items()]
    widths = [max(len(row[column]) for row in rows) for column in (0, 1)]
    return lines + [f"  {time.rjust(widths[0])}  {part.rjust(widths[1])}  {words}" for time, part, words in rows]


def explanation_text(explanation: Explanation, main: Causes | None = None) -> str:
    """The sums, a line for each bubble of each pattern, and why the main job leaves these bubbles (where it is known)."""
    rows = [
        (
            rest.device + (f" × {rest.multiplicity}" if rest.multiplicity > 1 else ""),
            str(rest.iteration),
            str(rest.bubble),
            format_time(rest.length),
            format_time(rest.rest),
            _proof_text(rest),
        )
        for rest in explanation.rests
    ]
    table = text_table(("device", "iteration", "bubble", "length", "empty", "why"), rows)
    text = "\n".join([*rest_lines(explanation), "", *table]) + "\n"
    return text if main is None else f"{text}\n{causes_text(main)}"


def _proof_text(rest: Rest) -> str:
    """The reason with the operator and the numbers that prove it."""
    proof = next((proof for proof in rest.proofs if proof.limit is rest.reason), None)
    if proof is None:
        return rest.reason.value
    numbers = f"{format_time(proof.work + proof.switch)} of {format_time(rest.usable)}"
    if rest.reason in (Limit.MEMORY, Limit.SEVERAL):
        numbers += f", {format_bytes(proof.peak)} in use"
    return f"{rest.reason.value}: with {proof.job} ({proof.configuration}) operator {proof.operator}, {numbers}"


def explanation_document(explanation: Explanation) -> dict[str, Any]:
    """Ticks by reason (exact text, per main iteration over all devices), and every rest with its proofs."""
    return {
        "ticks": {limit.value: exact_number(ticks) for limit, ticks in explanation.ticks.items()},
        "rests": [
            {
                "pattern": rest.pattern,
                "phase": rest.phase,
                "device": rest.device,
                "multiplicity": rest.multiplicity,
                "iteration": rest.iteration,
                "bubble": rest.bubble,
                "length": rest.length,
                "usable": rest.usable,
                "used": rest.used,
                "rest": rest.rest,
                "reason": rest.reason.value,
                "proofs": [
                    {
                        "limit": proof.limit.value,
                        "job": proof.job,
                        "config": proof.configuration,
                        "operator": proof.operator,
                        "work": proof.work,
                        "switch": proof.switch,
                        "peak": proof.peak,
                        "held": proof.held,
                    }
                    for proof in rest.proofs
                ],
            }
            for rest in explanation.rests
        ],
    }


def explanation_json(explanation: Explanation, main: Causes | None = None, shadow: dict[str, Any] | None = None) -> str:
    """`explanation_document` as JSON text; `main`: the document of `causes_json`, null where the main job is not known; `shadow_prices`."""
    document = explanation_document(explanation)
    text = json.dumps(document if shadow is None else {**document, "shadow_prices": shadow}, indent=2)
    return f'{text[:-2]},\n  "main": {"null" if main is None else causes_json(main).rstrip()}\n}}\n'


def explanation_csv(explanation: Explanation) -> str:
    """One row for each bubble of each pattern; ticks."""
    header = (
        "pattern",
        "phase",
        "device",
        "multiplicity",
        "iteration",
        "bubble",
        "length",
        "usable",
        "used",
        "rest",
        "reason",
    )
    rows = [
        (r.pattern, r.phase, r.device, r.multiplicity, r.iteration, r.bubble, r.length, r.usable, r.used, r.rest, r.reason.value)
        for r in explanation.rests
    ]  # fmt: skip
    return csv_text(header, rows)
