"""Prices are rounded to whole parts, never above as floats; the bound that they prove holds for any prices."""

from __future__ import annotations

import random
from fractions import Fraction

import pytest

from pipefill_opt.solve.column import Column
from pipefill_opt.solve.generation.prices import Prices, proven_bound
from pipefill_opt.solve.result import Limits
from tests.solve.test_allocate import every_choice


def test_rounded() -> None:
    prices = Prices.rounded([0.1, -3.0, 1e6, 0.0])
    assert prices.exact[1] == prices.exact[3] == 0
    for exact, near, dual in zip(prices.exact, prices.near, (0.1, 0.0, 1e6, 0.0), strict=True):
        assert exact == Fraction(float(near))
        assert abs(float(exact) - dual) < 1e-5
    assert prices.of({0: 2, 2: 1}) == 2 * prices.exact[0] + prices.exact[2]
    assert prices.most >= 1e6
    assert Prices.rounded([]).exact == ()
    assert Prices.rounded([-1.0]).exact == (0,)


@pytest.mark.parametrize("seed", range(30))
def test_any_prices_prove_a_bound(seed: int) -> None:
    rng = random.Random(seed)
    counts, copies = [rng.randint(1, 2) for _ in range(2)], [rng.randint(0, 3) for _ in range(3)]
    columns = [
        Column(rng.randrange(2), tuple(sorted((rng.randrange(3), 0) for _ in range(rng.randint(1, 2)))))
        for _ in range(5)
    ]
    values = [rng.randint(0, 20) for _ in columns]
    best = every_choice(values, columns, counts, copies, Limits()).value
    for _ in range(5):
        prices = Prices.rounded([rng.random() * rng.choice((0, 5, 20)) for _ in copies])
        tops = [
            max(
                [Fraction(0)]
                + [v - prices.of(dict(c.usage)) for v, c in zip(values, columns, strict=True) if c.class_index == g]
            )
            for g in range(2)
        ]
        assert proven_bound(prices, copies, counts, tops) >= best
