"""FLOPs, bytes and transfers of layers against published counts."""

from __future__ import annotations

from collections import Counter
from fractions import Fraction

import pytest

from pipefill_opt.workload.model import layers as ops
from pipefill_opt.workload.model.catalog import network_names, read_network
from pipefill_opt.workload.model.collectives import Collective
from pipefill_opt.workload.model.flops import forward_flops, network_flops
from pipefill_opt.workload.model.kernels import Axis, Kernel, Piece, Transfer, Unit
from pipefill_opt.workload.model.layers import Rows, Split
from pipefill_opt.workload.model.network import Layer
from pipefill_opt.workload.model.operators import layer_work, operator_work
from pipefill_opt.workload.model.parallel import Parallel, Training

TOKENS = Rows()
STORED = Training(Parallel(), 4, 2048, "fp16", flash=False)


def block(name: str) -> Layer:
    return next(layer for layer in read_network(name).layers if layer.kind not in ("embedding", "head"))


def matrix_flops(pieces: tuple[Piece, ...]) -> int:
    return sum(piece.flops for piece in pieces if isinstance(piece, Kernel) and piece.unit is not Unit.VECTOR)


def transfers(pieces: tuple[Piece, ...]) -> list[tuple[Collective, Axis, int]]:
    return [(piece.kind, piece.axis, piece.bytes) for piece in pieces if isinstance(piece, Transfer)]


@pytest.mark.parametrize(("name", "h", "layers"), [("megatron-22b", 6144, 48), ("megatron-1t", 25600, 128)])
def test_flops_are_the_published_ones(name: str, h: int, layers: int) -> None:
    """Korthikanti et al. 2022 (arXiv 2205.05198), appendix A: 24 B s h^2 + 4 B s^2 h a layer, 72 B L s h^2 (1 + s/6h + v/12hL) in all."""
    b, s, v = STORED.microbatch, STORED.sequence, 51200
    assert forward_flops(block(name), STORED) == 24 * b * s * h**2 + 4 * b * s**2 * h
    in_all = 72 * b * layers * s * h**2 * (1 + Fraction(s, 6 * h) + Fraction(v, 12 * h * layers))
    assert 3 * network_flops(read_network(name), STORED) == in_all


@pytest.mark.parametrize(
    ("name", "published"), [("resnet-18", 1.8), ("resnet-50", 3.8), ("resnet-152", 11.3), ("vgg-19", 19.6)]
)
def test_multiply_adds_of_images(name: str, published: float) -> None:
    """He et al. 2016 (arXiv 1512.03385), table 1 and section 3.3: billions of multiply-adds for 224 x 224 pixels."""
    network, one = read_network(name), Training(Parallel(), 1, 0, "fp16")
    count = sum(forward_flops(layer, one) for layer in network.layers) / 2e9
    assert count == pytest.approx(published, rel=0.08)


@pytest.mark.parametrize("name", network_names())
def test_each_backward_product_has_the_forwards_flops(name: str) -> None:
    """Every matrix product has two in the backward, one for its input and one for its weights or other input."""
    network = read_network(name)
    training = Training(Parallel(), 2, network.sequence, "fp16", flash=False)
    for layer in set(network.layers):
        work = layer_work(layer, training)
        back = matrix_flops(work.input_gradient) + matrix_flops(work.weight_gradient)
        assert back == 2 * matrix_flops(work.forward)
        for piece in (*work.forward, *work.input_gradient, *work.weight_gradient):
            assert piece.bytes > 0, piece
        assert network_flops(network, training) > 0


@pytest.mark.parametrize("tp", [2, 8])
def test_tensor_parallelism_divides_products(tp: int) -> None:
    layer, whole = block("megatron-22b"), layer_work(block("megatron-22b"), STORED)
    part = layer_work(layer, Training(Parallel(tp=tp), 4, 2048, "fp16", flash=False))
    for name in ("forward", "input_gradient", "weight_gradient"):
        assert matrix_flops(getattr(part, name)) * tp == matrix_flops(getattr(whole, name))


