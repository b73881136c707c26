"""FLOPs and bytes of each operator of a layer, forward and backward, on one device of a parallel job, for one micro-batch.

Matrix products read numbers of the precision and write them as they pass on; weight gradients are added up in 32 bits. With tensor
parallelism, a column-split product sums its input gradients, a row-split one its outputs (Shoeybi et al. 2019, arXiv 1909.08053); with
sequence parallelism a sum is a reduce-scatter, and such a product gathers its input (Korthikanti et al. 2022, arXiv 2205.05198).
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any, Final

from pipefill_opt.workload.model import layers as ops
from pipefill_opt.workload.model.attention import attention_work
from pipefill_opt.workload.model.collectives import Collective
from pipefill_opt.workload.model.kernels import Axis, Kernel, Piece, Transfer, Unit, Work
from pipefill_opt.workload.model.layers import Rows, Split
from pipefill_opt.workload.model.network import Layer
from pipefill_opt.workload.model.parallel import PRECISIONS, Training

MAIN_GRADIENT: Final = 4
"""Bytes of a weight's accumulated gradient."""
NORM_FLOPS, ACTIVATION_FLOPS, LOSS_FLOPS = 8, 10, 12
"""Per element, about: they decide nothing, since such work is bound by memory."""
RMS_PASSES, RMS_LAUNCHES = 32, 5
"""Bytes an element and kernels of an RMS norm in parts: to 32 bits 6, averaged squares 4 + 8, scaled 8, to 16 bits and weighted 6."""
SOFTMAX_BYTES: Final = 20
"""Per logit, 32-bit: written once, then read for the maximum, read and written for the exponential, read for the sum."""


def layer_work(layer: Layer, training: Training) -> Work:
    """Of all operators of a layer, the backward in reverse order."""
    work = Work()
    for operator in layer.operators:
        work = work + operator_work(operator, training)
    return work


def operator_work(operator: ops.Operator, training: Training) -> Work:
    """Of one operator."""
    return _WORK[type(operator)](operator, training)


