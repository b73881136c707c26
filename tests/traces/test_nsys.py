"""Nsight Systems' SQLite exports: a pipeline from NVTX ranges and kernels, several processes in a file, what is missing."""

from __future__ import annotations

import sqlite3
from contextlib import closing
from pathlib import Path

import pytest

from pipefill_opt.errors import InputError
from pipefill_opt.traces.importing import measured_trace, read_traces
from tests.traces.nsys_file import Kernel, Range, write_nsys
from tests.traces.synthetic import US, Pipeline, pipeline

EPOCH = 1_790_857_026_000_000_000
ONE_F = {"family": "1f1b", "devices": 2, "microbatches": 4}


def process(made: Pipeline, device: int, *, number: int = 500, gpu: int = 0) -> tuple[list[Kernel], list[Range]]:
    """A rank: calls on two threads, far ahead of the device; some range texts by id; a mark and a message besides."""
    kernels, ranges = [], [Range("a mark", 0, None, number, number)]
    for index, step in enumerate(made.truth):
        host = step[0][0][1] + 10 * US
        ranges.append(Range(f"iteration {index}", host - US, host + 900 * US, number, number))
        for text, start, end in step[device]:
            thread = number + ("B" in text)
            ranges.append(Range(f"PP:{text}", host, host + 20 * US, number, number, by_id="F" in text))
            middle = (start + end) // 2
            kernels += [
                Kernel("gemm", start, middle, 7, host + US, gpu, number, thread),
                Kernel("", middle, middle + US, 7, host + 2 * US, gpu, number, thread, copy=True),
                Kernel("gemm", middle + US, end, 7, host + 3 * US, gpu, number, thread),
                Kernel("ncclDevKernel_SendRecv", end, end + 5 * US, 20, host + 5 * US, gpu, number, thread),
            ]
            host += 25 * US
    return kernels, ranges


def check(made: Pipeline, paths: list[Path], shift: int = 0) -> None:
    measured = measured_trace("nsys", paths)
    assert measured.notes == ()
    found = [[[(str(run.action), run.start, run.end) for run in row] for row in step.rows] for step in measured.steps]
    assert found == [
        [[(text, start + shift, end + shift) for text, start, end in row] for row in step] for step in made.truth
    ]


def test_a_file_for_each_rank(tmp_path: Path) -> None:
    made = pipeline(ONE_F)
    paths = []
    for device in (0, 1):
        paths.append(tmp_path / f"report.rank{device}.sqlite")
        write_nsys(paths[-1], *process(made, device), epoch=EPOCH)
    check(made, paths, EPOCH)
    check(made, paths[::-1], EPOCH)


def test_a_file_for_all_ranks(tmp_path: Path) -> None:
    """Correlation ids count for each process; processes are ranks in order of device."""
    made = pipeline(ONE_F)
    (first, marks), (second, others) = process(made, 0, number=900), process(made, 1, number=700, gpu=1)
    write_nsys(tmp_path / "report.sqlite", [*first, *second], [*marks, *others])
    check(made, [tmp_path / "report.sqlite"])
    with closing(sqlite3.connect(tmp_path / "report.sqlite")) as base:  # the same numbers again in the second process
        for table in ("CUPTI_ACTIVITY_KIND_KERNEL", "CUPTI_ACTIVITY_KIND_MEMCPY"):
            base.execute(f"UPDATE {table} SET correlationId = correlationId - {len(first)} WHERE deviceId = 1")
        base.execute(
            f"UPDATE CUPTI_ACTIVITY_KIND_RUNTIME SET correlationId = correlationId - {len(first)} WHERE correlationId > {len(first)}"
        )
        base.commit()
    check(made, [tmp_path / "report.sqlite"])


def test_an_older_export_has_fewer_tables_and_columns(tmp_path: Path) -> None:
    path = tmp_path / "report.sqlite"
    with closing(sqlite3.connect(path)) as base:
        base.executescript(
            "CREATE TABLE CUPTI_ACTIVITY_KIND_KERNEL (start INT, end INT, deviceId INT, streamId INT);"
            "INSERT INTO CUPTI_ACTIVITY_KIND_KERNEL VALUES (5, 9, 0, 7), (1, 3, 0, 7);"
        )
    (events,) = read_traces("nsys", [path])
    assert events.device.start.tolist() == [1, 5]
    assert events.device.streams == ((0, 7),)
    assert events.annotations == ()


@pytest.mark.parametrize(
    ("script", "problem"),
    [
        ("CREATE TABLE other (x INT)", "expected a table CUPTI_ACTIVITY_KIND_KERNEL; was CUDA traced"),
        (
            "CREATE TABLE CUPTI_ACTIVITY_KIND_KERNEL (start INT, end INT, deviceId INT, streamId INT)",
            "none: expected kernels",
        ),
        (
            "CREATE TABLE CUPTI_ACTIVITY_KIND_KERNEL (start INT, end INT, deviceId INT, streamId INT);"
            "INSERT INTO CUPTI_ACTIVITY_KIND_KERNEL VALUES ('soon', 3, 0, 7)",
            "expected whole numbers in ns",
        ),
    ],
)
def test_what_is_no_export_is_an_error(script: str, problem: str, tmp_path: Path) -> None:
    path = tmp_path / "report.sqlite"
    with closing(sqlite3.connect(path)) as base:
        base.executescript(script)
    with pytest.raises(InputError, match=problem):
        read_traces("nsys", [path])


def test_other_files_are_errors(tmp_path: Path) -> None:
    (tmp_path / "text.sqlite").write_text("hello " * 1000)
    with pytest.raises(InputError, match="expected an SQLite export of Nsight Systems"):
        read_traces("nsys", [tmp_path / "text.sqlite"])
    for path in (tmp_path, tmp_path / "none.sqlite"):
        with pytest.raises(InputError, match="expected a readable file"):
            read_traces("nsys", [path])
    assert not (tmp_path / "none.sqlite").exists()


def test_progress_counts_rows(tmp_path: Path) -> None:
    kernels, ranges = process(pipeline(ONE_F), 0)
    write_nsys(tmp_path / "report.sqlite", kernels, ranges)
    seen: list[tuple[int, int]] = []
    read_traces("nsys", [tmp_path / "report.sqlite"], lambda done, total: seen.append((done, total)))
    total = 2 * len(kernels) + len(ranges)
    assert seen[-1] == (total, total)
