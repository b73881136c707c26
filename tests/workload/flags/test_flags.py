"""Flags of Megatron-LM and torchtitan as MAIN documents."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from pipefill_opt.errors import InputError
from pipefill_opt.timeline.compute import timeline
from pipefill_opt.workload.flags.document import flags_document
from pipefill_opt.workload.main_file import main_from_document

GPT = "--num-layers 24 --hidden-size 2048 --num-attention-heads 16 --seq-length 1024 --micro-batch-size 2 --bf16"

SCRIPT = """\
#!/bin/bash
# --num-layers 999 stands in a comment
GPUS_PER_NODE=8
TP=4
export PP="2"
DISTRIBUTED_ARGS=(
    --nproc_per_node $GPUS_PER_NODE
    --nnodes 2
)
GPT_ARGS=" \\
    --tensor-model-parallel-size ${TP} --pipeline-model-parallel-size $PP --sequence-parallel \\
    --num-layers 24 --hidden-size 2048 --num-attention-heads 16 \\
    --seq-length 1024 --max-position-embeddings 1024 \\
    --micro-batch-size 2 --global-batch-size 32 --lr 0.00015 --fp16 \\
    --recompute-activations
"
torchrun ${DISTRIBUTED_ARGS[@]} pretrain_gpt.py $GPT_ARGS --use-distributed-optimizer --tensorboard-dir $LOGS
"""

TITAN = """\
[model]
name = "llama3"
flavor = "8B"

[optimizer]
lr = 3e-4

[training]
local_batch_size = 8
seq_len = 4096

[parallelism]
data_parallel_shard_degree = -1
tensor_parallel_degree = 2
pipeline_parallel_degree = 4
pipeline_parallel_schedule = "Interleaved1F1B"

