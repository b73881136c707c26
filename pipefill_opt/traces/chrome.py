"""A trace in the Chrome JSON format, which Perfetto opens: slices on tracks, messages as flows, counters.

Rules kept here: events are sorted by time; slices of a track nest; a flow begins and ends inside a slice; times are microseconds,
written exactly (three digits after the point are nanoseconds). Source: the format as documented by Chrome and Perfetto.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Final

PID: Final = 1
_COUNTER, _FLOW = 8, 9
"""Where events of the same time stand, after all slices, whose place is their depth."""


class Trace:
    """One process with a track for each device. Collects events, `text` writes them.

    Times come in units of 1 / scale tick and are cut to whole nanoseconds, which keeps their order. `width`: the end of the trace; what
    is past it comes round to the beginning.
    """

    def __init__(self, name: str, width: int, scale: int = 1) -> None:
        self.width = width
        self._scale = scale
        self._head = [_meta("process_name", 0, {"name": name})]
        self._events: list[tuple[int, int, int, str]] = []
        self._tracks = 0
        self._flows = 0

    def track(self, name: str) -> int:
        """A new track, below those before it."""
        self._tracks += 1
        self._head.append(_meta("thread_name", self._tracks, {"name": name}))
        self._head.append(_meta("thread_sort_index", self._tracks, {"sort_index": self._tracks}))
        return self._tracks

    def slice(self, track: int, start: int, end: int, name: str, kind: str, depth: int, arguments: str = "{}") -> None:
        """A slice on a track, no longer than `width`.

        name, arguments: JSON texts. depth: 0 to 7; of slices that start together the outer one has the smaller depth.
        """
        if start >= self.width and end > self.width:
            shift = start // self.width * self.width
            start, end = start - shift, end - shift
        self._slice(track, start, min(end, self.width), name, kind, depth, arguments)
        if end > self.width:
            self._slice(track, 0, end - self.width, name, kind, depth, arguments)

    def _slice(self, track: int, start: int, end: int, name: str, kind: str, depth: int, arguments: str) -> None:
        begin = start // self._scale
        text = (
            f'{{"ph":"X","pid":{PID},"tid":{track},"ts":{_us(begin)},"dur":{_us(end // self._scale - begin)},'
            f'"name":{name},"cat":"{kind}","args":{arguments}}}'
        )
        self._add(begin, depth, text)

    def flow(self, source: tuple[int, int, int], target: tuple[int, int, int], name: str) -> None:
        """An arrow between two slices, each (track, start, end): from the end of the first, or earlier where the second starts earlier.

        Left out where one of them has no length, or where the arrow would pass the end of the trace. name: a JSON text.
        """
        if not self.width:
            return
        sender, sent, left = self._inside(source)
        receiver, got, done = self._inside(target)
        at = min(left - 1, got)
        if not sent <= at or not got < done:
            return
        self._flows += 1
        common = f'"pid":{PID},"cat":"message","name":{name},"id":{self._flows}'
        self._add(at, _FLOW, f'{{"ph":"s",{common},"tid":{sender},"ts":{_us(at)}}}')
        self._add(got, _FLOW, f'{{"ph":"f","bp":"e",{common},"tid":{receiver},"ts":{_us(got)}}}')

    def _inside(self, place: tuple[int, int, int]) -> tuple[int, int, int]:
        """A slice brought round to the beginning, in nanoseconds and cut at the end of the trace."""
        track, start, end = place
        shift = start // self.width * self.width
        return track, (start - shift) // self._scale, min(end - shift, self.width) // self._scale

    def counter(self, name: str, time: int, values: Mapping[str, int]) -> None:
        """The values of a counter from `time` on."""
        at = time // self._scale
        text = f'{{"ph":"C","pid":{PID},"ts":{_us(at)},"name":{json.dumps(name)},"args":{json.dumps(values)}}}'
        self._add(at, _COUNTER, text)

    def text(self) -> str:
        """The trace: a JSON array of events, one a line."""
        return "[\n" + ",\n".join([*self._head, *(event[-1] for event in sorted(self._events))]) + "\n]\n"

    def _add(self, time: int, place: int, text: str) -> None:
        self._events.append((time, place, len(self._events), text))


def _meta(name: str, track: int, arguments: Mapping[str, object]) -> str:
    return json.dumps({"ph": "M", "pid": PID, "tid": track, "name": name, "args": arguments})


def _us(nanoseconds: int) -> str:
    """Nanoseconds as microseconds, exactly."""
    return f"{nanoseconds // 1000}.{nanoseconds % 1000:03d}"
