"""The `Memory` of a main job from its layers: what each device holds throughout, and what each stage keeps for a micro-batch.

How many micro-batches are in flight follows from the schedule itself (timeline/memory.py). Exact whole bytes.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

from pipefill_opt.schedule.actions import Kind
from pipefill_opt.schedule.schedule import Schedule
from pipefill_opt.workload.costs import Memory
from pipefill_opt.workload.model.activations import checkpoint, layer_held, layer_kept, transient
from pipefill_opt.workload.model.hardware import Hardware
from pipefill_opt.workload.model.network import Layer
from pipefill_opt.workload.model.parallel import Recompute, Training
from pipefill_opt.workload.model.parameters import StateBytes, device_parameters, state_bytes, states_of

Layers = tuple[Layer, ...]


@dataclass(frozen=True, slots=True)
class StageMemory:
    """Bytes of a stage for one micro-batch, as `Memory` has them."""

    activation: int
    freed_by_input: int
    checkpoint: int
    workspace: int


def stage_memory(
    layers: Layers,
    before: Layer | None,
    training: Training,
    *,
    states: StateBytes,
    again: bool = False,
    trains: bool = True,
) -> StageMemory:
    """Of a stage behind the layer `before`. again: the schedule recomputes whole stages (R), so that layers need not.

    Without training nothing is kept; the largest operator's input and output, and scores that are stored, are there while it runs.
    """
    if not trains:
        largest = max((_gradients(layer, training) + layer_kept(layer, training).scores for layer in layers), default=0)
        return StageMemory(0, 0, 0, largest)
    if again:
        training = replace(training, recompute=Recompute.NONE)
    held = [layer_held(layer, previous, training) for previous, layer in zip((before, *layers), layers, strict=False)]
    running = [entry.again + _gradients(layer, training) for entry, layer in zip(held, layers, strict=True)]
    return StageMemory(
        activation=sum(entry.kept for entry in held),
        freed_by_input=sum(entry.freed for entry in held),
        checkpoint=checkpoint(before, training) if again else 0,
        workspace=max(running, default=0) + _gathered(layers, training, states),
    )


def main_memory(
    stages: Sequence[Layers],
    schedule: Schedule,
    training: Training,
    hardware: Hardware,
    *,
    states: StateBytes | None = None,
    reserve: int = 0,
) -> Memory:
    """Of a job whose stage i has the layers stages[i]. reserve: bytes besides the context of a process.

    With ZeRO from stage 2 on, gradients are sharded throughout, as if each were scattered when it is made.
    """
    states = states or states_of(None, training)
    again = bool((schedule.kind == Kind.R).any())
    trains = bool(((schedule.kind == Kind.B) | (schedule.kind == Kind.I)).any())
    before = dict.fromkeys(range(len(stages)), None) | {
        stage: stages[pipe[place]][-1] if stages[pipe[place]] else None
        for pipe in schedule.pipes
        for place, stage in enumerate(pipe[1:])
    }
    found = [
        stage_memory(layers, before[stage], training, states=states, again=again, trains=trains)
        for stage, layers in enumerate(stages)
    ]
    return Memory(
        capacity=(hardware.memory,) * schedule.devices,
        reserve=(hardware.context + reserve,) * schedule.devices,
        static=static_bytes(stages, schedule.placement, schedule.devices, training, states),
        activation=tuple(entry.activation for entry in found),
        freed_by_input=tuple(entry.freed_by_input for entry in found),
        checkpoint=tuple(entry.checkpoint for entry in found),
        workspace=tuple(entry.workspace for entry in found),
    )


def static_bytes(
    stages: Sequence[Layers], placement: Sequence[int], devices: int, training: Training, states: StateBytes
) -> tuple[int, ...]:
    """Weights, gradients and optimizer state by device. A device that has embedding and head holds tied weights once."""
    found = []
    for device in range(devices):
        own = [layer for stage, layers in enumerate(stages) if placement[stage] == device for layer in layers]
        found.append(state_bytes(device_parameters(own, training.parallel), training.parallel, states))
    return tuple(found)


def _gradients(layer: Layer, training: Training) -> int:
    return max((transient(operator, training) for operator in layer.operators), default=0)


def _gathered(layers: Layers, training: Training, states: StateBytes) -> int:
    """With sharded weights (ZeRO 3): those of the layer at work, whole, and those of the next one, already on their way."""
    if training.parallel.zero < 3:
        return 0
    whole = []
    for layer in layers:
        parameters = device_parameters([layer], training.parallel)
        whole.append(states.weight * (parameters.dense + parameters.expert))
    return 2 * max(whole, default=0)
