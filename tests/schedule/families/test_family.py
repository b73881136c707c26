"""What holds for every family alike: the registry, sizes and options, valid orders far beyond the sizes of any file."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st

from pipefill_opt.errors import InputError, ScheduleError
from pipefill_opt.schedule.actions import Kind
from pipefill_opt.schedule.families import FAMILIES, build_family
from pipefill_opt.schedule.families.family import MAX_ACTIONS, Family
from pipefill_opt.schedule.schedule import same_order
from pipefill_opt.schedule.validate import validate
from tests.schedule.simulation import replay

NAMES = [
    "gpipe",
    "1f1b",
    "looped-bfs",
    "interleaved-1f1b",
    "zbv",
    "interleaved-zero-bubble",
    "dualpipev",
    "forward-only",
]
COSTS = {"F": 3, "B": 7, "I": 2, "W": 5}


def chunk_choices(family: Family) -> list[int]:
    return [family.chunks] if family.fixed_chunks else [1, 2, 3, 4]


def in_domain(family: Family, devices: int, microbatches: int) -> bool:
    """The domain as the rules state it, written down once more."""
    if family.name == "dualpipev":
        return microbatches >= 2 * devices
    if family.name.startswith("interleaved"):
        return microbatches % max(1, microbatches // devices) == 0
    return True


def test_registry() -> None:
    assert sorted(FAMILIES) == sorted(NAMES)
    for name, family in FAMILIES.items():
        assert family.name == name
        assert family.summary
        assert family.source
        assert family.closed_form
        assert family.in_flight


@pytest.mark.parametrize("name", NAMES)
@pytest.mark.parametrize("devices", range(1, 17))
def test_valid_for_all_sizes(name: str, devices: int) -> None:
    """Each action once, where its stage lies; sizes outside the domain are refused and only those."""
    family = FAMILIES[name]
    for microbatches in range(1, 4 * devices + 1):
        for chunks in chunk_choices(family) if microbatches % 3 == devices % 3 else [family.chunks]:
            if not in_domain(family, devices, microbatches):
                with pytest.raises(ScheduleError, match=r"^microbatches: \d+: expected "):
                    family.build(devices, microbatches, chunks=chunks)
                continue
            schedule = family.build(devices, microbatches, chunks=chunks)
            validate(schedule)
            assert schedule.stages == devices * chunks
            assert schedule.devices == devices


@pytest.mark.parametrize("name", NAMES)
def test_no_deadlock_and_all_work_done(name: str) -> None:
    family = FAMILIES[name]
    for devices in (1, 2, 3, 5, 8):
        for microbatches in range(1, 4 * devices + 1):
            for chunks in chunk_choices(family)[: 1 if devices == 8 else 4]:
                if not in_domain(family, devices, microbatches):
                    continue
                schedule = family.build(devices, microbatches, chunks=chunks)
                work = 3 if name == "forward-only" else 10
                assert replay(schedule, COSTS).busy == [work * microbatches * chunks] * devices


@settings(max_examples=80, deadline=None)
@given(
    name=st.sampled_from(NAMES),
    devices=st.integers(1, 40),
    microbatches=st.integers(1, 200),
    chunks=st.integers(1, 8),
    reduce=st.booleans(),
)
def test_valid_at_random_sizes(name: str, devices: int, microbatches: int, chunks: int, reduce: bool) -> None:
    family = FAMILIES[name]
    chunks = family.chunks if family.fixed_chunks else chunks
    assume(in_domain(family, devices, microbatches))
    schedule = family.build(devices, microbatches, chunks=chunks, reduce=reduce)
    validate(schedule)
    assert (schedule.kind == Kind.REDUCE).sum() == (devices * chunks if reduce else 0)


@pytest.mark.parametrize("name", NAMES)
def test_reduce_ends_each_row(name: str) -> None:
    plain, reduced = build_family(name, 3, 6), build_family(name, 3, 6, reduce=True)
    for rank in range(3):
        stages = [stage for stage, device in enumerate(plain.placement) if device == rank]
        assert list(map(str, reduced.row(rank))) == [
            *map(str, plain.row(rank)),
            *(f"{stage}REDUCE_GRAD" for stage in stages),
        ]


def test_default_chunks() -> None:
    assert same_order(build_family("interleaved-1f1b", 2, 4), build_family("interleaved-1f1b", 2, 4, chunks=2))
    assert build_family("forward-only", 2, 4).stages == 2


@pytest.mark.parametrize(
    ("name", "devices", "microbatches", "options", "message"),
    [
        ("2f2b", 4, 8, {}, "family: 2f2b: expected one of gpipe, 1f1b, "),
        ("gpipe", 0, 8, {}, "devices: 0: expected a whole number of at least 1"),
        ("gpipe", 4, -8, {}, "microbatches: -8: expected a whole number of at least 1"),
        ("gpipe", 4.5, 8, {}, "devices: 4.5: expected a whole number of at least 1"),
        ("gpipe", True, 8, {}, "devices: True: expected a whole number of at least 1"),
        ("gpipe", 4, 8, {"chunks": 2}, "chunks: 2: expected 1, the chunks a device of family gpipe"),
        ("zbv", 4, 8, {"chunks": 1}, "chunks: 1: expected 2, the chunks a device of family zbv"),
        ("looped-bfs", 4, 8, {"chunks": 0}, "chunks: 0: expected a whole number of at least 1"),
        (
            "dualpipev",
            4,
            7,
            {},
            "microbatches: 7: expected at least 8 micro-batches, one for each stage (family dualpipev, 4 devices)",
        ),
        (
            "interleaved-1f1b",
            4,
            9,
            {},
            "microbatches: 9: expected micro-batches that make 2 equal rounds (family interleaved-1f1b, 4 devices)",
        ),
        ("gpipe", 10**6, 10**6, {}, f"1000000 x 1000000 x 1: expected at most {MAX_ACTIONS} actions"),
        ("gpipe", 4, 8, {"chunk": 1}, "chunk: expected no option but chunks, reduce"),
        ("gpipe", 4, 8, {"reduce": 1}, "reduce: 1: expected true or false"),
    ],
)
def test_bad_sizes_and_options(
    name: str, devices: Any, microbatches: Any, options: dict[str, Any], message: str
) -> None:
    with pytest.raises(InputError) as caught:
        build_family(name, devices, microbatches, **options)
    assert str(caught.value).startswith(message)
    if isinstance(caught.value, ScheduleError):
        assert caught.value.code == "size"


def test_arrays_have_their_types() -> None:
    schedule = build_family("dualpipev", 3, 7)
    assert schedule.row_start.dtype == np.int64
    assert schedule.kind.dtype == np.int8
    assert schedule.stage.dtype == schedule.microbatch.dtype == schedule.part.dtype == np.int32
    assert schedule.paired.dtype == np.bool_
