"""Which weights are tried against a vector of laps, each once."""

from __future__ import annotations

import numpy as np

from pipefill_opt.solve.cuts import Cut, Cuts


def test_few_slots_first_each_once() -> None:
    cuts = Cuts((10, 20), (3, 4))
    found = []
    while (cut := cuts.next(np.array([2, 1]))) is not None:
        found.append(cut)
    assert found == [Cut((0,), (3,)), Cut((0,), (10,)), Cut((1,), (4,)), Cut((1,), (20,)), Cut((0, 1), (3, 4))]


def test_only_slots_that_the_point_uses() -> None:
    cuts = Cuts((10, 20, 30), (3, 4, 5))
    cut = cuts.next(np.array([0, 2, 0]))
    assert cut == Cut((1,), (4,))
    assert cut.spread(3).tolist() == [0, 4, 0]
