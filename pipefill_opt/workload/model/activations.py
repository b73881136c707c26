"""Bytes that a layer keeps between its forward and its backward, on one device, for one micro-batch.

Each operator keeps what its backward reads. For a GPT block that adds up to the published formulas, s b h (34 + 5 a s / h) and, with
tensor parallelism, s b h (10 + 24 / t + 5 a s / (h t)) (Korthikanti et al. 2022, arXiv 2205.05198, section 4); what the weight
gradients need, to 32 s b h (Qi et al. 2023, arXiv 2401.10241, table 1).
"""

from __future__ import annotations

from dataclasses import dataclass

from pipefill_opt.workload.model import layers as ops
from pipefill_opt.workload.model.durations import KEPT
from pipefill_opt.workload.model.layers import Operator, Rows, Split
from pipefill_opt.workload.model.network import Layer
from pipefill_opt.workload.model.operators import rows_of, sequence_rows
from pipefill_opt.workload.model.parallel import Recompute, Training

LOGIT = 4
"""Bytes of a logit that the loss keeps."""
STATISTIC = 4
"""Bytes of a softmax statistic that fused attention keeps for each row and head."""


@dataclass(frozen=True, slots=True)
class Kept:
    """Bytes. tensors: kept whatever is recomputed selectively. scores: those of the attention, which selective recomputation drops.

    for_weights: what remains for the weight gradients after the input gradients: inputs of products and gradients of their outputs.
    """

    tensors: int = 0
    scores: int = 0
    for_weights: int = 0

    @property
    def total(self) -> int:
        """Without any recomputation."""
        return self.tensors + self.scores

    def __add__(self, other: Kept) -> Kept:
        return Kept(self.tensors + other.tensors, self.scores + other.scores, self.for_weights + other.for_weights)


def layer_kept(layer: Layer, training: Training) -> Kept:
    """Of all operators of a layer."""
    total = Kept()
    for operator in layer.operators:
        total = total + operator_kept(operator, training)
    return total


def operator_kept(operator: Operator, training: Training) -> Kept:
    """Of one operator."""
    element = training.element
    match operator:
        case ops.Linear():
            return _linear(operator, training)
        case ops.Attention():
            return _attention(operator, training)
        case ops.Norm():
            return Kept(element * tensor(operator.rows, operator.width, operator.inner, training))
        case ops.Activation():
            inputs = 0 if operator.function == "relu" else 2 if operator.gated else 1
            return Kept(inputs * element * tensor(operator.rows, operator.width, operator.inner, training))
        case ops.Dropout():
            return Kept(tensor(operator.rows, operator.width, operator.inner, training))
        case ops.Elementwise():
            return Kept(operator.saved * element * tensor(operator.rows, operator.width, operator.inner, training))
        case ops.Conv():
            image = element * training.microbatch * operator.input_rows * operator.inputs
            return Kept(image, 0, image + element * training.microbatch * operator.output_rows * operator.outputs)
        case ops.Pool():
            image = element * training.microbatch * operator.size**2 * operator.width
            return Kept(image if operator.stride < operator.size else 0)
        case ops.Loss():
            return Kept(LOGIT * tensor(operator.rows, operator.width, True, training))
        case ops.Lookup():
            return Kept()


def tensor(rows: Rows, width: int, inner: bool, training: Training) -> int:
    """Numbers of a tensor on one device: tensor parallelism divides an inner one's width, sequence parallelism another one's rows."""
    if inner:
        return rows_of(rows, training) * -(-width // training.parallel.tp)
    return sequence_rows(rows, training) * width


def _linear(operator: ops.Linear, training: Training) -> Kept:
    """Its input, whole but where tensor parallelism divides it; the gradient of its output."""
    element = training.element
    source = element * tensor(operator.rows, operator.inputs, operator.split is Split.ROW, training)
    result = element * tensor(operator.rows, operator.outputs, operator.split is Split.COLUMN, training)
    kept = source if operator.keeps else 0
    return Kept(kept, 0, kept + result)


def _attention(operator: ops.Attention, training: Training) -> Kept:
    """Queries, keys and values. Stored: the softmax, with dropout also its mask and its result. Fused: statistics."""
    element, tp = training.element, training.parallel.tp if operator.inner else 1
    heads, groups = -(-operator.heads // tp), -(-operator.kv_heads // tp)
    rows = rows_of(operator.rows, training)
    tensors = element * rows * heads * operator.qk_width
    tensors += element * rows_of(operator.sources, training) * groups * (operator.qk_width + operator.v_width)
    if training.flash:
        return Kept(tensors + STATISTIC * rows * heads)
    scores = rows * operator.keys.at(training.sequence) * heads
    return Kept(tensors, scores * (2 * element + 1 if operator.dropout else element))


def checkpoint(layer_before: Layer | None, training: Training) -> int:
    """Bytes of a layer's input, from which full recomputation starts; 0 for the first layer, whose input are tokens."""
    if layer_before is None:
        return 0
    return training.element * sequence_rows(layer_before.rows, training) * layer_before.width


@dataclass(frozen=True, slots=True)
class Held:
    """Bytes of a layer. kept: from its forward to its backward. again: computed again by its backward, while that runs.

    freed: of what is kept, what the input gradients give back where the backward is split.
    """

    kept: int
    again: int
    freed: int


def layer_held(layer: Layer, before: Layer | None, training: Training) -> Held:
    """With the recomputation of `training`. before: the layer whose output it reads."""
    kept = layer_kept(layer, training)
    if training.recompute is Recompute.NONE or layer.kind in KEPT:
        return Held(kept.total, 0, max(0, kept.total - kept.for_weights))
    if training.recompute is Recompute.SELECTIVE:
        return Held(kept.tensors, kept.scores, max(0, kept.tensors - kept.for_weights))
    return Held(checkpoint(before, training), kept.total, 0)


def transient(operator: Operator, training: Training) -> int:
    """Bytes that the backward of an operator takes for the gradients of its output and its input, while it runs."""
    element = training.element
    match operator:
        case ops.Linear():
            source = tensor(operator.rows, operator.inputs, operator.split is Split.ROW, training)
            return element * (
                source + tensor(operator.rows, operator.outputs, operator.split is Split.COLUMN, training)
            )
        case ops.Attention():
            result = tensor(operator.rows, operator.heads * operator.v_width, operator.inner, training)
            return element * result + _attention(operator, training).tensors
        case ops.Conv():
            pixels = operator.input_rows * operator.inputs + operator.output_rows * operator.outputs
            return element * training.microbatch * pixels
        case ops.Pool():
            return element * training.microbatch * operator.size**2 * operator.width
        case ops.Loss():
            return (LOGIT + element) * tensor(operator.rows, operator.width, True, training)
        case ops.Lookup():
            return element * tensor(operator.rows, operator.width, False, training)
        case ops.Activation():
            inputs = 2 if operator.gated else 1
            return (inputs + 1) * element * tensor(operator.rows, operator.width, operator.inner, training)
        case ops.Norm() | ops.Dropout() | ops.Elementwise():
            return 2 * element * tensor(operator.rows, operator.width, operator.inner, training)
