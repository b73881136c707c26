"""`schema`, `instances`, `versions`."""

from __future__ import annotations

import csv
import io
import json

import pytest

from pipefill_opt import __version__
from pipefill_opt.fill import suite
from tests.cli.samples import Shell


def test_schemas(shell: Shell) -> None:
    assert shell("schema").out.split() == ["instance", "main", "plan", "rank"]
    for name in ("instance", "main", "plan", "rank"):
        assert json.loads(shell("schema", name).out)["$schema"].endswith("2020-12/schema")


def test_versions(shell: Shell) -> None:
    document = json.loads(shell("versions", "--format", "json").out)
    assert document["pipefill_opt"] == __version__
    assert "not installed" not in document.values()
    assert f"pipefill_opt {__version__}" in shell("versions").out


def test_instances_list(shell: Shell) -> None:
    entries = json.loads(shell("instances", "list", "--format", "json").out)
    assert len(entries) >= 20
    rows = list(csv.DictReader(io.StringIO(shell("instances", "list", "--format", "csv").out)))
    assert rows == entries
    assert f"{len(entries)} instances, " in shell("instances", "list").out


def test_instances_check(shell: Shell) -> None:
    ran = shell("instances", "check", "--format", "json")
    assert [entry for entry in json.loads(ran.out) if entry["faults"]] == []
    assert ran.code == 0


def test_instances_check_tells_faults(shell: Shell, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(suite, "check_suite", lambda: [("a.yaml", ()), ("b.yaml", ("its plan is late",))])
    ran = shell("instances", "check")
    assert ran.code == 4
    assert ran.out == "b.yaml: its plan is late\n2 instances checked, 1 with faults\n"
    assert shell("instances", "check", "--format", "csv").out == "file,fault\na.yaml,\nb.yaml,its plan is late\n"
