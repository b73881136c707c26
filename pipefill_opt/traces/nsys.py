"""Nsight Systems' SQLite export (`nsys export --type sqlite`): kernels, copies, launches and NVTX ranges.

Tables and columns are those of NVIDIA's "SQLite Export Schema Reference"; a table that a report does not need is not there.
Times are ns from the session's start, which TARGET_INFO_SESSION_START_TIME puts on the clock of the world. One file may hold
several processes: each that used a device is a rank, in order of device and process, after those of the files before.
"""

from __future__ import annotations

import sqlite3
from collections.abc import Iterator, Sequence
from contextlib import closing
from pathlib import Path
from typing import Any, Final

import numpy as np

from pipefill_opt.errors import InputError
from pipefill_opt.traces.json_events import Progress
from pipefill_opt.traces.kineto import NCCL, rank_in_name
from pipefill_opt.traces.trace_events import Annotation, Columns, TraceEvents, Work, device_work, host_ops, joined_links

PROCESS: Final = ~0xFFFFFF
"""A global thread id without its last 24 bits is its global process id (NVIDIA's examples)."""
KERNELS: Final = "CUPTI_ACTIVITY_KIND_KERNEL"
TABLES: Final = {
    KERNELS: Work.COMPUTE,
    "CUPTI_ACTIVITY_KIND_MEMCPY": Work.COPY,
    "CUPTI_ACTIVITY_KIND_MEMSET": Work.COPY,
}
RUNTIME: Final = "CUPTI_ACTIVITY_KIND_RUNTIME"
NVTX: Final = "NVTX_EVENTS"
START: Final = "TARGET_INFO_SESSION_START_TIME"
BATCH: Final = 2**16


def read_nsys(paths: Sequence[Path | str], progress: Progress | None = None) -> tuple[TraceEvents, ...]:
    """The ranks of all files. `rank3` in the name of a file with one process is its rank.

    Raises InputError (file, what was expected).
    """
    found: list[TraceEvents] = []
    for path in paths:
        reader = _Reader(str(path), progress)
        reader.read()
        processes = reader.processes()
        named = rank_in_name(Path(path)) if len(processes) == 1 else None
        for process in processes:
            found.append(reader.events(process, len(found) if named is None else named))
    return tuple(found)


class _Process:
    """What one process recorded, in the tables' own numbers."""

    def __init__(self) -> None:
        self.device = Columns(5)
        self.launches = Columns(2)
        self.streams: dict[tuple[int, int], int] = {}
        self.annotations: list[Annotation] = []
        self.threads: dict[int, int] = {}


