"""Parameters of a device and the bytes of their states, against the published formulas."""

from __future__ import annotations

from fractions import Fraction

import pytest

from pipefill_opt.errors import InputError
from pipefill_opt.workload.model.catalog import network_names, read_network
from pipefill_opt.workload.model.parallel import Parallel, Training
from pipefill_opt.workload.model.parameters import (
    STATES,
    Parameters,
    StateBytes,
    device_parameters,
    state_bytes,
    states_of,
)


@pytest.mark.parametrize("name", network_names())
def test_one_device_holds_all(name: str) -> None:
    network = read_network(name)
    held = device_parameters(network.layers, Parallel())
    assert held.dense + held.expert == network.parameters


def test_a_last_stage_holds_a_copy_of_tied_weights() -> None:
    network = read_network("gpt3-175b")
    head = device_parameters(network.layers[-1:], Parallel())
    assert head.dense == 50257 * 12288 + 2 * 12288
    both = device_parameters((network.layers[0], network.layers[-1]), Parallel())
    assert both.dense == (50257 + 2048) * 12288 + 2 * 12288


@pytest.mark.parametrize("t", [2, 8])
def test_tensor_parallelism_divides_products_and_tables(t: int) -> None:
    """Of a block, 12 h^2 and the biases of column-split products; norms and the other biases are everywhere (arXiv 1909.08053)."""
    network, h = read_network("megatron-145.6b"), 12288
    block = device_parameters(network.layers[1:2], Parallel(tp=t))
    assert block.dense == (12 * h * h + 7 * h) // t + 6 * h
    embedding = device_parameters(network.layers[:1], Parallel(tp=t))
    assert embedding.dense == 51200 * h // t + 2048 * h


def test_expert_parallelism_divides_experts() -> None:
    block = read_network("mixtral-8x7b").layers[1]
    whole, part = (device_parameters([block], Parallel(dp=8, ep=ep)) for ep in (1, 4))
    assert whole.expert == block.expert_parameters == 4 * part.expert
    assert whole.dense == part.dense


@pytest.mark.parametrize(
    ("zero", "bytes_each"), [(0, 16), (1, 4 + Fraction(12, 64)), (2, 2 + Fraction(14, 64)), (3, Fraction(16, 64))]
)
def test_zero_shards_states(zero: int, bytes_each: Fraction) -> None:
    """Rajbhandari et al. 2020 (arXiv 1910.02054), figure 1: 7.5 billion parameters, 64 ranks, K = 12: 120, 31.4, 16.6, 1.9 GB."""
    count = 7_500_000_000
    held = state_bytes(Parameters(count), Parallel(dp=64, zero=zero), STATES["adam"])
    assert abs(held - count * bytes_each) < 64
    published = {0: "120", 1: "31.4", 2: "16.6", 3: "1.9"}[zero]
    assert f"{held / 1e9:.1f}".removesuffix(".0") == published


@pytest.mark.parametrize(
    ("name", "plain", "sharded"),
    [
        ("adam-fp16", 20, 4 + Fraction(16, 8)),
        ("adam-fp32-gradients", 18, 6 + Fraction(12, 8)),
        ("adam-fp32", 16, 8 + 1),
    ],
)
def test_a_distributed_optimizer(name: str, plain: int, sharded: Fraction) -> None:
    """Megatron-LM, documentation of the distributed optimizer: bytes of a parameter, of d ranks, here 8."""
    assert state_bytes(Parameters(800), Parallel(dp=8), STATES[name]) == 800 * plain
    assert state_bytes(Parameters(800), Parallel(dp=8, zero=1), STATES[name]) == 800 * sharded


def test_fewer_ranks_share_the_states_of_experts() -> None:
    states = StateBytes(2, 2, 12)
    held = state_bytes(Parameters(dense=80, expert=80), Parallel(dp=8, ep=4, zero=1), states)
    assert held == 80 * 4 + 10 * 12 + 80 * 4 + 40 * 12


@pytest.mark.parametrize(
    ("optimizer", "precision", "states"),
    [
        (None, "bf16", StateBytes(2, 2, 12)), (None, "fp8", StateBytes(2, 2, 12)), (None, "tf32", StateBytes(4, 4, 8)),
        ("none", "fp16", StateBytes(2, 0, 0)), ("none", "fp32", StateBytes(4, 0, 0)), ("sgd", "bf16", StateBytes(2, 2, 4)),
    ],
)  # fmt: skip
def test_states_follow_optimizer_and_precision(optimizer: str | None, precision: str, states: StateBytes) -> None:
    assert states_of(optimizer, Training(Parallel(), 1, 1, precision)) == states


@pytest.mark.parametrize(
    ("parallel", "copies"),
    [
        (Parallel(dp=8, ep=8), 1),
        (Parallel(tp=8, ep=8, sequence_parallel=True), 1),
        (Parallel(tp=2, dp=4, ep=8, sequence_parallel=True), 1),
        (Parallel(tp=2, dp=8, ep=4), 2),
        (Parallel(tp=4, cp=3, dp=1, ep=4, sequence_parallel=True), 3),
    ],
)
def test_replicas_hold_whole_experts(parallel: Parallel, copies: int) -> None:
    """All devices of a pipeline rank together hold a whole number of copies, however tensor and expert parallelism share them."""
    block = read_network("mixtral-8x7b").layers[1]
    assert device_parameters([block], parallel).expert * parallel.replicas == copies * block.expert_parameters
    assert parallel.expert_copies == copies


def test_experts_are_divided_in_one_way() -> None:
    with pytest.raises(
        InputError, match="ep: 4: expected a divisor of cp x dp, 2, or one that leaves each expert whole"
    ):
        Parallel(tp=4, dp=2, ep=4, sequence_parallel=True)
    with pytest.raises(InputError, match="ep: 8: expected sequence_parallel: true"):
        Parallel(tp=8, ep=8)
