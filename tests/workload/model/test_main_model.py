"""MAIN by model name: it resolves to numbers, for every family, and the numbers move as they should."""

from __future__ import annotations

from fractions import Fraction
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from pipefill_opt.errors import InputError, PipefillError
from pipefill_opt.fill.read import instance_from_document
from pipefill_opt.schedule.actions import Kind
from pipefill_opt.schedule.families import FAMILIES
from pipefill_opt.timeline.compute import timeline
from pipefill_opt.workload.costs import MainJob
from pipefill_opt.workload.main_file import main_from_document, read_main
from pipefill_opt.workload.model.catalog import network_names

GPT: dict[str, Any] = {
    "model": "gpt-5b",
    "hardware": "a100-80gb",
    "parallel": {"tp": 2, "pp": 4, "dp": 2},
    "global_batch": 32,
    "microbatch": 2,
}


def job(**change: Any) -> MainJob:
    return main_from_document(GPT | change)


def microbatches(main: MainJob) -> int:
    return int(main.schedule.microbatch.max()) + 1


def test_a_file_of_names_resolves(tmp_path: Path) -> None:
    text = "model: gpt-40b\nhardware: v100-16gb\nparallel: {tp: 8, pp: 16, dp: 64}\nglobal_batch: 1024\nmicrobatch: 2\nsequence: 2048\n"
    (tmp_path / "main.yaml").write_text(text, encoding="utf-8")
    main = read_main(tmp_path / "main.yaml")
    assert main.schedule.name == "1f1b"
    assert (main.schedule.devices, microbatches(main)) == (16, 8)
    assert main.derived is not None
    assert (main.derived.replicas, main.derived.samples, main.derived.sequence) == (512, 1024, 2048)
    assert sum(main.derived.layers) == 50, "48 blocks, embedding and head"
    assert main.memory is not None
    assert main.memory.capacity == (16 * 2**30,) * 16
    assert timeline(main).period > 0


def test_numbers_in_place_of_names_are_the_same_job() -> None:
    main = job(recompute="selective", attention="stored", zero=1)
    assert main.derived is not None
    again = main_from_document(main.derived.document)
    assert (again.durations, again.communication, again.memory) == (main.durations, main.communication, main.memory)
    assert np.array_equal(again.schedule.kind, main.schedule.kind)
    assert timeline(again).period == timeline(main).period


@pytest.mark.parametrize("name", FAMILIES)
def test_every_family(name: str) -> None:
    main = job(schedule={"family": name})
    assert main.schedule.name == name
    assert timeline(main).period > 0
    steps = (main.schedule.kind == Kind.STEP).sum()
    assert steps == (0 if name == "forward-only" else 4)


def test_a_family_that_plans_gets_the_costs_of_the_job() -> None:
    main = job(schedule={"family": "zb-greedy", "cap": 8}, boundary="flow")
    assert main.derived is not None
    entry = main.derived.document["schedule"]
    assert [entry[key] for key in ("forward", "input_gradient", "weight_gradient", "lag")] == [
        *(max(kinds(main)[name]) for name in ("F", "I", "W")),
        main.communication.lag,
    ]
    stated = job(schedule={"family": "zb-greedy", "cap": 8, "forward": 1, "input_gradient": 1, "weight_gradient": 1})
    assert stated.derived is not None
    assert stated.derived.document["schedule"]["forward"] == 1
    slow = job(microbatch=16, sequence=65536, hardware="l20", schedule={"family": "zb-greedy"})
    assert slow.derived is not None
    assert max(kinds(slow)["F"]) > 10**9 >= slow.derived.document["schedule"]["forward"], "in a coarser unit"


def test_virtual_stages_interleave() -> None:
    main = job(parallel={"tp": 2, "pp": 4, "dp": 2, "vp": 3})
    assert (main.schedule.name, main.schedule.stages) == ("interleaved-1f1b", 12)
    flat = timeline(job())
    assert timeline(main).bubble_ratio < flat.bubble_ratio


@pytest.mark.parametrize("name", network_names())
def test_every_network_trains(name: str) -> None:
    document = {"model": name, "hardware": "h100", "parallel": {"pp": 2}, "global_batch": 4, "microbatch": 1}
    main = main_from_document(document)
    assert main.derived is not None
    assert main.derived.flops > 0
    assert min(main.durations.by_stage[Kind.F]) > 0


def kinds(main: MainJob) -> dict[str, tuple[int, ...]]:
    return {kind.name: ticks for kind, ticks in main.durations.by_stage.items()}


def test_a_backward_is_its_two_parts() -> None:
    for whole, inputs, weights in zip(*(kinds(job())[name] for name in ("B", "I", "W")), strict=True):
        assert inputs + weights - 1 <= whole <= inputs + weights


