"""Render a profile of a module: configurations, operators of each."""

from __future__ import annotations

import json
from fractions import Fraction

from pipefill_opt.report.tables import csv_text, percent, text_table
from pipefill_opt.units import format_bytes, format_time
from pipefill_opt.workload.profile.records import Configuration, Profile

LARGEST = 12
"""Rows of operators that the text shows of a configuration, the longest."""


def profile_text(profile: Profile) -> str:
    """For people: a row for each configuration, then its longest operators."""
    lines = [
        f"{profile.name} on {profile.device}, torch {profile.version}",
        f"memory: {profile.memory_source}",
        "",
    ]
    header = ("config", "operators", "iteration", "a sample", "resident", "most besides", "replayed", "handover")
    rows = [
        (
            f"bs{found.batch}",
            str(len(found.operators)),
            format_time(found.duration),
            format_time(Fraction(found.duration, found.batch)),
            format_bytes(found.resident),
            format_bytes(max(operator.memory for operator in found.operators)),
            f"within {percent(found.replay_error, 1)}",
            format_time(found.handover),
        )
        for found in profile.configurations
    ]
    lines += text_table(header, rows)
    for found in profile.configurations:
        lines += ["", *_operators(found)]
    return "\n".join(lines) + "\n"


def _operators(found: Configuration) -> list[str]:
    longest = sorted(found.operators, key=lambda operator: -operator.duration)[:LARGEST]
    shown = [operator for operator in found.operators if operator in longest]
    header = (f"bs{found.batch}", "duration", "least", "most", "replayed", "memory", "carry")
    rows = [
        (
            operator.name,
            format_time(operator.duration),
            format_time(min(operator.times)),
            format_time(max(operator.times)),
            percent(operator.replay_error, 1),
            format_bytes(operator.memory),
            format_bytes(operator.carry),
        )
        for operator in shown
    ]
    more = len(found.operators) - len(shown)
    return [*text_table(header, rows), *([f"({more} shorter ones)"] if more else [])]


def profile_json(profile: Profile) -> str:
    """All samples in ns, bytes."""
    document = {
        "name": profile.name,
        "kind": profile.kind,
        "device": profile.device,
        "torch": profile.version,
        "memory_source": profile.memory_source,
        "configurations": [
            {
                "batch": found.batch,
                "resident": found.resident,
                "duration": found.duration,
                "handover": found.handover,
                "replay_error": str(found.replay_error),
                "operators": [
                    {
                        "name": operator.name,
                        "duration": operator.duration,
                        "times": operator.times,
                        "replayed": operator.replayed,
                        "memory": operator.memory,
                        "carry": operator.carry,
                        "flops": operator.flops,
                    }
                    for operator in found.operators
                ],
            }
            for found in profile.configurations
        ],
    }
    return json.dumps(document, indent=1) + "\n"


def profile_csv(profile: Profile) -> str:
    """A row for each operator of each configuration. ns, bytes."""
    header = ("batch", "resident", "operator", "duration", "least", "most", "replay_error", "memory", "carry", "flops")
    return csv_text(
        header,
        [
            (
                found.batch, found.resident, operator.name, operator.duration, min(operator.times),
                max(operator.times), operator.replay_error, operator.memory, operator.carry, operator.flops,
            )
            for found in profile.configurations
            for operator in found.operators
        ],
    )  # fmt: skip
