"""Clocks of ranks: moved only where a message contradicts them, and then between the bounds."""

from __future__ import annotations

import random
from pathlib import Path

import pytest

from pipefill_opt.errors import InputError
from pipefill_opt.schedule.actions import parse_action
from pipefill_opt.traces.clocks import align_clocks, clock_bounds, clock_offsets
from pipefill_opt.traces.importing import measured_trace
from pipefill_opt.traces.measured import RankRuns, Run
from tests.traces.synthetic import US, pipeline, write_traces

ONE_F = {"family": "1f1b", "devices": 4, "microbatches": 6}
MS = 1000 * US


def rank(number: int, *rows: tuple[str, int, int]) -> RankRuns:
    return RankRuns(
        number, f"file{number}", tuple(Run(parse_action(text), start, end, 0) for text, start, end in rows), {}
    )


def test_bounds_are_the_least_time_of_a_message_in_each_direction() -> None:
    first = rank(0, ("0F0", 0, 10), ("0F1", 10, 20), ("0B0", 70, 80), ("0B1", 95, 99))
    second = rank(1, ("1F0", 15, 30), ("1F1", 30, 40), ("1B0", 40, 60), ("1B1", 60, 90))
    assert clock_bounds([first, second]) == {(0, 1): 5, (1, 0): 5}


def test_clocks_that_agree_stay() -> None:
    assert clock_offsets({(0, 1): 0, (1, 0): 3}, 2) == [0, 0]
    made, notes = align_clocks([rank(0, ("0F0", 0, 10)), rank(1, ("1F0", 10, 12))])
    assert notes == ()
    assert made[1].runs[0].start == 10


def test_a_small_contradiction_is_moved_by_twice_what_is_needed() -> None:
    """At least 1 and at most 99 are possible for rank 1, and rank 2 follows it by as much."""
    assert clock_offsets({(0, 1): -1, (1, 0): 99}, 2) == [0, 2]
    assert clock_offsets({(0, 1): -1, (1, 0): 99, (1, 2): 0, (2, 1): 0}, 3) == [0, 2, 2]


def test_a_contradiction_is_moved_to_the_middle_of_what_is_possible() -> None:
    """Rank 1 is put later by at least 7 (0 -> 1) and at most 15 (1 -> 0)."""
    assert clock_offsets({(0, 1): -7, (1, 0): 15}, 2) == [0, 11]
    made, notes = align_clocks([
        rank(0, ("0F0", 0, 10), ("0B0", 60, 70)),
        rank(1, ("1F0", 3, 20), ("1B0", 20, 45)),
    ])  # fmt: skip
    assert [(run.start, run.end) for run in made[1].runs] == [(14, 31), (31, 56)]
    assert notes == ("rank 1: clock moved by 11 ns, since messages came before they were sent",)


@pytest.mark.parametrize("seed", range(20))
def test_offsets_keep_every_bound_of_random_chains(seed: int) -> None:
    """Bounds that some clocks fulfil: what comes out fulfils them too, the first clock untouched."""
    rng = random.Random(seed)
    count = rng.randrange(2, 7)
    true = [rng.randrange(-1000, 1000) for _ in range(count)]
    bounds = {}
    for i in range(count):
        for j in (i - 1, i + 1):
            if 0 <= j < count:  # offset[i] <= offset[j] + room
                bounds[i, j] = true[i] - true[j] + rng.randrange(50)
    offsets = clock_offsets(bounds, count)
    assert offsets[0] == 0
    assert all(offsets[i] <= offsets[j] + room for (i, j), room in bounds.items())


def test_no_clocks_for_a_cycle_of_contradictions() -> None:
    with pytest.raises(ValueError, match="contradict"):
        clock_offsets({(0, 1): -7, (1, 0): 6}, 2)
    first = rank(0, ("0F0", 50, 100), ("0B0", 101, 110))
    second = rank(1, ("1F0", 0, 10), ("1B0", 40, 60))
    with pytest.raises(InputError, match="file0, file1: expected ranks of one run"):
        align_clocks([first, second])


def test_a_large_correction_asks_a_question() -> None:
    _, notes = align_clocks([rank(0, ("0F0", 5 * 10**9, 6 * 10**9)), rank(1, ("1F0", 10, 12))])
    assert notes[0].endswith("(are all files of one run?)")


@pytest.mark.parametrize("skews", [(0, -3 * MS, 40 * MS, -5000 * MS), (0, 0, 0, -2 * MS), (7 * MS, 0, 0, 0)])
def test_skewed_traces_come_back_to_within_a_message(skews: tuple[int, ...], tmp_path: Path) -> None:
    """Each message takes 0.7 ms, so each neighbour's clock is known to within as much; order and durations stay exact."""
    made = pipeline(ONE_F)
    plain = measured_trace("kineto", write_traces(tmp_path, made, "own"))
    skewed = measured_trace("kineto", write_traces(tmp_path, made, "own", skews=skews))
    assert skewed.notes
    for before, after in zip(plain.steps, skewed.steps, strict=True):
        assert after.order == before.order
        for device, (first, second) in enumerate(zip(before.rows, after.rows, strict=True)):
            for run, other in zip(first, second, strict=True):
                assert other.end - other.start == run.end - run.start
                assert abs(other.start - run.start - skews[0]) <= device * 0.8 * MS
