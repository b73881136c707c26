"""The real pipeline of paper_repro/hardware, small; skipped without torch, which is an extra."""

from __future__ import annotations

import json
import sys
from pathlib import Path

import pytest

from paper_repro.hardware import torch_pipeline


def test_without_torch(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    monkeypatch.setitem(sys.modules, "torch", None)
    assert torch_pipeline.main(["-o", str(tmp_path)]) == 2
    assert "pip install" in capsys.readouterr().err


@pytest.mark.parametrize("family", ["1f1b", "gpipe"])
def test_fill_work_runs_in_a_real_pipeline(family: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    pytest.importorskip("torch", reason="torch is not installed: pip install 'pipefill_opt[torch]'")
    size = ["--family", family, "--rounds", "2", "--block", "3", "--rows", "64", "--width", "256", "--layers", "3"]
    assert torch_pipeline.main(["-o", str(tmp_path), *size]) == 0, capsys.readouterr().err
    result = json.loads((tmp_path / "torch_pipeline.json").read_text(encoding="utf-8"))
    operators = result["operators"]
    assert sum(operators["planned_a_step"]) > 0
    for planned, done, left in zip(*(operators[f"{key}_a_step"] for key in ("planned", "done", "left")), strict=True):
        assert done + left == pytest.approx(planned)
    assert 0 < result["done_share"] <= 1
    assert 0 < result["fill_share"] < 1
    assert result["steps"] == {"without": 4, "with": 4}
    assert result["slowdown"] > -1
    assert result["machine"]["torch"]
