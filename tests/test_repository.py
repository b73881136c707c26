"""The repository as a whole: versions agree, nothing of a particular machine is in it, data come along in the wheel."""

from __future__ import annotations

import re
import subprocess
import tomllib
from pathlib import Path

import pytest

import pipefill_opt
from pipefill_opt.files import data_folder, schema_names

ROOT = Path(__file__).parent.parent
BINARY = {".png", ".gz"}
FOREIGN = [
    re.compile(pattern)
    for pattern in (
        r"/wor[k]/",
        r"/hom[e]/\w",
        r"/roo[t]/",
        r"/tm[p]/\w",
        r"pypi\.or[g]",
        r"pythonhoste[d]",
        r"index-ur[l]",
    )
]
"""Paths of a machine, package registries."""


def tracked() -> list[Path]:
    """Files that git tracks; where there is no git (an unpacked archive), a skip."""
    done = subprocess.run(["git", "ls-files"], cwd=ROOT, capture_output=True, text=True, check=False)
    if done.returncode:
        pytest.skip("not a git checkout: which files are tracked is not known")
    return [path for line in done.stdout.splitlines() if (path := ROOT / line).is_file()]


def test_versions_agree() -> None:
    project = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))
    assert project["project"]["version"] == pipefill_opt.__version__
    assert f"## {pipefill_opt.__version__}" in (ROOT / "CHANGELOG.md").read_text(encoding="utf-8")


def test_nothing_of_a_machine_is_in_the_files() -> None:
    found = []
    for path in tracked():
        if path.suffix in BINARY:
            continue
        for number, line in enumerate(path.read_text(encoding="utf-8").splitlines(), start=1):
            found += [f"{path.relative_to(ROOT)}:{number}: {line.strip()[:80]}" for p in FOREIGN if p.search(line)]
    assert not found, "\n".join(found)


def test_nothing_generated_is_tracked() -> None:
    for path in tracked():
        parts = path.relative_to(ROOT).parts
        assert not {"__pycache__", ".venv", "out", "build", "dist"} & set(parts), path


def test_the_wheel_takes_data_along() -> None:
    """Schemas and py.typed lie in the package; the data folders are put where `data_folder` looks for them."""
    wheel = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["tool"]["hatch"]["build"]["targets"][
        "wheel"
    ]
    assert wheel["packages"] == ["pipefill_opt"]
    for name in ("instances", "models"):
        assert wheel["force-include"][name] == f"pipefill_opt/_data/{name}"
        assert data_folder(name) == ROOT / name
    assert (ROOT / "pipefill_opt" / "py.typed").is_file()
    assert schema_names() == (
        "coefficients",
        "hardware",
        "instance",
        "main",
        "network",
        "plan",
        "rank",
        "result",
        "split",
    )


def test_every_package_folder_of_tests_mirrors_one_of_the_package() -> None:
    layers = {path.name for path in (ROOT / "pipefill_opt").iterdir() if (path / "__init__.py").exists()}
    layers |= {path.name for path in (ROOT / "models").iterdir()}  # the formulations have tests too
    folders = {path.parent.name for path in (ROOT / "tests").glob("*/__init__.py")}
    assert folders <= layers, folders - layers


def test_make_has_the_targets_that_the_documents_name() -> None:
    text = (ROOT / "Makefile").read_text(encoding="utf-8")
    for target in ("demo", "test", "check", "bench", "repro"):
        assert re.search(rf"^{target}:", text, re.MULTILINE), target
