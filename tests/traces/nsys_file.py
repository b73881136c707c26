"""Write an SQLite export by NVIDIA's "SQLite Export Schema Reference": the tables and columns that an import reads, and some more."""

from __future__ import annotations

import sqlite3
from collections.abc import Sequence
from contextlib import closing
from pathlib import Path
from typing import NamedTuple

SCHEMA = """
CREATE TABLE StringIds (id INTEGER PRIMARY KEY, value TEXT NOT NULL);
CREATE TABLE TARGET_INFO_SESSION_START_TIME (utcEpochNs INTEGER, utcTime TEXT, localTime TEXT);
CREATE TABLE CUPTI_ACTIVITY_KIND_KERNEL (
  start INTEGER NOT NULL, end INTEGER NOT NULL, deviceId INTEGER NOT NULL, contextId INTEGER NOT NULL,
  greenContextId INTEGER, streamId INTEGER NOT NULL, correlationId INTEGER, globalPid INTEGER,
  demangledName INTEGER NOT NULL, shortName INTEGER NOT NULL, mangledName INTEGER, gridX INTEGER NOT NULL, blockX INTEGER NOT NULL);
CREATE TABLE CUPTI_ACTIVITY_KIND_MEMCPY (
  start INTEGER NOT NULL, end INTEGER NOT NULL, deviceId INTEGER NOT NULL, contextId INTEGER NOT NULL,
  streamId INTEGER NOT NULL, correlationId INTEGER, globalPid INTEGER, bytes INTEGER NOT NULL, copyKind INTEGER NOT NULL);
CREATE TABLE CUPTI_ACTIVITY_KIND_RUNTIME (
  start INTEGER NOT NULL, end INTEGER NOT NULL, eventClass INTEGER NOT NULL, globalTid INTEGER,
  correlationId INTEGER, nameId INTEGER NOT NULL, returnValue INTEGER NOT NULL);
CREATE TABLE NVTX_EVENTS (
  start INTEGER NOT NULL, end INTEGER, eventType INTEGER NOT NULL, rangeId INTEGER, category INTEGER, color INTEGER,
  text TEXT, globalTid INTEGER, endGlobalTid INTEGER, textId INTEGER, domainId INTEGER);
"""
PUSH_POP, MARK = 59, 34
HARDWARE = 1 << 56


class Kernel(NamedTuple):
    """ns. launch: when the host called, None for a call that was not recorded. copy: a memory copy."""

    name: str
    start: int
    end: int
    stream: int
    launch: int | None = None
    device: int = 0
    process: int = 500
    thread: int = 500
    copy: bool = False


class Range(NamedTuple):
    """An NVTX range; by_id: its text stands among the strings."""

    name: str
    start: int
    end: int | None
    process: int = 500
    thread: int = 500
    by_id: bool = False


def write_nsys(
    path: Path, kernels: Sequence[Kernel], ranges: Sequence[Range] = (), *, epoch: int | None = None
) -> None:
    """A new file. epoch: UTC ns of the session's start."""
    strings: dict[str, int] = {}

    def text(name: str) -> int:
        return strings.setdefault(name, len(strings) + 1)

    def owner(process: int) -> int:
        return HARDWARE | process << 24

    with closing(sqlite3.connect(path)) as base:
        base.executescript(SCHEMA)
        for correlation, k in enumerate(kernels, start=1):
            common = (k.start, k.end, k.device, 1)
            if k.copy:
                row = (*common, k.stream, correlation, owner(k.process), 4096, 1)
                base.execute("INSERT INTO CUPTI_ACTIVITY_KIND_MEMCPY VALUES (?,?,?,?,?,?,?,?,?)", row)
            else:
                names = (text(f"void {k.name}<float>(float*)"), text(k.name), None)
                kernel = (*common, None, k.stream, correlation, owner(k.process), *names, 1, 1)
                base.execute("INSERT INTO CUPTI_ACTIVITY_KIND_KERNEL VALUES (?,?,?,?,?,?,?,?,?,?,?,?,?)", kernel)
            if k.launch is not None:
                call = (
                    k.launch,
                    k.launch + 3000,
                    0,
                    owner(k.process) | k.thread,
                    correlation,
                    text("cudaLaunchKernel_v7000"),
                    0,
                )
                base.execute("INSERT INTO CUPTI_ACTIVITY_KIND_RUNTIME VALUES (?,?,?,?,?,?,?)", call)
        for r in ranges:
            said = (None, text(r.name)) if r.by_id else (r.name, None)
            kind = MARK if r.end is None else PUSH_POP
            event = (r.start, r.end, kind, None, None, None, said[0], owner(r.process) | r.thread, None, said[1], 0)
            base.execute("INSERT INTO NVTX_EVENTS VALUES (?,?,?,?,?,?,?,?,?,?,?)", event)
        base.executemany("INSERT INTO StringIds VALUES (?,?)", [(number, name) for name, number in strings.items()])
        if epoch is not None:
            base.execute("INSERT INTO TARGET_INFO_SESSION_START_TIME VALUES (?, '', '')", (epoch,))
        base.commit()
