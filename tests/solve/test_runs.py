"""All runs of a slot, with their transfers, against a plain loop."""

from __future__ import annotations

import numpy as np

from pipefill_opt.solve.runs import along, runs_of
from tests.solve.devices import device_of, fill_problem, job


def test_runs_of_a_swapped_slot() -> None:
    device = device_of(fill_problem(job("a", (3, 4, 2), carry=(6, 0, 1), resident=2, keep=False), lengths=(30,)))
    (slot,) = device.slots
    found = runs_of(slot, (4, 0, 5), 16, repeat=True)
    expected = []
    for first, count in ((0, 4), (2, 5)):
        for last in range(first + 1, first + count + 1):
            ticks = sum(slot.ticks[k % 3] for k in range(first, last))
            moves = 2 + (1, 6, 0)[first] + 2 + (1, 6, 0)[last % 3]
            if ticks + moves <= 16:
                expected.append((first, last, ticks + moves))
    once = runs_of(slot, (1, 0, 0), 16, repeat=False)
    assert once.ticks.tolist() == [2 + 3 + 2 + 6]
    assert list(zip(found.first.tolist(), found.last.tolist(), found.ticks.tolist(), strict=True)) == expected


def test_along_goes_on_lap_after_lap() -> None:
    assert along([0, 2, 3], 5, np.int64).tolist() == [0, 2, 3, 5, 6, 8]
    assert along([0, 2**70], 2, object).tolist() == [0, 2**70, 2**71]
