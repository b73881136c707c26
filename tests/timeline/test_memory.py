"""Each rule of main memory alone."""

from __future__ import annotations

import pytest

from pipefill_opt.errors import InputError
from pipefill_opt.timeline.compute import timeline
from pipefill_opt.timeline.memory import usage
from pipefill_opt.workload.costs import MainJob
from tests.timeline.jobs import memory_of, rows_job


def steps(main: MainJob, device: int = 0) -> list[tuple[int, int]]:
    times, sizes = usage(timeline(main), device)
    return list(zip(times.tolist(), sizes.tolist(), strict=True))


def peak(main: MainJob) -> list[int]:
    found = timeline(main).peak
    assert found is not None
    result: list[int] = found.tolist()
    return result


def test_an_activation_lives_from_f_start_to_b_end() -> None:
    main = rows_job("0F0 0F1 0B0 0B1", memory=memory_of(1, 1, static=5, activation=3))
    assert steps(main) == [(0, 8), (1, 11), (4, 8), (6, 5)]
    assert peak(main) == [11]


def test_split_backward_frees_in_two_steps() -> None:
    main = rows_job("0F0 0I0 0W0", memory=memory_of(1, 1, activation=5, freed_by_input=2))
    assert steps(main) == [(0, 5), (2, 3), (3, 0)]


def test_recomputation_keeps_a_checkpoint_until_r_ends() -> None:
    main = rows_job("0F0 0R0 0B0", memory=memory_of(1, 1, activation=7, checkpoint=2))
    assert steps(main) == [(0, 2), (1, 9), (2, 7), (4, 0)]
    mixed = rows_job("0F0 0F1 0R0 0B0 0B1", memory=memory_of(1, 1, activation=7, checkpoint=2))
    assert steps(mixed) == [(0, 2), (1, 9), (2, 16), (3, 14), (5, 7), (7, 0)]


def test_workspace_is_there_while_an_action_runs() -> None:
    main = rows_job("0F0 0B0", "1F0 1B0", memory=memory_of(2, 2, workspace=(4, 0)))
    assert steps(main) == [(0, 4), (1, 0), (4, 4), (6, 0)]
    assert peak(main) == [4, 0]


def test_frees_come_before_allocations() -> None:
    main = rows_job("0F0 0B0 0F1 0B1", memory=memory_of(1, 1, activation=3, workspace=10))
    assert steps(main) == [(0, 13), (6, 0)]  # at 3 the first activation goes as the second one comes


def test_a_block_holds_both_workspaces() -> None:
    rows = "0F0 (0F1;0B0)OVERLAP_F_B 0B1"
    main = rows_job(rows, overlap=4, memory=memory_of(1, 1, activation=3, workspace=10))
    assert steps(main) == [(0, 13), (1, 26), (5, 13), (7, 0)]


def test_forward_only_frees_at_f_end() -> None:
    main = rows_job("0F0 0F1", "1F0 1F1", memory=memory_of(2, 2, activation=3))
    assert steps(main, 1) == [(0, 0), (1, 3), (3, 0)]


def test_reduce_and_step_need_no_activation() -> None:
    main = rows_job("0F0 0B0 0REDUCE_GRAD STEP", REDUCE=2, step=(3,), memory=memory_of(1, 1, activation=3, workspace=1))
    assert steps(main) == [(0, 4), (3, 1), (5, 0)]


def test_sizes_past_64_bits_are_refused() -> None:
    main = rows_job("0F0 0B0", memory=memory_of(1, 1, activation=2**61))
    with pytest.raises(InputError, match="add up"):
        timeline(main)


def test_usage_needs_a_model() -> None:
    with pytest.raises(ValueError, match="no memory model"):
        usage(timeline(rows_job("0F0 0B0")), 0)


def test_a_main_job_that_does_not_fit_is_a_warning(caplog: pytest.LogCaptureFixture) -> None:
    result = timeline(rows_job("0F0 0B0", "1F0 1B0", memory=memory_of(2, 2, capacity=4, activation=9)))
    assert [record.getMessage() for record in caplog.records] == [
        f"custom: device {device}: the main job itself needs 5 B more memory than there is" for device in (0, 1)
    ]
    assert result.bubbles[0][0].free == 4 - 9
