"""Chimera and DualPipe: micro-batches from both ends."""

from __future__ import annotations

import json
from dataclasses import replace

import numpy as np
import pytest

from pipefill_opt.schedule.actions import Kind
from pipefill_opt.schedule.families import build_family
from pipefill_opt.schedule.schedule import Schedule, same_order
from tests.cases import cases_folder
from tests.schedule.families.test_dualpipev import published_rows
from tests.schedule.simulation import peak_in_flight, replay


def rows(schedule: Schedule) -> list[str]:
    return [" ".join(map(str, schedule.row(rank))) for rank in range(schedule.devices)]


def mirrored(schedule: Schedule) -> Schedule:
    """The same seen from the other end: devices in reverse, the two pipes swapped."""
    names = {f"{stage}": f"{(stage + schedule.devices) % schedule.stages}" for stage in range(schedule.stages)}
    assert names
    order = np.concatenate(
        [np.arange(*schedule.row_start[rank : rank + 2]) for rank in reversed(range(schedule.devices))]
    )
    swap = (np.arange(schedule.stages) + schedule.devices) % schedule.stages
    return replace(
        schedule,
        row_start=np.append(0, np.cumsum(np.diff(schedule.row_start)[::-1])),
        **{name: getattr(schedule, name)[order] for name in ("kind", "microbatch", "part", "paired")},
        stage=swap[schedule.stage[order]].astype(np.int32),
    )


@pytest.mark.parametrize(
    ("name", "p", "m"), [("chimera", 4, 8), ("chimera", 6, 10), ("dualpipe", 4, 8), ("dualpipe", 8, 20)]
)
def test_both_ends_are_alike(name: str, p: int, m: int) -> None:
    schedule = build_family(name, p, m)
    assert schedule.pipes == (tuple(range(p)), tuple(range(p, 2 * p)))
    assert schedule.placement == (*range(p), *reversed(range(p)))
    assert same_order(mirrored(schedule), schedule)


def test_chimera_of_four_devices() -> None:
    """The unit of the paper's figure: four micro-batches, two each way."""
    assert rows(build_family("chimera", 4, 4)) == [
        "0F0 0F1 7F0 7B0 7F1 7B1 0B0 0B1",
        "1F0 6F0 1F1 6F1 6B0 1B0 6B1 1B1",
        "5F0 2F0 5F1 2F1 2B0 5B0 2B1 5B1",
        "4F0 4F1 3F0 3B0 3F1 3B1 4B0 4B1",
    ]


@pytest.mark.parametrize("p", range(2, 17, 2))
def test_chimera_keeps_p_activations_and_half_of_the_bubble(p: int) -> None:
    """p/2 - 1 forwards and as many backwards idle, where 1F1B has p - 1 of each; the share of 1F1B in memory at the most."""
    for units in (1, 2, 4):
        schedule = build_family("chimera", p, units * p)
        result = replay(schedule, {"F": 5, "B": 5})
        assert result.makespan - max(result.busy) == (p // 2 - 1) * 10
        assert max(peak_in_flight(schedule)) == p
    for m in range(2, 4 * p):
        assert max(peak_in_flight(build_family("chimera", p, m))) <= p


@pytest.mark.parametrize("p", range(2, 17, 2))
def test_bubble_and_peak_of_dualpipe(p: int) -> None:
    """(p/2-1)F with pairs one after the other and F = I = W."""
    for m in (2 * p, 2 * p + 2, 4 * p):
        schedule = build_family("dualpipe", p, m)
        assert replay(schedule, {"F": 1, "B": 2, "I": 1, "W": 1}).makespan == 3 * m + p // 2 - 1
        assert peak_in_flight(schedule) == [p + 1] * p


def test_pairs_of_dualpipe_are_of_two_pipes() -> None:
    schedule = build_family("dualpipe", 6, 14)
    begins = schedule.paired.nonzero()[0]
    pipe = schedule.stage // 6
    assert len(begins)
    assert (schedule.kind[begins] == Kind.F).all()
    assert (pipe[begins] != pipe[begins + 1]).all()


def test_deepseek_orders() -> None:
    """The published DualPipe orders are ours, with pairs; those that never overlap are the same actions without pairs."""
    entries = json.loads((cases_folder("dualpipe") / "orders.json").read_text())
    chosen = [entry for entry in entries if entry["scheduler"] == "dualpipe"]
    assert len(chosen) == 10
    for entry in chosen:
        ours = build_family("dualpipe", entry["params"]["pp_ranks"], entry["params"]["num_chunks"])
        published = Schedule.from_rows(published_rows(entry, ours.devices), ours.placement, pipes=ours.pipes)
        if not entry["params"]["overlapped_forward_backward"]:
            assert not published.paired.any()
            published = replace(published, paired=ours.paired)
        assert same_order(published, ours), entry["id"]
        assert peak_in_flight(ours) == entry["peak_activations_chunks"]
