"""What holds for every family alike: the registry, sizes and options, valid orders far beyond the sizes of any file."""

from __future__ import annotations

import json
from typing import Any

import numpy as np
import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st

from pipefill_opt import kernels
from pipefill_opt.errors import InputError, ScheduleError
from pipefill_opt.files import schema_text
from pipefill_opt.schedule.actions import Kind
from pipefill_opt.schedule.families import FAMILIES, build_family
from pipefill_opt.schedule.families.family import SHARED_OPTIONS, Family
from pipefill_opt.schedule.precedence import precedence
from pipefill_opt.schedule.schedule import same_order
from pipefill_opt.schedule.validate import validate
from tests.schedule.simulation import replay

NAMES = [
    "gpipe",
    "1f1b",
    "1f1b-overlap",
    "looped-bfs",
    "interleaved-1f1b",
    "interleaved-overlap",
    "zb-h1",
    "zb-h2",
    "zb-greedy",
    "zbv",
    "v-half",
    "v-min",
    "interleaved-zero-bubble",
    "hanayo",
    "chimera",
    "dualpipe",
    "dualpipev",
    "forward-only",
]
COSTS = {"F": 3, "B": 7, "I": 2, "W": 5, "R": 3}


@pytest.fixture(autouse=True)
def always_compiled(monkeypatch: pytest.MonkeyPatch) -> None:
    """These tests build thousands of schedules; the kernels alone have their own tests."""
    monkeypatch.setattr(kernels, "INTERPRETED", 0)


def chunk_choices(family: Family) -> list[int]:
    if family.name == "hanayo":
        return [2, 4]
    return [family.chunks] if family.fixed_chunks else [1, 2, 3, 4]


def in_domain(family: Family, devices: int, microbatches: int) -> bool:
    """The domain as the rules state it, written down once more."""
    match family.name:
        case "dualpipev":
            return microbatches >= 2 * devices
        case "dualpipe":
            return devices % 2 == 0 and microbatches % 2 == 0 and microbatches >= 2 * devices
        case "chimera":
            return devices % 2 == 0 and microbatches >= 2
        case "interleaved-1f1b" | "interleaved-zero-bubble" | "interleaved-overlap":
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


def test_the_schema_names_all_families_and_options() -> None:
    properties = json.loads(schema_text("main"))["$defs"]["family"]["properties"]
    assert sorted(properties["family"]["description"].rstrip(".").replace(" or ", ", ").split(", ")) == sorted(NAMES)
    options = {option for family in FAMILIES.values() for option in family.options}
    assert set(properties) == {"family", "devices", "microbatches", *SHARED_OPTIONS, *options}


@pytest.mark.parametrize("name", NAMES)
@pytest.mark.parametrize("devices", range(1, 17))
def test_valid_for_all_sizes(name: str, devices: int) -> None:
    """Each action once, where its stage lies, in an order that can run; sizes outside the domain are refused and only those."""
    family = FAMILIES[name]
    for microbatches in range(1, 4 * devices + 1):
        for chunks in chunk_choices(family) if microbatches % 3 == devices % 3 else [family.chunks]:
            if not in_domain(family, devices, microbatches):
                with pytest.raises(ScheduleError, match=r"^(microbatches|devices): \d+: expected "):
                    family.build(devices, microbatches, chunks=chunks)
                continue
            schedule = family.build(devices, microbatches, chunks=chunks)
            validate(schedule)
            precedence(schedule)
            if schedule.paired.any():
                precedence(schedule, block=True)
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
                assert sum(replay(schedule, COSTS).busy) == work * microbatches * (
                    devices * chunks // len(schedule.pipes)
                )


@settings(max_examples=80, deadline=None)
@given(
    name=st.sampled_from(NAMES),
    devices=st.integers(1, 40),
    microbatches=st.integers(1, 200),
    chunks=st.integers(1, 8),
    options=st.fixed_dictionaries({name: st.booleans() for name in ("recompute", "reduce", "step")}),
)
def test_valid_at_random_sizes(
    name: str, devices: int, microbatches: int, chunks: int, options: dict[str, bool]
) -> None:
    family = FAMILIES[name]
    chunks = family.chunks if family.fixed_chunks else chunks
    assume(in_domain(family, devices, microbatches) and (name != "hanayo" or chunks % 2 == 0))
    schedule = family.build(devices, microbatches, chunks=chunks, **options)
    validate(schedule)
    precedence(schedule, global_norm=True)
    forwards, backward = (schedule.kind == Kind.F).sum(), name != "forward-only"
    assert (schedule.kind == Kind.R).sum() == (forwards if options["recompute"] and backward else 0)
    assert (schedule.kind == Kind.REDUCE).sum() == (devices * chunks if options["reduce"] else 0)
    assert (schedule.kind == Kind.STEP).sum() == (devices if options["step"] else 0)


@pytest.mark.parametrize("name", NAMES)
def test_reduce_ends_each_row(name: str) -> None:
    plain, reduced = build_family(name, 4, 8), build_family(name, 4, 8, reduce=True)
    for rank in range(4):
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
        ("gpipe", 10**6, 10**6, {}, "1000000 x 1000000 x 1: expected devices x microbatches x chunks up to 25000000 "),
        ("gpipe", 4, 8, {"chunk": 1}, "chunk: expected no option but chunks, recompute, reduce, step (family gpipe)"),
        ("gpipe", 4, 8, {"reduce": 1}, "reduce: 1: expected true or false"),
        ("gpipe", 4, 8, {"step": "yes"}, "step: yes: expected true or false"),
        ("gpipe", 4, 8, {"recompute": None}, "recompute: expected true or false"),
        ("gpipe", 4, 8, {"cap": 4}, "cap: expected no option but chunks, recompute, reduce, step (family gpipe)"),
        ("zb-greedy", 4, 8, {"cap": 0}, "cap: 0: expected a whole number from 1 to 1000000000"),
        ("zb-greedy", 4, 8, {"forward": 0.5}, "forward: 0.5: expected a whole number from 1 to 1000000000"),
        ("zb-greedy", 4, 8, {"lag": -1}, "lag: -1: expected a whole number from 0 to 1000000000"),
        (
            "zb-greedy",
            4,
            8,
            {"forward": 10**9 + 1},
            "forward: 1000000001: expected a whole number from 1 to 1000000000",
        ),
        ("zb-greedy", 4, 8, {"cap": None}, "cap: expected a whole number from 1 to 1000000000"),
        (
            "hanayo",
            4,
            8,
            {"chunks": 3},
            "chunks: 3: expected an even number of chunks, two for each wave (family hanayo, 4 devices)",
        ),
        ("chimera", 3, 8, {}, "devices: 3: expected an even number of devices (family chimera, 3 devices)"),
        ("chimera", 4, 1, {}, "microbatches: 1: expected at least 2 micro-batches, one for each pipe"),
        ("dualpipe", 3, 8, {}, "devices: 3: expected an even number of devices (family dualpipe, 3 devices)"),
        (
            "dualpipe",
            4,
            9,
            {},
            "microbatches: 9: expected an even number of at least 8 micro-batches, half of them each way",
        ),
        (
            "dualpipe",
            4,
            6,
            {},
            "microbatches: 6: expected an even number of at least 8 micro-batches, half of them each way",
        ),
        (
            "v-half",
            1000,
            1000,
            {},
            "1000 x 1000 x 2: expected devices x microbatches x chunks up to 100000 (family v-half)",
        ),
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
