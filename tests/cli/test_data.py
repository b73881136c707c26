"""`schema`, `versions`."""

from __future__ import annotations

import json

from pipefill_opt import __version__
from tests.cli.samples import Shell


def test_schemas(shell: Shell) -> None:
    names = shell("schema").out.split()
    assert {"instance", "main", "plan", "rank"} <= set(names)
    for name in names:
        assert json.loads(shell("schema", name).out)["$schema"].endswith("2020-12/schema")


def test_versions(shell: Shell) -> None:
    document = json.loads(shell("versions", "--format", "json").out)
    assert document["pipefill_opt"] == __version__
    assert "not installed" not in document.values()
    assert f"pipefill_opt {__version__}" in shell("versions").out
