"""The event reader: exact times, any chunk size, bounded memory, clear errors."""

from __future__ import annotations

import gzip
import json
import random
import tracemalloc
from decimal import Decimal
from pathlib import Path
from typing import Any

import pytest

from pipefill_opt.errors import InputError
from pipefill_opt.traces import json_events
from pipefill_opt.traces.json_events import json_ticks, read_events

TEXT = """ {"schemaVersion": 1, "a": {"traceEvents": [1, 2]}, "baseTimeNanoseconds": 1790857026000000000,
 "traceEvents": [ {"ph": "X", "ts": 12.5, "args": {"x": [{"y": "},{"}]}} , {"ph":"i","s":"\\u00fc\\"] }"},{}
 ], "last": -12.25e3 }
"""
EVENTS = [{"ph": "X", "ts": "12.5", "args": {"x": [{"y": "},{"}]}}, {"ph": "i", "s": 'ü"] }'}, {}]


def read(path: Path) -> tuple[list[dict[str, Any]], dict[str, Any]]:
    header: dict[str, Any] = {}
    return list(read_events(path, header)), header


@pytest.mark.parametrize("chunk", [1, 2, 3, 7, 50, 10**6])
@pytest.mark.parametrize("packed", [False, True])
def test_any_chunk_size_gives_the_same(
    chunk: int, packed: bool, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(json_events, "CHUNK", chunk)
    path = tmp_path / "trace.json"
    data = TEXT.encode()
    path.write_bytes(gzip.compress(data) if packed else data)
    events, header = read(path)
    assert events == EVENTS
    assert header == {
        "schemaVersion": 1, "a": {"traceEvents": [1, 2]}, "baseTimeNanoseconds": 1790857026000000000, "last": "-12.25e3",
    }  # fmt: skip


def test_a_bare_list_is_a_trace_too(tmp_path: Path) -> None:
    path = tmp_path / "trace.json"
    path.write_text('[{"ph": "X"}, {"ph": "M"}]\n')
    assert read(path) == ([{"ph": "X"}, {"ph": "M"}], {})


@pytest.mark.parametrize("end", range(1, len(TEXT.rstrip())))
def test_every_cut_is_an_error(end: int, tmp_path: Path) -> None:
    path = tmp_path / "trace.json"
    path.write_text(TEXT[:end])
    with pytest.raises(
        InputError, match=r"trace\.json: (.*the file ends in the middle|expected a trace, and the file is empty)"
    ):
        read(path)


def test_a_cut_gzip_file_is_an_error(tmp_path: Path) -> None:
    path = tmp_path / "trace.json.gz"
    data = gzip.compress(TEXT.encode() * 1)
    path.write_bytes(data[:-12])
    with pytest.raises(InputError, match=r"trace\.json\.gz: expected a whole gzip file"):
        read(path)


@pytest.mark.parametrize(
    ("text", "problem"),
    [
        ("", "expected a trace, and the file is empty"),
        ("  \n", "expected a trace, and the file is empty"),
        ("hello", "expected a Chrome JSON trace, which begins with"),
        ("{}", "with a list traceEvents"),
        ('{"traceEvents": 3}', "with a list traceEvents"),
        ('{"traceEvents": [3]}', "3: expected an event"),
        ('{"traceEvents": [{]}', "the file ends in the middle"),  # too near the end to tell
        ('{"traceEvents": [{"a": 1 "b": 2, "c": 3}]}', r"character 25: expected JSON \(Expecting ',' delimiter\)"),
        ('{"x": 1.5.3, "traceEvents": []}', r"expected JSON \(a number without an end\)"),
        ('{"traceEvents": [] "x" 3}', "expected a colon"),
        ('{"traceEvents": []} {}', "expected the end of the file"),
        ("{traceEvents: []}", "expected a name in quotes"),
        ("[" + '{"a":' * 100000 + "[", "nests less deeply"),
    ],
)
def test_what_is_no_trace_is_an_error(text: str, problem: str, tmp_path: Path) -> None:
    path = tmp_path / "trace.json"
    path.write_text(text)
    with pytest.raises(InputError, match=problem):
        read(path)


def test_a_wrong_event_is_found_without_reading_on_for_ever(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(json_events, "CHUNK", 100)
    monkeypatch.setattr(json_events, "MAX_EVENT", 1000)
    path = tmp_path / "trace.json"
    path.write_text('[{"a": wrong}' + ', {"b": 1}' * 10000 + "]")
    with pytest.raises(InputError, match=r"character 7: expected JSON \(Expecting value\)"):
        read(path)


@pytest.mark.parametrize(
    ("value", "ticks"),
    [
        (3, 3000), (0, 0), (-4, -4000), ("12.5", 12500), ("5190673467019.675", 5190673467019675), ("-1.5", -1500),
        ("1.0004", 1000), ("1.0006", 1001), ("1e3", 10**6), ("1.25E-1", 125), (1790857026123456, 1790857026123456000),
    ],
)  # fmt: skip
def test_times_are_exact(value: object, ticks: int) -> None:
    assert json_ticks(value) == ticks


def test_random_times_are_exact() -> None:
    rng = random.Random(5)
    for _ in range(1000):
        ticks = rng.randrange(-(10**18), 10**18)
        text = str(Decimal(ticks) / 1000)
        assert json_ticks(json.loads(text, parse_float=str)) == ticks


@pytest.mark.parametrize("value", [None, True, "soon", "NaN", "1e99", [], 1.5])
def test_what_is_no_time_is_an_error(value: object) -> None:
    with pytest.raises(ValueError, match="is no time"):
        json_ticks(value)


def test_memory_does_not_grow_with_the_file(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(json_events, "CHUNK", 2**16)
    path = tmp_path / "trace.json"
    event = json.dumps({"ph": "X", "cat": "kernel", "name": "k" * 300, "ts": 1.25, "dur": 3})
    path.write_text("[" + ",".join([event] * 20_000) + "]")
    tracemalloc.start()
    try:
        assert sum(1 for _ in read_events(path, {})) == 20_000
        _, peak = tracemalloc.get_traced_memory()
    finally:
        tracemalloc.stop()
    assert path.stat().st_size > 7_000_000
    assert peak < 1_000_000


def test_progress_ends_with_the_whole_file(tmp_path: Path) -> None:
    path = tmp_path / "trace.json"
    path.write_text(TEXT)
    seen: list[tuple[int, int]] = []
    list(read_events(path, {}, lambda done, size: seen.append((done, size))))
    size = path.stat().st_size
    assert seen[-1] == (size, size)


def test_unreadable_files(tmp_path: Path) -> None:
    for path in (tmp_path, tmp_path / "none.json"):
        with pytest.raises(InputError, match="expected a readable file"):
            read(path)
