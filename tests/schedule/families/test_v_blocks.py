"""V-half and V-min: order, peak and bubble."""

from __future__ import annotations

from collections.abc import Callable
from itertools import pairwise

import pytest

from pipefill_opt import kernels
from pipefill_opt.schedule.families import build_family
from pipefill_opt.schedule.families.v_blocks import PERIOD, _v_half, _v_min
from pipefill_opt.schedule.schedule import Int64, Schedule, same_order
from tests.schedule.simulation import peak_in_flight, replay

UNIT = {"F": 1, "I": 1, "W": 1}


def rows(schedule: Schedule) -> list[str]:
    return [" ".join(map(str, schedule.row(rank))) for rank in range(schedule.devices)]


@pytest.mark.parametrize("block", [_v_half, _v_min])
def test_blocks_never_meet(block: Callable[[int], list[Int64]]) -> None:
    """On no device do two passes want the same slot of the period, and each pass follows the one before."""
    for p in range(1, 50):
        down, up, back_down, back_up = block(p)
        for rank in range(p):
            assert len({int(passes[rank]) % PERIOD for passes in (down, up, back_down, back_up)}) == 4
        journey = [*down, *up[::-1], *back_down, *back_up[::-1]]
        assert all(here < there for here, there in pairwise(journey))


def test_v_min_of_two_devices() -> None:
    assert rows(build_family("v-min", 2, 2)) == [
        "0F0 0F1 3F0 3I0 3W0 0I0 0W0 3F1 3I1 3W1 0I1 0W1",
        "1F0 2F0 2I0 1I0 1F1 2F1 2W0 1W0 2I1 1I1 2W1 1W1",
    ]


@pytest.mark.parametrize(("p", "m"), [(1, 3), (2, 4), (3, 3), (5, 2), (6, 9)])
@pytest.mark.parametrize("name", ["v-half", "v-min"])
def test_kernels_agree(name: str, p: int, m: int, monkeypatch: pytest.MonkeyPatch) -> None:
    """One source, interpreted and compiled."""
    found = []
    for interpreted in (0, 10**9):
        monkeypatch.setattr(kernels, "INTERPRETED", interpreted)
        monkeypatch.setattr(kernels, "_compiled", {})
        found.append(build_family(name, p, m))
    assert same_order(*found)


@pytest.mark.parametrize(("p", "peak"), [(2, 4), (4, 6), (6, 8), (8, 10), (16, 18)])
def test_peak_of_v_half(p: int, peak: int) -> None:
    """p/2 + 1 micro-batches of two chunks, for even p."""
    assert max(peak_in_flight(build_family("v-half", p, 2 * p))) == peak


@pytest.mark.parametrize(("p", "microbatches"), [(2, 2), (4, 2), (8, 4), (16, 6)])
def test_peak_of_v_min(p: int, microbatches: int) -> None:
    assert max(peak_in_flight(build_family("v-min", p, 2 * p))) == 2 * microbatches


@pytest.mark.parametrize("p", range(1, 20))
def test_peaks_hold_from_p_micro_batches_on(p: int) -> None:
    for m in (p, p + 1, 3 * p):
        assert max(peak_in_flight(build_family("v-half", p, m))) == 2 * (p // 2) + 2
        assert max(peak_in_flight(build_family("v-min", p, m))) == 2 * ((p + 4) // 3)


def test_bubbles_approach_those_claimed() -> None:
    """A half and two thirds of the bubble of 1F1B where F = I = W: the claim of the paper, within a tenth for many devices."""
    p, m = 16, 64
    one_f_one_b = 6 * (p - 1)
    for name, share in (("v-half", 1 / 2), ("v-min", 2 / 3)):
        bubble = replay(build_family(name, p, m), UNIT).makespan - 6 * m
        assert abs(bubble / one_f_one_b - share) < 0.1
