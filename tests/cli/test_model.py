"""Commands on models: MAIN by name, `roofline`, `import flags`, fill jobs by a network's name."""

from __future__ import annotations

import csv
import json

import pytest

from tests.cli.samples import Shell

NAMED = """\
model: gpt-5b
hardware: v100-16gb
parallel: {tp: 8, pp: 4, dp: 2}
global_batch: 32
microbatch: 2
recompute: full
attention: stored
"""

FILL = """\
main: {file: named.yaml}
switch: {enter: 1ms, leave: 1ms, interference: 1.05}
jobs:
  - {network: bert-base, kind: inference, batches: [8, 32], hardware: v100-16gb, copies: 100}
"""


@pytest.fixture
def named(shell: Shell) -> Shell:
    shell.write("named.yaml", NAMED)
    return shell


def test_bubbles_say_what_was_derived(named: Shell) -> None:
    ran = named("bubbles", "named.yaml")
    assert ran.code == 0
    assert "gpt-5b on 64 x v100-16gb (coefficients: default): " in ran.out
    assert "layers by stage, embedding and head included: 7, 6, 6, 7" in ran.out
    derived = json.loads(named("bubbles", "named.yaml", "--format", "json").out)["derived"]
    assert (derived["model"], derived["gpus"], derived["replicas"]) == ("gpt-5b", 64, 16)
    assert 0 < derived["utilisation"] < 1
    named.write("numbers.json", json.dumps(derived["main"]))
    numbers = json.loads(named("bubbles", "numbers.json", "--format", "json").out)
    assert numbers["derived"] is None
    assert numbers["period"] == json.loads(named("bubbles", "named.yaml", "--format", "json").out)["period"]


def test_solve_fills_the_bubbles_of_a_named_job(named: Shell) -> None:
    named.write("fill.yaml", FILL)
    ran = named("solve", "fill.yaml", "--format", "json", "-o", "plan.json")
    assert ran.code == 0
    assert json.loads(ran.out)["objective"]
    assert named("certify", "fill.yaml", "plan.json").code == 0


def test_roofline_of_a_main_file(named: Shell) -> None:
    ran = named("roofline", "named.yaml", "--picture", "roofline.svg")
    assert ran.code == 0
    assert "by what decides it: compute" in ran.out
    assert "network" in ran.out
    assert (named.folder / "roofline.svg").read_text(encoding="utf-8").startswith("<?xml")
    rows = list(csv.DictReader(named("roofline", "named.yaml", "--format", "csv").out.splitlines()))
    document = json.loads(named("roofline", "named.yaml", "--format", "json").out)
    assert len(rows) == len(document["operators"])
    assert {row["bound"] for row in rows} == {"compute", "memory", "overhead", "network"} & {
        row["bound"] for row in rows
    }
    assert sum(document["by_bound"].values()) > 0


def test_roofline_of_a_network(shell: Shell) -> None:
    ran = shell("roofline", "resnet-50", "--hardware", "l40", "--microbatch", "16")
    assert ran.code == 0
    assert ran.out.startswith("resnet-50 on l40: ")


@pytest.mark.parametrize(
    ("words", "line"),
    [
        (
            ("roofline", "bert-base"),
            "bert-base: expected a MAIN file with model, or a network together with --hardware",
        ),
        (("roofline", "main.yaml"), "main.yaml: expected a MAIN file with model"),
        (("roofline", "main.yaml", "--sequence", "64"), "--sequence: 64: expected --hardware with it"),
        (("roofline", "bert-bas", "--hardware", "l40"), "bert-bas: expected a network that is known"),
        (
            ("roofline", "bert-base", "--hardware", "l40", "--microbatch", "0"),
            "--microbatch: 0: expected a whole number",
        ),
        (("import", "flags", "--num-layers 3"), "the following arguments are required: --hardware"),
        (
            ("import", "flags", " --hidden-size 3", "--hardware", "l40", "--gpus", "0"),
            "--gpus: 0: expected a whole number",
        ),
    ],
)
def test_usage(shell: Shell, words: tuple[str, ...], line: str) -> None:
    ran = shell(*words)
    assert ran.code == 2
    assert line in ran.err
    assert len(ran.lines) == 1


def test_import_flags(shell: Shell) -> None:
    flags = (
        " --num-layers 24 --hidden-size 2048 --num-attention-heads 16 --seq-length 1024 --micro-batch-size 1"
        " --pipeline-model-parallel-size 4 --global-batch-size 16 --lr 0.1 --bf16"
    )
    ran = shell("import", "flags", flags, "--hardware", "a100-80gb", "-o", "made.json")
    assert (ran.code, ran.err) == (0, "ignored: --lr\n")
    assert shell("bubbles", "made.json").code == 0
    assert shell("import", "flags", flags, "--hardware", "a100-80gb").out == (shell.folder / "made.json").read_text()
