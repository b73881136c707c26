"""`paper_repro.hardware.device` on the host backend, quickly: it runs to its end, and says what holds."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from paper_repro.hardware.device import main


def test_the_device_of_this_machine(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["-o", str(tmp_path), "--backend", "host", "--quick"]) == 0
    said = capsys.readouterr().out
    assert said == (tmp_path / "summary.txt").read_text(encoding="utf-8")
    for line in ("products of other shapes", "period", "bubbles", "fill value", "slowdown"):
        assert line in said
    commands = said.strip().splitlines()[-6:]
    assert [command.split()[1] for command in commands] == [
        "calibrate",
        "replay",
        "compare",
        "solve",
        "replay",
        "compare",
    ]
    assert str(tmp_path) not in said
    assert json.loads((tmp_path / "result.json").read_text(encoding="utf-8"))["failure"] is None
    assert "<svg" in (tmp_path / "compare.html").read_text(encoding="utf-8")
