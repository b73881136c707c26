"""Files are written whole or not at all, and never replace what they should not."""

from __future__ import annotations

import os
import threading
from pathlib import Path

import pytest

from pipefill_opt.errors import InputError
from pipefill_opt.files import read_text, write_text


def test_a_link_stays_a_link(tmp_path: Path) -> None:
    (tmp_path / "target").write_text("old")
    (tmp_path / "link").symlink_to("target")
    write_text(tmp_path / "link", "new")
    assert (tmp_path / "link").is_symlink()
    assert (tmp_path / "target").read_text() == "new"
    assert sorted(path.name for path in tmp_path.iterdir()) == ["link", "target"]


def test_a_pipe_is_written_to_as_it_is(tmp_path: Path) -> None:
    pipe = tmp_path / "pipe"
    os.mkfifo(pipe)
    heard: list[str] = []
    reader = threading.Thread(target=lambda: heard.append(pipe.read_text()))
    reader.start()
    write_text(pipe, "news")
    reader.join(10)
    assert heard == ["news"]
    assert pipe.is_fifo()


def test_a_file_stays_whole_when_writing_fails(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "f").write_text("old")

    def fail(source: str, target: Path) -> None:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr("pipefill_opt.files.os.replace", fail)
    with pytest.raises(InputError, match=r"f: expected a writable place \(No space left on device\)"):
        write_text(tmp_path / "f", "new")
    assert [path.read_text() for path in tmp_path.iterdir()] == ["old"]


@pytest.mark.parametrize(("name", "words"), [("no", "No such file"), ("", "''"), (".", "directory"), ("a\0b", "null")])
def test_an_unreadable_file_is_named(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, name: str, words: str) -> None:
    monkeypatch.chdir(tmp_path)
    with pytest.raises(InputError, match=words):
        read_text(name)


def test_text_must_be_utf8(tmp_path: Path) -> None:
    (tmp_path / "f").write_bytes(b"ab\xff")
    with pytest.raises(InputError, match=r"f: expected UTF-8 text \(byte 2 is not\)"):
        read_text(tmp_path / "f")
