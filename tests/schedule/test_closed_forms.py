"""Closed forms of the families as equalities, each in its domain, at sizes far beyond those of any file.

The forms are written down here once more, apart from those that the families carry; makespans come from the plain replay of
`simulation` at small sizes and from the package's own timeline at large ones.
"""

from __future__ import annotations

from fractions import Fraction

import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st

from pipefill_opt import kernels
from pipefill_opt.schedule.actions import Kind
from pipefill_opt.schedule.families import FAMILIES, build_family
from pipefill_opt.schedule.families.family import Size, StageCosts
from pipefill_opt.schedule.schedule import Schedule
from pipefill_opt.timeline.compute import timeline
from pipefill_opt.timeline.timeline import Timeline
from pipefill_opt.workload.costs import Communication, Durations, MainJob
from tests.schedule.simulation import peak_in_flight, replay

ANY_COSTS = [
    "gpipe",
    "1f1b",
    "1f1b-overlap",
    "looped-bfs",
    "interleaved-1f1b",
    "interleaved-overlap",
    "zb-h1",
    "hanayo",
    "chimera",
    "forward-only",
]
EQUAL_COSTS = ["interleaved-zero-bubble", "zb-h2", "zbv", "v-half", "v-min", "dualpipe", "dualpipev"]


@pytest.fixture(autouse=True)
def always_compiled(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(kernels, "INTERPRETED", 0)


def times(schedule: Schedule, forward: int, inputs: int, weights: int, *, lag: int = 0) -> Timeline:
    """The package's timeline with equal stages; B takes as long as I and W together."""
    ticks = {Kind.F: forward, Kind.B: inputs + weights, Kind.I: inputs, Kind.W: weights}
    durations = Durations({kind: (value,) * schedule.stages for kind, value in ticks.items()})
    return timeline(MainJob(schedule, durations, Communication(lag)))


def expected_makespan(name: str, p: int, m: int, v: int, costs: StageCosts) -> int | None:
    """F, I and W of one chunk; most zero-bubble families want F = I = W. None outside the stated domain."""
    f, i, w = costs
    b = i + w
    match name:
        case "gpipe" | "1f1b" | "1f1b-overlap":
            return (m + p - 1) * (f + b)
        case "zb-h1":
            return (m + p - 1) * (f + b) - 2 * w * (p - 1) if m >= p and w <= f and w <= i else None
        case "zb-h2":
            return (3 * m + p - 1) * f if m >= 2 * p - 1 else None
        case "v-half":
            bubble = 6 * (p - 1) // 2 - (4 if p % 2 == 0 else 1) if p > 2 else p - 1
            return 6 * m * f + bubble * f if m >= 2 * p - 1 else None
        case "v-min":
            bubble = 6 * (p - 1) * 2 // 3 - (3 if p % 3 == 0 else 1) if p > 1 else 0
            return 6 * m * f + bubble * f if m > p else None
        case "hanayo":
            return (6 * m + 4 * (p - 1)) * f if m == p and v == 2 and b == 2 * f else None
        case "chimera":
            return (m + p // 2 - 1) * (f + b) if m % p == 0 and f == b else None
        case "dualpipe":
            return (3 * m + p // 2 - 1) * f
        case "looped-bfs" | "interleaved-1f1b" | "interleaved-overlap":
            return (m * v + p - 1) * (f + b) if m % p == 0 else None
        case "forward-only":
            return (m * v + p - 1) * f if m % p == 0 else None
        case "interleaved-zero-bubble":
            return (3 * m * v + p - 1) * f if m % p == 0 else None
        case "zbv":
            return (6 * m + p - 1) * f if m >= 2 * p - 1 else (6 * m + 2 * (p - 1)) * f if m == p else None
        case "dualpipev":
            return (6 * m + p - 1) * f
    raise AssertionError(name)


def expected_in_flight(name: str, p: int, m: int, v: int) -> list[int] | None:
    """Activations that each device holds at most, counted in chunks; exact for all sizes but ZBV with few micro-batches."""
    round_ = m // max(1, m // p)
    match name:
        case "gpipe" | "looped-bfs":
            return [m * v] * p
        case "1f1b":
            return [min(m, p - rank) for rank in range(p)]
        case "1f1b-overlap":
            return [min(m, 2 * (p - rank)) for rank in range(p)]
        case "interleaved-overlap":
            return [min(m * v, (v - 1) * round_ + 2 * (p - rank)) for rank in range(p)]
        case "zb-h1":
            return [min(m, p)] * p
        case "zb-h2":
            return [min(m, 2 * p - 1)] * p
        case "dualpipe":
            return [p + 1] * p
        case "interleaved-1f1b":
            return [min(m * v, (v - 1) * round_ + 2 * (p - 1 - rank) + 1) for rank in range(p)]
        case "interleaved-zero-bubble":
            return [min(m * v, (v - 1) * round_ + p)] * p
        case "zbv":
            return [2 * p] * p if m >= 2 * p - 1 else None
        case "dualpipev":
            return [2 * p + 1] * p
    return None


@st.composite
def sizes(draw: st.DrawFn, largest: int) -> tuple[str, int, int, int]:
    name = draw(st.sampled_from(ANY_COSTS + EQUAL_COSTS))
    p = draw(st.integers(1, largest))
    m = p * draw(st.integers(1, 6)) if draw(st.booleans()) else draw(st.integers(1, 6 * largest))
    family = FAMILIES[name]
    v = family.chunks if family.fixed_chunks else draw(st.integers(1, 5))
    assume(family.domain(Size(p, m, v)) is None)
    return name, p, m, v


@settings(max_examples=60, deadline=None)
@given(size=sizes(largest=9), f=st.integers(1, 50), i=st.integers(1, 50), w=st.integers(0, 50))
def test_makespan_by_replay(size: tuple[str, int, int, int], f: int, i: int, w: int) -> None:
    name, p, m, v = size
    if name in EQUAL_COSTS:
        i = w = f
    schedule = FAMILIES[name].build(p, m, chunks=v)
    makespan = replay(schedule, {"F": f, "B": i + w, "I": i, "W": w}).makespan
    family = FAMILIES[name]
    assert expected_makespan(name, p, m, v, StageCosts(f, i, w)) in (None, makespan)
    assert family.makespan(family.size(p, m, v), StageCosts(f, i, w)) in (None, makespan)


@settings(max_examples=60, deadline=None)
@given(size=sizes(largest=40), f=st.integers(1, 10**9), i=st.integers(1, 10**9), w=st.integers(0, 10**9))
def test_makespan_by_timeline(size: tuple[str, int, int, int], f: int, i: int, w: int) -> None:
    name, p, m, v = size
    if name in EQUAL_COSTS:
        i = w = f
    schedule = FAMILIES[name].build(p, m, chunks=v)
    result = times(schedule, f, i, w)
    family = FAMILIES[name]
    assert expected_makespan(name, p, m, v, StageCosts(f, i, w)) in (None, result.makespan)
    assert family.makespan(family.size(p, m, v), StageCosts(f, i, w)) in (None, result.makespan)


@pytest.mark.parametrize("name", sorted({*ANY_COSTS, *EQUAL_COSTS} - {"chimera", "hanayo"}))
def test_families_carry_the_form_in_the_whole_domain(name: str) -> None:
    """Where the form stated here holds, the family's own one says the same."""
    family = FAMILIES[name]
    for p in range(2, 12, 2) if name == "dualpipe" else range(1, 12):
        for m in range(2 * p, 6 * p, p):
            for v in [family.chunks] if family.fixed_chunks else [1, 2, 5]:
                own = family.makespan(family.size(p, m, v), StageCosts(7, 7, 7))
                assert own == expected_makespan(name, p, m, v, StageCosts(7, 7, 7))
                assert own is not None


@pytest.mark.parametrize("name", EQUAL_COSTS)
def test_zero_bubble_forms_are_silent_about_other_costs(name: str) -> None:
    family = FAMILIES[name]
    assert family.makespan(family.size(4, 8), StageCosts(2, 2, 3)) is None


@pytest.mark.parametrize("name", ["looped-bfs", "forward-only"])
def test_breadth_first_with_few_microbatches(name: str) -> None:
    """Our own extension of the form: with m < p a chunk waits for the one before it."""
    for p in range(1, 9):
        for m in range(1, 3 * p):
            for v in (1, 2, 3):
                slots = m * v + p - 1 if m >= p else (v - 1) * p + m + p - 1
                b = 0 if name == "forward-only" else 5
                assert replay(build_family(name, p, m, chunks=v), {"F": 3, "B": 5}).makespan == slots * (3 + b)


@pytest.mark.parametrize("name", ["gpipe", "1f1b"])
@pytest.mark.parametrize(
    ("p", "m"), [(1, 1), (1, 9), (2, 1), (3, 7), (4, 8), (7, 3), (16, 64), (16, 8), (16, 4), (33, 100)]
)
def test_bubble_ratio(name: str, p: int, m: int) -> None:
    assert times(build_family(name, p, m), 11, 13, 6).bubble_ratio == Fraction(p - 1, m + p - 1)


@settings(max_examples=60, deadline=None)
@given(
    p=st.integers(2, 24),
    rounds=st.integers(1, 8),
    f=st.integers(1, 100),
    b=st.integers(1, 100),
    lag=st.integers(0, 300),
)
def test_1f1b_with_lag(p: int, rounds: int, f: int, b: int, lag: int) -> None:
    """Exact where p divides m, for every lag and p >= 2."""
    m = p * rounds
    expected = (m + p - 1) * (f + b) + lag * (2 * (p - 1) * rounds + 2 * p - 4)
    assert times(build_family("1f1b", p, m), f, b, 0, lag=lag).makespan == expected


@pytest.mark.parametrize(
    ("name", "peaks"),
    [
        ("gpipe", [8, 8, 8, 8]),
        ("1f1b", [4, 3, 2, 1]),
        ("interleaved-1f1b", [11, 9, 7, 5]),
        ("looped-bfs", [16, 16, 16, 16]),
        ("interleaved-zero-bubble", [8, 8, 8, 8]),
        ("zbv", [8, 8, 8, 8]),
        ("zb-h1", [4, 4, 4, 4]),
        ("zb-h2", [7, 7, 7, 7]),
        ("1f1b-overlap", [8, 6, 4, 2]),
        ("interleaved-overlap", [12, 10, 8, 6]),
        ("dualpipe", [5, 5, 5, 5]),
        ("dualpipev", [9, 9, 9, 9]),
    ],
)
def test_activations_in_flight_at_p4_m8(name: str, peaks: list[int]) -> None:
    assert peak_in_flight(build_family(name, 4, 8)) == peaks == expected_in_flight(name, 4, 8, FAMILIES[name].chunks)


@settings(max_examples=100, deadline=None)
@given(size=sizes(largest=24))
def test_activations_in_flight(size: tuple[str, int, int, int]) -> None:
    name, p, m, v = size
    expected = expected_in_flight(name, p, m, v)
    if expected is not None:
        assert peak_in_flight(FAMILIES[name].build(p, m, chunks=v)) == expected


def idle_by_kind(result: Timeline, device: int) -> dict[str, int]:
    totals = {"fill-drain": 0, "fwd-bwd": 0, "inner": 0, "sync": 0}
    for bubble in result.bubbles[device]:
        totals[bubble.kind] += bubble.length
    return totals


@settings(max_examples=60, deadline=None)
@given(p=st.integers(1, 16), m=st.integers(1, 40), f=st.integers(1, 99), b=st.integers(1, 99))
def test_bubble_kinds_of_gpipe(p: int, m: int, f: int, b: int) -> None:
    result = times(build_family("gpipe", p, m), f, b, 0)
    for s in range(p):
        assert idle_by_kind(result, s) == {
            "fill-drain": s * (f + b),
            "fwd-bwd": (p - 1 - s) * (f + b),
            "inner": 0,
            "sync": 0,
        }


@settings(max_examples=80, deadline=None)
@given(p=st.integers(1, 16), m=st.integers(1, 40), f=st.integers(1, 99), b=st.integers(1, 99))
def test_bubble_kinds_of_1f1b(p: int, m: int, f: int, b: int) -> None:
    result = times(build_family("1f1b", p, m), f, b, 0)
    for s in range(p):
        assert idle_by_kind(result, s) == {
            "fill-drain": s * (f + b),
            "fwd-bwd": (p - 1 - s) * b + max(0, p - s - m) * f,
            "inner": min(p - 1 - s, m - 1) * f,
            "sync": 0,
        }


@pytest.mark.parametrize(("m", "percent"), [(64, "16.7"), (16, "16.7"), (8, "11.7"), (4, "5.8")])
def test_inner_share_of_1f1b(m: int, percent: str) -> None:
    """What PipeFill leaves empty by filling fill-drain and fwd-bwd bubbles only: p = 16, B = 2F."""
    result = times(build_family("1f1b", 16, m), 10, 10, 10)
    totals = [idle_by_kind(result, device) for device in range(16)]
    inner = sum(total["inner"] for total in totals)
    assert f"{100 * inner / sum(sum(total.values()) for total in totals):.1f}" == percent


def test_gpipe_and_1f1b_have_one_long_bubble_of_each_kind() -> None:
    """Fill and drain are one bubble around the iteration boundary, and fwd-bwd is contiguous."""
    for name in ("gpipe", "1f1b"):
        for s, bubbles in enumerate(times(build_family(name, 6, 12), 3, 4, 2).bubbles):
            kinds = [bubble.kind for bubble in bubbles]
            assert kinds.count("fill-drain") == (s > 0)
            assert kinds.count("fwd-bwd") == (s < 5)
