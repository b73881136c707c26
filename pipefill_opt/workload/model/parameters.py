"""Parameters on one device of a parallel job, and the bytes of their weights, gradients and optimizer state.

Tensor parallelism divides split products and tables, expert parallelism the experts, ZeRO (Rajbhandari et al. 2020, arXiv 1910.02054)
the optimizer state, the gradients and the weights among the ranks that hold the same parameters.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Final

from pipefill_opt.workload.model.layers import Linear, Lookup, Operator, Split
from pipefill_opt.workload.model.network import Layer
from pipefill_opt.workload.model.parallel import Parallel, Training


@dataclass(frozen=True, slots=True)
class StateBytes:
    """Bytes of a parameter: its weight, its gradient, its optimizer state (with the 32-bit weight where the weight has fewer bits)."""

    weight: int
    gradient: int
    optimizer: int


STATES: Final[Mapping[str, StateBytes]] = {
    "adam": StateBytes(2, 2, 12),  # mixed precision, 16 bytes: ZeRO, section 3.1
    "adam-fp32-gradients": StateBytes(2, 4, 12),  # 18 bytes: Megatron-LM's distributed optimizer with bf16
    "adam-fp16": StateBytes(2, 2, 16),  # 20 bytes: Megatron-LM's with fp16, which keeps 32-bit gradients too
    "adam-fp32": StateBytes(4, 4, 8),
    "sgd": StateBytes(2, 2, 4),  # mixed precision, without momentum
    "none": StateBytes(2, 0, 0),  # inference; as many bytes a weight as its numbers have
}


def states_of(optimizer: str | None, training: Training) -> StateBytes:
    """Of an optimizer by its name in `STATES`; without one, Adam, in mixed precision where numbers have two bytes or fewer."""
    if optimizer == "none":
        return StateBytes(training.element, 0, 0)
    return STATES[optimizer or ("adam" if training.element == 2 else "adam-fp32")]


@dataclass(frozen=True, slots=True)
class Parameters:
    """On one device: those that all data-parallel ranks hold, and those of experts, which fewer hold."""

    dense: int = 0
    expert: int = 0

    def __add__(self, other: Parameters) -> Parameters:
        return Parameters(self.dense + other.dense, self.expert + other.expert)


def device_parameters(layers: Iterable[Layer], parallel: Parallel) -> Parameters:
    """Of all layers of a device. Tied weights are counted where the device has no table to share: each such device holds a copy."""
    operators = [operator for layer in layers for operator in layer.operators]
    tables = {(operator.entries, operator.width) for operator in operators if isinstance(operator, Lookup)}
    total = Parameters()
    for operator in operators:
        total = total + operator_parameters(operator, parallel)
        if isinstance(operator, Linear) and operator.tied and (operator.outputs, operator.inputs) not in tables:
            total = total + Parameters(_weights(operator, parallel))
    return total


def operator_parameters(operator: Operator, parallel: Parallel) -> Parameters:
    """Of one operator; the weights of a tied one are another's."""
    if isinstance(operator, Lookup):
        return Parameters(_part(operator.entries, parallel.tp if operator.split else 1) * operator.width)
    if not isinstance(operator, Linear):
        return Parameters(operator.parameters)
    bias = _part(operator.outputs, _ranks(operator, parallel, Split.COLUMN)) if operator.bias else 0
    each = bias + (0 if operator.tied else _weights(operator, parallel))
    if operator.experts == 1:
        return Parameters(dense=each)
    return Parameters(expert=each * _part(operator.experts, parallel.ep))


def state_bytes(parameters: Parameters, parallel: Parallel, states: StateBytes) -> int:
    """Weights, gradients and optimizer state of a device, as ZeRO shards them."""
    ranks = parallel.dp * parallel.cp
    return _sharded(parameters.dense, ranks, parallel.zero, states) + _sharded(
        parameters.expert, parallel.expert_copies, parallel.zero, states
    )


def _sharded(count: int, ranks: int, zero: int, states: StateBytes) -> int:
    part = _part(count, ranks)
    return (
        (part if zero >= 3 else count) * states.weight
        + (part if zero >= 2 else count) * states.gradient
        + (part if zero >= 1 else count) * states.optimizer
    )


def _weights(operator: Linear, parallel: Parallel) -> int:
    inputs = _part(operator.inputs, _ranks(operator, parallel, Split.ROW))
    return inputs * _part(operator.outputs, _ranks(operator, parallel, Split.COLUMN))


def _ranks(operator: Linear, parallel: Parallel, split: Split) -> int:
    """Devices that divide it this way."""
    if operator.split is not split:
        return 1
    return parallel.tp if operator.experts == 1 else parallel.expert_tp


def _part(count: int, parts: int) -> int:
    """The largest of so many parts."""
    return -(-count // parts)
