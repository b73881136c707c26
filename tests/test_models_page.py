"""docs/models.md: its files are read, its names are those that there are."""

from __future__ import annotations

from pathlib import Path

import pytest

from pipefill_opt.cli.run import main
from pipefill_opt.workload.model.catalog import hardware_names, network_names, read_network
from tests.test_readme import blocks

PAGE = "docs/models.md"


def test_its_files_are_read(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    network, spec = blocks(PAGE, "yaml")
    (tmp_path / "tiny.yaml").write_text(network, encoding="utf-8")
    (tmp_path / "spec.yaml").write_text(spec, encoding="utf-8")
    found = read_network("tiny.yaml", tmp_path)
    assert abs(found.parameters - found.published) < 0.01 * found.published
    assert main(["split", str(tmp_path / "spec.yaml")]) == 0
    assert "optimal" in capsys.readouterr().out


def test_every_network_and_device_is_named() -> None:
    text = (Path(__file__).parent.parent / PAGE).read_text(encoding="utf-8")
    for name in (*network_names(), *hardware_names()):
        assert f"`{name}`" in text or name.startswith("megatron-"), name
