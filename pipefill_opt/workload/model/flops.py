"""Model FLOPs: what a network's matrix products need for samples, whatever a device repeats or divides."""

from __future__ import annotations

from dataclasses import replace

from pipefill_opt.workload.model.kernels import Kernel, Unit
from pipefill_opt.workload.model.network import Layer, Network
from pipefill_opt.workload.model.operators import layer_work
from pipefill_opt.workload.model.parallel import Parallel, Training


def network_flops(network: Network, training: Training) -> int:
    """Of the forward of one micro-batch; training takes three times as many, for input and weight gradients too."""
    alone = replace(training, parallel=Parallel())
    known: dict[Layer, int] = {}
    total = 0
    for layer in network.layers:
        if layer not in known:
            known[layer] = forward_flops(layer, alone)
        total += known[layer]
    return total


def forward_flops(layer: Layer, training: Training) -> int:
    """Of the matrix products of a layer's forward, for one micro-batch on one device."""
    pieces = layer_work(layer, training).forward
    return sum(piece.flops for piece in pieces if isinstance(piece, Kernel) and piece.unit is not Unit.VECTOR)
