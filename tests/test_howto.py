"""Every command of every page in docs/howto runs, and its output is what the page shows."""

from __future__ import annotations

import re
import shlex
import shutil
from pathlib import Path
from typing import NamedTuple

import pytest

from pipefill_opt.cli.run import main

HOWTO = Path(__file__).parent.parent / "docs" / "howto"
PAGES = sorted(path for path in HOWTO.glob("*.md") if path.name != "README.md")
BLOCK = re.compile(r"```console\n(.*?)```", re.DOTALL)
EXIT = re.compile(r" +# exit code (\d+)$")
GAP = "..."


class Command(NamedTuple):
    """A command line of a page, the exit code that it states (0 by default), and the lines below it."""

    words: list[str]
    code: int
    shown: list[str]


def commands(page: Path) -> list[Command]:
    found = []
    for block in BLOCK.findall(page.read_text(encoding="utf-8")):
        for part in re.split(r"^\$ ", block, flags=re.MULTILINE)[1:]:
            line, *shown = part.rstrip("\n").split("\n")
            code = EXIT.search(line)
            words = shlex.split(EXIT.sub("", line))
            assert words[0] == "pipefill", line
            found.append(Command(words[1:], int(code[1]) if code else 0, shown))
    return found


def matches(shown: list[str], lines: list[str]) -> bool:
    """Whether the lines are those shown, with any lines in place of a gap."""
    pattern = "".join("(?:.*\n)*?" if line == GAP else re.escape(line.rstrip()) + "\n" for line in shown)
    return re.fullmatch(pattern, "".join(line.rstrip() + "\n" for line in lines)) is not None


CASES = [
    pytest.param(command, id=f"{page.stem}-{index}") for page in PAGES for index, command in enumerate(commands(page))
]


@pytest.fixture
def inputs(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A copy of the inputs, as the working folder."""
    folder = tmp_path / "inputs"
    shutil.copytree(HOWTO / "inputs", folder)
    monkeypatch.chdir(folder)
    return folder


@pytest.mark.parametrize("command", CASES)
def test_command(command: Command, inputs: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(command.words) == command.code
    out, err = capsys.readouterr()
    lines = (out + err).splitlines()
    assert command.shown, "a page says what comes out"
    assert matches(command.shown, lines), "\n".join(lines)


def test_every_question_has_a_page_and_every_page_a_question() -> None:
    listed = re.findall(r"\]\(([\w-]+\.md)\)", (HOWTO / "README.md").read_text(encoding="utf-8"))
    assert sorted(listed) == [page.name for page in PAGES]
    assert len(PAGES) == 11
    assert all(commands(page) for page in PAGES)


def test_every_input_is_used() -> None:
    words = {word for page in PAGES for command in commands(page) for word in command.words}
    files = {path.name for path in (HOWTO / "inputs").iterdir() if path.suffix == ".yaml"}
    assert files <= words, files - words


def test_gaps() -> None:
    assert matches(["a", GAP, "c"], ["a", "b", "b", "c"])
    assert matches(["a", GAP, "c"], ["a", "c"])
    assert not matches(["a", GAP, "c"], ["a", "b"])
    assert not matches(["a"], ["a", "b"])
    assert not matches(["a."], ["ab"])
