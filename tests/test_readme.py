"""The README's files and its Python run as they stand there."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from pipefill_opt.cli.run import main

ROOT = Path(__file__).parent.parent
BLOCK = re.compile(r"```(\w*)\n(.*?)```", re.DOTALL)

PATIENCE = re.compile(r"(warning: compiling kernels .*|[0-9.]+ s  .*)\n")
"""What a slow machine hears of compilation and of a search over two seconds."""


def blocks(file: str, language: str) -> list[str]:
    return [text for name, text in BLOCK.findall((ROOT / file).read_text(encoding="utf-8")) if name == language]


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A folder with the README's YAML files, each under the name in its first line."""
    for text in blocks("README.md", "yaml"):
        (tmp_path / text.splitlines()[0].removeprefix("# ")).write_text(text, encoding="utf-8")
    monkeypatch.chdir(tmp_path)
    return tmp_path


def test_the_commands_run(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["bubbles", "main.yaml", "--gantt", "main.svg"]) == 0
    assert main(["bubbles", "named.yaml"]) == 0
    assert main(["solve", "instance.yaml", "-o", "plan.json"]) == 0
    assert main(["certify", "instance.yaml", "plan.json"]) == 0
    said = capsys.readouterr().err
    assert not PATIENCE.sub("", said), said


def test_the_python_runs(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (code,) = blocks("README.md", "python")
    exec(compile(code, "README.md", "exec"), {})
    first, last = capsys.readouterr().out.splitlines()
    assert "fwd-bwd" in first
    assert last.startswith("optimal")
    assert last.endswith("True")


def test_what_it_promises_is_short() -> None:
    """A schedule in ten lines of YAML, the Python API in a dozen."""
    main_file = blocks("README.md", "yaml")[0].splitlines()
    assert len(main_file) - 1 <= 10
    (code,) = blocks("README.md", "python")
    assert len([line for line in code.splitlines() if line and not line.startswith("from")]) <= 10


def test_links_and_pictures_exist() -> None:
    for file in ("README.md", *(str(page.relative_to(ROOT)) for page in (ROOT / "docs").rglob("*.md"))):
        text = (ROOT / file).read_text(encoding="utf-8")
        for link in re.findall(r"\]\(([^)#]+?)\)", text):
            if "://" not in link:
                assert ((ROOT / file).parent / link).exists(), f"{file}: {link}"


def test_the_formats_page_shows_a_file_that_is_read(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (text,) = blocks("docs/formats.md", "yaml")
    (tmp_path / "main.yaml").write_text(text, encoding="utf-8")
    assert main(["bubbles", str(tmp_path / "main.yaml")]) == 0


def test_the_rank_page_shows_a_file_that_is_read(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (text,) = blocks("docs/rank.md", "yaml")
    (tmp_path / "spec.yaml").write_text(text, encoding="utf-8")
    assert main(["rank", str(tmp_path / "spec.yaml")]) == 0


def test_the_cost_model_page_shows_files_that_are_read(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    for text in blocks("docs/cost-model.md", "yaml"):
        (tmp_path / text.splitlines()[0].removeprefix("# ")).write_text(text, encoding="utf-8")
    monkeypatch.chdir(tmp_path)
    assert main(["bubbles", "named.yaml"]) == 0
    assert main(["roofline", "named.yaml"]) == 0
    assert main(["solve", "fill.yaml", "--solver", "greedy", "-o", "plan.json"]) == 0
    assert main(["certify", "fill.yaml", "plan.json"]) == 0
