"""Read the SPEC of a split: layers with times and sizes, or those of a MAIN file by model name; and a schedule for their stages."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import pairwise
from pathlib import Path
from typing import Any

import numpy as np

from pipefill_opt.errors import InputError
from pipefill_opt.files import check, read_document
from pipefill_opt.schedule.actions import Kind
from pipefill_opt.schedule.families import build_family
from pipefill_opt.schedule.schedule import Schedule
from pipefill_opt.units import parse_bytes, parse_time
from pipefill_opt.workload.main_costs import value_at
from pipefill_opt.workload.main_schedule import read_schedule
from pipefill_opt.workload.model.activations import layer_held
from pipefill_opt.workload.model.durations import KEPT, layer_ticks
from pipefill_opt.workload.model.main_model import ModelJob, read_model_job
from pipefill_opt.workload.model.memory import stage_memory
from pipefill_opt.workload.model.network import Layer
from pipefill_opt.workload.model.parameters import device_parameters, state_bytes
from pipefill_opt.workload.model.split_problem import LayerMemory, Objective, SplitProblem
from pipefill_opt.workload.model.stated import device_memory, refuse_stages
from pipefill_opt.workload.rank_file import UNTRAINED
from pipefill_opt.workload.split import even

Document = Mapping[str, Any]


@dataclass(frozen=True, slots=True)
class SplitSpec:
    """names: of the layers. equal: as equal numbers of layers as can be, by stage, embedding and head of a model not counted.
    body: layers that a `split` of a MAIN file counts, those but embedding and head. main: that MAIN document. Both None without a model.
    """

    source: str
    schedule: Schedule
    names: tuple[str, ...]
    problem: SplitProblem
    objective: Objective
    equal: tuple[int, ...]
    body: tuple[bool, ...] | None = None
    main: Document | None = None

    @property
    def microbatches(self) -> int:
        """Of an iteration."""
        return int(self.schedule.microbatch.max()) + 1

    def main_split(self, counts: Sequence[int]) -> list[int]:
        """The `split` of a MAIN file by model name: layers of each stage, embedding and head not counted."""
        assert self.body is not None
        return [sum(self.body[begin:end]) for begin, end in pairwise(self.problem.ends(counts))]


def read_split(path: Path | str) -> SplitSpec:
    """The SPEC of a file (YAML or JSON). Raises InputError."""
    path = Path(path)
    return split_from_document(read_document(path, "split"), file=str(path), folder=path.parent)


def split_from_document(document: Document, *, file: str = "", folder: Path | str = ".") -> SplitSpec:
    """The SPEC of a parsed document; a file that it names is looked for in `folder`. Raises InputError."""
    check(document, "split", file=file)
    try:
        return _of_model(document, Path(folder), file) if "main" in document else _of_layers(document, file)
    except InputError as error:
        raise error.located(file=file) from None


def _of_layers(document: Document, file: str) -> SplitSpec:
    for key in ("schedule", "layers"):
        if key not in document:
            raise InputError(f"missing key {key!r} (or main)", where="top level")
    if document.get("objective") == Objective.PERIOD:
        raise InputError("expected main with it", value=document["objective"], where="objective")
    schedule = _one_pipe(read_schedule(document["schedule"], Path()))
    names, times, static, live = [], [], [], []
    for index, entry in enumerate(document["layers"]):
        where, count = f"layers[{index}]", entry.get("count", 1)
        names += [entry.get("name", f"layer {index}")] * count
        times += [value_at(f"{where}.time", parse_time, entry["time"], document.get("unit"))] * count
        static += [value_at(f"{where}.static", parse_bytes, entry.get("static", 0))] * count
        live += [value_at(f"{where}.activation", parse_bytes, entry.get("activation", 0))] * count
    memory = None
    if "memory" in document:
        sizes = document["memory"]
        room = value_at("memory.capacity", parse_bytes, sizes["capacity"])
        room -= value_at("memory.reserve", parse_bytes, sizes.get("reserve", 0))
        memory = LayerMemory(
            tuple(static), tuple(live), in_flight(schedule), _rooms(schedule, [room] * schedule.devices)
        )
    problem = SplitProblem(tuple(times), schedule.placement, memory)
    equal = even(problem.layers, problem.stages)
    return SplitSpec(file, schedule, tuple(names), problem, Objective(document.get("objective", "device")), equal)


def _of_model(document: Document, folder: Path, file: str) -> SplitSpec:
    for key in ("schedule", "layers", "memory", "unit"):
        if key in document:
            raise InputError("expected no such key beside main", where=key)
    path = folder / document["main"]
    main = read_document(path, "main")
    if "model" not in main:
        raise InputError("expected a MAIN file that gives a model by name", value=document["main"], where="main")
    return split_of_main(main, path.parent, Objective(document.get("objective", "device")), file=file)


def split_of_main(main: Document, folder: Path, objective: Objective, *, file: str = "") -> SplitSpec:
    """The SPEC of a MAIN document by model name, whose own `split` is not looked at. Raises InputError."""
    job = read_model_job({**main, "split": "even"}, folder)
    refuse_stages(main)
    if job.options.get("recompute", False):
        expected = "expected recompute: full of the layers: what a stage keeps that is computed again whole is no sum over its layers"
        raise InputError(expected, value="true", where="schedule.recompute")
    schedule = _one_pipe(_schedule(job))
    layers = job.network.layers
    times = tuple(layer_ticks(job.clock, layer, job.family.name not in UNTRAINED) for layer in layers)
    return SplitSpec(
        source=file,
        schedule=schedule,
        names=tuple(layer.name for layer in layers),
        problem=SplitProblem(times, schedule.placement, _model_memory(job, schedule, main)),
        objective=objective,
        equal=tuple(len(stage) for stage in job.stages),
        body=tuple(layer.kind not in KEPT for layer in layers),
        main=main,
    )


def _schedule(job: ModelJob) -> Schedule:
    chunks = {} if job.family.fixed_chunks else {"chunks": job.size.chunks}
    return build_family(job.family.name, job.size.devices, job.size.microbatches, **chunks)


def _model_memory(job: ModelJob, schedule: Schedule, main: Document) -> LayerMemory:
    """States, activations, and what an action of the stage takes at most, kept free."""
    layers, training, states = job.network.layers, job.training, job.states
    before: Sequence[Layer | None] = (None, *layers)
    static = (state_bytes(device_parameters([layer], training.parallel), training.parallel, states) for layer in layers)
    trains = job.family.name not in UNTRAINED
    kept = (layer_held(layer, earlier, training).kept for layer, earlier in zip(layers, before, strict=False))
    live = kept if trains else (0 for _ in layers)
    workspace = stage_memory(layers, None, training, states=states, trains=trains).workspace
    both = zip(*device_memory(main, job.machine.hardware, schedule.devices), strict=True)
    room = [capacity - reserve - workspace for capacity, reserve in both]
    return LayerMemory(tuple(static), tuple(live), in_flight(schedule), _rooms(schedule, room))


def _rooms(schedule: Schedule, room: Sequence[int]) -> tuple[int, ...]:
    """Of each stage: an equal part of its device's."""
    return tuple(room[device] // schedule.placement.count(device) for device in schedule.placement)


def in_flight(schedule: Schedule) -> tuple[int, ...]:
    """The most micro-batches that a stage keeps at a time, from its F to the end of its B, or W: a device's row fixes that."""
    change = np.zeros(schedule.size, dtype=np.int64)
    change[schedule.kind == Kind.F] = 1
    change[(schedule.kind == Kind.B) | (schedule.kind == Kind.W)] = -1
    found = []
    for stage in range(schedule.stages):
        steps = change[schedule.stage == stage]
        trains = bool((steps < 0).any())
        found.append(int(np.cumsum(steps).max(initial=0)) if trains else 1)
    return tuple(found)


def _one_pipe(schedule: Schedule) -> Schedule:
    if len(schedule.pipes) > 1:
        expected = "expected a family with one pipe: both of a bidirectional one have the same layers"
        raise InputError(expected, value=schedule.name, where="schedule.family")
    return schedule
