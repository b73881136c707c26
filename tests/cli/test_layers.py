"""`split` and `memory`, end to end."""

from __future__ import annotations

import csv
import io
import json

from tests.cli.samples import MAIN, Shell

SPEC = """\
schedule: {family: 1f1b, devices: 4, microbatches: 16}
unit: ms
layers: [{name: embedding, time: 2, static: 500MiB}, {name: block, count: 30, time: 3, static: 900MiB, activation: 60MiB},
  {name: head, time: 12, static: 500MiB}]
memory: {capacity: 16GiB}
"""
JOB = """\
model: gpt-40b
hardware: v100-16gb
parallel: {tp: 8, pp: 16, dp: 64}
global_batch: 1024
microbatch: 2
"""


def test_split_of_layers(shell: Shell) -> None:
    shell.write("spec.yaml", SPEC)
    ran = shell("split", "spec.yaml")
    assert (ran.code, ran.err) == (0, "")
    assert "32 layers on 4 stages of 4 devices (1f1b): slowest device 27 ms, optimal" in ran.out
    assert "4 x block, head" in ran.out
    assert "as equal as can be: slowest device 33 ms; this split takes 18.2 % less" in ran.out
    document = json.loads(shell("split", "spec.yaml", "--format", "json").out)
    assert (document["value"], document["bound"], document["proved"]) == (27_000_000, 27_000_000, True)
    assert sum(document["layers"]) == 32
    assert document["even"] == {"layers": [8, 8, 8, 8], "value": 33_000_000, "fits": True}
    assert document["split"] is None
    rows = list(csv.DictReader(io.StringIO(shell("split", "spec.yaml", "--format", "csv").out)))
    assert [int(row["layers"]) for row in rows] == document["layers"]
    assert [int(row["time"]) for row in rows] == document["stage_times"]
    assert all(int(row["bytes"]) <= int(row["room"]) == 16 * 2**30 for row in rows)


def test_memory_moves_layers_back(shell: Shell) -> None:
    """The first stage keeps four micro-batches: with less room it gets fewer layers."""
    shell.write("spec.yaml", SPEC.replace("16GiB", "9GiB"))
    document = json.loads(shell("split", "spec.yaml", "--format", "json").out)
    assert document["layers"][0] == 8  # 9 with more room
    assert max(document["stage_bytes"]) <= 9 * 2**30
    assert document["value"] == 30_000_000
    shell.write("spec.yaml", SPEC.replace("16GiB", "7GiB"))
    ran = shell("split", "spec.yaml")
    assert ran.code == 1
    assert ran.err.startswith("error: no split fits: stage 3 has room for")
    assert "too much" in ran.err


def test_interleaved_by_stage(shell: Shell) -> None:
    schedule = "schedule: {family: interleaved-1f1b, devices: 2, microbatches: 4, chunks: 2}\n"
    shell.write("spec.yaml", schedule + "objective: stage\nlayers: [{time: 1ms, count: 6}]\n")
    ran = shell("split", "spec.yaml")
    assert "6 layers on 4 stages of 2 devices (interleaved-1f1b): longest stage 2 ms, optimal" in ran.out


def test_split_of_a_model_goes_into_its_main_file(shell: Shell) -> None:
    shell.write("job.yaml", JOB)
    shell.write("spec.yaml", "main: job.yaml\n")
    document = json.loads(shell("split", "spec.yaml", "--format", "json").out)
    assert sum(document["split"]) == 48
    assert sum(document["layers"]) == 50
    assert "in a MAIN file: split: [" in shell("split", "spec.yaml").out
    shell.write("better.yaml", JOB + f"split: {document['split']}\n")
    ran = shell("memory", "better.yaml", "--format", "json")
    assert ran.code == 0
    assert json.loads(ran.out)["fits"] is True


