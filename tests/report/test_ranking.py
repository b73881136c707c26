"""Rankings as tables and pictures."""

from __future__ import annotations

import csv
import io
import json
from typing import Any

import pytest

from pipefill_opt.report.ranking import ranking_csv, ranking_json, ranking_text
from pipefill_opt.report.ranking_picture import draw_ranking
from pipefill_opt.timeline.rank import Entry, rank
from pipefill_opt.workload.rank_file import RankSpec, rank_from_document

SPEC: dict[str, Any] = {
    "devices": 3,
    "microbatches": 6,
    "families": ["gpipe", "1f1b", "looped-bfs", "dualpipe"],
    "chunks": [2, 7],
    "durations": {"unit": "ns", "F": 10, "I": 10, "W": 10},
    "memory": {"capacity": "10GiB", "static": "6GiB", "activation": "1GiB"},
}


def ranked(**change: Any) -> tuple[RankSpec, tuple[Entry, ...]]:
    spec = rank_from_document(SPEC | change)
    return spec, rank(spec)


def test_text() -> None:
    """1F1B fits with 3, 2 and 1 activations; GPipe's 6 lack 2 GiB; 3 devices are none for DualPipe; 7 does not divide 10 ns."""
    text = ranking_text(*ranked())
    first, *_ = text.splitlines()
    assert first == "3 devices, 6 micro-batches: 1 of 5 candidates fit into 10 GiB"
    assert "9 8 7  1 GiB on 0" in text
    assert "12 12 12  2 GiB on 0" in text
    assert "  dualpipe: devices: 3: expected" in text
    assert text.splitlines()[-1].endswith("stages differ by 1 ns: looped-bfs v=7")
    assert "equal periods" not in text


def test_a_refusal_is_told_once() -> None:
    text = ranking_text(*ranked(families=["dualpipe"], recompute=[False, True]))
    assert text.count("dualpipe: devices: 3") == 1


def test_ties_are_told() -> None:
    text = ranking_text(*ranked(families=["gpipe", "1f1b"], memory={"capacity": "99GiB"}))
    assert text.count("1=") == 2
    assert "equal periods share a place (=)" in text


def test_peaks_of_many_devices_are_a_range() -> None:
    spec = SPEC | {
        "devices": 12,
        "microbatches": 12,
        "families": ["1f1b"],
        "memory": SPEC["memory"] | {"capacity": "99GiB"},
    }
    given = rank_from_document(spec)
    assert "7 to 18" in ranking_text(given, rank(given))


def test_splits_are_told_with_their_layers() -> None:
    change = {"layers": 7, "splits": ["even", [2, 2, 3]], "families": ["1f1b"], "memory": {"capacity": "1TiB"}}
    spec, entries = ranked(**change)
    text = ranking_text(spec, entries)
    assert "1f1b, even 3-2-2" in text
    assert "1f1b, 2-2-3" in text
    rows = list(csv.DictReader(io.StringIO(ranking_csv(entries))))
    assert {(row["split"], row["layers"]) for row in rows} == {("even", "3-2-2"), ("stated", "2-2-3")}


def test_json_and_csv_have_every_candidate() -> None:
    spec, entries = ranked()
    document = json.loads(ranking_json(spec, entries))
    rows = list(csv.DictReader(io.StringIO(ranking_csv(entries))))
    assert len(document["candidates"]) == len(rows) == 5
    for candidate, row in zip(document["candidates"], rows, strict=True):
        assert candidate["family"] == row["family"]
        assert (candidate["refusal"] or "") == row["refusal"]
        if candidate["refusal"] is None:
            assert candidate["period"] == row["period"]
            assert sum(candidate["by_kind"].values()) == pytest.approx(candidate["bubble_ratio"])
            assert " ".join(map(str, candidate["peak_bytes"])) == row["peak_bytes"]


def test_without_memory_nothing_is_said_of_it() -> None:
    document = {key: value for key, value in SPEC.items() if key != "memory"}
    spec = rank_from_document(document)
    entries = rank(spec)
    assert "peak" not in ranking_text(spec, entries)
    assert json.loads(ranking_json(spec, entries))["candidates"][0]["peak_bytes"] is None
    assert draw_ranking(spec, entries, "svg") == draw_ranking(spec, entries, "svg")


@pytest.mark.parametrize("form", ["svg", "png"])
def test_the_same_data_give_the_same_picture(form: str) -> None:
    spec, entries = ranked()
    first = draw_ranking(spec, entries, form)
    assert first == draw_ranking(spec, entries, form)
    assert first[:5] in (b"<?xml", b"\x89PNG\r")
    assert b"<dc:date>" not in first


def test_a_picture_of_nothing() -> None:
    spec, entries = ranked(families=["dualpipe"])
    assert all(entry.figures is None for entry in entries)
    assert draw_ranking(spec, entries, "svg").startswith(b"<?xml")
