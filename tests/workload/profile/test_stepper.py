"""Work in steps, without torch."""

from __future__ import annotations

import threading
from collections.abc import Callable

import pytest

from pipefill_opt.workload.profile.stepper import Stepper


def test_one_operator_at_a_time() -> None:
    log: list[str] = []

    def iterate(pause: Callable[[], None]) -> None:
        for name in "ab":
            log.append(name)
            pause()

    stepper = Stepper(iterate)
    assert log == []
    for count in range(1, 6):
        assert stepper.advance() >= 0
        assert "".join(log) == "ababab"[:count]
    stepper.close()
    assert "".join(log) == "ababa"
    assert all(thread.name != "fill" for thread in threading.enumerate())


def test_times_are_of_the_operator_alone() -> None:
    now = 0

    def iterate(pause: Callable[[], None]) -> None:
        nonlocal now
        for length in (3, 5):
            now += length
            pause()

    stepper = Stepper(iterate, clock=lambda: now)
    took = []
    for _ in range(4):
        now += 1000
        took.append(stepper.advance())
    stepper.close()
    assert took == [3, 5, 3, 5]


def test_an_error_reaches_the_caller() -> None:
    def iterate(_pause: Callable[[], None]) -> None:
        raise ValueError("broken")

    stepper = Stepper(iterate)
    with pytest.raises(ValueError, match="broken"):
        stepper.advance()
    stepper.close()
