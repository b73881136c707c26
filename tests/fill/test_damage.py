"""Damaged documents: an InputError in one line or a verdict, never anything else."""

from __future__ import annotations

import copy
import random
from decimal import Decimal
from typing import Any

import pytest

from pipefill_opt.errors import InputError
from pipefill_opt.fill.certify import certify
from pipefill_opt.fill.explain import explain
from pipefill_opt.fill.plan_file import plan_document, plan_from_document
from pipefill_opt.fill.read import instance_from_document
from tests.fill.samples import INSTANCE, PLAN, changed, problem

VALUES: list[Any] = [
    None, True, False, 0, 1, -1, 2, 7, 10**40, Decimal("0.5"), Decimal("1e300"), Decimal("-0"), Decimal("1E-300"), "", "x", "d", "kept",
    "c", "1ms", "-1ms", "1e400ms",
    "5MB", "1GB/s", "0", "auto", "inner", "flops", [], {}, [None], [[]], {"kept": {}}, "\x00", "é" * 200,
]  # fmt: skip


def damage(document: dict[str, Any], draws: random.Random) -> None:
    """Change one place: another value, gone, doubled, or swapped with a neighbour."""
    places: list[tuple[Any, Any]] = []

    def collect(node: Any) -> None:
        for key, value in node.items() if isinstance(node, dict) else enumerate(node) if isinstance(node, list) else ():
            places.append((node, key))
            collect(value)

    collect(document)
    if not places:
        return
    node, key = draws.choice(places)
    action = draws.randrange(4)
    if action == 0 and isinstance(node, dict):
        del node[key]
    elif action == 1 and isinstance(node, list):
        node.append(node[key])
    elif action == 2 and isinstance(node, list):
        node.reverse()
    elif isinstance(node[key], int) and not isinstance(node[key], bool) and draws.randrange(2):
        node[key] += draws.choice((-1, 1))
    else:
        node[key] = copy.deepcopy(draws.choice(VALUES))


@pytest.mark.parametrize("block", range(4))
def test_damaged_instances(block: int) -> None:
    lines = []
    for seed in range(150 * block, 150 * (block + 1)):
        draws = random.Random(seed)
        document = changed(INSTANCE, *[lambda tree, d=draws: damage(tree, d) for _ in range(draws.randint(1, 2))])
        try:
            found = instance_from_document(document, file="i.json")
            verdict = certify(found, plan_from_document(PLAN, found))
            if verdict.valid:
                explain(found, plan_from_document(PLAN, found))
        except InputError as error:
            lines.append(str(error))
    assert 50 < len(lines) < 150
    assert all(line.startswith("i.json: ") and "\n" not in line for line in lines)


@pytest.mark.parametrize("block", range(4))
def test_damaged_plans(block: int) -> None:
    of = problem()
    lines = []
    seen = {"broken": 0, "valid": 0}
    for seed in range(150 * block, 150 * (block + 1)):
        draws = random.Random(seed)
        document = changed(PLAN, *[lambda tree, d=draws: damage(tree, d) for _ in range(draws.randint(1, 2))])
        try:
            plan = plan_from_document(document, of, file="p.json")
        except InputError as error:
            lines.append(str(error))
            continue
        verdict = certify(of, plan)
        seen["valid" if verdict.valid else "broken"] += 1
        if verdict.valid:
            again = plan_from_document(plan_document(of, plan), of)
            assert certify(of, again).objective == verdict.objective
            explain(of, plan)
    assert min(len(lines), *seen.values()) > 5, seen
    assert all(line.startswith("p.json: ") and "\n" not in line for line in lines)
