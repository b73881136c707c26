"""The best whole pieces, or a bound on them."""

from __future__ import annotations

import random
from itertools import product

import pytest

from pipefill_opt.solve.generation.knapsack import whole_knapsack


@pytest.mark.parametrize("seed", range(40))
def test_whole_knapsack(seed: int) -> None:
    rng = random.Random(seed)
    items = [(rng.randint(1, 20), rng.randint(1, 9), rng.randint(0, 4)) for _ in range(rng.randint(0, 4))]
    room = rng.randint(0, 25)
    best = 0
    for numbers in product(*(range(most + 1) for _, _, most in items)):
        if sum(n * size for n, (_, size, _) in zip(numbers, items, strict=True)) <= room:
            best = max(best, sum(n * value for n, (value, _, _) in zip(numbers, items, strict=True)))
    assert whole_knapsack(items, room) == best
    assert whole_knapsack(items, room, steps=1) >= best
