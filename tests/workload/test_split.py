"""Shares and layers of stages."""

from __future__ import annotations

from itertools import combinations, pairwise

import pytest

from pipefill_opt.errors import ScheduleError
from pipefill_opt.workload.split import Extra, Weights, balanced, even

NAMES = ("F", "I", "W")


def weights(unit: int, first: int = 0, last: int = 0) -> Weights:
    """F, I and W of equal length."""
    return Weights(dict.fromkeys(NAMES, unit), Extra(dict.fromkeys(NAMES, first), dict.fromkeys(NAMES, last)))


@pytest.mark.parametrize(("unit", "devices", "chunks"), [(10, 4, 1), (10, 4, 3), (7, 2, 5), (2, 3, 4), (0, 2, 2)])
def test_shares_add_up_and_differ_by_a_tick_at_most(unit: int, devices: int, chunks: int) -> None:
    found = [amounts["F"] for amounts in weights(unit).shared(devices * chunks, devices)]
    assert max(found) - min(found) <= 1
    for device in range(devices):  # one stage in each round of p stages, whichever way the rounds go
        assert sum(found[chunk * devices + device] for chunk in range(chunks)) == unit


def test_extras_stand_at_both_ends() -> None:
    assert [a["F"] for a in weights(10, first=3, last=5).shared(4, 2)] == [8, 5, 5, 10]
    assert [a["F"] for a in weights(10, first=3, last=5).layered([2, 1, 1])] == [23, 10, 15]
    assert [a["F"] for a in weights(10, first=3, last=5).layered([2])] == [28]


def test_even() -> None:
    assert even(10, 4) == (3, 3, 2, 2)
    assert even(4, 4) == (1, 1, 1, 1)
    with pytest.raises(ScheduleError, match="at least 4 layers"):
        even(3, 4)


@pytest.mark.parametrize("devices", [[0, 1, 2], [0, 1, 1, 0], [0, 1, 0, 1]])
@pytest.mark.parametrize(("first", "last"), [(0, 0), (1, 4), (0, 25), (40, 3)])
def test_balanced_is_best(devices: list[int], first: int, last: int) -> None:
    """Against all ways to cut 9 layers."""
    given, stages = weights(5, first, last), len(devices)

    def slowest(counts: tuple[int, ...]) -> int:
        load = dict.fromkeys(devices, 0)
        for stage, count in enumerate(counts):
            load[devices[stage]] += given.time(stage, stages, count)
        return max(load.values())

    cuts = [(0, *cut, 9) for cut in combinations(range(1, 9), stages - 1)]
    best = min(slowest(tuple(b - a for a, b in pairwise(cut))) for cut in cuts)
    found = balanced(9, devices, given)
    assert sum(found) == 9
    assert slowest(found) == best
