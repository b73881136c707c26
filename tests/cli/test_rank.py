"""`rank`, end to end."""

from __future__ import annotations

import csv
import io
import json

import pytest

from tests.cli.samples import Shell

SPEC = """\
devices: 2
microbatches: 4
families: [gpipe, 1f1b, dualpipe]
durations: {unit: ms, F: 10, I: 10, W: 10}
memory: {capacity: 16GiB, static: 12GiB, activation: 1.5GiB}
"""


@pytest.fixture
def ranked(shell: Shell) -> Shell:
    shell.write("spec.yaml", SPEC)
    return shell


def test_text(ranked: Shell) -> None:
    ran = ranked("rank", "spec.yaml")
    assert (ran.code, ran.err) == (0, "")
    assert "1 of 3 candidates fit into 16 GiB" in ran.out
    assert "not enough memory" in ran.out
    assert "150 ms" in ran.out


def test_json_has_main_files(ranked: Shell) -> None:
    document = json.loads(ranked("rank", "spec.yaml", "--format", "json").out)
    first = document["candidates"][0]
    assert (first["place"], first["family"], first["fits"], first["period"]) == (1, "1f1b", True, "150000000")
    assert first["peak_bytes"] == [15 * 2**30, 27 * 2**29]
    ranked.write("main.json", json.dumps(first["main"]))
    bubbles = json.loads(ranked("bubbles", "main.json", "--format", "json").out)
    assert bubbles["period"] == 150_000_000
    assert [device["peak_bytes"] for device in bubbles["devices"]] == first["peak_bytes"]


def test_csv(ranked: Shell) -> None:
    rows = list(csv.DictReader(io.StringIO(ranked("rank", "spec.yaml", "--format", "csv").out)))
    assert [row["family"] for row in rows] == ["1f1b", "dualpipe", "gpipe"]
    assert [row["fits"] for row in rows] == ["true", "false", "false"]
    assert rows[2]["lacking_bytes"] == str(2 * 2**30)


@pytest.mark.parametrize("form", ["svg", "png"])
def test_picture(ranked: Shell, form: str) -> None:
    assert ranked("rank", "spec.yaml", "--picture", f"out.{form}").code == 0
    assert (ranked.folder / f"out.{form}").read_bytes()[:5] in (b"<?xml", b"\x89PNG\r")


def test_nothing_fits(ranked: Shell) -> None:
    ranked.write("small.yaml", SPEC.replace("16GiB", "8GiB"))
    ran = ranked("rank", "small.yaml")
    assert ran.code == 1
    assert "0 of 3 candidates fit" in ran.out


def test_bad_input_is_one_line(ranked: Shell) -> None:
    ranked.write("bad.yaml", SPEC.replace("devices: 2", "devices: two"))
    ran = ranked("rank", "bad.yaml", "--picture", "out.svg")
    assert ran.code == 2
    assert ran.lines == ['error: bad.yaml: devices: "two": expected a whole number from 1 to 1000000']
    assert not (ranked.folder / "out.svg").exists()
