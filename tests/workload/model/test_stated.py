"""`split` and `rank` of a MAIN file by model name heed what it states, or say that they cannot."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from pipefill_opt.errors import InputError
from pipefill_opt.workload.model.split_file import split_from_document
from pipefill_opt.workload.rank_file import RankSpec, rank_from_document

LLAMA: dict[str, Any] = {
    "model": "llama3-8b",
    "hardware": "h100",
    "parallel": {"pp": 4},
    "global_batch": 16,
    "microbatch": 1,
}


def ranked(change: dict[str, Any], folder: Path) -> RankSpec:
    (folder / "main.json").write_text(json.dumps(LLAMA | change), encoding="utf-8")
    return rank_from_document({"main": "main.json"}, folder=folder)


def rooms(change: dict[str, Any], folder: Path) -> tuple[int, ...]:
    (folder / "main.json").write_text(json.dumps(LLAMA | change), encoding="utf-8")
    memory = split_from_document({"main": "main.json"}, folder=folder).problem.memory
    assert memory is not None
    return memory.room


def test_capacity_and_reserve_hold(tmp_path: Path) -> None:
    usual = rooms({}, tmp_path)
    less = rooms({"memory": {"capacity": "60GiB"}}, tmp_path)
    assert {a - b for a, b in zip(usual, less, strict=True)} == {20 * 2**30}
    uneven = {"memory": {"unit": "GiB", "capacity": [80, 80, 80, 40], "reserve": 1}}
    assert rooms(uneven, tmp_path)[0] - rooms(uneven, tmp_path)[-1] == 40 * 2**30
    memory = ranked(uneven, tmp_path).memory
    assert memory is not None
    assert (memory["capacity"], memory["reserve"]) == (40 * 2**30, 2**30)


def test_rank_takes_messages_boundary_and_recomputation(tmp_path: Path) -> None:
    change = {"communication": {"lag": "7ms"}, "boundary": "flow", "schedule": {"family": "1f1b", "recompute": True}}
    spec = ranked(change, tmp_path)
    assert spec.lag == 7 * 10**6
    assert spec.passed_on["boundary"] == "flow"
    assert spec.recompute == (True,)


@pytest.mark.parametrize("read", [ranked, rooms])
@pytest.mark.parametrize(
    ("change", "where"),
    [
        ({"durations": {"F": "10ms"}}, "durations.F: 10ms"),
        ({"memory": {"static": "1GiB"}}, "memory.static: 1GiB"),
    ],
)
def test_what_belongs_to_other_stages_is_refused(read: Any, change: dict[str, Any], where: str, tmp_path: Path) -> None:
    with pytest.raises(InputError) as caught:
        read(change, tmp_path)
    assert f"{where}: expected none for stages that are still to be found" in str(caught.value)


def test_a_split_cannot_count_stages_that_are_computed_again(tmp_path: Path) -> None:
    with pytest.raises(InputError, match=r"schedule\.recompute: true: expected recompute: full"):
        rooms({"schedule": {"family": "1f1b", "recompute": True}}, tmp_path)