def rows_of(rows: Rows, training: Training) -> int:
    """Rows of a micro-batch on one device, before tensor parallelism: context parallelism divides the tokens."""
    return -(-training.microbatch * rows.at(training.sequence) // training.parallel.cp)


def sequence_rows(rows: Rows, training: Training) -> int:
    """As `rows_of`, for operators that sequence parallelism divides among the tensor-parallel ranks."""
    count = rows_of(rows, training)
    return -(-count // training.parallel.tp) if training.parallel.sequence_parallel else count


def _linear(op: ops.Linear, training: Training) -> Work:
    parallel, element, read = training.parallel, training.element, PRECISIONS[training.precision]
    tp = parallel.tp if op.experts == 1 else parallel.expert_tp
    whole = op.split is not Split.NONE and tp == parallel.tp  # else each tensor-parallel rank has its part of the rows
    rows = rows_of(op.rows, training) if whole else sequence_rows(op.rows, training)
    inputs = -(-op.inputs // tp) if op.split is Split.ROW else op.inputs
    outputs = -(-op.outputs // tp) if op.split is Split.COLUMN else op.outputs
    experts = -(-op.experts // parallel.ep)
    flops = 2 * rows * inputs * outputs
    weights = experts * inputs * outputs
    narrow = min(-(-rows // experts), inputs, outputs)
    launches = 1 if experts == 1 else experts

    def product(suffix: str, size: int) -> Kernel:
        return Kernel(f"{op.name}{suffix}", Unit.MATMUL, flops, size, narrow, launches)

    forward = product("", read * (rows * inputs + weights) + element * rows * outputs)
    back = product(" dX", read * (rows * outputs + weights) + element * rows * inputs)
    weight = product(" dW", read * rows * (inputs + outputs) + 2 * MAIN_GRADIENT * weights)
    ahead, behind = _exchanges(op, training, rows, tp)
    bias = _bias(op, rows * outputs, training)
    return Work(
        (*ahead.forward, *_cast(op.name, rows * inputs, training), forward, *bias.forward, *behind.forward),
        (*behind.input_gradient, *_cast(f"{op.name} dX", rows * outputs, training), back, *ahead.input_gradient),
        (*ahead.weight_gradient, weight, *bias.weight_gradient),
    )


def _bias(op: ops.Linear, size: int, training: Training) -> Work:
    """Unless it is fused, a pass over the output to add the bias, and one over its gradient to sum it up."""
    if training.fused or not op.bias:
        return Work()
    add = Kernel(f"{op.name} bias", Unit.VECTOR, size, 2 * training.element * size)
    return Work((add,), (), (Kernel(f"{op.name} bias dW", Unit.VECTOR, size, training.element * size),))


def _cast(name: str, size: int, training: Training) -> tuple[Piece, ...]:
    """With fp8, numbers that pass between operators are scaled and written twice, for both products that read them."""
    read, element = PRECISIONS[training.precision], training.element
    if read == element:
        return ()
    return (Kernel(f"{name} cast", Unit.VECTOR, size, (element + 2 * read) * size),)


def _exchanges(op: ops.Linear, training: Training, rows: int, tp: int) -> tuple[Work, Work]:
    """What is exchanged before a product and behind it, by the tp ranks that divide it, and by expert parallelism."""
    element, parallel = training.element, training.parallel
    before, after = element * rows * op.inputs, element * rows * op.outputs
    ahead, behind = Work(), Work()
    if tp > 1 and op.split is Split.COLUMN and op.keeps:
        ahead = _gathered(f"{op.name} input", before, training)
    if tp > 1 and op.split is Split.ROW:
        behind = _summed(f"{op.name} output", after, training)
    if parallel.ep > 1 and op.experts > 1:
        if op.split is not Split.ROW:
            ahead = _routed(f"{op.name} dispatch", before) + ahead
        if op.split is not Split.COLUMN:
            behind = behind + _routed(f"{op.name} collect", after)
    return ahead, behind


def _gathered(name: str, size: int, training: Training) -> Work:
    """A whole input for each tensor-parallel rank, whose gradient is a sum over them."""
    if not training.parallel.sequence_parallel:
        return Work(input_gradient=(Transfer(name, Collective.ALL_REDUCE, Axis.TENSOR, size, hidden=True),))
    gather = Transfer(name, Collective.ALL_GATHER, Axis.TENSOR, size)
    again = Transfer(name, Collective.ALL_GATHER, Axis.TENSOR, size, hidden=True)
    scatter = Transfer(name, Collective.REDUCE_SCATTER, Axis.TENSOR, size, hidden=True)
    return Work((gather,), (scatter,), (again,))


def _summed(name: str, size: int, training: Training) -> Work:
    """The sum of all tensor-parallel ranks' outputs."""
    if not training.parallel.sequence_parallel:
        return Work((Transfer(name, Collective.ALL_REDUCE, Axis.TENSOR, size),))
    return Work(
        (Transfer(name, Collective.REDUCE_SCATTER, Axis.TENSOR, size),),
        (Transfer(name, Collective.ALL_GATHER, Axis.TENSOR, size),),
    )


def _routed(name: str, size: int) -> Work:
    """Rows on their way to experts on other devices, or back; an even load."""
    transfer = (Transfer(name, Collective.ALL_TO_ALL, Axis.EXPERT, size),)
    return Work(transfer, transfer)


def _vector(name: str, flops: int, forward: int, back: int, launches: int = 1) -> Work:
    """Work that only memory limits: bytes of the forward and of the backward."""

    def piece(suffix: str, size: int) -> tuple[Piece, ...]:
        return (Kernel(f"{name}{suffix}", Unit.VECTOR, flops, size, launches=launches),) if size else ()

    return Work(piece("", forward), piece(" dX", back))


def _norm(op: ops.Norm, training: Training) -> Work:
    """One kernel each way; a norm without shift (RMS) is one only where it is fused."""
    size, element = _elements(op.rows, op.width, op.inner, training), training.element
    if training.fused or op.shift:
        return _vector(op.name, NORM_FLOPS * size, 2 * element * size, 3 * element * size)
    return _vector(op.name, NORM_FLOPS * size, RMS_PASSES * size, 2 * RMS_PASSES * size, launches=RMS_LAUNCHES)


def _activation(op: ops.Activation, training: Training) -> Work:
    """Unless it is fused, a gate is a product of its own."""
    size, element = _elements(op.rows, op.width, op.inner, training), training.element
    if op.gated and not training.fused:
        return _vector(op.name, ACTIVATION_FLOPS * size, (2 + 3) * element * size, (3 + 5) * element * size, launches=2)
    inputs = 2 if op.gated else 1
    return _vector(op.name, ACTIVATION_FLOPS * size, (inputs + 1) * element * size, (2 * inputs + 1) * element * size)


def _dropout(op: ops.Dropout, training: Training) -> Work:
    """Fused into its neighbour only its mask, one byte an element, is written and read; else the tensor too. Inference has none."""
    if not training.trains:
        return Work()
    size = _elements(op.rows, op.width, op.inner, training)
    if training.fused:
        return _vector(op.name, size, size, size, launches=0)
    moved = (2 * training.element + 1) * size
    return _vector(op.name, size, moved, moved)


def _elementwise(op: ops.Elementwise, training: Training) -> Work:
    size, element = _elements(op.rows, op.width, op.inner, training), training.element
    return _vector(
        op.name, op.reads * size, (op.reads + 1) * element * size, (op.reads + 1 + op.saved) * element * size
    )


def _elements(rows: Rows, width: int, inner: bool, training: Training) -> int:
    """Numbers of a tensor on one device: tensor parallelism divides an inner one by its width, sequence parallelism others by rows."""
    if inner:
        return rows_of(rows, training) * -(-width // training.parallel.tp)
    return sequence_rows(rows, training) * width


def _conv(op: ops.Conv, training: Training) -> Work:
    samples, element, read = training.microbatch, training.element, PRECISIONS[training.precision]
    taps = op.kernel**2 * op.inputs // op.groups
    flops = 2 * samples * op.output_rows * op.outputs * taps
    image, result = samples * op.input_rows * op.inputs, samples * op.output_rows * op.outputs
    weights = op.outputs * taps
    narrow = min(samples * op.output_rows, taps, -(-op.outputs // op.groups))

    def product(suffix: str, size: int) -> Kernel:
        return Kernel(f"{op.name}{suffix}", Unit.CONV, flops, size, narrow)

    return Work(
        (product("", read * (image + weights) + element * result),),
        (product(" dX", read * (result + weights) + element * image),),
        (product(" dW", read * (image + result) + 2 * MAIN_GRADIENT * weights),),
    )


def _pool(op: ops.Pool, training: Training) -> Work:
    image = training.microbatch * op.size**2 * op.width
    result = training.microbatch * (-(-op.size // op.stride)) ** 2 * op.width
    size = training.element * (image + result)
    return _vector(op.name, image, size, size)


def _lookup(op: ops.Lookup, training: Training) -> Work:
    """A table that tensor parallelism divides is looked up by each rank, zeros elsewhere, and summed."""
    rows, element = rows_of(op.rows, training), training.element
    size = rows * op.width
    forward: tuple[Piece, ...] = (Kernel(op.name, Unit.VECTOR, 0, 2 * element * size),)
    if op.split and training.parallel.tp > 1:
        forward += _summed(f"{op.name} output", element * size, training).forward
    back = Kernel(f"{op.name} dW", Unit.VECTOR, size, (element + 2 * MAIN_GRADIENT) * size)
    return Work(forward, (), (back,))


def _loss(op: ops.Loss, training: Training) -> Work:
    rows, width = rows_of(op.rows, training), -(-op.width // training.parallel.tp)
    size = rows * width
    work = _vector(op.name, LOSS_FLOPS * size, (training.element + SOFTMAX_BYTES) * size, (4 + training.element) * size)
    if training.parallel.tp == 1:
        return work
    sums = (Transfer(f"{op.name} sums", Collective.ALL_REDUCE, Axis.TENSOR, 3 * 4 * rows),)
    return work + Work(sums)


_WORK: Final[Mapping[type, Callable[[Any, Training], Work]]] = {
    ops.Linear: _linear,
    ops.Attention: attention_work,
    ops.Norm: _norm,
    ops.Activation: _activation,
    ops.Dropout: _dropout,
    ops.Elementwise: _elementwise,
    ops.Conv: _conv,
    ops.Pool: _pool,
    ops.Lookup: _lookup,
    ops.Loss: _loss,
}
