"""A SPEC of `rank` from a MAIN file by model name: one layer's times and sizes, and what embedding and head add."""

from __future__ import annotations

from collections.abc import Mapping
from math import ceil
from pathlib import Path
from typing import Any, Final

from pipefill_opt.errors import InputError
from pipefill_opt.files import read_document
from pipefill_opt.workload.model.activations import checkpoint
from pipefill_opt.workload.model.durations import KEPT, Clock
from pipefill_opt.workload.model.main_model import ModelJob, communication, read_model_job
from pipefill_opt.workload.model.memory import stage_memory, static_bytes
from pipefill_opt.workload.model.network import Layer
from pipefill_opt.workload.model.stated import device_memory, refuse_stages

Document = Mapping[str, Any]

DERIVED: Final = ("devices", "microbatches", "layers", "durations", "first", "last", "memory")
"""What a SPEC with `main` does not state."""


def rank_document(document: Document, folder: Path) -> dict[str, Any]:
    """The SPEC with numbers in place of `main`, a file that is looked for in `folder`. Raises InputError."""
    for key in DERIVED:
        if key in document:
            raise InputError(f"expected either main, or {key}", where=key)
    path = folder / document["main"]
    main = read_document(path, "main")
    if "model" not in main:
        raise InputError("expected a MAIN file with model", value=path, where="main")
    try:
        numbers = _numbers(read_model_job(main, path.parent), main)
    except InputError as error:
        raise error.located(file=str(path)) from None
    return numbers | {key: value for key, value in document.items() if key != "main"}


def _numbers(job: ModelJob, main: Document) -> dict[str, Any]:
    refuse_stages(main)
    capacity, reserve = device_memory(main, job.machine.hardware, job.size.devices)
    front, body, back = _parts(job.network.layers)
    if len(set(body)) != 1:
        raise InputError(
            "expected a network of equal layers between embedding and head", value=job.network.name, where="model"
        )
    clock, count = job.clock, len(body)
    largest = [*front, *body[: -(-count // job.size.devices)], *back]
    return {
        "devices": job.size.devices,
        "microbatches": job.size.microbatches,
        "layers": count,
        "durations": {
            **_times(clock, body[:1]),
            "overhead": f"{clock.machine.coefficients.action}ns",
            "REDUCE": f"{clock.stage(largest).reduce}ns",
            "STEP": f"{clock.step(largest)}ns",
        },
        "communication": communication(job, main.get("communication", {})),
        "boundary": main.get("boundary", "barrier"),
        "recompute": job.options.get("recompute", False),
        "first": _times(clock, front) | _sizes(job, front, None),
        "last": _times(clock, back) | _sizes(job, back, body[-1]),
        "memory": {
            "capacity": f"{min(capacity)}B",
            "reserve": f"{max(reserve)}B",
            **_sizes(job, body[:1], body[0]),
            "workspace": f"{_workspace(job, front, body, back)}B",
        },
    }


def _parts(layers: tuple[Layer, ...]) -> tuple[tuple[Layer, ...], tuple[Layer, ...], tuple[Layer, ...]]:
    """Embedding, what stands between, head."""
    inner = [index for index, layer in enumerate(layers) if layer.kind not in KEPT]
    if not inner:
        raise InputError("expected a network with layers besides embedding and head", where="model")
    return layers[: inner[0]], layers[inner[0] : inner[-1] + 1], layers[inner[-1] + 1 :]


def _times(clock: Clock, layers: tuple[Layer, ...]) -> dict[str, str]:
    times = [clock.layer(layer) for layer in layers]
    amounts = {
        "F": sum(entry.forward for entry in times),
        "I": sum(entry.input_gradient + entry.again for entry in times),
        "W": sum(entry.weight_gradient for entry in times),
        "R": sum(entry.forward for entry in times),
    }
    return {name: f"{ceil(ticks)}ns" for name, ticks in amounts.items()}


def _sizes(job: ModelJob, layers: tuple[Layer, ...], before: Layer | None) -> dict[str, str]:
    """Static bytes, activations, and checkpoints of each layer's input."""
    own = stage_memory(layers, before, job.training, states=job.states)
    static = static_bytes([layers], [0], 1, job.training, job.states)[0]
    kept = checkpoint(before, job.training) if layers else 0
    sizes = {"static": static, "activation": own.activation, "freed_by_I": own.freed_by_input, "checkpoint": kept}
    return {name: f"{size}B" for name, size in sizes.items()}


def _workspace(job: ModelJob, *parts: tuple[Layer, ...]) -> int:
    """The largest of a layer."""
    return max(
        stage_memory((layer,), None, job.training, states=job.states).workspace
        for layers in parts
        for layer in set(layers)
    )
