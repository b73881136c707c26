"""The writer by itself."""

from __future__ import annotations

import pytest

from pipefill_opt.traces.chrome import Trace
from tests.traces.rules import read_trace


def test_exact_microseconds() -> None:
    trace = Trace("p", 10_000)
    trace.slice(trace.track("t"), 1_234, 9_999, '"x"', "main", 1)
    (event,) = (e for e in read_trace(trace.text()) if e["ph"] == "X")
    assert (str(event["ts"]), str(event["dur"])) == ("1.234", "8.765")


def test_what_is_past_the_end_comes_round() -> None:
    trace = Trace("p", 100)
    track = trace.track("t")
    trace.slice(track, 90, 120, '"x"', "main", 1)
    trace.slice(track, 250, 260, '"y"', "main", 1)
    trace.slice(track, 100, 100, '"z"', "main", 1)
    found = sorted(
        (e["name"], int(e["ts"] * 1000), int(e["dur"] * 1000)) for e in read_trace(trace.text()) if e["ph"] == "X"
    )
    assert found == [("x", 0, 20), ("x", 90, 10), ("y", 50, 10), ("z", 100, 0)]


def test_fractions_of_a_nanosecond_are_cut_and_still_nest() -> None:
    trace = Trace("p", 31, scale=3)
    track = trace.track("t")
    for start, end, depth in ((1, 7, 1), (7, 20, 0), (8, 20, 2), (20, 32, 1)):
        trace.slice(track, start, end, '"x"', "main", depth)
    found = [(int(e["ts"] * 1000), int(e["dur"] * 1000)) for e in read_trace(trace.text()) if e["ph"] == "X"]
    assert found == [(0, 2), (0, 0), (2, 4), (2, 4), (6, 4)]


@pytest.mark.parametrize(
    ("source", "target", "ends"),
    [
        ((0, 50), (60, 70), [49, 60]),
        ((0, 50), (20, 70), [20, 20]),  # a receive that starts with its send
        ((40, 50), (20, 70), []),
        ((30, 30), (60, 70), []),
        ((0, 50), (60, 60), []),
        ((90, 110), (115, 120), []),  # around the end of the trace
        ((110, 115), (120, 125), [14, 20]),
    ],
)
def test_flows(source: tuple[int, int], target: tuple[int, int], ends: list[int]) -> None:
    trace = Trace("p", 100)
    one, two = trace.track("one"), trace.track("two")
    trace.slice(one, *source, '"x"', "main", 1)
    trace.slice(two, *target, '"y"', "main", 1)
    trace.flow((one, *source), (two, *target), '"m"')
    assert [int(e["ts"] * 1000) for e in read_trace(trace.text()) if e["ph"] in "sf"] == ends


def test_names_are_text() -> None:
    trace = Trace('a "b"\n', 1)
    trace.counter("ü", 0, {"main": 7})
    counter = read_trace(trace.text())[-1]
    assert counter["name"] == "ü"
    assert counter["args"] == {"main": 7}
