"""The rules of the Chrome JSON trace format, checked on the text of a trace; written without a look at the writer."""

from __future__ import annotations

import json
from collections import defaultdict
from decimal import Decimal
from itertools import pairwise
from typing import Any

Event = dict[str, Any]
NANOSECOND = Decimal("0.001")


def read_trace(text: str) -> list[Event]:
    """The events of a trace that keeps all rules; AssertionError otherwise."""
    events = json.loads(text, parse_float=Decimal)
    assert isinstance(events, list)
    check(events)
    return events


def check(events: list[Event]) -> None:
    """Fields, order, nesting, flows, counters."""
    for event in events:
        has_its_fields(event)
    timed = [event for event in events if event["ph"] != "M"]
    assert all(first["ts"] <= second["ts"] for first, second in pairwise(timed)), "not sorted"
    tracks: dict[int, list[Event]] = defaultdict(list)
    for event in timed:
        if event["ph"] == "X":
            tracks[event["tid"]].append(event)
    named = {e["tid"] for e in events if e["ph"] == "M" and e["name"] == "thread_name"}
    assert set(tracks) <= named, "a track without a name"
    assert [e["name"] for e in events if e["ph"] == "M"].count("process_name") == 1
    for slices in tracks.values():
        nest(slices)
    flows_are_paired_and_inside(timed, tracks)


def has_its_fields(event: Event) -> None:
    fields = {
        "M": {"name", "args"},
        "X": {"name", "cat", "ts", "dur", "tid", "args"},
        "C": {"name", "ts", "args"},
        "s": {"name", "cat", "ts", "tid", "id"},
        "f": {"name", "cat", "ts", "tid", "id", "bp"},
    }[event["ph"]]
    assert fields | {"pid"} <= set(event), event
    assert event["ph"] == "M" or event["ts"] >= 0
    assert event["ph"] != "X" or event["dur"] >= 0
    for key in ("ts", "dur"):
        assert key not in event or event[key] % NANOSECOND == 0
    if event["ph"] == "C":
        assert event["args"]
        assert all(type(value) is int for value in event["args"].values())


def nest(slices: list[Event]) -> None:
    """In the order of the file: each slice lies in all that are still open."""
    open_ends: list[Decimal] = []
    for event in slices:
        start, end = event["ts"], event["ts"] + event["dur"]
        while open_ends and open_ends[-1] <= start:
            open_ends.pop()
        assert not open_ends or end <= open_ends[-1], f"{event} passes the slice around it"
        open_ends.append(end)


def flows_are_paired_and_inside(timed: list[Event], tracks: dict[int, list[Event]]) -> None:
    begun: dict[int, Event] = {}
    ended = set()
    for event in timed:
        if event["ph"] == "s":
            assert event["id"] not in begun, "an id twice"
            begun[event["id"]] = event
        elif event["ph"] == "f":
            assert event["bp"] == "e"
            assert event["id"] in begun, "an end before its beginning"
            assert (event["cat"], event["name"]) == (begun[event["id"]]["cat"], begun[event["id"]]["name"])
            assert event["id"] not in ended
            ended.add(event["id"])
    assert set(begun) == ended
    at: dict[int, list[Decimal]] = defaultdict(list)
    for event in timed:
        if event["ph"] in "sf":
            at[event["tid"]].append(event["ts"])
    for track, times in at.items():
        main = [(e["ts"], e["ts"] + e["dur"]) for e in tracks[track] if e["cat"] == "main" and e["dur"]]
        place = 0
        for time in times:
            while main[place][1] <= time:
                place += 1
            assert main[place][0] <= time, f"a flow at {time} on track {track} is in no slice"
