"""Calls into compiled solvers that stay interruptible: signal handlers of Python run only while the main thread runs Python."""

from __future__ import annotations

from collections.abc import Callable
from threading import Event, Thread
from typing import Final, TypeVar

T = TypeVar("T")
PAUSE: Final = 0.05
"""Seconds between two looks at the stop event."""


def call(function: Callable[[], T], stop: Event, interrupt: Callable[[], None]) -> T:
    """`function()` in a thread of its own, `interrupt()` again and again once `stop` is set; what it raises is raised here."""
    results: list[T] = []
    errors: list[BaseException] = []

    def run() -> None:
        try:
            results.append(function())
        except BaseException as error:
            errors.append(error)

    thread = Thread(target=run, daemon=True)
    thread.start()
    while thread.is_alive():
        thread.join(PAUSE)
        if stop.is_set():
            interrupt()
    if errors:
        raise errors[0]
    return results[0]
