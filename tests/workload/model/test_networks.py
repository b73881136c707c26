"""Networks as data: parameter counts against the published ones, templates, files that are wrong."""

from __future__ import annotations

from pathlib import Path

import pytest

from pipefill_opt.errors import InputError
from pipefill_opt.files import parse_document
from pipefill_opt.workload.model import layers as ops
from pipefill_opt.workload.model.catalog import network_names, read_network
from pipefill_opt.workload.model.layers import Linear, Rows
from pipefill_opt.workload.model.network_file import network_from_document

EXACT = {
    "bert-base": 109_482_240,
    "bert-large": 335_141_888,
    "bloom-176b": 176_247_271_424,
    "efficientnet-b0": 5_288_548,
    "efficientnet-b7": 66_347_960,
    "flux": 11_901_408_320,
    "llama2-7b": 6_738_415_616,
    "llama2-70b": 68_976_648_192,
    "llama3-8b": 8_030_261_248,
    "llama3-70b": 70_553_706_496,
    "llama3-405b": 405_853_388_800,
    "mixtral-8x7b": 46_702_792_704,
    "resnet-18": 11_689_512,
    "resnet-50": 25_557_032,
    "resnet-152": 60_192_808,
    "vgg-19": 143_667_240,
}
"""Counts that their sources state to the last parameter."""
ASKED = (
    "gpt-5b", "gpt-40b", "gpt3-1b", "gpt3-13b", "gpt3-44b", "gpt3-175b", "llama3-8b", "llama3-70b", "llama3-405b", "mixtral-8x7b",
    "deepseek-v3", "efficientnet-b0", "bert-base", "bert-large", "swin-large", "xlm-roberta-xl", "resnet-18", "resnet-50", "resnet-152",
    "vgg-19", "pixart-alpha", "sd3-medium", "flux", "hunyuan-dit",
)  # fmt: skip


def test_all_that_were_asked_for_are_there() -> None:
    assert set(ASKED) <= set(network_names())
    assert set(EXACT) <= set(network_names())


@pytest.mark.parametrize("name", network_names())
def test_parameters_are_within_two_percent_of_the_published(name: str) -> None:
    network = read_network(name)
    assert network.name == name
    assert abs(network.parameters - network.published) * 50 <= network.published
    assert network.provenance in ("seen", "derived", "unverified")
    assert all(network.sources)


@pytest.mark.parametrize(("name", "count"), EXACT.items())
def test_parameters_are_exact_where_the_source_is(name: str, count: int) -> None:
    network = read_network(name)
    assert network.parameters == count == network.published


@pytest.mark.parametrize("name", network_names())
def test_widths_and_rows_join(name: str) -> None:
    """Tensor parallelism divides nothing twice; what a layer passes on is as wide as its last product or sum."""
    network = read_network(name)
    for layer in network.layers:
        widths = {op.outputs for op in layer.operators if isinstance(op, ops.Linear | ops.Conv)}
        widths |= {op.width for op in layer.operators if isinstance(op, ops.Norm | ops.Elementwise | ops.Lookup)}
        assert layer.width == 0 or layer.width in widths, layer.name
        assert layer.rows.at(network.sequence) >= 1
        assert (layer.kind == "moe") == any(isinstance(op, Linear) and op.experts > 1 for op in layer.operators)


def test_a_gpt_block_has_the_parameters_of_the_formula() -> None:
    """12 h^2 + 13 h: Narayanan et al. 2021 (arXiv 2104.04473), section 5.1."""
    block = read_network("gpt3-175b").layers[1]
    assert block.parameters == 12 * 12288**2 + 13 * 12288
    whole = read_network("megatron-145.6b")
    hidden, layers, vocabulary, positions = 12288, 80, 51200, 2048
    formula = layers * (12 * hidden**2 + 13 * hidden) + (vocabulary + positions) * hidden
    assert whole.parameters == formula + 2 * hidden  # and the last norm


def test_experts_are_counted_all_and_work_on_the_chosen_rows() -> None:
    block = read_network("mixtral-8x7b").layers[1]
    assert block.expert_parameters == 8 * 3 * 4096 * 14336
    up = next(op for op in block.operators if op.name == "expert MLP up")
    assert isinstance(up, Linear)
    assert (up.experts, up.rows) == (8, Rows(2, 0))
    assert up.rows.at(4096) == 8192


def test_latent_attention() -> None:
    """DeepSeek-V3 (arXiv 2412.19437): the products of one attention."""
    block = read_network("deepseek-v3").layers[1]
    products = {op.name: (op.inputs, op.outputs) for op in block.operators if isinstance(op, Linear)}
    assert products["Q up"] == (1536, 128 * 192)
    assert products["KV down"] == (7168, 576)
    assert products["KV up"] == (512, 128 * 256)
    assert products["projection"] == (128 * 128, 7168)


