"""Small MAIN, INSTANCE and PLAN files, and a way to run one command line."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

import pytest

from pipefill_opt.cli.run import main

MAIN = """\
schedule: {family: 1f1b, devices: 2, microbatches: 2}
durations: {unit: ms, F: 10, B: 20}
communication: {mode: lag, lag: 0}
memory: {capacity: 16GiB, reserve: 1GiB, static: 9GiB, activation: 1GiB}
"""

INSTANCE = """\
period: 100ms
devices:
  - {name: stage0, count: 2, resident_free: 4GiB,
     bubbles: [{start: 0ms, length: 30ms, free: 4GiB, kind: fill-drain}, {start: 60ms, length: 21ms, free: 4GiB}]}
switch: {enter: 2ms, leave: 1ms}
jobs:
  - name: bert
    copies: 2
    configs: [{name: bs8, samples: 8, resident: 1GiB, operators: [{name: layer, duration: 5ms, memory: 1GiB}]}]
"""
"""Usable 30 and 21 ms, 3 ms of switching: 5 and 3 layers of 5 ms on each of two devices, so 80 ms an iteration."""

OPTIMUM = 80_000_000

PLAN = """\
patterns:
  - {device: stage0, multiplicity: 2, slots: [{job: bert, config: bs8, first: 0}],
     occurrences: [{iteration: 0, bubble: 0, segments: [{slot: 0, first: 0, count: 5}]},
                   {iteration: 0, bubble: 1, segments: [{slot: 0, first: 0, count: 3}]}]}
"""

WITH_MAIN = """\
main: {file: main.yaml}
switch: {enter: 1ms, leave: 1ms}
jobs:
  - name: bert
    copies: 2
    configs: [{name: bs8, samples: 8, resident: 1GiB, operators: [{name: layer, duration: 3ms, memory: 1GiB, carry: 1MiB}]}]
"""


@dataclass(frozen=True)
class Ran:
    """What a command line gave."""

    code: int
    out: str
    err: str

    @property
    def lines(self) -> list[str]:
        return self.err.splitlines()


class Shell:
    """Runs command lines in a folder with the sample files."""

    def __init__(self, folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
        self.folder = folder
        self._capsys = capsys
        for name, text in (("main", MAIN), ("instance", INSTANCE), ("plan", PLAN), ("with_main", WITH_MAIN)):
            self.write(f"{name}.yaml", text)

    def write(self, name: str, text: str) -> Path:
        path = self.folder / name
        path.write_text(text, encoding="utf-8")
        return path

    def __call__(self, *words: object) -> Ran:
        self._capsys.readouterr()
        code = main([str(word) for word in words])
        out, err = self._capsys.readouterr()
        return Ran(code, out, err)
