"""SPEC files and the MAIN documents that come of them."""

from __future__ import annotations

from typing import Any

import pytest

from pipefill_opt.errors import InputError, ScheduleError
from pipefill_opt.schedule.families import FAMILIES
from pipefill_opt.workload.main_file import main_from_document
from pipefill_opt.workload.rank_file import (
    Candidate,
    candidates,
    is_uneven,
    layers_by_stage,
    main_document,
    rank_from_document,
)

SPEC: dict[str, Any] = {
    "devices": 4,
    "microbatches": 8,
    "durations": {"unit": "ms", "F": 9, "I": 12, "W": 6, "overhead": "1ms"},
    "memory": {"capacity": "16GB", "reserve": "1GB", "static": "6GB", "activation": "900MB", "workspace": "5MB"},
}
MS = 10**6


def document(family: str, spec: dict[str, Any] | None = None, **choice: Any) -> dict[str, Any]:
    choices = {"chunks": None, "recompute": False, "split": None} | choice
    return main_document(rank_from_document(spec or SPEC), Candidate(family, **choices))


def test_one_chunk() -> None:
    """B is one action with one overhead, I and W are two."""
    got = document("1f1b")
    assert got["schedule"] == {"family": "1f1b", "devices": 4, "microbatches": 8}
    durations = {name: got["durations"][name][0] // MS for name in "FBIWR"}
    assert durations == {"F": 10, "B": 19, "I": 13, "W": 7, "R": 10}
    assert got["memory"]["static"] == [6 * 10**9] * 4
    assert got["memory"]["activation"] == [900 * 10**6] * 4
    assert got["memory"]["workspace"] == 5 * 10**6


def test_chunks_divide_the_share_but_not_the_overhead() -> None:
    got = document("interleaved-1f1b", chunks=3)
    assert got["schedule"]["chunks"] == 3
    assert [ticks // MS for ticks in got["durations"]["F"]] == [4] * 12
    assert got["memory"]["activation"] == [300 * 10**6] * 12
    assert got["memory"]["static"] == [6 * 10**9] * 4


def test_two_pipes_hold_the_weights_twice_and_pass_whole_shares() -> None:
    got = document("dualpipe")
    assert [ticks // MS for ticks in got["durations"]["F"]] == [10] * 8
    assert got["memory"]["static"] == [12 * 10**9] * 4


def test_first_and_last_lie_on_the_ends_of_each_pipe() -> None:
    spec = SPEC | {"last": {"F": "5ms", "static": "1GB"}}
    assert [ticks // MS for ticks in document("1f1b", spec)["durations"]["F"]] == [10, 10, 10, 15]
    assert document("1f1b", spec)["durations"]["R"][-1] == 15 * MS  # recomputation takes as long as the forward
    assert document("zbv", spec)["memory"]["static"] == [7 * 10**9, *[6 * 10**9] * 3]
    assert sorted(document("dualpipe", spec)["durations"]["F"])[-2:] == [15 * MS] * 2


def test_layers() -> None:
    spec = SPEC | {"layers": 10, "last": {"F": "27ms"}, "splits": ["even", "balanced", [4, 3, 2, 1]]}
    even, balanced, stated = (
        [ticks // MS for ticks in document("1f1b", spec, split=split)["durations"]["F"]]
        for split in ("even", "balanced", (4, 3, 2, 1))
    )
    assert even == [28, 28, 19, 46]
    # a layer takes 27 ms in all, as much as what is last: 3, 3, 2 and 2 + 1 is best
    assert balanced == [28, 28, 19, 46]
    assert stated == [37, 28, 19, 37]
    counts = [
        layers_by_stage(rank_from_document(spec), Candidate("zbv", None, False, split))
        for split in ("even", "balanced")
    ]
    assert counts == [(2, 2, 1, 1, 1, 1, 1, 1), (1, 2, 2, 1, 1, 1, 1, 1)]  # what is last lies on device 0 there
    with pytest.raises(ScheduleError, match="layers for 8 stages"):
        document("zbv", spec, split=(4, 3, 2, 1))
    assert document("1f1b", spec, split=(4, 3, 2, 1))["memory"]["static"] == [size * 10**9 for size in (24, 18, 12, 6)]


def test_greedy_zero_bubble_plans_with_the_costs_and_the_memory() -> None:
    got = document("zb-greedy", SPEC | {"communication": {"lag": "2ms"}})["schedule"]
    assert (got["forward"], got["input_gradient"], got["weight_gradient"], got["lag"]) == (
        9 * MS, 12 * MS, 6 * MS, 2 * MS,
    )  # fmt: skip
    assert got["cap"] == 8  # 15 - 6 GB and 5 MB are room for 9 activations, of 8 micro-batches


def test_reduce_step_and_recomputation_become_actions() -> None:
    spec = SPEC | {"durations": SPEC["durations"] | {"STEP": "15ms", "REDUCE": "9ms"}}
    got = document("interleaved-1f1b", spec, chunks=2, recompute=True)
    assert {key for key, value in got["schedule"].items() if value is True} == {"recompute", "reduce", "step"}
    assert got["durations"]["STEP"] == 15 * MS
    assert got["durations"]["REDUCE"] == 4_500_000


def test_a_length_of_pairs_is_divided_upwards() -> None:
    assert document("dualpipev", SPEC | {"overlap": {"length": "15ns"}})["overlap"] == {"unit": "ns", "length": 8}


def test_uneven_shares_are_told() -> None:
    spec = rank_from_document(SPEC)
    assert not is_uneven(spec, Candidate("interleaved-1f1b", 3, False, None))
    assert is_uneven(spec, Candidate("interleaved-1f1b", 7, False, None))


def test_candidates() -> None:
    spec = rank_from_document(
        SPEC | {"families": ["1f1b", "looped-bfs", "1f1b"], "chunks": [2, 4], "recompute": [False, True]}
    )
    found = [(c.family, c.chunks, c.recompute) for c in candidates(spec)]
    assert found == [
        ("1f1b", None, False), ("1f1b", None, True),
        ("looped-bfs", 2, False), ("looped-bfs", 2, True), ("looped-bfs", 4, False), ("looped-bfs", 4, True),
    ]  # fmt: skip
    assert {c.family for c in candidates(rank_from_document(SPEC))} == set(FAMILIES) - {"forward-only"}


def test_documents_are_main_files() -> None:
    spec = rank_from_document(SPEC | {"communication": {"lag": "1ms"}, "boundary": "barrier"})
    for candidate in candidates(spec):
        main = main_from_document(main_document(spec, candidate))
        assert main.communication.lag == MS


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"devices": 0}, "devices: 0: expected a whole number from 1"),
        ({"chunks": [0]}, "chunks[0]: 0: expected a whole number"),
        ({"families": ["1f1b", "nope"]}, "families[1]: nope: expected one of gpipe"),
        ({"splits": ["even"]}, "splits: expected layers with it"),
        ({"layers": 8, "splits": ["odd"]}, "splits[0]"),
        ({"layers": 8, "splits": [[4, 3]]}, "splits[0]: 7: expected 8 layers in all"),
        ({"layers": 8, "overlap": {"length": "1ms"}}, "overlap: "),
        ({"durations": {"F": 1, "I": 1, "W": 1}}, "durations.F: 1: expected a time with its unit"),
        ({"durations": {"F": "1ms"}}, "missing key 'I'"),
        ({"memory": {"capacity": "1parsec"}}, "memory.capacity: 1parsec"),
        ({"colour": "red"}, "colour: red: unknown key"),
        ({"communication": {"lag": "1 yard"}}, "communication.lag: 1 yard"),
    ],
)
def test_refusals(change: dict[str, Any], message: str) -> None:
    with pytest.raises(InputError) as caught:
        rank_from_document(SPEC | change, file="spec.yaml")
    assert str(caught.value).startswith("spec.yaml: ")
    assert message in str(caught.value)
