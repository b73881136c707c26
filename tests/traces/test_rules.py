"""The checker of traces finds what breaks a rule."""

from __future__ import annotations

import pytest

from tests.traces.rules import Event, check

META: list[Event] = [
    {"ph": "M", "pid": 1, "tid": 0, "name": "process_name", "args": {"name": "p"}},
    *({"ph": "M", "pid": 1, "tid": tid, "name": "thread_name", "args": {"name": "t"}} for tid in (1, 2)),
]


def box(ts: int, dur: int, tid: int = 1, **more: object) -> Event:
    return {"ph": "X", "pid": 1, "tid": tid, "ts": ts, "dur": dur, "name": "x", "cat": "main", "args": {}, **more}


def arrow(ph: str, ts: int, tid: int, number: int = 1) -> Event:
    event = {"ph": ph, "pid": 1, "tid": tid, "ts": ts, "name": "m", "cat": "message", "id": number}
    return event | ({"bp": "e"} if ph == "f" else {})


def counter(value: object) -> Event:
    return {"ph": "C", "pid": 1, "ts": 0, "name": "memory", "args": {"main": value}}


def test_a_good_trace_passes() -> None:
    check([*META, counter(3), box(0, 9), box(0, 4), box(4, 5), arrow("s", 8, 1), box(9, 1, 2), arrow("f", 9, 2)])


@pytest.mark.parametrize(
    "events",
    [
        [box(0, 5), box(3, 5)],
        [box(3, 5), box(0, 1)],
        [box(0, 5, 3)],
        [box(0, -1)],
        [{key: value for key, value in box(0, 5).items() if key != "dur"}],
        [counter("3")],
        [counter(0.5)],
        [box(0, 5), arrow("s", 4, 1)],
        [box(0, 5), arrow("f", 4, 1)],
        [box(0, 5), arrow("s", 4, 1), arrow("f", 7, 2), box(8, 1, 2)],
        [box(0, 5), arrow("s", 4, 1), arrow("s", 4, 1), box(8, 1, 2), arrow("f", 8, 2), arrow("f", 8, 2)],
    ],
)
def test_a_broken_one_does_not(events: list[Event]) -> None:
    with pytest.raises((AssertionError, IndexError)):
        check([*META, *events])
