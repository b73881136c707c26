"""ZB-H1, ZB-H2 and zero bubble by greedy."""

from __future__ import annotations

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from pipefill_opt import kernels
from pipefill_opt.schedule.families import build_family
from pipefill_opt.schedule.schedule import Schedule, same_order
from tests.schedule.simulation import Replay, peak_in_flight, replay


def rows(schedule: Schedule) -> list[str]:
    return [" ".join(map(str, schedule.row(rank))) for rank in range(schedule.devices)]


def span(result: Replay) -> int:
    return max(row[-1][1] - row[0][0] for row in result.times)


def test_orders_of_three_devices() -> None:
    assert rows(build_family("zb-h1", 3, 4)) == [
        "0F0 0F1 0F2 0I0 0W0 0F3 0I1 0W1 0I2 0W2 0I3 0W3",
        "1F0 1F1 1I0 1F2 1I1 1W0 1F3 1I2 1W1 1I3 1W2 1W3",
        "2F0 2I0 2F1 2I1 2F2 2I2 2W0 2F3 2I3 2W1 2W2 2W3",
    ]
    assert rows(build_family("zb-h2", 3, 5))[::2] == [
        "0F0 0F1 0F2 0F3 0F4 0I0 0W0 0I1 0W1 0I2 0W2 0I3 0W3 0I4 0W4",
        "2F0 2I0 2F1 2I1 2F2 2I2 2F3 2I3 2F4 2I4 2W0 2W1 2W2 2W3 2W4",
    ]


@settings(max_examples=60, deadline=None)
@given(p=st.integers(1, 10), more=st.integers(0, 15), f=st.integers(1, 9), i=st.integers(1, 9), w=st.integers(1, 9))
def test_bubble_of_zb_h1(p: int, more: int, f: int, i: int, w: int) -> None:
    """ZB1P's bubble (p-1)(F+B-2W), B the full backward, where W is the shortest; never shorter otherwise."""
    w = min(f, i, w)
    m = p + more
    assert replay(build_family("zb-h1", p, m), {"F": f, "I": i, "W": w}).makespan == m * (f + i + w) + (p - 1) * (
        f + i - w
    )


@pytest.mark.parametrize("p", range(1, 17))
def test_zb_h2_has_no_bubble_within_a_device(p: int) -> None:
    for m in (2 * p - 1, 2 * p, 4 * p):
        result = replay(build_family("zb-h2", p, m), {"F": 1, "I": 1, "W": 1})
        assert (span(result), result.makespan) == (3 * m, 3 * m + p - 1)
    if p > 1:
        assert span(replay(build_family("zb-h2", p, 2 * p - 2), {"F": 1, "I": 1, "W": 1})) > 3 * (2 * p - 2)


@pytest.mark.parametrize("p", range(1, 13))
def test_greedy_equals_the_handcrafted_ones_where_costs_are_equal(p: int) -> None:
    unit = {"F": 1, "I": 1, "W": 1}
    for m in (p, 2 * p, 3 * p + 1):
        assert replay(build_family("zb-greedy", p, m), unit).makespan == 3 * m + p - 1
    for m in (2 * p - 1, 3 * p):
        assert span(replay(build_family("zb-greedy", p, m, cap=2 * p - 1), unit)) == 3 * m


@settings(max_examples=80, deadline=None)
@given(
    p=st.integers(1, 8),
    m=st.integers(1, 20),
    costs=st.tuples(st.integers(1, 9), st.integers(1, 9), st.integers(1, 9)),
    lag=st.integers(0, 12),
    cap=st.integers(1, 20),
)
def test_greedy_keeps_its_cap_and_its_times(p: int, m: int, costs: tuple[int, int, int], lag: int, cap: int) -> None:
    """With one activation at a time micro-batches pass one by one; a cap is never exceeded; all work is done."""
    f, i, w = costs
    schedule = build_family("zb-greedy", p, m, forward=f, input_gradient=i, weight_gradient=w, lag=lag, cap=cap)
    result = replay(schedule, {"F": f, "I": i, "W": w}, lag=lag)
    assert max(peak_in_flight(schedule)) <= cap
    assert result.busy == [m * (f + i + w)] * p
    if cap == 1:
        assert peak_in_flight(schedule) == [1] * p


def test_greedy_interpreted_and_compiled_agree(monkeypatch: pytest.MonkeyPatch) -> None:
    found = []
    for interpreted in (0, 10**9):
        monkeypatch.setattr(kernels, "INTERPRETED", interpreted)
        monkeypatch.setattr(kernels, "_compiled", {})
        found.append(build_family("zb-greedy", 5, 9, forward=3, input_gradient=4, weight_gradient=2, lag=5, cap=7))
    assert same_order(*found)


def test_greedy_fits_the_costs() -> None:
    """An order for equal costs is longer where they are not."""
    for f, i, w in ((4, 4, 9), (5, 5, 12)):
        costs = {"F": f, "I": i, "W": w}
        planned = build_family("zb-greedy", 4, 8, forward=f, input_gradient=i, weight_gradient=w)
        assert replay(planned, costs).makespan < replay(build_family("zb-greedy", 4, 8), costs).makespan