def document(**layer: object) -> dict[str, object]:
    return {
        "name": "n", "kind": "decoder", "published": {"parameters": 1, "provenance": "derived"}, "sources": ["us"],
        "layers": [{"name": "l", **layer}],
    }  # fmt: skip


@pytest.mark.parametrize(
    ("layer", "message"),
    [
        ({"template": "decoder", "hidden": 8}, "layers[0]: missing key 'heads'"),
        ({"template": "head", "hidden": 8}, "layers[0]: missing key 'vocabulary'"),
        ({"kind": "block", "width": 8}, "layers[0]: missing key 'operators'"),
        ({"kind": "block", "width": 8, "operators": [{"op": "linear", "inputs": 8}]}, "operators[0]: missing key 'outputs'"),
        ({"kind": "block", "width": 8, "operators": [{"op": "norm", "width": 8, "stride": 2}]}, "operators[0]: stride: expected no"),
        ({"template": "head", "hidden": 8, "vocabulary": 9, "rows": "tokens"}, "layers[0].rows: tokens: expected rows"),
        ({"template": "head", "hidden": 8, "vocabulary": 9, "rows": 0}, "layers[0].rows: 0: expected rows from 1 on"),
        ({"template": "decoder", "hidden": 10, "heads": 3}, "layers[0].heads: 3: expected a divisor of the width 10"),
        ({"template": "decoder", "hidden": 8, "heads": 4, "kv_heads": 3}, "layers[0].kv_heads: 3: expected a divisor of the 4"),
        ({"template": "decoder", "hidden": 8, "heads": 2, "experts": 4, "active": 5}, "layers[0].active: 5: expected at most the 4"),
        (
            {"kind": "b", "width": 8, "operators": [{"op": "conv", "inputs": 8, "outputs": 9, "kernel": 1, "size": 1, "groups": 8}]},
            "operators[0].groups: 8: expected a divisor of 8 inputs and 9 outputs",
        ),
        (
            {"kind": "b", "width": 8, "operators": [{"op": "attention", "heads": 4, "kv_heads": 8, "qk_width": 2, "v_width": 2}]},
            "operators[0].kv_heads: 8: expected a divisor of the 4 heads",
        ),
        (
            {"kind": "block", "width": 8, "operators": [{"op": "linear", "inputs": 8, "outputs": 8, "split": "x"}]},
            "operators[0].split: x: expected none, column or row",
        ),
    ],
)  # fmt: skip
def test_a_wrong_layer_is_refused(layer: dict[str, object], message: str) -> None:
    with pytest.raises(InputError) as error:
        network_from_document(document(**layer), file="n.yaml")
    assert str(error.value).startswith("n.yaml: layers[0]")
    assert message in str(error.value)


def test_rows_and_repeats_are_read() -> None:
    text = """
name: n
kind: vision
published: {parameters: 1, provenance: derived}
sources: [us]
layers:
  - name: l
    kind: block
    count: 3
    rows: 2*sequence+5
    width: 4
    operators: [{op: linear, inputs: 4, outputs: 4, repeat: 2}, {op: norm, width: 4, rows: 7}]
"""
    network = network_from_document(parse_document(text, "network"))
    assert len(network.layers) == 3
    assert [op.rows for op in network.layers[0].operators if isinstance(op, Linear | ops.Norm)] == [
        Rows(2, 5), Rows(2, 5), Rows(0, 7),
    ]  # fmt: skip
    assert network.parameters == 3 * (2 * 16 + 8)


def test_an_unknown_name_is_told_the_nearest(tmp_path: Path) -> None:
    with pytest.raises(
        InputError, match="llama-3-8b: expected a network that is known, or a file; the nearest: llama3-8b"
    ):
        read_network("llama-3-8b")
    with pytest.raises(InputError, match="expected a readable file"):
        read_network("mine.yaml", tmp_path)
    (tmp_path / "mine.yaml").write_text("{name: n, kind: decoder}", encoding="utf-8")
    with pytest.raises(InputError, match="missing key 'published'"):
        read_network("mine.yaml", tmp_path)


def test_work_on_tokens_needs_their_number() -> None:
    network = network_from_document(document(template="decoder", hidden=8, heads=2))
    assert network.tokens(64) == 64
    with pytest.raises(InputError, match="missing key 'sequence', for which n has no default"):
        network.tokens(None)
    assert read_network("resnet-50").tokens(None) == 0
