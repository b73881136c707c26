"""Where the shared cases lie, for tests that read them; without that folder such a test skips and says so."""

from __future__ import annotations

from pathlib import Path

import pytest

ROOT = Path(__file__).parent.parent


def cases_folder(name: str) -> Path:
    """The folder `../shared/cases/NAME`, or a skip with its reason. The project's own small cases are tested everywhere."""
    folder = ROOT.parent / "shared" / "cases" / name
    if not folder.is_dir():
        pytest.skip(f"no folder {folder}: shared cases are not on this machine")
    return folder
