"""The linear master with its prices, and whole numbers from it."""

from __future__ import annotations

import random

import pytest

from pipefill_opt.solve.generation.incumbent import Incumbent
from pipefill_opt.solve.generation.master import Used, filled_up, master_columns, relax, rounded_down, worth
from pipefill_opt.solve.result import Limits
from tests.solve.test_allocate import every_choice

COLUMNS = [Used(0, {0: 1}), Used(0, {0: 1, 1: 1}), Used(1, {1: 2})]


def test_linear_master_and_its_prices() -> None:
    relaxed = relax([4.0, 7.0, 5.0], COLUMNS, [2, 1], [2, 1])
    assert relaxed is not None
    assert relaxed.worth == pytest.approx(11)
    assert relaxed.number == pytest.approx([1, 1, 0])
    prices = relaxed.copy
    assert prices[0] * 2 + prices[1] + relaxed.device @ [2, 1] == pytest.approx(11)
    for value, used in zip((4, 7, 5), COLUMNS, strict=True):
        price = sum(prices[job] * number for job, number in used.usage.items())
        assert price + relaxed.device[used.group] >= value - 1e-9


def test_no_columns() -> None:
    relaxed = relax([], [], [3], [1, 1])
    assert relaxed is not None
    assert (relaxed.worth, relaxed.copy.tolist(), relaxed.device.tolist()) == (0, [0, 0], [0])


@pytest.mark.parametrize("seed", range(30))
def test_rounded_numbers_keep_all_limits(seed: int) -> None:
    rng = random.Random(seed)
    counts, copies = [rng.randint(0, 5) for _ in range(2)], [rng.randint(0, 5) for _ in range(3)]
    columns = [
        Used(rng.randrange(2), {job: rng.randint(1, 2) for job in rng.sample(range(3), rng.randint(1, 3))})
        for _ in range(6)
    ]
    values = [rng.randint(0, 20) for _ in columns]
    relaxed = relax([float(value) for value in values], columns, counts, copies)
    assert relaxed is not None
    whole, devices, left = rounded_down(relaxed, columns, counts, copies)
    before = worth(whole, values)
    filled_up(whole, values, columns, devices, left)
    assert before <= worth(whole, values) <= relaxed.worth + 1e-6
    for g, count in enumerate(counts):
        used = sum(number for number, column in zip(whole, columns, strict=True) if column.group == g)
        assert used + devices[g] == count
        assert devices[g] >= 0
    for job, number in enumerate(copies):
        used = sum(n * column.usage.get(job, 0) for n, column in zip(whole, columns, strict=True))
        assert used + left[job] == number
        assert left[job] >= 0


def test_incumbent_is_the_best_whole_choice() -> None:
    best = Incumbent([2, 1], [2, 1], every_choice)
    keys = [(used.group, (k,)) for k, used in enumerate(COLUMNS)]
    best.improve(dict(zip(keys, COLUMNS, strict=True)), dict(zip(keys, (4, 7, 5), strict=True)), Limits())
    assert best.value == 11
    assert best.multiplicity == {keys[0]: 1, keys[1]: 1}
    best.improve({keys[0]: COLUMNS[0]}, {keys[0]: 5}, Limits())
    assert best.value == 11  # 10 is less
    best.improve({}, {}, Limits())
    assert best.value == 11


def test_columns_of_the_integer_master() -> None:
    assert [column.usage for column in master_columns(COLUMNS)] == [((0, 1),), ((0, 1), (1, 1)), ((1, 2),)]