def test_data_parallelism_divides_the_batch_and_adds_a_reduction() -> None:
    one, four = (job(parallel={"pp": 4, "dp": dp}) for dp in (1, 4))
    assert (microbatches(one), microbatches(four)) == (16, 4)
    assert kinds(one)["F"] == kinds(four)["F"]
    assert max(kinds(one)["REDUCE"]) == 0 < min(kinds(four)["REDUCE"])
    assert one.memory == four.memory, "replicas without ZeRO hold the same"
    sharded = job(parallel={"pp": 4, "dp": 4}, zero=1)
    assert sharded.memory is not None
    assert four.memory is not None
    assert all(a < b for a, b in zip(sharded.memory.static, four.memory.static, strict=True))
    assert max(sharded.durations.step) < max(four.durations.step)


def test_pipeline_parallelism_divides_layers() -> None:
    two, four = (job(parallel={"pp": pp}, coefficients={"overhead": {"action": 0}}) for pp in (2, 4))
    assert two.derived is not None
    assert four.derived is not None
    assert (two.derived.layers, four.derived.layers) == ((13, 13), (7, 6, 6, 7))
    assert sum(kinds(two)["F"]) == pytest.approx(sum(kinds(four)["F"]), abs=4)
    assert two.memory is not None
    assert four.memory is not None
    assert two.memory.static[0] > four.memory.static[0]


def test_tensor_parallelism_divides_work_and_weights() -> None:
    two, four = (job(parallel={"tp": tp, "pp": 4}) for tp in (2, 4))
    assert Fraction(1, 2) < Fraction(kinds(four)["F"][1], kinds(two)["F"][1]) < Fraction(3, 4)
    assert two.memory is not None
    assert four.memory is not None
    assert Fraction(1, 2) <= Fraction(four.memory.static[1], two.memory.static[1]) < Fraction(51, 100)


def test_samples_and_tokens_of_a_microbatch() -> None:
    base, samples, tokens = job(), job(microbatch=4), job(sequence=4096)
    assert base.memory is not None
    assert samples.memory is not None
    assert tokens.memory is not None
    assert samples.memory.activation == tuple(2 * size for size in base.memory.activation)
    assert tokens.memory.activation == tuple(2 * size for size in base.memory.activation), "fused attention"
    assert microbatches(samples) == 4
    for main in (samples, tokens):
        for stage in range(4):
            assert Fraction(9, 5) < Fraction(kinds(main)["F"][stage], kinds(base)["F"][stage]) < Fraction(11, 5)
        assert Fraction(19, 10) < Fraction(main.communication.lag, base.communication.lag) < Fraction(21, 10)


def test_recomputation_trades_time_for_memory() -> None:
    none, selective, full = (job(recompute=how, attention="stored") for how in ("none", "selective", "full"))
    activations = [main.memory.activation[1] for main in (none, selective, full) if main.memory is not None]
    assert activations == sorted(activations, reverse=True)
    assert kinds(none)["B"][1] < kinds(selective)["B"][1] < kinds(full)["B"][1]
    assert kinds(none)["F"] == kinds(full)["F"]
    assert kinds(full)["B"][1] - kinds(none)["B"][1] == pytest.approx(kinds(full)["F"][1], rel=0.001)


def test_recomputation_as_actions_is_not_in_the_backward_too() -> None:
    inside = job(recompute="full")
    apart = job(recompute="full", schedule={"family": "1f1b", "recompute": True})
    assert (apart.schedule.kind == Kind.R).any()
    assert kinds(apart)["B"] == kinds(job())["B"]
    assert kinds(inside)["B"][1] == pytest.approx(kinds(apart)["B"][1] + kinds(apart)["R"][1], rel=0.001)


def test_inference_has_a_third_of_the_flops() -> None:
    trained, inferred = job(), job(schedule={"family": "forward-only"})
    assert trained.derived is not None
    assert inferred.derived is not None
    assert trained.derived.flops == 3 * inferred.derived.flops


def test_stated_values_go_before_derived_ones() -> None:
    main = job(
        durations={"unit": "ms", "F": 7, "STEP": 0, "actions": {"0F0": 9}},
        communication={"mode": "blocking", "lag": "1ms"},
        memory={"capacity": "100GiB", "reserve": 0},
    )
    assert kinds(main)["F"] == (7_000_000,) * 4
    assert kinds(main)["B"] == kinds(job())["B"]
    assert main.communication.lag == 1_000_000
    assert main.memory is not None
    assert main.memory.capacity == (100 * 2**30,) * 4
    only = job(communication={"mode": "blocking"})
    assert only.communication.lag == job().communication.lag


def test_coefficients_of_ones_own() -> None:
    fast = job(coefficients={"peak": {"matmul": {"share": 1, "half": 0}}, "name": "ideal"})
    assert all(a < b for a, b in zip(kinds(fast)["F"], kinds(job())["F"], strict=True))
    assert fast.derived is not None
    assert fast.derived.coefficients == "ideal"


