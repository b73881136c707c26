"""Durations of stages: against measured layers, and as the formulas say when the set-up changes."""

from __future__ import annotations

from dataclasses import replace
from fractions import Fraction
from math import ceil

import pytest

from pipefill_opt.workload.model.catalog import read_hardware, read_network
from pipefill_opt.workload.model.coefficients import read_coefficients
from pipefill_opt.workload.model.collectives import Collective
from pipefill_opt.workload.model.durations import Clock
from pipefill_opt.workload.model.kernels import Axis, Transfer
from pipefill_opt.workload.model.layers import Linear
from pipefill_opt.workload.model.operators import layer_work
from pipefill_opt.workload.model.parallel import Parallel, Recompute, Training
from pipefill_opt.workload.model.parameters import device_parameters
from pipefill_opt.workload.model.roofline import Machine

GPT = read_network("megatron-22b")
BLOCK = GPT.layers[1]
TRAINING = Training(Parallel(tp=8), 4, 2048, "fp16", flash=False)


def clock(training: Training = TRAINING, hardware: str = "a100-80gb", **change: object) -> Clock:
    coefficients = replace(read_coefficients(), **change) if change else read_coefficients()
    return Clock(Machine(read_hardware(hardware), training.precision, coefficients), training)


@pytest.mark.parametrize(
    ("sequence_parallel", "recompute", "forward", "backward"),
    [
        (False, Recompute.NONE, 7.7, 11.9),
        (True, Recompute.NONE, 7.2, 11.8),
        (False, Recompute.FULL, 7.7, 19.5),
        (False, Recompute.SELECTIVE, 7.7, 13.2),
        (True, Recompute.SELECTIVE, 7.2, 13.1),
    ],
)
def test_a_layer_takes_as_long_as_measured(
    sequence_parallel: bool, recompute: Recompute, forward: float, backward: float
) -> None:
    """Korthikanti et al. 2022 (arXiv 2205.05198), table 4: one layer of the 22B model, milliseconds, on A100."""
    parallel = Parallel(tp=8, sequence_parallel=sequence_parallel)
    stage = clock(replace(TRAINING, parallel=parallel, recompute=recompute)).stage([BLOCK])
    assert stage.forward / 1e6 == pytest.approx(forward, rel=0.1)
    assert stage.backward / 1e6 == pytest.approx(backward, rel=0.1)


def test_a_stage_is_the_sum_of_its_layers() -> None:
    own = clock()
    layer = own.layer(BLOCK)
    stage = own.stage([BLOCK] * 3)
    assert stage.forward == ceil(3 * layer.forward)
    assert stage.input_gradient == ceil(3 * layer.input_gradient)
    assert stage.weight_gradient == ceil(3 * layer.weight_gradient)
    assert stage.backward == ceil(3 * (layer.input_gradient + layer.weight_gradient))
    late = clock(action=1000).stage([BLOCK] * 3)
    assert (late.forward, late.backward, late.weight_gradient) == (
        stage.forward + 1000,
        stage.backward + 1000,
        stage.weight_gradient + 1000,
    )


def test_recomputation_repeats_the_forward() -> None:
    none, full = (clock(replace(TRAINING, recompute=how)).layer(BLOCK) for how in (Recompute.NONE, Recompute.FULL))
    assert full.again == none.forward
    head = clock(replace(TRAINING, recompute=Recompute.FULL)).layer(GPT.layers[-1])
    assert head.again == 0, "embedding and head are not recomputed"
    fused = clock(replace(TRAINING, recompute=Recompute.SELECTIVE, flash=True)).layer(BLOCK)
    assert fused.again == 0, "fused attention does it anyway"


def products(training: Training) -> Fraction:
    """Ticks of the matrix products of a block's forward, without overhead."""
    own = clock(training, kernel=0)
    linear = [name.name for name in BLOCK.operators if isinstance(name, Linear)]
    return sum((own.piece(piece) for piece in layer_work(BLOCK, training).forward if piece.name in linear), Fraction(0))


def test_products_grow_with_samples_and_tokens_and_shrink_with_tensor_parallelism() -> None:
    """Bound by compute, with dimensions that do not depend on either: exactly in proportion."""
    base = products(TRAINING)
    assert products(replace(TRAINING, microbatch=8)) == 2 * base
    assert products(replace(TRAINING, sequence=4096)) == 2 * base
    halved = products(replace(TRAINING, parallel=Parallel(tp=4)))
    assert Fraction(2) > halved / base > Fraction(17, 10), "half the ranks, twice the work, at a better rate"


def test_stored_attention_grows_with_the_square_of_tokens() -> None:
    def scores(sequence: int) -> Fraction:
        training = replace(TRAINING, sequence=sequence)
        pieces = layer_work(BLOCK, training).forward
        own = clock(training, kernel=0)
        return sum((own.piece(piece) for piece in pieces if piece.name == "softmax"), Fraction(0))

    assert scores(4096) == 4 * scores(2048)


