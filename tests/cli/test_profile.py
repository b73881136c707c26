"""`pipefill profile`: what can be told of it without torch."""

from __future__ import annotations

import sys

import pytest

from tests.cli.samples import Shell


def test_without_torch(shell: Shell, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "torch", None)
    ran = shell("profile", "m.py:f")
    assert (ran.code, ran.out) == (2, "")
    assert "pip install 'pipefill_opt[torch]'" in ran.err


@pytest.mark.parametrize("batch", ["0", "a", "1,1", ""])
def test_bad_batches(batch: str, shell: Shell) -> None:
    ran = shell("profile", "m.py:f", "--batch", batch)
    assert ran.code == 2
    assert "--batch" in ran.err
