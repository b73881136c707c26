"""The generators of the suite write the files that are committed, byte for byte, and nothing else is there."""

from __future__ import annotations

import importlib.util
import subprocess
import sys
from pathlib import Path

import pytest

from pipefill_opt.files import data_folder
from tests.cases import cases_folder

INSTANCES = data_folder("instances")
FAMILIES = ("inner", "memory", "switch", "scarce", "swap", "pipefill", "large")


def written(generator: str, folder: Path) -> dict[str, bytes]:
    """What a generator writes, by file name."""
    subprocess.run([sys.executable, INSTANCES / f"make_{generator}.py", folder], check=True)
    return {path.name: path.read_bytes() for path in folder.rglob("*.yaml")}


def committed(family: str, pattern: str = "*.yaml") -> dict[str, bytes]:
    return {path.name: path.read_bytes() for path in (INSTANCES / family).glob(pattern)}


@pytest.mark.parametrize("family", FAMILIES)
def test_the_same_bytes_again(family: str, tmp_path: Path) -> None:
    assert written(family, tmp_path) == committed(family)


@pytest.mark.parametrize("generator", ["queue", "deadline"])
def test_the_same_objectives_over_time_again(generator: str, tmp_path: Path) -> None:
    prefix = {"queue": "queue", "deadline": "life"}[generator]
    assert written(generator, tmp_path) == committed("deadline", f"{prefix}-*.yaml")


def test_the_same_long_queues_again(tmp_path: Path) -> None:
    assert written("deadline", tmp_path) == committed("deadline", "life-*.yaml")


def test_the_same_freeride_again(tmp_path: Path) -> None:
    table = cases_folder("freeride") / "side_tasks.csv"
    spec = importlib.util.spec_from_file_location("make_freeride", INSTANCES / "make_freeride.py")
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    sys.modules["make_freeride"] = module
    spec.loader.exec_module(module)
    module.FOLDER = tmp_path
    module.write_all(module.read_tasks(table))
    assert {path.name: path.read_bytes() for path in tmp_path.glob("*.yaml")} == committed("freeride")