def test_splits() -> None:
    even, listed, balanced = job(), job(split=[5, 7, 7, 5]), job(split="balanced")
    layers = [main.derived.layers for main in (even, listed, balanced) if main.derived is not None]
    assert layers[:2] == [(7, 6, 6, 7), (6, 7, 7, 6)]
    assert sum(layers[2]) == sum(layers[0])

    def slowest(main: MainJob) -> int:
        return max(a + b for a, b in zip(kinds(main)["F"], kinds(main)["B"], strict=True))

    assert slowest(balanced) <= min(slowest(even), slowest(listed))


def test_both_pipes_of_a_family_have_the_model() -> None:
    main = job(schedule={"family": "dualpipe"})
    assert main.derived is not None
    assert main.derived.layers == (7, 6, 6, 7) * 2


def test_the_bubbles_of_an_instance_have_as_many_devices_as_a_rank(tmp_path: Path) -> None:
    (tmp_path / "main.json").write_text(
        '{"model": "gpt-5b", "hardware": "v100-32gb", "parallel": {"tp": 8, "pp": 4, "dp": 4}, "global_batch": 32, "microbatch": 1}',
        encoding="utf-8",
    )
    jobs = [{"network": "bert-base", "kind": "inference", "batches": [8], "hardware": "v100-32gb"}]
    problem = instance_from_document({"main": {"file": "main.json"}, "jobs": jobs}, folder=tmp_path)
    assert [device.count for device in problem.devices] == [32] * 4
    stated = instance_from_document({"main": {"file": "main.json", "count": 3}, "jobs": jobs}, folder=tmp_path)
    assert [device.count for device in stated.devices] == [3] * 4


REFUSED: dict[str, tuple[dict[str, Any], str]] = {
    "unknown network": (
        {"model": "gpt-41b"},
        "model: gpt-41b: expected a network that is known, or a file; the nearest: ",
    ),
    "unknown hardware": ({"hardware": "a100"}, "hardware: a100: expected hardware that is known"),
    "no file": ({"model": "mine.yaml"}, "mine.yaml: expected a readable file (No such file"),
    "batch": ({"global_batch": 33}, "global_batch: 33: expected a multiple of microbatch x dp, 4"),
    "heads": ({"parallel": {"tp": 7}}, "parallel.tp: 7: expected a divisor of the"),
    "precision": ({"precision": "fp8"}, "precision: fp8: expected a type that a100-80gb has"),
    "family": ({"schedule": {"family": "2f2b"}}, "schedule.family: 2f2b: expected one of gpipe"),
    "family's size": ({"schedule": {"family": "zbv"}, "parallel": {"pp": 4, "vp": 3}}, "chunks: 3: expected 2"),
    "option": ({"schedule": {"family": "1f1b", "cap": 3}}, "expected no option but"),
    "devices in a schedule": ({"schedule": {"family": "1f1b", "devices": 3}}, "schedule.devices: 3: unknown key"),
    "split": ({"split": [1, 2]}, "split: 2 numbers, sum 3: expected a list for 4 stages, of 24 layers"),
    "more stages than layers": (
        {"parallel": {"pp": 32}, "global_batch": 64},
        "layers: 24: expected at least 32 layers",
    ),
    "experts": ({"parallel": {"dp": 2, "ep": 3}}, "parallel.ep: 3: expected a divisor of tp x cp x dp, 2"),
    "experts of the model": (
        {"model": "mixtral-8x7b", "parallel": {"dp": 16, "ep": 16}},
        "parallel.ep: 16: expected a divisor of the 8 experts",
    ),
    "zero": ({"zero": 4}, "zero: 4: expected a ZeRO stage from 0 to 3"),
    "sequence": ({"sequence_parallel": True, "sequence": 2047}, "sequence: 2047: expected a multiple of tp x cp, 2"),
    "context": ({"parallel": {"cp": 3}}, "parallel.cp: 3: expected a divisor of the 2048 tokens"),
    "coefficients": ({"coefficients": {"memory": 2}}, "coefficients.memory: 2: expected a share"),
    "unknown key": ({"gpus": 3}, "gpus: 3: unknown key"),
}


@pytest.mark.parametrize("name", REFUSED)
def test_refused_in_one_line(name: str, tmp_path: Path) -> None:
    change, line = REFUSED[name]
    with pytest.raises(PipefillError) as caught:
        main_from_document(GPT | change, file="main.yaml", folder=tmp_path)
    assert line in str(caught.value)
    assert "\n" not in str(caught.value)


@pytest.mark.parametrize("key", ["hardware", "global_batch", "microbatch"])
def test_missing_keys(key: str) -> None:
    with pytest.raises(InputError, match=f"missing key '{key}'"):
        main_from_document({name: value for name, value in GPT.items() if name != key})