def test_hidden_transfers_show_in_part() -> None:
    def backward(share: Fraction) -> Fraction:
        layer = clock(tensor=share).layer(BLOCK)
        return layer.input_gradient + layer.weight_gradient

    hidden, half, shown = backward(Fraction(1)), backward(Fraction(1, 2)), backward(Fraction(0))
    assert half - hidden == shown - half > 0
    transfer = Transfer("t", Collective.ALL_REDUCE, Axis.TENSOR, 10**6, hidden=True)
    assert clock(tensor=Fraction(1), kernel=0).piece(transfer) == 0


def test_programs_that_do_not_overlap_tensor_parallelism() -> None:
    apart = clock(replace(TRAINING, async_tensor=False)).layer(BLOCK)
    assert apart == clock(tensor=Fraction(0)).layer(BLOCK)
    assert apart.input_gradient > clock().layer(BLOCK).input_gradient


def test_gradients_are_reduced_over_replicas() -> None:
    """A ring over dp ranks passes 2 (n-1)/n of the gradients; ZeRO scatters them, half of that; nothing for one replica."""

    def reduce(dp: int, zero: int = 0, **change: object) -> int:
        parallel = Parallel(tp=8, dp=dp, zero=zero)
        return clock(replace(TRAINING, parallel=parallel), **change).stage([BLOCK]).reduce

    assert reduce(1) == 0
    bandwidth = read_hardware("a100-80gb").between.bandwidth * read_coefficients().between
    size = 2 * device_parameters([BLOCK], Parallel(tp=8)).dense
    assert reduce(16) == ceil(2 * (Fraction(15, 16) * size * 10**9 / bandwidth + 15 * 5000))
    assert reduce(16, zero=1) == pytest.approx(reduce(16) / 2, abs=1)
    assert reduce(16, zero=3) == 0
    assert reduce(16, data=Fraction(3, 4)) == pytest.approx(reduce(16) / 4, abs=1)


def test_a_step_moves_each_parameter_once_and_zero_divides_it() -> None:
    def step(dp: int, zero: int) -> int:
        return clock(replace(TRAINING, parallel=Parallel(tp=8, dp=dp, zero=zero))).step([BLOCK])

    count = device_parameters([BLOCK], Parallel(tp=8)).dense
    machine = clock().machine
    assert step(1, 0) == step(16, 0) == ceil(count * 34 * 10**9 / machine.bandwidth)
    assert step(16, 3) == pytest.approx(step(16, 0) / 16, rel=0.001)
    assert step(16, 1) > step(16, 3), "the new weights are gathered"


def test_sharded_weights_are_gathered_beside_the_work() -> None:
    """FSDP: what gathering takes longer than a forward shows; with enough samples nothing does."""
    small = Training(Parallel(dp=16, zero=3), 1, 128, "bf16")
    large = replace(small, microbatch=8, sequence=2048)
    for training, shows in ((small, True), (large, False)):
        alone = clock(replace(training, parallel=Parallel())).layer(BLOCK)
        assert (clock(training).layer(BLOCK).forward > alone.forward) == shows


def test_messages_go_in_parts_by_tensor_parallelism_and_slower_between_nodes() -> None:
    size = 2 * 4 * 2048 * 6144
    hardware, coefficients = read_hardware("a100-80gb"), read_coefficients()
    inside = clock(replace(TRAINING, parallel=Parallel(pp=8))).message(BLOCK)
    assert inside == ceil(size * 10**9 / (hardware.within.bandwidth * coefficients.within) + 3000)
    outside = clock(replace(TRAINING, parallel=Parallel(pp=16))).message(BLOCK)
    assert outside == ceil(size * 10**9 / (hardware.between.bandwidth * coefficients.between) + 5000)
    parts = clock(replace(TRAINING, parallel=Parallel(tp=8, pp=16, sequence_parallel=True))).message(BLOCK)
    assert parts == ceil(Fraction(size, 8) * 10**9 / (hardware.between.bandwidth * coefficients.between) + 5000)
    assert clock(replace(TRAINING, parallel=Parallel(tp=8, pp=16))).message(BLOCK) > parts, "then the whole is gathered"


def test_experts_gradients_are_reduced_among_fewer() -> None:
    moe = read_network("mixtral-8x7b")
    block = moe.layers[1]
    training = Training(Parallel(dp=8, ep=8), 1, 4096)
    spread = clock(training).stage([block]).reduce
    whole = clock(replace(training, parallel=Parallel(dp=8))).stage([block]).reduce
    assert spread < whole / 10, "each expert has one home"
