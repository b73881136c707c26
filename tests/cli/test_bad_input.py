"""Bad input: one line with file, path, value and what was expected; exit code 2; no output file, nothing on stdout."""

from __future__ import annotations

import re
from dataclasses import dataclass

import pytest

from tests.cli.samples import INSTANCE, MAIN, PLAN, Shell


@dataclass(frozen=True)
class Bad:
    """`old` becomes `new` in the sample; then the line has all of `parts`."""

    old: str
    new: str
    parts: tuple[str, ...]


BAD_MAIN = {
    "wrong unit": Bad("activation: 1GiB", "activation: 1ms", ("memory.activation", "1ms", "expected a size")),
    "wrong time unit": Bad("lag: 0}", "lag: 3 parsecs}", ("communication.lag", "3 parsecs", "expected a time")),
    "no unit": Bad("unit: ms, F: 10", "F: 10", ("durations.F", "10", "expected a time with its unit")),
    "unknown key": Bad("microbatches: 2}", "microbatches: 2, colour: red}", ("schedule.colour", "red", "unknown key")),
    "unknown key, top": Bad("memory:", "memories:", ("memories", "unknown key")),
    "negative duration": Bad("F: 10", "F: -10", ("durations.F", "-10", "expected a time of 0 or more")),
    "missing duration": Bad(", B: 20", "", ("durations", "B")),
    "NaN": Bad("F: 10", "F: .nan", (".nan", "expected a finite number")),
    "infinity": Bad("F: 10", "F: .inf", (".inf", "expected a finite number")),
    "huge": Bad("F: 10", "F: 1e29", ("durations.F", "1E+29", "expected a time of at most")),
    "huge in all": Bad(
        "microbatches: 2}\ndurations: {unit: ms, F: 10, B: 20", "microbatches: 40}\ndurations: {unit: s, F: 28e7, B: 28e7",
        ("durations", "expected"),
    ),
    "too huge": Bad("F: 10", "F: 1e999", ("durations.F", "expected")),
    "list of wrong length": Bad("F: 10", "F: [10, 10, 10]", ("durations.F", "2")),
    "text for a number": Bad("devices: 2", "devices: two", ("schedule.devices", "two", "expected")),
    "no devices": Bad("devices: 2", "devices: 0", ("schedule.devices", "0", "expected")),
    "unknown family": Bad("family: 1f1b", "family: 2f2b", ("schedule.family", "2f2b", "1f1b")),
    "doubled key": Bad("F: 10,", "F: 10, F: 11,", ("F", "expected each key once")),
    "truncated": Bad("microbatches: 2}", "microbatches: 2", ("line", "expected YAML")),
    "stage without device": Bad(
        "{family: 1f1b, devices: 2, microbatches: 2}", "{actions: [[0F0, 0B0], [1F0, 1B0, 2F0, 2B0]], placement: [0, 1]}",
        ("2F0", "stage without a device"),
    ),
    "deadlock": Bad(
        "{family: 1f1b, devices: 2, microbatches: 2}", "{actions: [[0B0, 0F0], [1F0, 1B0]]}", ("0B0", "0F0", "deadlock"),
    ),
    "missing action": Bad("{family: 1f1b, devices: 2, microbatches: 2}", "{actions: [[0F0], [1F0, 1B0]]}", ("0B0",)),
    "doubled action": Bad(
        "{family: 1f1b, devices: 2, microbatches: 2}", "{actions: [[0F0, 0F0, 0B0], [1F0, 1B0]]}", ("0F0",)
    ),
    "junk in an action": Bad(
        "{family: 1f1b, devices: 2, microbatches: 2}", "{actions: [[0F0junk, 0B0], [1F0, 1B0]]}", ("0F0junk", "expected an action")
    ),
    "no such csv": Bad("{family: 1f1b, devices: 2, microbatches: 2}", "{csv: nowhere.csv}", ("nowhere.csv", "expected a readable file")),
}  # fmt: skip

BAD_INSTANCE = {
    "empty job list": Bad(INSTANCE[INSTANCE.index("jobs:") :], "jobs: []\n", ("jobs", "expected a list of at least one job")),
    "no job list": Bad(INSTANCE[INSTANCE.index("jobs:") :], "", ("missing key 'jobs'",)),
    "wrong unit": Bad("free: 4GiB, kind", "free: 4ms, kind", ("devices[0].bubbles[0].free", "4ms", "expected a size")),
    "unknown key": Bad("samples: 8", "sample: 8", ("jobs[0].configs[0].sample", "8", "unknown key")),
    "negative duration": Bad("duration: 5ms", "duration: -5ms", ("operators[0].duration", "-5ms", "expected a time of 0 or more")),
    "missing duration": Bad("duration: 5ms, ", "", ("jobs[0].configs[0].operators[0]", "missing key 'duration'")),
    "NaN": Bad("copies: 2", "copies: .nan", (".nan", "expected a finite number")),
    "huge": Bad("duration: 5ms", "duration: 1e300s", ("operators[0].duration", "expected")),
    "huge count": Bad("count: 2", "count: 1000000000000", ("devices[0].count", "1000000000000", "expected a whole number")),
    "overlap": Bad("length: 30ms", "length: 70ms", ("devices[0].bubbles[0]", "expected a bubble that ends before")),
    "unknown class": Bad("copies: 2", "devices: [stage9]", ("jobs[0].devices[0]", "stage9", "stage0")),
    "objective": Bad("jobs:", "objective: fame\njobs:", ("objective", "fame", "throughput")),
    "no main file": Bad(INSTANCE[: INSTANCE.index("switch")], "main: {file: gone.yaml}\n", ("gone.yaml", "expected a readable file")),
    "bad main file": Bad(INSTANCE[: INSTANCE.index("switch")], "main: {file: instance.yaml}\n", ("instance.yaml",)),
}  # fmt: skip

