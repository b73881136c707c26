"""What is drawn, and that the drawing is the same each time."""

from __future__ import annotations

from dataclasses import replace
from itertools import pairwise

import numpy as np
import pytest

from pipefill_opt.report.gantt import draw
from pipefill_opt.report.picture import MAX_ROWS, PIXELS, Picture, at, main_picture, plan_picture
from pipefill_opt.schedule.actions import Kind
from pipefill_opt.schedule.families import build_family
from pipefill_opt.timeline.compute import timeline
from pipefill_opt.timeline.timeline import Timeline
from pipefill_opt.workload.costs import Durations, MainJob, Memory
from tests.report.samples import GB, MS, plan, problem
from tests.timeline.jobs import half_tick_job


def main_job(devices: int, microbatches: int, family: str = "1f1b", overlap: int | None = None) -> MainJob:
    schedule = build_family(family, devices, microbatches)
    stages = schedule.stages
    by_stage = dict.fromkeys((Kind.F, Kind.B, Kind.I, Kind.W), (10 * MS,) * stages)
    memory = Memory(
        (16,) * devices, (1,) * devices, (2,) * devices, (1,) * stages, (0,) * stages, (0,) * stages, (0,) * stages
    )
    return MainJob(schedule, Durations(by_stage, overlap_length=overlap), memory=memory)


def result(devices: int, microbatches: int) -> Timeline:
    return timeline(main_job(devices, microbatches))


def boxes(picture: Picture, name: str) -> list[tuple[int, int, int]]:
    layer = picture.layers[name]
    return sorted(zip(layer.row, layer.start, layer.end, strict=True))


def test_main_work_and_bubbles_tile_every_row() -> None:
    picture = main_picture(result(4, 8))
    pieces = sorted(box for name in ("F", "B", "bubble") for box in boxes(picture, name))
    for row in range(4):
        mine = [(start, end) for r, start, end in pieces if r == row]
        assert mine[0][0] == 0
        assert mine[-1][1] == picture.period
        assert all(before[1] == after[0] for before, after in pairwise(mine))
    assert picture.rows == [f"device {device}" for device in range(4)]


def test_memory_curve_and_limit() -> None:
    picture = main_picture(result(2, 2))
    curve = picture.curves[0]
    assert curve is not None
    assert at(curve.limit, np.array([0, 5 * MS])).tolist() == [15, 15]
    assert at(curve.main, np.array([0, 10 * MS])).tolist() == [3, 4]


def test_half_ticks_are_drawn_in_half_ticks() -> None:
    picture = main_picture(timeline(half_tick_job()))
    assert picture.title == "custom: period 3.5 ns"
    assert (picture.width, picture.scale) == (7, 2)
    assert draw(picture, "svg").startswith(b"<?xml")


def test_pairs_as_a_block_are_drawn_in_halves() -> None:
    picture = main_picture(timeline(main_job(4, 10, "dualpipev", overlap=15 * MS)))
    assert set(picture.layers["F"].half) == {0, 1}
    assert set(picture.layers["B"].half) == {0, 2}


def test_fill_work_lies_in_its_bubbles() -> None:
    picture = plan_picture(problem(), plan())
    assert picture.rows == ["a × 2", "a × 1"]
    assert boxes(picture, "kept") == [(0, 22 * MS, 26 * MS), (0, 92 * MS, 98 * MS)]
    assert boxes(picture, "swapped") == [(0, 30 * MS, 35 * MS)]
    assert [box for box in boxes(picture, "bubble") if box[0] == 1] == [
        (1, 0, 10 * MS), (1, 20 * MS, 50 * MS), (1, 90 * MS, 100 * MS),
    ]  # fmt: skip
    assert [box for box in boxes(picture, "main work") if box[0] == 1] == [
        (1, 10 * MS, 20 * MS), (1, 50 * MS, 90 * MS),
    ]  # fmt: skip
    curve = picture.curves[0]
    assert curve is not None
    assert curve.fill is not None
    assert (at(curve.fill, np.array([0, 31, 40, 95]) * MS) // GB).tolist() == [1, 4, 2, 2]
    assert (at(curve.limit, np.array([5, 15, 30, 95]) * MS) // GB).tolist() == [4, 4, 5, 4]


def test_two_iterations_side_by_side() -> None:
    given = replace(problem(), iterations=2)
    picture = plan_picture(given, replace(plan(), iterations=2))
    assert picture.width == 200 * MS
    assert [box for box in boxes(picture, "main work") if box[0] == 1] == [
        (1, 10 * MS, 20 * MS), (1, 50 * MS, 90 * MS), (1, 110 * MS, 120 * MS), (1, 150 * MS, 190 * MS),
    ]  # fmt: skip


@pytest.mark.parametrize("form", ["svg", "png"])
def test_the_same_data_give_the_same_bytes(form: str) -> None:
    first = draw(plan_picture(problem(), plan()), form)
    assert first == draw(plan_picture(problem(), plan()), form)
    assert b"<dc:date>" not in first


def test_a_large_schedule_is_thinned_and_stays_small() -> None:
    picture = main_picture(result(80, 240))
    assert len(picture.rows) == MAX_ROWS
    assert picture.rows[0] == "device 0"
    assert picture.rows[-1] == "device 79"
    assert f"{MAX_ROWS} of 80 rows" in picture.title
    assert len(draw(picture, "svg")) < 2_000_000


def test_boxes_narrower_than_a_pixel_are_thinned_but_none_is_lost_from_sight() -> None:
    given = result(2, 4000)
    picture = main_picture(given)
    first = [start for row, start, _ in boxes(picture, "F") if row == 0]
    assert len(first) <= PIXELS
    columns = {int(start) * PIXELS // given.period for start in given.start[:8000]}
    drawn = {
        start * PIXELS // given.period for name in ("F", "B") for row, start, _ in boxes(picture, name) if row == 0
    }
    assert drawn == columns


def test_a_row_without_work_and_a_plan_without_slots_can_be_drawn() -> None:
    empty = replace(plan(), patterns=(replace(plan().patterns[1], multiplicity=3),))
    assert draw(plan_picture(problem(), empty), "png").startswith(b"\x89PNG")
