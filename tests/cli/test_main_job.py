"""`bubbles`, `import`, `export`, end to end."""

from __future__ import annotations

import csv
import io
import json
import re

import pytest

from pipefill_opt.parse import parse_yaml
from tests.cases import cases_folder
from tests.cli.samples import Shell
from tests.traces.rules import read_trace

MS = 1_000_000


def test_bubbles_json(shell: Shell) -> None:
    """1F1B, p = 2, m = 2, F = 10, B = 20: (2 + 1) x 30 = 90 ms, each device busy for 60."""
    ran = shell("bubbles", "main.yaml", "--format", "json")
    assert ran.code == 0
    assert ran.err == ""
    document = json.loads(ran.out)
    assert document["period"] == document["makespan"] == 90 * MS
    assert [device["busy"] for device in document["devices"]] == [60 * MS, 60 * MS]
    assert [device["idle"] for device in document["devices"]] == [30 * MS, 30 * MS]
    bubbles = [(b["start"], b["length"], b["kind"]) for b in document["devices"][0]["bubbles"]]
    assert bubbles == [(20 * MS, 20 * MS, "fwd-bwd"), (60 * MS, 10 * MS, "inner")]
    assert document["devices"][0]["actions"][0] == {"text": "0F0", "start": 0, "end": 10 * MS}


def test_bubbles_text_and_csv(shell: Shell) -> None:
    text = shell("bubbles", "main.yaml")
    assert "90 ms" in text.out
    rows = list(csv.DictReader(io.StringIO(shell("bubbles", "main.yaml", "--format", "csv").out)))
    assert [(row["device"], row["kind"]) for row in rows] == [("0", "fwd-bwd"), ("0", "inner"), ("1", "fill-drain")]
    assert sum(int(row["length"]) for row in rows) == 60 * MS


@pytest.mark.parametrize("form", ["svg", "png"])
def test_bubbles_gantt(shell: Shell, form: str) -> None:
    assert shell("bubbles", "main.yaml", "--gantt", f"deep/out.{form}").code == 0
    data = (shell.folder / "deep" / f"out.{form}").read_bytes()
    assert data[:5] in (b"<?xml", b"\x89PNG\r")


def test_export_perfetto_and_trace_give_the_same(shell: Shell) -> None:
    ran = shell("export", "perfetto", "main.yaml")
    assert len([event for event in read_trace(ran.out) if event["ph"] == "s"]) == 4
    assert shell("export", "perfetto", "main.yaml", "-o", "out.json").out == ""
    assert shell("bubbles", "main.yaml", "--trace", "again.json").code == 0
    for name in ("out.json", "again.json"):
        assert (shell.folder / name).read_text(encoding="utf-8") == ran.out


def test_explain_a_main_job(shell: Shell) -> None:
    """Device 0 waits for 1B0, then for 1B1, device 1 around the boundary for 0B1 and 0F0; 3 x 30 ms of critical path."""
    text = shell("explain", "main.yaml").out
    assert "critical path: 6 actions, 90 ms of work, 0 ns of messages" in text
    assert "1B0 -> 0B0" in text
    document = json.loads(shell("explain", "main.yaml", "--format", "json").out)
    assert [step["action"] for step in document["critical_path"]] == ["0F0", "1F0", "1B0", "1F1", "1B1", "0B1"]
    assert all(b["work"] + b["message"] == b["length"] for b in document["bubbles"])
    rows = list(csv.DictReader(io.StringIO(shell("explain", "main.yaml", "--format", "csv").out)))
    assert [(row["next_action"], row["chain"]) for row in rows] == [
        ("0B0", "1B0"), ("0B1", "1B1"), ("1F0", "0B1 0F0"),
    ]  # fmt: skip


def test_export_then_import(shell: Shell) -> None:
    ran = shell("export", "torch-csv", "main.yaml")
    assert ran.out == "0F0,0F1,0B0,0B1\r\n1F0,1B0,1F1,1B1\r\n"
    assert shell("export", "torch-csv", "main.yaml", "-o", "order.csv").out == ""
    assert (shell.folder / "order.csv").read_bytes().decode() == ran.out
    imported = shell("import", "torch-csv", "order.csv", "-o", "back.yaml")
    assert imported.code == 0
    assert imported.lines == ["warning: durations are placeholders, put in your own"]
    assert shell("export", "torch-csv", "back.yaml").out == ran.out
    document = parse_yaml((shell.folder / "back.yaml").read_text(encoding="utf-8"))
    assert document["durations"] == {"unit": "ms", "F": 1, "B": 2}
    assert json.loads(shell("bubbles", "back.yaml", "--format", "json").out)["makespan"] == 9 * MS


def test_import_keeps_pairs_and_split_backward(shell: Shell) -> None:
    order = "0F0,(0F1;0I0)OVERLAP_F_B,0W0,0I1,0W1\r\n"
    shell.write("order.csv", order)
    ran = shell("import", "torch-csv", "order.csv")
    assert json.loads(ran.out)["durations"] == {"unit": "ms", "F": 1, "I": 1, "W": 1}
    shell.write("main.json", ran.out)
    assert shell("export", "torch-csv", "main.json").out == order


def test_torch_s_wrong_dump_is_refused(shell: Shell) -> None:
    files = sorted(cases_folder("torch_csv").glob("1F1B_*.csv"))
    assert files
    for file in files:
        ran = shell("import", "torch-csv", file, "-o", "main.yaml.new")
        assert ran.code == 2
        assert len(ran.lines) == 1
        assert file.name in ran.err
        assert re.search(r"rank \d+", ran.err)
        assert re.search(r"\dF0\b", ran.err)
        assert not (shell.folder / "main.yaml.new").exists()
