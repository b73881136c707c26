"""The instance suite: its index is whole and true, and its check finds what is not."""

from __future__ import annotations

import json
import shutil
from collections.abc import Callable
from fractions import Fraction
from pathlib import Path
from typing import Any

import pytest

from pipefill_opt.errors import InputError
from pipefill_opt.files import data_folder, read_document
from pipefill_opt.fill.problem import FillProblem
from pipefill_opt.fill.read import read_instance
from pipefill_opt.fill.suite import Entry, check_suite, instance_files, read_suite, suite_text, traits
from tests.solve.brute_force import optimum

TINY = data_folder("instances") / "tiny"
OUTSIDE = ("With network", "In place of configs", "A HARDWARE file")
"""How the descriptions of fields begin whose values come from other files, which is no matter of a page."""


def test_the_suite_is_whole_and_every_plan_is_certified() -> None:
    results = dict(check_suite())
    assert {file: faults for file, faults in results.items() if faults} == {}
    assert sum(entry.family == "tiny" for entry in read_suite()) >= 20


@pytest.mark.parametrize("entry", [e for e in read_suite() if e.family == "tiny"], ids=lambda e: Path(e.file).stem)
def test_tiny_ones_are_proved_by_exhaustive_search(entry: Entry) -> None:
    assert entry.proved
    assert optimum(read_instance(data_folder("instances") / entry.file))[0] == entry.best


def problems() -> list[FillProblem]:
    return [read_instance(path) for path in sorted(TINY.glob("[0-9]*.yaml"))]


def test_tiny_ones_state_their_point_and_use_every_field() -> None:
    for path in TINY.glob("[0-9]*.yaml"):
        assert path.read_text(encoding="utf-8").startswith("# Point: "), path
    used: set[str] = set()

    def collect(value: Any, place: str) -> None:
        if isinstance(value, dict):
            for key, inner in value.items():
                name = "*" if ".between" in place else key
                used.add(f"{place}.{name}")
                collect(inner, f"{place}.{name}")
        elif isinstance(value, list):
            for inner in value:
                collect(inner, place)

    for path in TINY.glob("[0-9]*.yaml"):
        collect(read_document(path, "instance"), "")

    def properties(schema: dict[str, Any], place: str) -> set[str]:
        schema = definitions[schema["$ref"].rpartition("/")[2]] if "$ref" in schema else schema
        schema = schema.get("items", schema)
        schema = definitions[schema["$ref"].rpartition("/")[2]] if "$ref" in schema else schema
        found = set()
        for key, inner in schema.get("properties", {}).items():
            if inner.get("description", "").startswith(OUTSIDE):
                continue
            found |= {f"{place}.{key}"} | properties(inner, f"{place}.{key}")
        return found

    whole = json.loads((Path(__file__).parents[2] / "pipefill_opt/schemas/instance.json").read_text(encoding="utf-8"))
    definitions = whole["$defs"]
    assert properties(whole, "") - used == set()
    assert {p.repeat for p in problems()} == {True, False}
    assert {p.iterations for p in problems()} >= {None, 1, 2}


@pytest.fixture
def copy(tmp_path: Path) -> Path:
    """A suite of one family with one instance."""
    folder = tmp_path / "instances"
    (folder / "tiny" / "plans").mkdir(parents=True)
    shutil.copy(TINY / "01-one-job.yaml", folder / "tiny")
    shutil.copy(TINY / "plans" / "01-one-job.json", folder / "tiny" / "plans")
    (entry,) = [e for e in read_suite() if e.file == "tiny/01-one-job.yaml"]
    (folder / "index.json").write_text(suite_text((entry,)))
    return folder


def edit(name: str, old: str, new: str) -> Callable[[Path], None]:
    def change(folder: Path) -> None:
        text = (folder / name).read_text()
        assert old in text
        (folder / name).write_text(text.replace(old, new))

    return change


