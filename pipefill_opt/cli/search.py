"""Run a search that the user can watch and stop: progress on stderr, the first Ctrl-C or SIGTERM keeps the incumbent.

The search runs in a thread of its own, so that signals are handled at once whatever native code it is in.
"""

from __future__ import annotations

import os
import signal
import sys
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING, Generic, TextIO, TypeVar

if TYPE_CHECKING:
    from types import FrameType

    from pipefill_opt.solve.result import Progress

Answer = TypeVar("Answer")

QUIET_SECONDS = 2.0
"""A search that is shorter than this says nothing."""
TTY_SECONDS = 0.25
LOG_SECONDS = 5.0
KILLED = 130


class ProgressLine:
    """A line of progress, rewritten in place on a terminal, else a new one every few seconds."""

    def __init__(self, stream: TextIO | None = None, *, clock: Callable[[], float] = time.monotonic) -> None:
        self._stream = stream if stream is not None else sys.stderr
        self._clock = clock
        self._begin = clock()
        self._tty = self._stream.isatty()
        self._next = QUIET_SECONDS
        self._width = 0

    def text(self, elapsed: float) -> str:
        """What the line says after so many seconds."""
        return f"{elapsed:.1f} s"

    def tick(self) -> None:
        """Print the line if it is due."""
        elapsed = self._clock() - self._begin
        if elapsed < self._next:
            return
        self._next = elapsed + (TTY_SECONDS if self._tty else LOG_SECONDS)
        line = self.text(elapsed)
        if self._tty:
            self._stream.write("\r" + line.ljust(self._width))
            self._width = len(line)
        else:
            self._stream.write(line + "\n")
        self._stream.flush()

    def close(self) -> None:
        """Take the rewritten line away."""
        if self._width:
            self._stream.write("\r" + " " * self._width + "\r")
            self._stream.flush()
            self._width = 0


class Monitor(ProgressLine):
    """Seconds, incumbent, bound, gap of one search."""

    _latest: Progress | None = None

    def note(self, progress: Progress) -> None:
        """Take news from the solver, from any thread."""
        self._latest = progress

    def text(self, elapsed: float) -> str:
        """See `progress_line`."""
        return progress_line(elapsed, self._latest)


class Counter(ProgressLine):
    """Seconds, and which of how many pieces of work is under way."""

    _latest = ""

    def note(self, done: int, every: int, name: str) -> None:
        """Take news from any thread."""
        self._latest = f"{done + 1} of {every}: {name}"

    def text(self, elapsed: float) -> str:
        """`12.3 s  3 of 17: switch enter`."""
        return f"{elapsed:.1f} s  {self._latest}"


def progress_line(elapsed: float, latest: Progress | None) -> str:
    """`12.3 s  incumbent 1.234e+09  bound 1.25e+09  gap 1.30 %`."""
    if latest is None:
        return f"{elapsed:.1f} s  no news yet"
    parts = [f"{elapsed:.1f} s"]
    parts.append("no incumbent yet" if latest.value is None else f"incumbent {float(latest.value):.6g}")
    if latest.bound is not None:
        parts.append(f"bound {float(latest.bound):.6g}")
    if latest.value is not None and latest.bound is not None:
        gap = float(abs(latest.bound - latest.value)) / max(1.0, float(abs(latest.value)))
        parts.append(f"gap {100 * gap:.3g} %")
    if latest.note:
        parts.append(latest.note)
    return "  ".join(parts)


class _Box(Generic[Answer]):
    """What the thread leaves behind: an answer or an error."""

    def __init__(self) -> None:
        self.answers: list[Answer] = []
        self.error: BaseException | None = None


def watched(search: Callable[[], Answer], monitor: ProgressLine, stop: threading.Event) -> Answer:
    """The answer of `search()`, while `monitor` shows its progress. The first signal sets `stop`, a second one quits."""
    box: _Box[Answer] = _Box()

    def work() -> None:
        try:
            box.answers.append(search())
        except BaseException as error:
            box.error = error

    thread = threading.Thread(target=work, name="search", daemon=True)
    with _stop_on_signal(stop):
        thread.start()
        while thread.is_alive():
            thread.join(0.05)
            monitor.tick()
    monitor.close()
    if box.error is not None:
        raise box.error
    return box.answers[0]


@contextmanager
def _stop_on_signal(stop: threading.Event) -> Iterator[None]:
    def handle(number: int, frame: FrameType | None) -> None:
        if stop.is_set():
            os._exit(KILLED)  # native code in the other thread cannot be unwound
        stop.set()
        print("stopping, the best plan so far is kept (once more to quit at once)", file=sys.stderr, flush=True)

    if threading.current_thread() is not threading.main_thread():
        yield
        return
    before = {number: signal.signal(number, handle) for number in (signal.SIGINT, signal.SIGTERM)}
    try:
        yield
    finally:
        for number, handler in before.items():
            signal.signal(number, handler)
