"""Run the native program: one request in, one result out, nothing left behind."""

from __future__ import annotations

import json
import os
import subprocess
import threading
from collections.abc import Mapping, Sequence
from typing import Any

from pipefill_opt.errors import InputError, PipefillError
from pipefill_opt.harness.build import Backend, Sanitizer, built

Document = dict[str, Any]
GRACE_SECONDS = 5.0
"""How long a stopped program may take to end by itself before it is killed."""
LOOK_SECONDS = 0.05


class DeviceError(PipefillError):
    """The device, or its driver, failed."""


class InterruptedRunError(PipefillError):
    """The run was stopped from outside; there is no result."""

    exit_code = 3


def run(
    request: Mapping[str, Any],
    backend: Backend,
    *,
    stop: threading.Event | None = None,
    sanitizer: Sanitizer | None = None,
) -> Document:
    """The result of a request (docs/harness.md). stop: set from outside, ends the run.

    Raises BuildError, InputError for a request that is wrong, DeviceError, InterruptedRunError.
    """
    return run_together([request], backend, stop=stop, sanitizer=sanitizer)[0]


def run_together(
    requests: Sequence[Mapping[str, Any]],
    backend: Backend,
    *,
    stop: threading.Event | None = None,
    sanitizer: Sanitizer | None = None,
) -> list[Document]:
    """One process for each request, at the same time: the devices of one replay, each on a GPU of its own.

    Where there are several, they share the flags of their messages in memory that is gone with the last of them.
    """
    program = built(backend, sanitizer=sanitizer)
    processes: list[subprocess.Popen[str]] = []
    outputs: list[tuple[str, str]] = [("", "")] * len(requests)
    shared = _shared_memory(requests) if len(requests) > 1 else None
    try:
        for _ in requests:
            processes.append(
                subprocess.Popen(
                    [str(program)],
                    stdin=subprocess.PIPE,
                    stdout=subprocess.PIPE,
                    stderr=subprocess.PIPE,
                    text=True,
                    encoding="utf-8",
                    pass_fds=() if shared is None else (shared,),
                )
            )
        threads = [
            threading.Thread(target=_talk, args=(process, _text(request, shared), outputs, index), daemon=True)
            for index, (process, request) in enumerate(zip(processes, requests, strict=True))
        ]
        for thread in threads:
            thread.start()
        _wait(threads, processes, stop)
    finally:
        _end(processes)
        if shared is not None:
            os.close(shared)
    return [_result(process, *output) for process, output in zip(processes, outputs, strict=True)]


def _shared_memory(requests: Sequence[Mapping[str, Any]]) -> int:
    """A nameless file with a word for each message and two for each device: nothing stays, however the processes end."""
    words = max(len(request.get("lags", ())) + 2 * len(request.get("devices", ())) for request in requests)
    file = os.memfd_create("pipefill-flags")
    os.ftruncate(file, 8 * max(1, words))
    return file


def _text(request: Mapping[str, Any], shared: int | None) -> str:
    return json.dumps(
        request if shared is None else {**request, "shared": f"/proc/self/fd/{shared}"}, ensure_ascii=False
    )


def _talk(process: subprocess.Popen[str], text: str, outputs: list[tuple[str, str]], index: int) -> None:
    outputs[index] = process.communicate(text)


def _wait(
    threads: Sequence[threading.Thread], processes: Sequence[subprocess.Popen[str]], stop: threading.Event | None
) -> None:
    """Until all have ended. One that fails, or `stop`, ends the others."""
    while any(thread.is_alive() for thread in threads):
        for thread in threads:
            thread.join(LOOK_SECONDS)
        failed = any(process.poll() not in (None, 0) for process in processes)
        if failed or (stop is not None and stop.is_set()):
            _end(processes)
    for thread in threads:
        thread.join()


def _end(processes: Sequence[subprocess.Popen[str]]) -> None:
    for process in processes:
        if process.poll() is None:
            process.terminate()
    for process in processes:
        try:
            process.wait(GRACE_SECONDS)
        except subprocess.TimeoutExpired:
            process.kill()
            process.wait()


def _result(process: subprocess.Popen[str], output: str, talk: str) -> Document:
    said = " ".join(talk.split())
    if process.returncode == InputError.exit_code:
        raise InputError(said, where="harness")
    if process.returncode < 0 or process.returncode > 128:
        raise InterruptedRunError(
            f"the harness was stopped by signal {abs(process.returncode) % 128}; there is no result"
        )
    if process.returncode != 0:
        raise DeviceError(f"the harness failed: {said or 'no reason given'}")
    document: Document = json.loads(output)
    return document