FAULTS: dict[str, tuple[Callable[[Path], None], str]] = {
    "another instance": (edit("tiny/01-one-job.yaml", "period: 40ms", "period: 41ms"), "expected a plan for this instance"),
    "another hash": (edit("index.json", "sha256:7", "sha256:8"), "its hash is sha256:7"),
    "a better value": (edit("index.json", '"best": "7000000"', '"best": "7000001"'), "beyond the bound"),
    "a worse value": (edit("index.json", '"best": "7000000"', '"best": "6"'), "its plan has the value 7000000"),
    "another objective": (edit("index.json", '"throughput"', '"makespan"'), "its objective is throughput"),
    "another sense": (edit("index.json", '"max"', '"min"'), "the sense of throughput is not min"),
    "other traits": (edit("index.json", '"traits": ""', '"traits": "swap"'), "its traits are '', the index says 'swap'"),
    "a broken plan": (edit("tiny/plans/01-one-job.json", '"count": 3', '"count": 4'), "its plan breaks a rule: fit"),
    "no plan": (lambda folder: (folder / "tiny/plans/01-one-job.json").unlink(), "expected a readable file"),
    "no instance": (lambda folder: (folder / "tiny/01-one-job.yaml").unlink(), "expected a readable file"),
}  # fmt: skip


def test_a_whole_suite_has_no_fault(copy: Path) -> None:
    assert list(check_suite(copy)) == [("tiny/01-one-job.yaml", ())]


@pytest.mark.parametrize("name", FAULTS)
def test_faults_are_found(name: str, copy: Path) -> None:
    change, message = FAULTS[name]
    change(copy)
    ((_, faults),) = check_suite(copy)
    assert any(message in fault for fault in faults), faults


def test_an_instance_that_is_not_in_the_index(copy: Path) -> None:
    shutil.copy(TINY / "02-runs-once.yaml", copy / "tiny")
    shutil.copy(TINY / "main-1f1b.yaml", copy / "tiny")
    assert instance_files(copy) == ["tiny/01-one-job.yaml", "tiny/02-runs-once.yaml"]
    assert list(check_suite(copy))[1] == ("tiny/02-runs-once.yaml", ("is not in the index",))


@pytest.mark.parametrize(
    ("change", "message"),
    [
        (edit("index.json", '"7000000"', '"seven"'), r"\[0\]\.best: seven: expected a fraction"),
        (edit("index.json", '"7000000"', '"7/0"'), r"\[0\]\.best: 7/0: expected a fraction"),
        (edit("index.json", '"greedy": "', '"greedy": "x'), r"\[0\]\.greedy: x7000000: expected a fraction"),
        (edit("index.json", '"sense"', '"scent"'), r"\[0\]: expected an entry of texts"),
        (edit("index.json", "]", ""), "expected JSON"),
        (lambda folder: (folder / "index.json").write_text("{}"), "expected a list"),
    ],
)
def test_a_broken_index(change: Callable[[Path], None], message: str, copy: Path) -> None:
    change(copy)
    with pytest.raises(InputError, match=message):
        read_suite(copy)


def test_what_is_not_known_may_be_left_empty(copy: Path) -> None:
    path = copy / "index.json"
    documents = json.loads(path.read_text())
    documents[0] |= {"greedy": "", "pattern_bound": "15/2"}
    path.write_text(json.dumps(documents))
    (entry,) = read_suite(copy)
    assert entry.greedy is None
    assert entry.pattern_bound == Fraction(15, 2)
    assert json.loads(suite_text((entry,))) == documents


def test_traits() -> None:
    by_name = {path.stem: read_instance(path) for path in sorted(TINY.glob("[0-9]*.yaml"))}
    assert traits(by_name["01-one-job"], 1) == ""
    assert traits(by_name["08-carry"], 1) == "carry"
    assert traits(by_name["09-swapped"], 2) == "swap H>1"
    assert traits(by_name["27-all-fields"], 2) == "carry swap H>1"


def test_fractions_survive(copy: Path) -> None:
    (entry,) = read_suite(copy)
    assert isinstance(entry.best, Fraction)
    assert suite_text((entry,)) == (copy / "index.json").read_text()