BAD_PLAN = {
    "unknown key": Bad("multiplicity", "times", ("patterns[0]", "times")),
    "wrong hash": Bad("patterns:", "instance: sha256:00\npatterns:", ("instance", "sha256:00", "expected")),
    "text for a number": Bad("count: 5", "count: five", ("segments[0].count", "five", "expected")),
}


BOMB = "a: &a [1, 1, 1, 1, 1, 1, 1, 1, 1, 1]\n" + "".join(
    f"{new}: &{new} [{', '.join(['*' + old] * 10)}]\n" for old, new in zip("abcdefgh", "bcdefghi", strict=True)
)
"""Nine short lines that write out to a thousand million values."""


def assert_one_line(shell: Shell, words: list[str], parts: tuple[str, ...]) -> None:
    """`parts` are all in the line; the file at fault is too."""
    before = sorted(path.name for path in shell.folder.iterdir())
    ran = shell(*words)
    assert ran.code == 2, ran
    assert ran.out == ""
    assert len(ran.lines) == 1, ran.err
    assert ran.err.startswith("error: ")
    assert len(ran.err) < 600
    assert re.match(r"error: [\w.]+\.(yaml|json|csv): ", ran.err)
    for part in parts:
        assert part in ran.err
    assert sorted(path.name for path in shell.folder.iterdir()) == before


def changed(text: str, bad: Bad) -> str:
    assert bad.old in text
    return text.replace(bad.old, bad.new, 1)


@pytest.mark.parametrize("name", BAD_MAIN)
def test_bad_main(shell: Shell, name: str) -> None:
    shell.write("bad.yaml", changed(MAIN, BAD_MAIN[name]))
    assert_one_line(shell, ["bubbles", "bad.yaml", "--gantt", "out.svg"], BAD_MAIN[name].parts)


@pytest.mark.parametrize("name", BAD_INSTANCE)
def test_bad_instance(shell: Shell, name: str) -> None:
    shell.write("bad.yaml", changed(INSTANCE, BAD_INSTANCE[name]))
    assert_one_line(shell, ["solve", "bad.yaml", "-o", "out.json", "--gantt", "out.svg"], BAD_INSTANCE[name].parts)


@pytest.mark.parametrize("name", BAD_PLAN)
@pytest.mark.parametrize("command", ["certify", "explain"])
def test_bad_plan(shell: Shell, command: str, name: str) -> None:
    shell.write("bad.yaml", changed(PLAN, BAD_PLAN[name]))
    assert_one_line(shell, [command, "instance.yaml", "bad.yaml"], ("bad.yaml", *BAD_PLAN[name].parts))


@pytest.mark.parametrize(
    "words", [["bubbles"], ["solve"], ["certify", "instance.yaml"], ["import", "torch-csv"], ["export", "torch-csv"]]
)
@pytest.mark.parametrize(
    ("name", "data", "part"),
    [
        ("missing.yaml", None, "expected a readable file (No such file"),
        ("folder.yaml", "folder", "expected a readable file (Is a directory)"),
        ("binary.yaml", b"\xff\xfe\x00\x80", "expected"),
    ],
)
def test_unreadable(shell: Shell, words: list[str], name: str, data: object, part: str) -> None:
    path = shell.folder / name
    if data == "folder":
        path.mkdir()
    elif isinstance(data, bytes):
        path.write_bytes(data)
    assert_one_line(shell, [*words, name], (name, part))


@pytest.mark.parametrize(
    "text", ["", "[]", "3", "{", '{"period": ', "a: b: c", "- &a [*a]", BOMB, "\t- x", "? [a]\n: b"]
)
@pytest.mark.parametrize("suffix", ["yaml", "json"])
def test_what_is_no_document_at_all(shell: Shell, suffix: str, text: str) -> None:
    shell.write(f"odd.{suffix}", text)
    for words in (["bubbles"], ["solve"], ["certify", "instance.yaml"]):
        assert_one_line(shell, [*words, f"odd.{suffix}"], (f"odd.{suffix}", "expected" if text else ""))


def test_a_bad_order_names_row_and_column(shell: Shell) -> None:
    shell.write("bad.csv", "0F0,0B0\r\n1F0,1B0junk\r\n")
    assert_one_line(shell, ["import", "torch-csv", "bad.csv", "-o", "out.yaml"], ("bad.csv", "row", "1B0junk"))


def test_a_job_that_fits_nowhere_is_a_warning(shell: Shell) -> None:
    text = (
        INSTANCE
        + "  - name: huge\n    configs: [{name: c, samples: 1, resident: 64GiB, operators: [{name: o, duration: 1ms, memory: 0}]}]\n"
    )
    shell.write("huge.yaml", text)
    ran = shell("solve", "huge.yaml", "--solver", "greedy-all")
    assert ran.code == 0
    assert len(ran.lines) == 1
    assert ran.err.startswith("warning: huge.yaml: job 'huge' fits nowhere")
    assert "0 of 1" in ran.out
