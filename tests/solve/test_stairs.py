"""Lists of choices: nothing beaten stays, joining is exact, thinning errs to the safe side only."""

from __future__ import annotations

import random
from typing import Any

import numpy as np
import pytest

from pipefill_opt.solve.stairs import Stairs, best_pairs, joined, stairs, thinned


def random_stairs(seed: int, kind: Any = np.int64) -> Stairs:
    rng = random.Random(seed)
    ticks = np.array([rng.randint(1, 30) for _ in range(12)], dtype=np.int64)
    return stairs(ticks, np.array([rng.randint(-3, 40) for _ in range(12)], dtype=kind))


def most(whole: Stairs, net: int) -> int:
    """By trying every step."""
    return max(int(v) for t, v in zip(whole.ticks, whole.value, strict=True) if t <= net)


def test_only_what_is_not_beaten() -> None:
    found = stairs(np.array([5, 3, 3, 9, 7]), np.array([4, 2, 3, 4, -1]))
    assert (found.ticks.tolist(), found.value.tolist(), found.source.tolist()) == ([0, 3, 5], [0, 3, 4], [-1, 2, 0])
    assert found.at(np.array([0, 2, 3, 100])).tolist() == [0, 0, 1, 2]


@pytest.mark.parametrize("kind", [np.int64, object])
def test_joined_and_pairs_against_every_choice(kind: Any) -> None:
    for seed in range(20):
        a, b = random_stairs(2 * seed, kind), random_stairs(2 * seed + 1, kind)
        nets = np.array([-1, 0, 3, 17, 40])
        both = joined(a, b, 0, 40)
        value, left, right = best_pairs(a, b, nets)
        for k, net in enumerate(nets.tolist()):
            if net < 0:
                assert value[k] == -1
                continue
            every = max(
                int(v + w)
                for t, v in zip(a.ticks, a.value, strict=True)
                for u, w in zip(b.ticks, b.value, strict=True)
                if t + u <= net
            )
            assert most(both, net) == every == value[k] == a.value[left[k]] + b.value[right[k]]


def test_two_that_work_pay_for_the_change() -> None:
    one = stairs(np.array([4]), np.array([10]))
    assert joined(one, one, 3, 11).ticks.tolist() == [0, 4, 11]
    assert joined(one, one, 3, 10).ticks.tolist() == [0, 4]


def test_thinned_is_never_worth_less() -> None:
    for seed in range(20):
        whole = random_stairs(seed)
        thin = thinned(whole, 30, 3)
        assert len(thin.ticks) <= 5
        assert thin.ticks[0] == thin.value[0] == 0
        assert all(most(thin, net) >= most(whole, net) for net in range(31))
        assert int(thin.value[-1]) == int(whole.value[-1])


def test_joined_after_thinning_is_never_worth_less() -> None:
    for seed in range(20):
        a, b = random_stairs(2 * seed), random_stairs(2 * seed + 1)
        exact, thin = joined(a, b, 1, 40), joined(a, b, 1, 40, thick=2)
        assert all(most(thin, net) >= most(exact, net) for net in range(41))
