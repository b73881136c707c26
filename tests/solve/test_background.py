from __future__ import annotations

import os
import signal
import threading

import pytest

from pipefill_opt.solve.background import call


def test_the_result_comes_back() -> None:
    assert call(lambda: 7, threading.Event(), lambda: None) == 7


def test_what_is_raised_there_is_raised_here() -> None:
    def fail() -> int:
        raise KeyError("x")

    with pytest.raises(KeyError):
        call(fail, threading.Event(), lambda: None)


def test_a_stop_event_interrupts() -> None:
    stop, interrupted = threading.Event(), threading.Event()
    stop.set()
    assert call(lambda: interrupted.wait(60), stop, interrupted.set)


def test_signal_handlers_run_meanwhile() -> None:
    """The command line's Ctrl-C: the handler sets the stop event while a solver runs."""
    stop, interrupted = threading.Event(), threading.Event()
    before = signal.signal(signal.SIGUSR1, lambda *_: stop.set())

    def work() -> bool:
        os.kill(os.getpid(), signal.SIGUSR1)
        return interrupted.wait(60)

    try:
        assert call(work, stop, interrupted.set)
    finally:
        signal.signal(signal.SIGUSR1, before)