def test_tensor_parallelism_sums_twice_each_way() -> None:
    """Shoeybi et al. 2019 (arXiv 1909.08053): two all-reduces of b s h numbers in the forward, two in the backward."""
    layer, size = block("megatron-22b"), 2 * 4 * 2048 * 6144
    work = layer_work(layer, Training(Parallel(tp=8), 4, 2048, "fp16"))
    each = (Collective.ALL_REDUCE, Axis.TENSOR, size)
    assert transfers(work.forward) == transfers(work.input_gradient) == [each, each]
    assert transfers(work.weight_gradient) == []


def test_sequence_parallelism_gathers_and_scatters_as_much() -> None:
    """Korthikanti et al. 2022, section 4.2.2: a ring all-reduce is a reduce-scatter and an all-gather."""
    layer = block("megatron-22b")
    work = layer_work(layer, Training(Parallel(tp=8, sequence_parallel=True), 4, 2048, "fp16"))
    for pieces in (work.forward, work.input_gradient):
        kinds = Counter(kind for kind, _, _ in transfers(pieces))
        assert kinds == {Collective.ALL_GATHER: 2, Collective.REDUCE_SCATTER: 2}
    again = [piece for piece in work.weight_gradient if isinstance(piece, Transfer)]
    assert [piece.kind for piece in again] == [Collective.ALL_GATHER] * 2
    assert all(piece.hidden for piece in again), "inputs are gathered once more, beside the products"
    plain = layer_work(layer, Training(Parallel(tp=8), 4, 2048, "fp16"))

    def vector_bytes(pieces: tuple[Piece, ...]) -> int:
        return sum(piece.bytes for piece in pieces if isinstance(piece, Kernel) and "norm" in piece.name)

    assert vector_bytes(work.forward) * 8 == vector_bytes(plain.forward)


def test_experts_are_reached_and_left_by_all_to_all() -> None:
    layer = block("mixtral-8x7b")
    work = layer_work(layer, Training(Parallel(dp=8, ep=8), 1, 4096))
    size = 2 * 2 * 4096 * 4096  # two experts a token, two bytes a number
    each = (Collective.ALL_TO_ALL, Axis.EXPERT, size)
    assert transfers(work.forward) == transfers(work.input_gradient) == [each, each]
    alone = layer_work(layer, Training(Parallel(), 1, 4096))
    assert transfers(alone.forward) == []
    assert matrix_flops(alone.forward) == matrix_flops(work.forward), "an even load"


def test_context_parallelism_divides_rows_and_gathers_keys() -> None:
    layer = block("llama3-405b")
    whole, part = (layer_work(layer, Training(Parallel(cp=cp), 1, 8192)) for cp in (1, 4))
    assert matrix_flops(part.forward) * 4 == matrix_flops(whole.forward)
    assert transfers(part.forward) == [(Collective.ALL_GATHER, Axis.CONTEXT, 2 * 8192 * 8 * 2 * 128)]


def test_fused_attention_needs_half_the_scores_of_a_causal_one() -> None:
    attention = ops.Attention("a", TOKENS, TOKENS, 4, 4, 64, 64, causal=True)
    stored, fused = (operator_work(attention, Training(Parallel(), 1, 512, flash=flash)) for flash in (False, True))
    assert matrix_flops(fused.forward) * 2 == matrix_flops(stored.forward) == 4 * 512 * 512 * 4 * 64
    assert matrix_flops(fused.input_gradient) == Fraction(5, 2) * matrix_flops(fused.forward)
    assert sum(piece.bytes for piece in fused.forward) * 4 < sum(piece.bytes for piece in stored.forward)
    assert stored.again == stored.forward
    assert fused.again == ()


def test_bytes_of_a_product() -> None:
    linear = ops.Linear("l", TOKENS, 100, 200, split=Split.NONE)
    training = Training(Parallel(), 2, 10, "bf16")
    (forward,), (back,), (weight,) = (
        operator_work(linear, training).forward,
        operator_work(linear, training).input_gradient,
        operator_work(linear, training).weight_gradient,
    )
    assert [piece.bytes for piece in (forward, back)] == [2 * (20 * 100 + 100 * 200 + 20 * 200)] * 2
    assert weight.bytes == 2 * 20 * 300 + 8 * 100 * 200, "a gradient of 32 bits is read and written"
    assert isinstance(forward, Kernel)
    assert forward.narrow == 20


