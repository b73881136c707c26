"""The orders of the public zero-bubble schedulers that a rule of ours defines."""

from __future__ import annotations

import gzip
import json
from functools import cache
from typing import Any

import pytest

from pipefill_opt.schedule.actions import Action, Kind
from pipefill_opt.schedule.families import build_family
from pipefill_opt.schedule.schedule import Schedule, same_order
from tests.cases import cases_folder
from tests.schedule.simulation import peak_in_flight, replay

KINDS = {"F": Kind.F, "BW": Kind.B, "B": Kind.I, "W": Kind.W}


@cache
def cases() -> list[dict[str, Any]]:
    path = cases_folder("zero_bubble") / "orders.json.gz"
    found: list[dict[str, Any]] = json.loads(gzip.decompress(path.read_bytes()))
    return found


def published(case: dict[str, Any], ours: Schedule) -> Schedule:
    rows = [[Action(KINDS[letter], group, number) for letter, group, number, *_ in row] for row in case["stages"]]
    return Schedule.from_rows(rows, ours.placement)


@pytest.mark.parametrize(
    ("scheduler", "family", "count"),
    [
        ("1f1b", "1f1b", 9),
        ("vpp(interleaved 1F1B)", "interleaved-1f1b", 15),
        ("v-half", "v-half", 9),
        ("v-min", "v-min", 9),
        ("zbv_handcrafted", "zbv", 6),
    ],
)
def test_orders_are_equal(scheduler: str, family: str, count: int) -> None:
    chosen = [case for case in cases() if case["scheduler"] == scheduler]
    assert len(chosen) == count
    for case in chosen:
        p, m = case["params"]["p"], case["params"]["m"]
        ours = build_family(family, p, m, chunks=case["chunks"])
        assert same_order(published(case, ours), ours), case["id"]
        if "peak_mem_Fcount" in case:
            assert peak_in_flight(ours) == case["peak_mem_Fcount"], case["id"]


def test_greedy_is_as_short_as_the_public_heuristic() -> None:
    """Same costs, same cap: never longer by more than a thousandth, the cap kept. The orders themselves differ."""
    chosen = [
        case
        for case in cases()
        if case["scheduler"] == "zb_heuristic" and case["params"]["mem"] == [1, 0, -1] and case["placement"] == "single"
    ]
    assert len(chosen) >= 36
    for case in chosen:
        p, m, cap = (case["params"][key] for key in ("p", "m", "max_mem"))
        costs, cap = case["cost"], int(cap or m)
        ours = build_family(
            "zb-greedy",
            p,
            m,
            forward=costs["F"],
            input_gradient=costs["B"],
            weight_gradient=costs["W"],
            lag=costs["C"],
            cap=cap,
        )
        result = replay(ours, {"F": costs["F"], "I": costs["B"], "W": costs["W"]}, lag=costs["C"])
        assert 1000 * result.makespan <= 1001 * case["makespan"], case["id"]
        assert max(peak_in_flight(ours)) <= cap