[activation_checkpoint]
mode = "selective"
"""


def document(flags: str, gpus: int | None = None) -> dict[str, Any]:
    return flags_document(flags, "a100-80gb", gpus)[0]


def test_a_megatron_command_line() -> None:
    found = document(
        f"{GPT} --pipeline-model-parallel-size 4 --global-batch-size 64 --ffn-hidden-size 5632 --swiglu", 8
    )
    assert found["parallel"] == {"pp": 4, "dp": 2}
    assert (found["global_batch"], found["microbatch"], found["sequence"]) == (64, 2, 1024)
    assert (found["precision"], found["recompute"], found["attention"]) == ("bf16", "none", "stored")
    block = found["model"]["layers"][1]
    assert (block["count"], block["hidden"], block["heads"], block["ffn"], block["gated"]) == (24, 2048, 16, 5632, True)
    main = main_from_document(found)
    assert main.schedule.name == "1f1b"
    assert timeline(main).period > 0


def test_a_megatron_script(tmp_path: Path) -> None:
    path = tmp_path / "run.sh"
    path.write_text(SCRIPT, encoding="utf-8")
    found, ignored = flags_document(str(path), "v100-32gb")
    assert found["parallel"] == {"tp": 4, "pp": 2, "dp": 2}
    assert (found["global_batch"], found["precision"], found["recompute"], found["zero"]) == (
        32,
        "fp16",
        "selective",
        1,
    )
    assert found["sequence_parallel"]
    assert ignored == ("lr", "tensorboard-dir")
    assert main_from_document(found).schedule.devices == 2


def test_the_howto_page_has_what_its_script_gives() -> None:
    inputs = Path(__file__).parent.parent.parent.parent / "docs" / "howto" / "inputs"
    found, _ = flags_document(str(inputs / "train.sh"), "a100-80gb")
    assert found == json.loads((inputs / "train.json").read_text(encoding="utf-8"))


def test_parameters_of_a_published_model_follow_from_its_flags() -> None:
    """GPT 145.6B of Narayanan et al. 2021 (arXiv 2104.04473), table 1."""
    flags = "--num-layers 80 --hidden-size 12288 --num-attention-heads 96 --seq-length 2048 --micro-batch-size 1"
    published = document(flags)["model"]["published"]["parameters"]
    assert published == pytest.approx(145.6e9, rel=0.001)


@pytest.mark.parametrize(
    ("flags", "chunks"),
    [("--num-layers-per-virtual-pipeline-stage 3", 2), ("--num-virtual-stages-per-pipeline-rank 3", 3)],
)
def test_virtual_stages(flags: str, chunks: int) -> None:
    found = document(f"{GPT} --pipeline-model-parallel-size 4 {flags} --global-batch-size 16")
    assert found["parallel"]["vp"] == chunks
    assert main_from_document(found).schedule.name == "interleaved-1f1b"


def test_uneven_first_and_last_devices() -> None:
    flags = "--decoder-first-pipeline-num-layers 5 --decoder-last-pipeline-num-layers 3"
    found = document(f"{GPT} --pipeline-model-parallel-size 4 {flags} --global-batch-size 8")
    assert found["split"] == [5, 8, 8, 3]


def test_tensor_parallelism_that_waits() -> None:
    assert document(f"{GPT} --no-async-tensor-model-parallel-allreduce")["async_tensor"] is False


def test_experts_and_grouped_queries() -> None:
    flags = f"{GPT} --num-experts 8 --moe-router-topk 2 --expert-model-parallel-size 4 --num-query-groups 4 --group-query-attention"
    found = document(flags, 8)
    block = found["model"]["layers"][1]
    assert (block["experts"], block["active"], block["kv_heads"], found["parallel"]["ep"]) == (8, 2, 4, 4)


def test_torchtitan_toml(tmp_path: Path) -> None:
    path = tmp_path / "train.toml"
    path.write_text(TITAN, encoding="utf-8")
    found, ignored = flags_document(str(path), "h100", 32)
    assert found["model"] == "llama3-8b"
    assert found["parallel"] == {"tp": 2, "pp": 4, "dp": 4, "vp": 2}
    assert (found["global_batch"], found["microbatch"], found["sequence"]) == (32, 1, 4096)
    assert (found["zero"], found["recompute"], found["schedule"]) == (2, "selective", {"family": "interleaved-1f1b"})
    assert found["split"] == [4, 5, 4, 4, 4, 4, 4, 3], "embedding and head are layers"
    assert ignored == ("optimizer.lr",)
    assert timeline(main_from_document(found)).period > 0


@pytest.mark.parametrize(
    ("schedule", "family"), [("GPipe", "gpipe"), ("1F1B", "1f1b"), ("ZBVZeroBubble", "zbv"), ("DualPipeV", "dualpipev")]
)
def test_torchtitan_schedules(schedule: str, family: str) -> None:
    flags = (
        "--model.name llama3 --model.flavor 8B --training.local_batch_size 8 --training.seq_len=4096 "
        f"--parallelism.pipeline_parallel_degree 4 --parallelism.pipeline_parallel_schedule {schedule} "
        "--parallelism.data_parallel_shard_degree 1"
    )
    found = document(flags)
    assert found["schedule"] == {"family": family}
    assert main_from_document(found).schedule.name == family


def test_sharded_data_parallelism_alone() -> None:
    flags = "--model.name llama3 --model.flavor 8B --training.local-batch-size 2 --training.seq-len 8192"
    found = document(f"{flags} --parallelism.data-parallel-shard-degree 8")
    assert (found["zero"], found["microbatch"], found["global_batch"], found["parallel"]) == (3, 2, 16, {"dp": 8})


REFUSED = {
    "fp16 and bf16": (f"{GPT} --fp16", None, "flags: --fp16: expected one of fp16 and bf16"),
    "twice": (f"{GPT} --num-layers 12", None, "flags: --num-layers: 12: expected one value, but it is also 24"),
    "devices": (f"{GPT} --tensor-model-parallel-size 4", 6, "devices: 6: expected a multiple of tensor x pipeline x context"),
    "torchrun and gpus": (f"--nnodes 2 --nproc_per_node 4 {GPT}", 4, "--gpus: 4: expected 8, nodes x processes of a node"),
    "layers": (f"{GPT} --pipeline-model-parallel-size 5", None, "--num-layers: 24: expected a multiple of 5 stages"),
    "virtual layers": (
        f"{GPT} --pipeline-model-parallel-size 4 --num-layers-per-virtual-pipeline-stage 4", None,
        "--num-layers-per-virtual-pipeline-stage: 4: expected a divisor of the 24 layers by 4 devices",
    ),
    "both virtual": (
        f"{GPT} --pipeline-model-parallel-size 2 --num-layers-per-virtual-pipeline-stage 4 --num-virtual-stages-per-pipeline-rank 2", None,
        "--num-virtual-stages-per-pipeline-rank: 2: expected 3",
    ),
    "virtual without pipeline": (f"{GPT} --num-virtual-stages-per-pipeline-rank 2", None, "expected pipeline-model-parallel-size above 1"),
    "recomputation": (f"{GPT} --recompute-activations --recompute-granularity full", None, "expected no --recompute-activations"),
    "granularity": (f"{GPT} --recompute-granularity some", None, "--recompute-granularity: some: expected full or selective"),
    "batch": (f"{GPT} --global-batch-size 7", None, "global_batch: 7: expected a multiple of microbatch x dp, 2"),
    "micro-batches": (
        f"{GPT} --pipeline-model-parallel-size 4 --num-virtual-stages-per-pipeline-rank 2 --global-batch-size 12", None,
        "--global-batch-size: 6: expected a multiple of 4 micro-batches",
    ),
    "missing": ("--num-layers 24 --micro-batch-size 1", None, "flags: missing --hidden-size"),
    "not a number": (f"{GPT} --global-batch-size many", None, "--global-batch-size: many: expected a whole number from 1 on"),
    "a value for a switch": (f"{GPT} --swiglu yes", None, "--swiglu: yes: expected no value"),
    "nobody's": ("--colour red", None, "expected flags of Megatron-LM (--num-layers ...) or torchtitan"),
    "open quote": (f"{GPT} --name 'x", None, "flags: expected flags (No closing quotation)"),
    "schedule": (
        "--model.name llama3 --model.flavor 8B --training.local-batch-size 2 --training.seq-len 8192 "
        "--parallelism.pipeline-parallel-degree 2 --parallelism.pipeline-parallel-schedule Zigzag", None,
        "--parallelism.pipeline-parallel-schedule: Zigzag: expected one of GPipe",
    ),
    "model": (
        "--model.name llama9 --model.flavor 8B --training.local-batch-size 2 --training.seq-len 8192", None,
        "model: llama9-8b: expected a network that is known",
    ),
    "degrees": (
        "--model.name llama3 --model.flavor 8B --training.local-batch-size 2 --training.seq-len 8192 "
        "--parallelism.data-parallel-shard-degree 3", 8, "3: expected degrees of data parallelism whose product is 8",
    ),
    "no file": ("nowhere.sh", None, "nowhere.sh: expected a readable file"),
}  # fmt: skip


@pytest.mark.parametrize("name", REFUSED)
def test_contradictions_are_one_clear_line(name: str) -> None:
    flags, gpus, line = REFUSED[name]
    with pytest.raises(InputError) as caught:
        flags_document(flags, "a100-80gb", gpus)
    assert line in str(caught.value)
    assert "\n" not in str(caught.value)


def test_broken_toml(tmp_path: Path) -> None:
    path = tmp_path / "train.toml"
    path.write_text("[model\nname = 3", encoding="utf-8")
    with pytest.raises(InputError, match=r"train\.toml: expected TOML \("):
        flags_document(str(path), "a100-80gb")


@pytest.mark.parametrize(
    ("flags", "attention"),
    [
        ("", "stored"),
        ("--use-flash-attn", "flash"),
        ("--attention-backend flash", "flash"),
        ("--attention-backend auto", "flash"),
        ("--attention-backend unfused", "stored"),
        ("--transformer-impl transformer_engine", "flash"),
        ("--transformer-impl local", "stored"),
    ],
)
def test_attention_backends(flags: str, attention: str) -> None:
    assert document(f"{GPT} {flags}")["attention"] == attention


def test_states_are_megatrons() -> None:
    """18 bytes a parameter with bf16, 20 with fp16: its distributed optimizer's table for one replica."""
    assert document(GPT)["optimizer"] == "adam-fp32-gradients"
    assert document(GPT.replace("bf16", "fp16"))["optimizer"] == "adam-fp16"
    assert "optimizer" not in document(GPT.replace("--bf16", ""))


