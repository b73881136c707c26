"""`shell`: run command lines in an empty folder that has the sample files."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.cli.samples import Shell


@pytest.fixture
def shell(tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch) -> Shell:
    monkeypatch.chdir(tmp_path)
    return Shell(tmp_path, capsys)
