from __future__ import annotations

import json
from dataclasses import replace
from typing import Any

from pipefill_opt.schedule.actions import Action, Kind, Pair
from pipefill_opt.schedule.families import build_family
from pipefill_opt.schedule.schedule import Schedule, same_order
from tests.cases import cases_folder


def test_first_pair_of_the_last_device_is_none() -> None:
    """Its backward needs the forward just before it, so the two cannot overlap."""
    row = list(map(str, build_family("dualpipev", 3, 8).row(2)))
    assert "3B0" in row
    assert row[row.index("3B0") - 1] == "2F3"
    assert sum(text.endswith("OVERLAP_F_B") for text in row) == 9


def test_no_pair_needs_itself() -> None:
    """In a pair the micro-batch of the backward is behind that of the forward, at every size."""
    for devices in range(1, 10):
        for microbatches in (2 * devices, 2 * devices + 1, 5 * devices):
            schedule = build_family("dualpipev", devices, microbatches)
            begins = schedule.paired.nonzero()[0]
            assert (schedule.microbatch[begins] > schedule.microbatch[begins + 1]).all()


KINDS = {"F": Kind.F, "BW": Kind.B, "B": Kind.I, "W": Kind.W}


def published_rows(entry: dict[str, Any], devices: int) -> list[list[Action | Pair]]:
    """The order of each rank in our actions; direction 0 is the chunk down the V, direction 1 the one up."""
    rows: list[list[Action | Pair]] = []
    for rank, ops in enumerate(entry["ops"]):
        stages = (rank, 2 * devices - 1 - rank)
        row: list[Action | Pair] = []
        for letter, *numbers in ops:
            if letter == "FB":
                down, forward, up, backward = numbers
                row.append(Pair(Action(Kind.F, stages[down], forward), Action(Kind.B, stages[up], backward)))
            else:
                row.append(Action(KINDS[letter], stages[numbers[0]], numbers[1]))
        rows.append(row)
    return rows


def test_deepseek_orders() -> None:
    """The published DualPipeV orders are ours, with pairs; those that never overlap are the same actions without pairs."""
    entries = json.loads((cases_folder("dualpipe") / "orders.json").read_text())
    chosen = [entry for entry in entries if entry["scheduler"] == "dualpipev"]
    assert len(chosen) == 10
    for entry in chosen:
        devices, microbatches = entry["params"]["pp_ranks"], entry["params"]["num_chunks"]
        ours = build_family("dualpipev", devices, microbatches)
        published = Schedule.from_rows(published_rows(entry, devices), ours.placement)
        if entry["params"]["overlapped_forward_backward"]:
            assert same_order(published, ours), entry["id"]
        else:
            assert not published.paired.any()
            assert same_order(replace(published, paired=ours.paired), ours), entry["id"]