@pytest.mark.parametrize(
    ("layers", "flags", "split"),
    [
        (14, "--account-for-embedding-in-pipeline-split --account-for-loss-in-pipeline-split", [3, 4, 4, 3]),
        (15, "--account-for-loss-in-pipeline-split", [4, 4, 4, 3]),
        (14, "--account-for-embedding-in-pipeline-split --account-for-loss-in-pipeline-split "
         "--num-virtual-stages-per-pipeline-rank 2", [1, 2, 2, 2, 2, 2, 2, 1]),
    ],
)  # fmt: skip
def test_embedding_and_loss_count_as_layers(layers: int, flags: str, split: list[int]) -> None:
    command = GPT.replace("--num-layers 24", f"--num-layers {layers}")
    found = document(f"{command} --pipeline-model-parallel-size 4 --global-batch-size 16 {flags}")
    assert found["split"] == split
    assert main_from_document(found).schedule.stages == len(split)


def test_experts_in_every_layer_may_be_said() -> None:
    for frequency in ("1", "[1]*24", "\"'([1]*24)'\""):
        assert document(f"{GPT} --num-experts 8 --moe-layer-freq {frequency}") == document(f"{GPT} --num-experts 8")


OTHER_JOBS = {
    "--multi-latent-attention --kv-lora-rank 512": "--multi-latent-attention: expected no such flag",
    "--num-experts 8 --moe-layer-freq ([0]*3+[1]*21)": "--moe-layer-freq: 0]*3+[1]*21: expected experts in every layer",
    "--recompute-granularity full --recompute-method block --recompute-num-layers 1": "--recompute-num-layers: 1: expected every",
    "--optimizer sgd": "--optimizer: sgd: expected adam",
    "--num-experts 8 --tensor-model-parallel-size 8 --sequence-parallel --expert-model-parallel-size 8 "
    "--expert-tensor-parallel-size 8": "--expert-tensor-parallel-size: 8: expected 1, as many as divide an expert",
    "--attention-backend foo": "--attention-backend: foo: expected auto, flash",
    "--account-for-loss-in-pipeline-split --pipeline-model-parallel-size 4": "--num-layers: 25: expected a multiple of 4 stages",
    "--pipeline-model-parallel-layout Et*3|Lt": "--pipeline-model-parallel-layout: expected no such flag",
}


@pytest.mark.parametrize("flags", OTHER_JOBS)
def test_flags_of_another_job_are_not_ignored(flags: str) -> None:
    with pytest.raises(InputError) as caught:
        document(f"{GPT} {flags}")
    assert f"flags: {OTHER_JOBS[flags]}" in str(caught.value)


def test_torchtitan_weights_of_embedding_and_head() -> None:
    flags = (
        "--model.name llama3 --model.flavor 8B --training.local_batch_size 8 --training.seq_len=4096 "
        "--parallelism.pipeline_parallel_degree 4 --parallelism.data_parallel_shard_degree 1"
    )
    assert document(flags)["split"] == [8, 9, 8, 7]
    less = " --parallelism.pipeline_parallel_first_stage_less_layers 0 --parallelism.pipeline_parallel_last_stage_less_layers 0"
    assert document(flags + less)["split"] == [8, 8, 8, 8]
    with pytest.raises(InputError, match="pipeline-parallel-split-points: expected no such setting"):
        document(flags + " --parallelism.pipeline_parallel_split_points layers.4")
