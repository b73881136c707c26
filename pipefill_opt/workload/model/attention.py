"""FLOPs and bytes of attention: stored scores (two batched products with a softmax between), or fused (flash).

Fused: Dao et al. 2022 (arXiv 2205.14135): the backward computes the scores again, five products for the forward's two.
"""

from __future__ import annotations

from fractions import Fraction
from typing import Final

from pipefill_opt.workload.model.collectives import Collective
from pipefill_opt.workload.model.kernels import Axis, Kernel, Piece, Transfer, Unit, Work
from pipefill_opt.workload.model.layers import Attention
from pipefill_opt.workload.model.parallel import PRECISIONS, Training

SOFTMAX_FLOPS: Final = 8
"""Per score."""
FUSED_BACKWARD: Final = Fraction(5, 2)
"""Products of a fused backward for one of the forward."""


def attention_work(op: Attention, training: Training) -> Work:
    """Scores, softmax, weighted sum; of the whole of it selective recomputation repeats the forward. No weights, so no weight gradient."""
    core = _fused(op, training) if training.flash else _stored(op, training)
    if training.parallel.cp == 1:
        return core
    return core + _shared_keys(op, training)


def _sizes(op: Attention, training: Training) -> tuple[int, int, int]:
    """Query rows of a micro-batch on one device, keys of a row, heads on one device."""
    parallel = training.parallel
    rows = -(-training.microbatch * op.rows.at(training.sequence) // parallel.cp)
    return rows, op.keys.at(training.sequence), -(-op.heads // parallel.tp) if op.inner else op.heads


def _operands(op: Attention, training: Training) -> int:
    """Numbers in queries, keys, values and outputs. A device reads all keys of its samples, whatever part of the queries it has."""
    rows, _, heads = _sizes(op, training)
    groups = max(1, heads * op.kv_heads // op.heads)
    return (rows * heads + training.microbatch * op.sources.at(training.sequence) * groups) * (op.qk_width + op.v_width)


def _fused(op: Attention, training: Training) -> Work:
    rows, keys, heads = _sizes(op, training)
    flops = 2 * rows * keys * heads * (op.qk_width + op.v_width)
    if op.causal:
        flops //= 2
    size = training.element * _operands(op, training)
    narrow = min(op.qk_width, op.v_width)
    ahead = Kernel(op.name, Unit.ATTENTION, flops, size, narrow)
    back = Kernel(f"{op.name} dX", Unit.ATTENTION, int(FUSED_BACKWARD * flops), 2 * size, narrow)
    return Work((ahead,), (back,))  # selective recomputation has nothing to repeat: the backward does it


def _stored(op: Attention, training: Training) -> Work:
    """Each score is computed, also those that a causal mask then hides."""
    rows, keys, heads = _sizes(op, training)
    scores, element, read = rows * keys * heads, training.element, PRECISIONS[training.precision]
    table = _operands(op, training)
    drops = op.dropout and training.trains
    masks = scores if drops else 0

    def product(name: str, width: int, size: int) -> Kernel:
        return Kernel(name, Unit.MATMUL, 2 * scores * width, size, min(width, rows, keys))

    def vector(name: str, size: int) -> Kernel:
        return Kernel(name, Unit.VECTOR, SOFTMAX_FLOPS * scores, size)

    part = read * table // 2  # half of the operands belong to either product
    apart = () if training.fused else (vector("scale", 2 * element * scores), vector("mask", 2 * element * scores))
    ahead: tuple[Piece, ...] = (
        product("scores", op.qk_width, part + element * scores),
        *apart,
        vector("softmax", 2 * element * scores),
        *([vector("attention dropout", 2 * element * scores + masks)] if drops else []),
        product("weighted sum", op.v_width, part + element * scores),
    )
    back: tuple[Piece, ...] = (
        product("weighted sum dP", op.v_width, part + element * scores),
        product("weighted sum dV", op.v_width, part + element * scores),
        *([vector("attention dropout dX", 2 * element * scores + masks)] if drops else []),
        vector("softmax dX", 3 * element * scores),
        *(() if training.fused else (vector("scale dX", 2 * element * scores),)),
        product("scores dQ", op.qk_width, part + element * scores),
        product("scores dK", op.qk_width, part + element * scores),
    )
    return Work(ahead, back, (), ahead)


def _shared_keys(op: Attention, training: Training) -> Work:
    """Context parallelism: each device gathers the keys and values of the others; their gradients are summed back."""
    parallel = training.parallel
    groups = max(1, op.kv_heads // parallel.tp) if op.inner else op.kv_heads
    size = (
        training.element * training.microbatch * op.sources.at(training.sequence) * groups * (op.qk_width + op.v_width)
    )
    gather = Transfer(f"{op.name} keys", Collective.ALL_GATHER, Axis.CONTEXT, size)
    scatter = Transfer(f"{op.name} keys", Collective.REDUCE_SCATTER, Axis.CONTEXT, size)
    return Work((gather,), (scatter,))