def test_wrong_specs(shell: Shell) -> None:
    for text, message in (
        ("layers: [{time: 1ms}]", "missing key 'schedule' (or main)"),
        ("main: main.yaml", "main: main.yaml: expected a MAIN file that gives a model by name"),
        ("main: main.yaml\nunit: ms", "unit: expected no such key beside main"),
        ("schedule: {family: dualpipe, devices: 4, microbatches: 8}\nlayers: [{time: 1ms, count: 9}]", "expected a family with one pipe"),
        ("schedule: {family: 1f1b, devices: 4, microbatches: 8}\nlayers: [{time: 1ms, count: 3}]", "expected at least 4 layers"),
        ("schedule: {family: 1f1b, devices: 4, microbatches: 8}\nlayers: [{time: 1}]", "layers[0].time: 1: expected a time with its unit"),
    ):  # fmt: skip
        shell.write("main.yaml", MAIN)
        shell.write("spec.yaml", text)
        ran = shell("split", "spec.yaml")
        assert ran.code == 2, text
        assert message in ran.err
        assert ran.err.count("\n") == 1


def test_memory_says_what_would_fit(shell: Shell) -> None:
    shell.write("job.yaml", JOB)
    ran = shell("memory", "job.yaml")
    assert ran.code == 1
    assert (
        "does not fit: 139.6 MiB too much on device 0 (stage 0), 15.65 GiB of 15.51 GiB; 1 of 16 devices lack memory"
        in ran.out
    )
    assert "  zero: 1 (8192 devices, " in ran.out
    assert "  sequence_parallel: true (8192 devices, " in ran.out
    document = json.loads(shell("memory", "job.yaml", "--format", "json").out)
    assert [remedy["changes"] for remedy in document["remedies"]] == [
        {"recompute": "full"},
        {"sequence_parallel": True},
        {"zero": 1},
    ]
    shell.write("fits.json", json.dumps(document["remedies"][2]["main"]))
    again = json.loads(shell("memory", "fits.json", "--format", "json").out)
    assert again["fits"] is True
    assert max(device["lacking"] for device in again["devices"]) == -document["remedies"][2]["spare"]
    rows = list(csv.DictReader(io.StringIO(shell("memory", "job.yaml", "--format", "csv").out)))
    assert [int(row["peak"]) - int(row["room"]) for row in rows] == [int(row["lacking"]) for row in rows]


def test_bubbles_warns_with_what_would_fit(shell: Shell) -> None:
    shell.write("job.yaml", JOB)
    ran = shell("bubbles", "job.yaml")
    assert ran.code == 0
    assert "what would fit:\n  recompute: full" in ran.err
    shell.write("job.yaml", JOB + "zero: 1\n")
    assert shell("bubbles", "job.yaml").err == ""


def test_memory_of_stated_numbers(shell: Shell) -> None:
    shell.write("main.yaml", MAIN)
    ran = shell("memory", "main.yaml")
    assert (ran.code, ran.err) == (0, "")
    assert "fits, with 4 GiB left on device 0" in ran.out
    shell.write("main.yaml", MAIN.replace("16GiB", "11GiB"))
    ran = shell("memory", "main.yaml")
    assert ran.code == 1
    assert "what would fit" not in ran.out
    shell.write("main.yaml", MAIN.partition("memory")[0])
    assert shell("memory", "main.yaml").err.endswith("memory: expected memory, or a model by name\n")


def test_models_are_listed(shell: Shell) -> None:
    ran = shell("models")
    assert (ran.code, ran.err) == (0, "")
    assert "gpt-40b" in ran.out
    assert "h100" in ran.out
    document = json.loads(shell("models", "--format", "json").out)
    assert len(document["networks"]) == 40
    (llama,) = (entry for entry in document["networks"] if entry["name"] == "llama3-8b")
    assert (llama["parameters"], llama["layers"], llama["provenance"]) == (8_030_261_248, 34, "seen")
    assert [entry["name"] for entry in document["hardware"]][:2] == ["a100-40gb", "a100-80gb"]
    rows = list(csv.DictReader(io.StringIO(shell("models", "--format", "csv").out)))
    assert len(rows) == 40
