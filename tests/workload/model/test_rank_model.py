"""SPECs of `rank` from a MAIN file by model name."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from pipefill_opt.errors import InputError
from pipefill_opt.timeline.compute import timeline
from pipefill_opt.timeline.rank import rank
from pipefill_opt.workload.main_file import main_from_document, read_main
from pipefill_opt.workload.rank_file import Candidate, main_document, rank_from_document

GPT: dict[str, Any] = {
    "model": "gpt-5b",
    "hardware": "a100-80gb",
    "parallel": {"tp": 2, "pp": 4, "dp": 2},
    "global_batch": 32,
    "microbatch": 2,
}


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    (tmp_path / "main.json").write_text(json.dumps(GPT), encoding="utf-8")
    return tmp_path


def test_a_candidate_is_the_job_itself(folder: Path) -> None:
    """The same family and split: times and memory as `bubbles` has them, but for layers rounded up one by one, and one workspace, the
    largest of all stages, for each of them.
    """
    spec = rank_from_document({"main": "main.json"}, folder=folder)
    assert (spec.devices, spec.microbatches, spec.layers) == (4, 8, 24)
    candidate = timeline(main_from_document(main_document(spec, Candidate("1f1b", None, False, "even"))))
    itself = timeline(read_main(folder / "main.json"))
    assert float(candidate.period) == pytest.approx(float(itself.period), rel=0.002)
    assert candidate.peak is not None
    assert itself.peak is not None
    for ours, own in zip(candidate.peak.tolist(), itself.peak.tolist(), strict=True):
        assert own <= ours <= 1.05 * own


def test_families_are_ranked_for_a_model(folder: Path) -> None:
    entries = rank(
        rank_from_document({"main": "main.json", "families": ["gpipe", "1f1b", "zb-h1", "zbv"]}, folder=folder)
    )
    periods = {entry.candidate.family: entry.figures.period for entry in entries if entry.figures}
    assert periods["zbv"] < periods["zb-h1"] < periods["1f1b"] <= periods["gpipe"]


REFUSED: dict[str, tuple[dict[str, Any], str]] = {
    "numbers too": ({"main": "main.json", "devices": 4}, "devices: expected either main, or devices"),
    "no model": ({"main": "plain.json"}, "expected a MAIN file with model"),
    "unequal layers": ({"main": "moe.json"}, "expected a network of equal layers between embedding and head"),
    "no file": ({"main": "nowhere.json"}, "nowhere.json: expected a readable file"),
    "bad job": ({"main": "bad.json"}, "bad.json: hardware: a1: expected hardware that is known"),
}


@pytest.mark.parametrize("name", REFUSED)
def test_refused_in_one_line(name: str, folder: Path) -> None:
    plain = {"schedule": {"family": "1f1b", "devices": 2, "microbatches": 2}, "durations": {"F": "1ms", "B": "2ms"}}
    files = {"plain": plain, "moe": GPT | {"model": "deepseek-v3"}, "bad": GPT | {"hardware": "a1"}}
    for file, content in files.items():
        (folder / f"{file}.json").write_text(json.dumps(content), encoding="utf-8")
    document, line = REFUSED[name]
    with pytest.raises(InputError) as caught:
        rank_from_document(document, file="spec.yaml", folder=folder)
    assert line in str(caught.value)
