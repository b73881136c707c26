"""Hanayo's waves."""

from __future__ import annotations

import pytest

from pipefill_opt.schedule.families import build_family
from tests.schedule.simulation import peak_in_flight, replay


def test_order_of_two_devices() -> None:
    schedule = build_family("hanayo", 2, 2)
    assert schedule.placement == (0, 1, 1, 0)
    assert [" ".join(map(str, schedule.row(rank))) for rank in (0, 1)] == [
        "0F0 0F1 3F0 3B0 3F1 3B1 0B0 0B1",
        "1F0 2F0 1F1 2F1 2B0 1B0 2B1 1B1",
    ]


def test_two_waves_lie_in_zigzag() -> None:
    assert build_family("hanayo", 3, 3, chunks=4).placement == (0, 1, 2, 2, 1, 0, 0, 1, 2, 2, 1, 0)


@pytest.mark.parametrize("p", range(1, 17))
def test_wave_of_p_micro_batches(p: int) -> None:
    """4(p-1)F idle where B = 2F, where 1F1B has 6(p-1) in the same unit."""
    assert replay(build_family("hanayo", p, p), {"F": 1, "B": 2}).makespan == 6 * p + 4 * (p - 1)


@pytest.mark.parametrize("chunks", [2, 4, 6])
@pytest.mark.parametrize("cap", [1, 3, 4, 9])
def test_cap_on_micro_batches_under_way(chunks: int, cap: int) -> None:
    schedule = build_family("hanayo", 4, 12, chunks=chunks, cap=cap)
    assert max(peak_in_flight(schedule)) <= cap * chunks
    alone = replay(build_family("hanayo", 4, 12, chunks=chunks, cap=1), {"F": 1, "B": 2}).makespan
    assert alone == 12 * 3 * 4 * chunks
    assert replay(schedule, {"F": 1, "B": 2}).makespan <= alone


@pytest.mark.parametrize(("p", "chunks"), [(2, 2), (4, 2), (7, 2), (8, 2), (4, 4), (8, 4)])
def test_one_and_two_rounds_of_waves_idle_less_than_1f1b(p: int, chunks: int) -> None:
    for m in (p, 2 * p):
        waves = replay(build_family("hanayo", p, m, chunks=chunks), {"F": 1, "B": 2}).makespan
        assert waves < (m + p - 1) * 3 * chunks
