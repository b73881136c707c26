"""1F1B and interleaved 1F1B with overlapped pairs."""

from __future__ import annotations

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from pipefill_opt.schedule.actions import Kind
from pipefill_opt.schedule.families import build_family
from pipefill_opt.schedule.schedule import Schedule, same_order
from pipefill_opt.timeline.compute import timeline
from pipefill_opt.workload.costs import Communication, Durations, MainJob


def makespan(schedule: Schedule, f: int, b: int, length: int) -> int:
    """With pairs as blocks of a length."""
    by_stage = {Kind.F: (f,) * schedule.stages, Kind.B: (b,) * schedule.stages}
    return timeline(MainJob(schedule, Durations(by_stage, overlap_length=length), Communication(0))).makespan


def test_order_of_three_devices() -> None:
    schedule = build_family("1f1b-overlap", 3, 6)
    assert [" ".join(map(str, schedule.row(rank))) for rank in (1, 2)] == [
        "1F0 1F1 1F2 (1F3;1B0)OVERLAP_F_B (1F4;1B1)OVERLAP_F_B (1F5;1B2)OVERLAP_F_B 1B3 1B4 1B5",
        "2F0 (2F1;2B0)OVERLAP_F_B (2F2;2B1)OVERLAP_F_B (2F3;2B2)OVERLAP_F_B (2F4;2B3)OVERLAP_F_B (2F5;2B4)OVERLAP_F_B 2B5",
    ]


def test_one_chunk_makes_them_the_same() -> None:
    assert same_order(build_family("interleaved-overlap", 4, 8, chunks=1), build_family("1f1b-overlap", 4, 8))


@settings(max_examples=60, deadline=None)
@given(p=st.integers(1, 10), m=st.integers(1, 40), f=st.integers(1, 9), b=st.integers(1, 9), saved=st.integers(0, 9))
def test_makespan_with_blocks(p: int, m: int, f: int, b: int, saved: int) -> None:
    """(m-1)L + p(F+B) for every size, where the block is no shorter than F and B alone and no longer than both."""
    length = f + b - min(saved, f, b)
    assert makespan(build_family("1f1b-overlap", p, m), f, b, length) == (m - 1) * length + p * (f + b)


@pytest.mark.parametrize("p", range(2, 9))
def test_overlap_gains_in_the_steady_part(p: int) -> None:
    """Blocks of two thirds: a third less time for each further micro-batch, also over several chunks."""
    for name in ("1f1b-overlap", "interleaved-overlap"):
        short, long = (makespan(build_family(name, p, m), 10, 20, 20) for m in (4 * p, 8 * p))
        chunks = build_family(name, p, p).stages // p
        assert long - short == 4 * p * chunks * 20
