"""Which jobs fit nowhere, to the tick and to the byte."""

from __future__ import annotations

from pipefill_opt.fill.fits import misfits, usable_ticks
from pipefill_opt.fill.problem import FillProblem
from tests.fill.samples import Change, problem, put

ONE_BUBBLE = put("devices.0.bubbles", [{"start": 0, "length": "5ms", "free": "500MB"}])


def unfit(*changes: Change) -> list[str]:
    found: FillProblem = problem(put("jobs.1.devices", ["d"]), ONE_BUBBLE, *changes)
    return [line.split("'")[1] for line in misfits(found)]


def test_time() -> None:
    """Kept: enter, 3 ms, leave. Swapped: 1 ms in, 2 ms out besides."""
    assert unfit() == ["swapped"]
    assert unfit(put("devices.0.bubbles.0.length", "4999999ns")) == ["kept", "swapped"]
    assert unfit(put("devices.0.bubbles.0.length", "7ms")) == []
    assert unfit(put("devices.0.bubbles.0.length", "6999999ns")) == ["swapped"]


def test_memory() -> None:
    wide = put("devices.0.bubbles.0.length", "9ms")
    assert unfit(wide, put("devices.0.bubbles.0.free", "499999999B")) == ["kept"]
    assert unfit(wide, put("devices.0.resident_free", "100MB")) == []
    assert unfit(wide, put("devices.0.resident_free", "99999999B")) == ["kept"]


def test_once_needs_the_first_operator_only() -> None:
    """b needs 500 MB, a 400."""
    small = [put("devices.0.bubbles.0.length", "9ms"), put("devices.0.bubbles.0.free", "400MB")]
    assert unfit(*small) == ["kept"]
    assert unfit(*small, put("repeat", False)) == []


def test_no_bubble() -> None:
    assert unfit(put("devices.0.bubbles", [])) == ["kept", "swapped"]


def test_another_class_will_do() -> None:
    other = put("devices.1.bubbles", [{"start": 0, "length": "9ms", "free": "1GB"}])
    assert unfit(other, put("jobs.1.devices", ["d", "other"])) == []


def test_usable_ticks() -> None:
    found = problem(put("guard", {"fraction": 0.29, "margin": "3ns"}))
    bubble = found.devices[0].bubbles[0]
    assert usable_ticks(found.guard, bubble) == 8_000_000 * 29 // 100 - 3
    nothing = problem(put("guard", {"fraction": 0.29, "margin": "1s"}))
    assert usable_ticks(nothing.guard, bubble) == 0
