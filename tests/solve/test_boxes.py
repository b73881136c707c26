"""Boxes of starts: every start that may be better is met, best bound first, alone at last."""

from __future__ import annotations

import numpy as np

from pipefill_opt.solve.boxes import Boxes
from pipefill_opt.solve.laps import LapPoints, lap_points
from tests.solve.devices import device_of, fill_problem, job


def points(low: int = 0) -> LapPoints:
    return lap_points(device_of(fill_problem(job("a", (1,)), lengths=(20,))), low, 20)


def test_boxes_end_as_single_starts() -> None:
    limit = np.array([[3, 9, 4], [5, 2, 8]])
    boxes = Boxes((2, 3))
    assert boxes.next(limit, points(4)) == ((0, 0), (2, 3))
    met = {
        box[0]
        for box in iter(lambda: boxes.next(limit, points(4)), None)
        if all(b - a == 1 for a, b in zip(*box, strict=True))
    }
    assert met == {(0, 1), (1, 0), (1, 2)}


def test_a_lowered_limit_closes_a_box() -> None:
    limit = np.array([6, 6, 6, 6])
    boxes = Boxes((4,))
    assert boxes.next(limit, points()) == ((0,), (4,))
    limit[:] = 0
    assert boxes.next(limit, points()) is None


def test_fresh_once() -> None:
    boxes = Boxes((4,))
    assert [boxes.fresh((1,)), boxes.fresh((1,)), boxes.fresh((2,))] == [True, False, True]
