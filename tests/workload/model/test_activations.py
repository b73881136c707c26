"""Kept bytes against the published formulas, which they must meet exactly."""

from __future__ import annotations

from dataclasses import replace

import pytest

from pipefill_opt.workload.model.activations import layer_held, layer_kept, operator_kept, transient
from pipefill_opt.workload.model.catalog import read_network
from pipefill_opt.workload.model.layers import Activation, Attention, Conv, Elementwise, Linear, Pool, Rows
from pipefill_opt.workload.model.parallel import Parallel, Recompute, Training

MODELS = [("gpt3-175b", 96, 12288), ("megatron-22b", 64, 6144), ("megatron-530b", 128, 20480)]


def stored(t: int = 1, *, sp: bool = False, b: int = 1, recompute: Recompute = Recompute.NONE) -> Training:
    """Scores kept, as in Korthikanti et al. 2022."""
    return Training(Parallel(tp=t, sequence_parallel=sp), b, 2048, recompute=recompute, flash=False)


@pytest.mark.parametrize(("name", "a", "h"), MODELS)
@pytest.mark.parametrize("b", [1, 4])
@pytest.mark.parametrize("t", [1, 8])
def test_a_block_keeps_what_the_formulas_say(name: str, a: int, h: int, b: int, t: int) -> None:
    """Korthikanti et al. 2022 (arXiv 2205.05198), equations 1, 2 and 4, and table 2."""
    block, s = read_network(name).layers[1], 2048
    assert layer_kept(block, stored(1, b=b)).total == s * b * h * 34 + 5 * a * s * s * b
    assert layer_kept(block, stored(t, b=b)).total * t == s * b * h * (10 * t + 24) + 5 * a * s * s * b
    assert layer_kept(block, stored(t, sp=True, b=b)).total * t == s * b * h * 34 + 5 * a * s * s * b


@pytest.mark.parametrize(("name", "a", "h"), MODELS)
def test_recomputation(name: str, a: int, h: int) -> None:
    """Selective keeps 34 s b h / t, full 2 s b h (table 2); what is computed again is the difference, or all."""
    embedding, block, s, b, t = *read_network(name).layers[:2], 2048, 2, 8
    selective = layer_held(block, embedding, stored(t, sp=True, b=b, recompute=Recompute.SELECTIVE))
    assert selective.kept * t == 34 * s * b * h
    assert selective.again * t == 5 * a * s * s * b
    full = layer_held(block, embedding, stored(b=b, recompute=Recompute.FULL))
    assert full.kept == 2 * s * b * h
    assert full.again == 34 * s * b * h + 5 * a * s * s * b


def test_embedding_and_head() -> None:
    """Korthikanti et al., section 4.3: s b h p / t of the dropout (p micro-batches), 4 s b h (1 + v / h) / t of the head."""
    network, s, b, h, t = read_network("megatron-175b"), 2048, 1, 12288, 8
    training = stored(t, sp=True)
    assert layer_kept(network.layers[0], training).total * t == s * b * h
    assert layer_kept(network.layers[-1], training).total * t == 4 * s * b * (h + 51200)
    full = replace(training, recompute=Recompute.FULL)
    assert layer_held(network.layers[-1], network.layers[-2], full).kept * t == 4 * s * b * (h + 51200)


def test_weight_gradients_need_what_is_published() -> None:
    """Qi et al. 2023 (arXiv 2401.10241), table 1: 32 s b h for W, of 34 s b h + 5 a s^2 b for I."""
    block, s, b, h, a = read_network("gpt3-175b").layers[1], 2048, 1, 12288, 96
    kept = layer_kept(block, stored())
    assert kept.for_weights == 32 * s * b * h
    assert layer_held(block, None, stored()).freed == 2 * s * b * h + 5 * a * s * s * b


def test_fused_attention_keeps_statistics_in_place_of_scores() -> None:
    block = read_network("gpt3-175b").layers[1]
    kept = layer_kept(block, Training(Parallel(), 1, 2048))
    assert kept.scores == 0
    assert kept.total == 34 * 2048 * 12288 + 4 * 96 * 2048


def test_grouped_keys_and_gated_units() -> None:
    """Llama 3 8B: norms, QKV input, Q and K, V, projection input; MLP input, both halves, down input. No dropout."""
    block, s = read_network("llama3-8b").layers[1], 8192
    kept = layer_kept(block, Training(Parallel(), 1, s))
    h, groups, ffn = 4096, 1024, 14336
    attention = 2 * h + 2 * h + 2 * (h + 2 * groups) + 4 * 32 + 2 * h
    assert kept.total == s * (attention + 2 * h + 2 * h + 2 * 2 * ffn + 2 * ffn)


def test_windows_have_as_many_keys_as_rows_and_other_keys_do_not() -> None:
    training = Training(Parallel(), 1, 0, flash=False)
    own = Attention("a", Rows(0, 100), Rows(0, 10), 2, 2, 4, 4, windowed=True)
    assert operator_kept(own, training).tensors == 2 * 100 * 2 * 4 * 3
    assert operator_kept(own, training).scores == 2 * 100 * 10 * 2
    cross = replace(own, windowed=False)
    assert operator_kept(cross, training).tensors == 2 * (100 * 8 + 10 * 16)


def test_what_images_keep() -> None:
    training = Training(Parallel(), 2, 0)
    conv = Conv("c", 3, 8, 3, 9, stride=2)
    assert operator_kept(conv, training).total == 2 * 2 * 81 * 3
    assert operator_kept(conv, training).for_weights == 2 * 2 * (81 * 3 + 25 * 8)
    assert operator_kept(Activation("r", Rows(0, 81), 8, "relu"), training).total == 0
    assert operator_kept(Activation("s", Rows(0, 81), 8, "silu"), training).total == 2 * 2 * 81 * 8
    assert operator_kept(Pool("m", 8, 8, 2), training).total == 2 * 2 * 64 * 8
    assert operator_kept(Pool("mean", 8, 8, 8), training).total == 0
    assert operator_kept(Elementwise("x", Rows(0, 4), 8, saved=2), training).total == 2 * 2 * 2 * 4 * 8


def test_an_input_that_another_product_keeps_is_counted_once() -> None:
    training = Training(Parallel(), 1, 16)
    product = Linear("q", Rows(), 8, 8)
    assert operator_kept(product, training).total == 2 * 16 * 8
    assert operator_kept(replace(product, keeps=False), training).total == 0


@pytest.mark.parametrize("name", ["gpt3-1b", "resnet-50", "deepseek-v3", "swin-large", "hunyuan-dit", "bert-base"])
def test_more_samples_and_less_parallelism_never_need_less(name: str) -> None:
    network = read_network(name)
    few, many = (Training(Parallel(), b, network.sequence, flash=False) for b in (1, 2))
    split = Training(Parallel(tp=2, sequence_parallel=True), 1, network.sequence, flash=False)
    for layer in network.layers:
        assert layer_kept(layer, many).total == 2 * layer_kept(layer, few).total
        assert layer_kept(layer, split).total <= layer_kept(layer, few).total
        for operator in layer.operators:
            assert transient(operator, many) == 2 * transient(operator, few)
