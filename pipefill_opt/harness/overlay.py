"""A RESULT for Perfetto: for each watched device the predicted and the measured timeline, one below the other, on one axis."""

from __future__ import annotations

import json
from typing import Any

from pipefill_opt.harness.samples import Samples, samples
from pipefill_opt.traces.chrome import Trace

Document = dict[str, Any]


def overlay_trace(document: Document) -> str:
    """The iterations that count, of both kinds; each predicted one begins where the measured one does. Raises InputError."""
    found = samples(document)
    begin = {i: found.ends[i - 1] for i in found.counted}
    origin = min(begin.values(), default=0)
    period = document["predicted"]["period"]
    width = max([found.ends[i] + period - origin for i in found.counted], default=0) + 1
    trace = Trace(f"{document['instance']} on {document['device']['name']}, {document['date']}", width)
    for number, device in enumerate(found.devices):
        expected, actual = trace.track(f"{device['name']} predicted"), trace.track(f"{device['name']} measured")
        for i, start in begin.items():
            _predicted(trace, expected, device, start - origin, _turn(found, i))
            _measured(trace, actual, found, number, i, origin)
    return trace.text()


def _turn(found: Samples, i: int) -> int | None:
    """The main iteration of the plan; None without fill work."""
    return found.turn(i) if found.document["with_fill"][i] else None


def _predicted(trace: Trace, track: int, device: Document, start: int, turn: int | None) -> None:
    for text, begins, ends in device["actions"]:
        trace.slice(track, start + begins, start + ends, json.dumps(text), "main", 0)
    for visit in device["visits"]:
        if visit["iteration"] != turn:
            continue
        (bubble,) = [entry for entry in device["bubbles"] if entry["before"] == visit["before"]]
        for job, index, begins, ends, _ in visit["operators"]:
            offset = start + bubble["start"]
            trace.slice(track, offset + begins, offset + ends, json.dumps(f"{job} {index}"), "fill", 0)


def _measured(trace: Trace, track: int, found: Samples, number: int, i: int, origin: int) -> None:
    device, measured = found.devices[number], found.measured[number]
    for (text, _, _), (begins, ends) in zip(device["actions"], measured["actions"][i], strict=True):
        trace.slice(track, begins - origin, ends - origin, json.dumps(text), "main", 0)
    turn = _turn(found, i)
    planned = [o for visit in device["visits"] if visit["iteration"] == turn for o in visit["operators"]]
    for (job, index, *_), (begins, ends) in zip(planned, measured["fills"][i], strict=True):
        trace.slice(track, begins - origin, ends - origin, json.dumps(f"{job} {index}"), "fill", 1)
