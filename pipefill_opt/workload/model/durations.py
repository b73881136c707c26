"""Durations by stage from layers: F, I, W, recomputation, gradient reduction, optimizer step, messages. Exact, then rounded up."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from fractions import Fraction
from math import ceil
from typing import Final

from pipefill_opt.workload.model.collectives import (
    SECOND,
    Collective,
    Group,
    collective_ticks,
    group,
    message_ticks,
    slowed,
)
from pipefill_opt.workload.model.kernels import Axis, Kernel, Piece, Work
from pipefill_opt.workload.model.network import Layer
from pipefill_opt.workload.model.operators import MAIN_GRADIENT, layer_work, rows_of
from pipefill_opt.workload.model.parallel import Parallel, Recompute, Training
from pipefill_opt.workload.model.parameters import Parameters, device_parameters
from pipefill_opt.workload.model.roofline import Machine

KEPT: Final = ("embedding", "head")
"""Kinds of layers that full recomputation leaves as they are."""


def axes(parallel: Parallel, node: int) -> Mapping[Axis, Group]:
    """The groups of a job whose ranks are numbered by tensor, context, data, then pipeline rank, on nodes of `node` devices."""
    tp, cp = parallel.tp, parallel.cp
    return {
        Axis.TENSOR: group(tp, 1, node),
        Axis.CONTEXT: group(cp, tp, node),
        Axis.DATA: group(parallel.dp, tp * cp, node),
        Axis.EXPERT: group(parallel.ep, parallel.expert_tp, node),
    }


@dataclass(frozen=True, slots=True)
class LayerTimes:
    """Ticks of one layer for one micro-batch, exact. again: what the backward repeats of the forward."""

    forward: Fraction
    input_gradient: Fraction
    weight_gradient: Fraction
    again: Fraction


@dataclass(frozen=True, slots=True)
class StageTimes:
    """Whole ticks of a stage for one micro-batch; overhead of an action included in each. reduce: of its gradients, once an iteration."""

    forward: int
    backward: int
    input_gradient: int
    weight_gradient: int
    reduce: int


@dataclass(frozen=True, slots=True)
class Clock:
    """Times work on a machine. Equal layers are timed once."""

    machine: Machine
    training: Training
    _known: dict[Layer, LayerTimes] = field(default_factory=dict)

    def layer(self, layer: Layer) -> LayerTimes:
        """Of one layer."""
        if layer not in self._known:
            self._known[layer] = self._layer(layer)
        return self._known[layer]

    def _layer(self, layer: Layer) -> LayerTimes:
        work = layer_work(layer, self.training)
        forward = self.ticks(work.forward)
        return self._sharded(
            layer,
            LayerTimes(
                forward,
                self.ticks(work.input_gradient),
                self.ticks(work.weight_gradient),
                self._again(layer, work, forward),
            ),
        )

    def _again(self, layer: Layer, work: Work, forward: Fraction) -> Fraction:
        if self.training.recompute is Recompute.FULL:
            return Fraction(0) if layer.kind in KEPT else forward
        return self.ticks(work.again) if self.training.recompute is Recompute.SELECTIVE else Fraction(0)

    def _sharded(self, layer: Layer, times: LayerTimes) -> LayerTimes:
        """With sharded weights (ZeRO 3), what gathering them and scattering gradients takes longer than the work beside it."""
        if self.training.parallel.zero < 3:
            return times
        weights = device_parameters([layer], self.training.parallel)
        gather = self._over_replicas(Collective.ALL_GATHER, weights, self.training.element)
        scatter = self._over_replicas(Collective.REDUCE_SCATTER, weights, self.training.element)
        backward = times.input_gradient + times.weight_gradient + times.again
        return LayerTimes(
            times.forward + max(Fraction(0), gather - times.forward),
            times.input_gradient + max(Fraction(0), gather + scatter - backward),
            times.weight_gradient,
            times.again,
        )

    def ticks(self, pieces: Sequence[Piece]) -> Fraction:
        """One after the other; of a hidden transfer only the part that shows."""
        return sum((self.piece(piece) for piece in pieces), Fraction(0))

    def piece(self, piece: Piece) -> Fraction:
        """Of one kernel, or of one transfer as far as it shows."""
        if isinstance(piece, Kernel):
            return self.machine.timing(piece).total
        hidden = piece.hidden and self.training.async_tensor
        shown = 1 - self.machine.coefficients.tensor if hidden else Fraction(1)
        return shown * self._collective(piece.kind, piece.axis, piece.bytes) + self._launch(piece.axis)

    def _launch(self, axis: Axis) -> int:
        return 0 if self._axes[axis].ranks == 1 else self.machine.coefficients.kernel

    def _collective(self, kind: Collective, axis: Axis, size: int) -> Fraction:
        coefficients = self.machine.coefficients
        links = slowed(self.machine.hardware, coefficients.within, coefficients.between)
        return collective_ticks(kind, size, self._axes[axis], links)

    @property
    def _axes(self) -> Mapping[Axis, Group]:
        return axes(self.training.parallel, self.machine.hardware.node)

    def stage(self, layers: Sequence[Layer]) -> StageTimes:
        """Of the layers of one stage."""
        times = [self.layer(layer) for layer in layers]
        action = self.machine.coefficients.action
        again = sum((entry.again for entry in times), Fraction(0))
        ahead = sum((entry.forward for entry in times), Fraction(0))
        inputs = again + sum((entry.input_gradient for entry in times), Fraction(0))
        weights = sum((entry.weight_gradient for entry in times), Fraction(0))
        return StageTimes(
            forward=ceil(ahead + action),
            backward=ceil(inputs + weights + action),
            input_gradient=ceil(inputs + action),
            weight_gradient=ceil(weights + action),
            reduce=self.reduce(layers),
        )

    def reduce(self, layers: Sequence[Layer]) -> int:
        """Gradients of a stage, summed over its replicas after its last backward; with ZeRO each rank gets its part."""
        if self.training.parallel.zero == 3:
            return 0
        kind = Collective.REDUCE_SCATTER if self.training.parallel.zero else Collective.ALL_REDUCE
        gradient = 2 if self.training.precision == "fp16" else MAIN_GRADIENT  # as Megatron-LM passes them on
        parameters = device_parameters(layers, self.training.parallel)
        return ceil((1 - self.machine.coefficients.data) * self._over_replicas(kind, parameters, gradient))

    def _over_replicas(self, kind: Collective, parameters: Parameters, size: int) -> Fraction:
        """A collective on `size` bytes a parameter among the devices that hold the same ones: of experts fewer do."""
        parallel, hardware, coefficients = self.training.parallel, self.machine.hardware, self.machine.coefficients
        links = slowed(hardware, coefficients.within, coefficients.between)
        ranks = parallel.dp * parallel.cp
        few = parallel.expert_copies
        return collective_ticks(
            kind, size * parameters.dense, group(ranks, parallel.tp, hardware.node), links
        ) + collective_ticks(
            kind, size * parameters.expert, group(few, parallel.expert_tp * parallel.ep, hardware.node), links
        )

    def step(self, layers: Sequence[Layer]) -> int:
        """The optimizer step of all layers of a device: memory traffic, divided by ZeRO, which then gathers the new weights."""
        parallel = self.training.parallel
        parameters = device_parameters(layers, parallel)
        ranks, few = (parallel.dp * parallel.cp, parallel.expert_copies) if parallel.zero else (1, 1)
        own = -(-parameters.dense // ranks) - (-parameters.expert // few)
        ticks = own * self.machine.coefficients.optimizer * SECOND / self.machine.bandwidth
        if parallel.zero in (1, 2):
            ticks += self._over_replicas(Collective.ALL_GATHER, parameters, self.training.element)
        return ceil(ticks)

    def message(self, layer: Layer) -> int:
        """From the end of a stage whose last layer this is to the next one's start: its output, in parts by the tensor-parallel ranks.

        Each rank sends its part to its counterpart; they then gather the whole, unless sequence parallelism wants the parts.
        """
        parallel, hardware, coefficients = self.training.parallel, self.machine.hardware, self.machine.coefficients
        size = self.training.element * rows_of(layer.rows, self.training) * layer.width
        links = slowed(hardware, coefficients.within, coefficients.between)
        crosses = parallel.pp > 1 and parallel.replicas * parallel.pp > hardware.node
        ticks = message_ticks(-(-size // parallel.tp), crosses, links)
        if not parallel.sequence_parallel:
            ticks += self._collective(Collective.ALL_GATHER, Axis.TENSOR, size)
        return ceil(ticks)


def layer_ticks(clock: Clock, layer: Layer, trains: bool) -> int:
    """A layer for one micro-batch, if it trains with its backward and what that computes again: what splits of layers go by."""
    times = clock.layer(layer)
    if not trains:
        return ceil(times.forward)
    return ceil(times.forward + times.again + times.input_gradient + times.weight_gradient)
