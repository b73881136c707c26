"""Run work one operator at a time: it goes on in a thread of its own, and stops at each boundary until it is told to go on."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable

Iterate = Callable[[Callable[[], None]], None]
"""One iteration, which calls its argument at the end of each operator, the last one included."""


class _StopError(Exception):
    """Ends an iteration that will not be gone on with."""


class Stepper:
    """Repeats `iterate` for ever, an operator at each `advance`."""

    def __init__(self, iterate: Iterate, *, clock: Callable[[], int] = time.perf_counter_ns) -> None:
        self._iterate = iterate
        self._clock = clock
        self._go = threading.Semaphore(0)
        self._done = threading.Semaphore(0)
        self._begin = self._took = 0
        self._closed = False
        self._error: BaseException | None = None
        self._thread = threading.Thread(target=self._work, name="fill", daemon=True)
        self._thread.start()

    def advance(self) -> int:
        """Run the next operator to its end; ns that it took. Raises what the work raised."""
        self._go.release()
        self._done.acquire()
        if self._error is not None:
            raise self._error
        return self._took

    def close(self) -> None:
        """End the thread, whatever is left of the iteration."""
        self._closed = True
        self._go.release()
        self._thread.join()

    def _work(self) -> None:
        try:
            self._wait()
            while True:
                self._iterate(self._pause)
        except _StopError:
            pass
        except BaseException as error:
            self._error = error
            self._done.release()

    def _pause(self) -> None:
        self._took = self._clock() - self._begin
        self._done.release()
        self._wait()

    def _wait(self) -> None:
        self._go.acquire()
        if self._closed:
            raise _StopError
        self._begin = self._clock()