def test_numbers_are_cast_for_fp8() -> None:
    """What a product reads is scaled and written twice, row and column first; half the bytes are read then."""
    linear = ops.Linear("l", TOKENS, 100, 200)
    half, quarter = (operator_work(linear, Training(Parallel(), 2, 10, precision)) for precision in ("bf16", "fp8"))
    cast, product = quarter.forward
    assert (cast.name, cast.bytes) == ("l cast", (2 + 1 + 1) * 20 * 100)
    assert product.bytes == 20 * 100 + 100 * 200 + 2 * 20 * 200 < half.forward[0].bytes
    assert [piece.name for piece in quarter.input_gradient] == ["l dX cast", "l dX"]
    assert [piece.name for piece in half.forward] == ["l"]


def moved(pieces: tuple[Piece, ...], *names: str) -> int:
    return sum(piece.bytes for piece in pieces if piece.name in names)


def test_eager_operators_take_passes_of_their_own() -> None:
    """Bias, dropout, scale and mask of a GPT block in 16 bits: what each reads and writes."""
    layer = block("megatron-22b")
    fused, eager = (
        layer_work(layer, Training(Parallel(), 4, 2048, "fp16", flash=False, fused=fused)) for fused in (True, False)
    )
    rows, h, scores = 4 * 2048, 6144, 4 * 2048 * 2048 * 64
    assert matrix_flops(eager.forward) == matrix_flops(fused.forward)
    biases = [f"{name} bias" for name in ("QKV", "projection", "MLP up", "MLP down")]
    assert moved(eager.forward, *biases) == 4 * rows * (3 + 1 + 4 + 1) * h
    assert moved(fused.forward, *biases) == 0
    assert moved(eager.forward, "scale", "mask") == 2 * 4 * scores
    assert (moved(fused.forward, "dropout"), moved(eager.forward, "dropout")) == (2 * rows * h, 2 * 5 * rows * h)
    gated = ops.Activation("silu", TOKENS, 100, "silu", gated=True)
    norm = ops.Norm("rms", TOKENS, 100, shift=False)
    for operator, ratio in ((gated, Fraction(5, 3)), (norm, Fraction(8))):
        apart, together = (operator_work(operator, Training(Parallel(), 1, 10, fused=fused)) for fused in (False, True))
        assert Fraction(apart.forward[0].bytes, together.forward[0].bytes) == ratio


def test_nothing_drops_out_of_inference() -> None:
    work = layer_work(block("megatron-22b"), Training(Parallel(), 1, 128, "fp16", flash=False, trains=False))
    assert not [piece.name for piece in work.forward if "dropout" in piece.name]


def test_experts_spread_over_tensor_ranks_do_as_much_on_whole_matrices() -> None:
    """A device then has 1/tp of the rows and the whole width: as many FLOPs, no sums among tensor-parallel ranks around experts."""
    layer = read_network("mixtral-8x7b").layers[1]
    spread = layer_work(layer, Training(Parallel(tp=8, dp=1, ep=8, sequence_parallel=True), 1, 4096))
    divided = layer_work(layer, Training(Parallel(tp=8, dp=8, ep=8, sequence_parallel=True), 1, 4096))
    for name in ("forward", "input_gradient", "weight_gradient"):
        assert matrix_flops(getattr(spread, name)) == matrix_flops(getattr(divided, name))
    sums = [piece.name for piece in spread.forward if isinstance(piece, Transfer)]
    assert [name for name in sums if "expert" in name] == ["expert MLP up dispatch", "expert MLP down collect"]
    routed = [size for kind, _, size in transfers(spread.forward) if kind is Collective.ALL_TO_ALL]
    assert routed == [2 * 2 * 4096 * 4096 // 8] * 2
