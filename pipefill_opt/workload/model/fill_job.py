"""A fill job from a network: `jobs: [{network: bert-base, kind: inference, batches: [8, 32], hardware: v100-16gb}]` of an INSTANCE.

One operator for each layer: forwards in order; for training then backwards in reverse order and an optimizer step. One configuration for
each batch size. Durations are those of the analytic model at speed 1.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import groupby
from math import ceil
from pathlib import Path
from typing import Any, Final

from pipefill_opt.workload.main_costs import value_at
from pipefill_opt.workload.model.activations import layer_held, operator_kept, transient
from pipefill_opt.workload.model.catalog import read_hardware, read_network
from pipefill_opt.workload.model.coefficients import read_coefficients
from pipefill_opt.workload.model.durations import Clock
from pipefill_opt.workload.model.flops import forward_flops
from pipefill_opt.workload.model.network import Layer, Network
from pipefill_opt.workload.model.operators import rows_of
from pipefill_opt.workload.model.parallel import Parallel, Recompute, Training
from pipefill_opt.workload.model.parameters import device_parameters, state_bytes, states_of
from pipefill_opt.workload.model.roofline import Machine

Document = Mapping[str, Any]

OWN_KEYS: Final = (
    "network", "kind", "batches", "hardware", "sequence", "precision", "recompute", "attention", "fusion", "coefficients",
)  # fmt: skip
"""What the model reads of such a job; everything else stays as it is."""


@dataclass(frozen=True, slots=True)
class FillOperator:
    """One layer's part: ticks, bytes while it runs, bytes carried behind it, FLOPs."""

    name: str
    duration: int
    memory: int
    carry: int
    flops: int


def fill_job(entry: Document, folder: Path) -> dict[str, Any]:
    """The job with configurations in place of a network's name. Raises InputError."""
    network = value_at("network", read_network, entry["network"], folder)
    hardware = value_at("hardware", read_hardware, entry["hardware"], folder)
    coefficients = value_at("coefficients", read_coefficients, entry.get("coefficients"), folder)
    precision = entry.get("precision", "fp16")
    kind = entry["kind"]
    job: dict[str, Any] = {"name": f"{network.name}-{kind}"}
    job |= {key: value for key, value in entry.items() if key not in OWN_KEYS}
    job["configs"] = []
    for batch in entry["batches"]:
        training = Training(
            Parallel(),
            batch,
            network.tokens(entry.get("sequence")),
            precision,
            Recompute(entry.get("recompute", "none")),
            entry.get("attention", "flash") == "flash",
            fused=entry.get("fusion", "fused") == "fused",
            trains=kind == "training",
        )
        clock = Clock(Machine(hardware, precision, coefficients), training)
        job["configs"].append(_configuration(network, clock, kind))
    return job


def _configuration(network: Network, clock: Clock, kind: str) -> dict[str, Any]:
    training = clock.training
    states = states_of(None if kind == "training" else "none", training)
    resident = state_bytes(device_parameters(network.layers, training.parallel), training.parallel, states)
    operators = list((_training if kind == "training" else _inference)(network.layers, clock))
    return {
        "name": f"bs{training.microbatch}",
        "samples": training.microbatch,
        "resident": f"{resident}B",
        "operators": [_document(operator, len(list(same))) for operator, same in groupby(operators)],
    }


def _document(operator: FillOperator, repeat: int) -> dict[str, Any]:
    return {
        "name": operator.name,
        "duration": f"{operator.duration}ns",
        "memory": f"{operator.memory}B",
        "carry": f"{operator.carry}B",
        "flops": operator.flops,
        "repeat": repeat,
    }


def _output(layer: Layer, training: Training) -> int:
    """Bytes that a layer passes on."""
    return training.element * rows_of(layer.rows, training) * layer.width


def _working(layer: Layer, training: Training) -> int:
    """Bytes of tensors while its largest operator runs, beside what the layer was given."""
    scores = max((operator_kept(operator, training).scores for operator in layer.operators), default=0)
    return max((transient(operator, training) for operator in layer.operators), default=0) + scores


def _inference(layers: Sequence[Layer], clock: Clock) -> Iterator[FillOperator]:
    """Nothing is kept but what the next layer reads."""
    given = 0
    for layer in layers:
        passed = _output(layer, clock.training)
        yield FillOperator(
            layer.name,
            max(1, ceil(clock.layer(layer).forward)),
            given + _working(layer, clock.training) + passed,
            passed,
            forward_flops(layer, clock.training),
        )
        given = passed


def _training(layers: Sequence[Layer], clock: Clock) -> Iterator[FillOperator]:
    """Saved tensors add up in the forward and go in the backward; the gradients of the weights are resident."""
    training, kept = clock.training, 0
    held = [layer_held(layer, before, training) for before, layer in zip((None, *layers), layers, strict=False)]
    for layer, own in zip(layers, held, strict=True):
        kept += own.kept
        passed = _output(layer, training)
        memory = kept + _working(layer, training) + passed
        ticks = max(1, ceil(clock.layer(layer).forward))
        yield FillOperator(layer.name, ticks, memory, kept + passed, forward_flops(layer, training))
    for index in reversed(range(len(layers))):
        layer, own, times = layers[index], held[index], clock.layer(layers[index])
        memory = kept + own.again + _working(layer, training)
        kept -= own.kept
        ticks = max(1, ceil(times.input_gradient + times.weight_gradient + times.again))
        carried = kept + (_output(layers[index - 1], training) if index else 0)
        yield FillOperator(f"{layer.name} backward", ticks, memory, carried, 2 * forward_flops(layer, training))
    yield FillOperator("optimizer step", max(1, clock.step(layers)), 0, 0, 0)
