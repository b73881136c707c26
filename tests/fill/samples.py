"""A small instance and a plan for it, to be changed one thing at a time."""

from __future__ import annotations

import copy
from collections.abc import Callable
from typing import Any

from pipefill_opt.fill.certificate import Certificate
from pipefill_opt.fill.certify import certify
from pipefill_opt.fill.plan import FillPlan
from pipefill_opt.fill.plan_file import plan_from_document
from pipefill_opt.fill.problem import FillProblem
from pipefill_opt.fill.read import instance_from_document

Document = dict[str, Any]
Change = Callable[[Document], object]


def operator(name: str, ms: float, memory: int, carry: int = 0, **more: Any) -> Document:
    """Duration in ms, memory and carry in MB."""
    return {"name": name, "duration": f"{ms}ms", "memory": f"{memory}MB", "carry": f"{carry}MB", **more}


INSTANCE: Document = {
    "period": "100ms",
    "repeat": True,
    "devices": [
        {
            "name": "d",
            "count": 2,
            "resident_free": "400MB",
            "bubbles": [
                {"start": "0ms", "length": "8ms", "free": "600MB", "kind": "fill-drain"},
                {"start": "50ms", "length": "12ms", "free": "500MB", "kind": "fwd-bwd"},
            ],
        },
        {"name": "other", "resident_free": "1GB", "bubbles": []},
    ],
    "switch": {"enter": "1ms", "leave": "1ms", "between": "1ms", "h2d": "100GB/s", "d2h": "50GB/s"},
    "jobs": [
        {
            "name": "kept",
            "copies": 2,
            "devices": ["d"],
            "configs": [
                {"name": "c", "resident": "100MB", "operators": [operator("a", 3, 300, 100), operator("b", 3, 400, 50)]}
            ],
        },
        {
            "name": "swapped",
            "keep": False,
            "weight": 2,
            "configs": [{"name": "c", "resident": "100MB", "operators": [operator("s", 2, 200, 50)]}],
        },
    ],
}
"""Net 6 and 10 ms on d. `swapped` moves 150 MB: 1.5 ms in, 3 ms out."""

PLAN: Document = {
    "patterns": [
        {
            "device": "d",
            "multiplicity": 1,
            "slots": [{"job": "kept", "config": "c"}, {"job": "swapped", "config": "c"}],
            "occurrences": [
                {"iteration": 0, "bubble": 0, "segments": [{"slot": 0, "first": 0, "count": 2, "start": 1_000_000}]},
                {"iteration": 0, "bubble": 1, "segments": [{"slot": 1, "first": 0, "count": 1, "start": 2_500_000}]},
            ],
        },
        {"device": "d", "multiplicity": 1, "slots": [], "occurrences": []},
        {"device": "other", "multiplicity": 1, "slots": [], "occurrences": []},
    ]
}
"""Value: 6 ms of `kept` and 2 x 2 ms of `swapped`."""


def document(*changes: Change) -> Document:
    """A changed copy of INSTANCE."""
    return changed(INSTANCE, *changes)


def changed(original: Document, *changes: Change) -> Document:
    """A deep copy, after all changes."""
    result = copy.deepcopy(original)
    for change in changes:
        change(result)
    return result


def problem(*changes: Change) -> FillProblem:
    """The problem of a changed copy of INSTANCE."""
    return instance_from_document(document(*changes))


def plan(of: FillProblem, *changes: Change) -> FillPlan:
    """A changed copy of PLAN."""
    return plan_from_document(changed(PLAN, *changes), of)


def put(path: str, value: object) -> Change:
    """Set `a.0.b` to a value; a list's length as last part appends."""
    *parents, last = [int(part) if part.isdigit() else part for part in path.split(".")]

    def change(tree: Any) -> None:
        for part in parents:
            tree = tree[part]
        if isinstance(tree, list) and last == len(tree):
            tree.append(copy.deepcopy(value))
        else:
            tree[last] = copy.deepcopy(value)

    return change


def drop(path: str) -> Change:
    """Remove `a.0.b`."""
    *parents, last = [int(part) if part.isdigit() else part for part in path.split(".")]

    def change(tree: Any) -> None:
        for part in parents:
            tree = tree[part]
        del tree[last]

    return change


def codes(verdict: Certificate) -> set[str]:
    """The codes of its violations."""
    return {violation.code for violation in verdict.violations}


def verdict(of: FillProblem, *changes: Change) -> Certificate:
    """The certificate of a changed copy of PLAN."""
    return certify(of, plan(of, *changes))
