"""Rates hold for every number of iterations."""

from __future__ import annotations

from dataclasses import replace
from fractions import Fraction

import pytest

from pipefill_opt.solve.dp import solve_dp
from pipefill_opt.solve.generation import rates
from pipefill_opt.solve.generation.rates import rate_limit
from pipefill_opt.solve.result import Limits
from tests.solve.devices import random_devices


def test_no_number_of_iterations_is_worth_more() -> None:
    checked = 0
    for device, _ in random_devices(range(25)):
        limit = rate_limit(device, Fraction(0), lambda: None)
        if limit is None:
            assert not device.repeat
            continue
        quick = rate_limit(device, Fraction(0), lambda: None, quick=True)
        assert quick is not None
        assert limit <= quick
        for iterations in (1, 2, 3):
            value = solve_dp(replace(device, iterations=iterations), Limits()).value
            assert Fraction(value, iterations) <= limit
            checked += 1
    assert checked > 50


def test_it_stops_at_the_target_or_when_told(monkeypatch: pytest.MonkeyPatch) -> None:
    device = next(device for device, _ in random_devices(range(25)) if device.repeat and len(device.slots) == 2)
    full = rate_limit(device, Fraction(0), lambda: None)
    assert full is not None
    near = rate_limit(device, full * 10, lambda: None)
    assert near is not None
    assert full <= near
    assert rate_limit(device, Fraction(0), lambda: "time") is None
    monkeypatch.setattr(rates, "MOST_STEPS", 0)
    assert rate_limit(device, Fraction(0), lambda: None) is None
