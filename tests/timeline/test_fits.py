"""What a job needs, without its times; what would fit, each change evaluated again."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from pipefill_opt.errors import ScheduleError
from pipefill_opt.schedule.families import FAMILIES, build_family
from pipefill_opt.timeline.compute import timeline
from pipefill_opt.timeline.fits import Remedy, needs, remedies, tightest
from pipefill_opt.workload.costs import MainJob
from pipefill_opt.workload.main_file import main_from_document
from pipefill_opt.workload.weights import action_durations
from tests.timeline.random_jobs import random_job

JOB: dict[str, Any] = {
    "model": "gpt-40b", "hardware": "v100-16gb", "parallel": {"tp": 8, "pp": 16, "dp": 64},
    "global_batch": 1024, "microbatch": 2, "sequence": 2048,
}  # fmt: skip
"""PipeFill's simulated job; without recomputation, sharding or sequence parallelism it does not quite fit."""


def test_peaks_are_those_of_the_timeline() -> None:
    compared = 0
    for seed in range(300):
        main = random_job(seed)
        try:
            expected = timeline(main).peak
        except ScheduleError:
            continue
        assert expected is not None
        found = np.array([need.peak for need in needs(main)])
        if (action_durations(main) > 0).all():
            assert found.tolist() == expected.tolist(), seed
            compared += 1
        assert (found >= expected).all(), seed  # what takes no time does not show in a timeline
    assert compared > 30


@pytest.mark.parametrize("family", [name for name in FAMILIES if name != "zb-greedy"])
@pytest.mark.parametrize("overlap", ["sequential", {"length": "9ms"}])
def test_families(family: str, overlap: Any) -> None:
    schedule = build_family(family, 4, 8)
    document = {
        "schedule": {"family": family, "devices": 4, "microbatches": 8},
        "durations": {"unit": "ms", "F": 3, "I": 2, "W": 1, "B": 4},
        "memory": {"unit": "B", "capacity": 1000, "reserve": 10, "static": 100, "activation": 10, "freed_by_I": 4, "workspace": 3},
        "overlap": overlap,
    }  # fmt: skip
    main = main_from_document(document)
    found = needs(main)
    peak = timeline(main).peak
    assert peak is not None
    assert [need.peak for need in found] == peak.tolist()
    assert [need.room for need in found] == [990] * 4
    assert sorted(stage for need in found for stage in need.stages) == list(range(schedule.stages))


def job(**changes: Any) -> dict[str, Any]:
    return JOB | changes


def lacking(document: dict[str, Any]) -> int:
    return tightest(main_from_document(document)).lacking


def by_keys(document: dict[str, Any]) -> dict[tuple[str, ...], Remedy]:
    return {tuple(key for key, _ in remedy.changes): remedy for remedy in remedies(document)}


def test_it_says_by_how_much_and_where() -> None:
    need = tightest(main_from_document(JOB))
    assert (need.device, need.stages) == (0, (0,))
    assert need.room == 16 * 2**30 - 500 * 2**20
    assert 0 < need.lacking == need.peak - need.room < 2**30


def test_each_remedy_fits_and_nothing_weaker_does() -> None:
    found = by_keys(JOB)
    assert set(found) >= {("recompute",), ("sequence_parallel",), ("zero",)}
    for remedy in found.values():
        assert lacking(dict(remedy.document)) == -remedy.spare <= 0
        main = main_from_document(remedy.document)
        assert main.derived is not None
        assert remedy.devices == main.derived.replicas * main.schedule.devices
    assert dict(found["zero",].changes) == {"zero": 1}
    assert ("microbatch",) not in found  # half as large, twice as many in flight
    assert lacking(job(microbatch=1)) > 0
    assert lacking(job(recompute="selective")) > 0  # fused attention keeps no scores that could be dropped
    assert dict(found["recompute",].changes) == {"recompute": "full"}


def test_more_parallelism_takes_its_devices_from_the_data_parallel_ones() -> None:
    found = by_keys(job(hardware="v100-32gb", parallel={"tp": 2, "pp": 16, "dp": 64}))
    wider = found["parallel.tp",]
    assert wider.document["parallel"]["tp"] * wider.document["parallel"]["dp"] == 2 * 64
    assert wider.devices == 2048


def test_several_changes_where_one_is_not_enough() -> None:
    tight = job(model="gpt3-175b", parallel={"tp": 8, "pp": 16, "dp": 8}, global_batch=128)
    assert lacking(tight) > 0
    found = remedies(tight)
    assert found
    assert min(len(remedy.changes) for remedy in found) == 2
    for remedy in found:
        assert lacking(dict(remedy.document)) <= 0
        for key, value in remedy.changes:
            if "." not in key:
                assert lacking({**tight, key: value}) > 0, "each alone is not enough"


def test_what_fits_nowhere_has_no_remedy() -> None:
    assert remedies(job(model="megatron-1t", parallel={"tp": 1, "pp": 2, "dp": 1}, global_batch=8, microbatch=1)) == ()


def test_no_memory_model_no_needs() -> None:
    main = main_from_document(
        {"schedule": {"family": "1f1b", "devices": 2, "microbatches": 2}, "durations": {"unit": "ms", "F": 1, "B": 2}}
    )
    assert isinstance(main, MainJob)
    with pytest.raises(ValueError, match="no memory model"):
        needs(main)
