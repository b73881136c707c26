"""Which weights are tried against a vector of laps, each once."""

from __future__ import annotations

import numpy as np

from pipefill_opt.solve.cuts import Cut, Cuts


def test_few_slots_first_then_tilts_each_once() -> None:
    cuts = Cuts((10, 20), (3, 4))
    target, laps = np.array([2, 1]), np.array([1, 2])
    found = []
    while (cut := cuts.next(target, laps)) is not None:
        found.append(cut)
    assert found[:5] == [Cut((0,), (3,)), Cut((0,), (10,)), Cut((1,), (4,)), Cut((1,), (20,)), Cut((0, 1), (3, 4))]
    assert Cut((0, 1), (10, 20)) not in found
    assert Cut((0, 1), (15, 10)) in found
    assert len(found) == len(set(found)) == 9
    assert cuts.next(None, laps) is None


def test_only_slots_that_the_point_uses() -> None:
    cuts = Cuts((10, 20, 30), (3, 4, 5))
    cut = cuts.next(np.array([0, 2, 0]), np.array([0, 1, 0]))
    assert cut == Cut((1,), (4,))
    assert cut.spread(3).tolist() == [0, 4, 0]