class _Reader:
    def __init__(self, file: str, progress: Progress | None) -> None:
        self.file = file
        self._progress = progress
        self._found: dict[int, _Process] = {}
        self._base = 0
        self._rows = 0
        self._total = 0

    def read(self) -> None:
        """Read every table that counts. Raises InputError."""
        if not Path(self.file).is_file():
            raise InputError("expected a readable file", file=self.file)
        try:
            with closing(sqlite3.connect(f"{Path(self.file).absolute().as_uri()}?mode=ro", uri=True)) as base:
                self._read(base)
        except sqlite3.Error as error:
            raise InputError(f"expected an SQLite export of Nsight Systems ({error})", file=self.file) from None
        except (TypeError, ValueError, OverflowError) as error:
            raise InputError(f"expected whole numbers in ns ({error})", file=self.file) from None

    def _read(self, base: sqlite3.Connection) -> None:
        tables = {name for (name,) in base.execute("SELECT name FROM sqlite_master WHERE type IN ('table', 'view')")}
        if KERNELS not in tables:
            raise InputError(f"expected a table {KERNELS}; was CUDA traced?", file=self.file)
        wanted = [name for name in (*TABLES, RUNTIME, NVTX) if name in tables]
        self._total = sum(base.execute(f"SELECT COUNT(*) FROM {name}").fetchone()[0] for name in wanted)
        if START in tables and "utcEpochNs" in _columns(base, START):
            row = base.execute(f"SELECT utcEpochNs FROM {START}").fetchone()
            self._base = int(row[0]) if row else 0
        for name, kind in TABLES.items():
            if name in tables:
                self._read_work(base, name, kind, "StringIds" in tables)
        if RUNTIME in tables:
            for correlation, start, thread in self._select(base, RUNTIME, ("correlationId", "start", "globalTid")):
                self._process(thread & PROCESS).launches.add(correlation, start)
        if NVTX in tables:
            self._read_ranges(base, "StringIds" in tables)

    def _read_work(self, base: sqlite3.Connection, table: str, kind: Work, named: bool) -> None:
        names = _columns(base, table)
        label = next((name for name in ("shortName", "demangledName") if name in names), None)
        talks: set[int] = set()
        if kind == Work.COMPUTE and label and named:
            rows = base.execute(f"SELECT id, value FROM StringIds WHERE id IN (SELECT DISTINCT {label} FROM {table})")
            talks = {number for number, text in rows if NCCL.search(text or "")}
        columns = ("start", "end", "deviceId", "streamId", "correlationId", "globalPid", label or "0")
        for start, end, device, stream, correlation, process, name in self._select(base, table, columns):
            owner = self._process(process or 0)
            index = owner.streams.setdefault((int(device or 0), int(stream or 0)), len(owner.streams))
            owner.device.add(start, end, index, correlation or -1, Work.COMMUNICATION if name in talks else kind)

    def _read_ranges(self, base: sqlite3.Connection, named: bool) -> None:
        names = _columns(base, NVTX)
        text = "text"
        if named and "textId" in names:
            text = f"COALESCE({'text' if 'text' in names else 'NULL'}, (SELECT value FROM StringIds WHERE id = textId))"
        for start, end, thread, name in self._select(base, NVTX, ("start", "end", "globalTid", text)):
            if end is None or name is None:
                continue
            owner = self._process(thread & PROCESS)
            owner.annotations.append(Annotation(name, owner.threads.setdefault(thread, len(owner.threads)), start, end))

    def _select(self, base: sqlite3.Connection, table: str, columns: Sequence[str]) -> Iterator[tuple[Any, ...]]:
        """Rows of a table; a plain column that it lacks comes as 0."""
        names = _columns(base, table)
        picked = ", ".join(f'"{name}"' if name in names else name if "(" in name else "0" for name in columns)
        rows = base.execute(f"SELECT {picked} FROM {table}")
        while batch := rows.fetchmany(BATCH):
            yield from batch
            self._rows += len(batch)
            if self._progress is not None:
                self._progress(self._rows, self._total)

    def _process(self, number: int) -> _Process:
        return self._found.setdefault(number, _Process())

    def processes(self) -> list[int]:
        """Those that used a device, in order of device and number. Raises InputError where there is none."""
        used = [number for number, process in self._found.items() if process.streams]
        if not used:
            raise InputError("expected kernels in the export", value="none", file=self.file)
        return sorted(used, key=lambda number: (min(self._found[number].streams), number))

    def events(self, number: int, rank: int) -> TraceEvents:
        """One process as a rank, on the clock of the world where the export tells it."""
        process, base = self._found[number], self._base
        nothing = np.empty((0, 2), dtype=np.int64)
        ordered = sorted(process.annotations, key=lambda a: (a.start, -a.end))
        return TraceEvents(
            source=self.file,
            rank=rank,
            world=0,
            annotations=tuple(Annotation(a.name, a.thread, a.start + base, a.end + base) for a in ordered),
            launches=process.launches.table(by=0, plus=(0, base)),
            device=device_work(process.device.table(by=0, plus=(base, base, 0, 0, 0)), tuple(process.streams)),
            ops=host_ops(np.empty((0, 3), dtype=np.int64)),
            links=joined_links(nothing, nothing),
        )


def _columns(base: sqlite3.Connection, table: str) -> set[str]:
    return {row[1] for row in base.execute(f"PRAGMA table_info({table})")}
