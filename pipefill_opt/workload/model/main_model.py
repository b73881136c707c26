"""MAIN by model name: a network on hardware, divided in a stated way, becomes a schedule with durations, communication and memory."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import accumulate, pairwise
from pathlib import Path
from typing import Any, Final

from pipefill_opt.errors import InputError
from pipefill_opt.files import check
from pipefill_opt.schedule.families import FAMILIES, Family
from pipefill_opt.schedule.families.family import MAX_OPTION, Size
from pipefill_opt.workload.costs import Derived, Memory
from pipefill_opt.workload.main_costs import value_at
from pipefill_opt.workload.main_schedule import read_schedule
from pipefill_opt.workload.model.catalog import read_hardware, read_network
from pipefill_opt.workload.model.coefficients import read_coefficients
from pipefill_opt.workload.model.durations import KEPT, Clock, layer_ticks
from pipefill_opt.workload.model.flops import network_flops
from pipefill_opt.workload.model.kernels import Unit
from pipefill_opt.workload.model.layers import Attention, Linear
from pipefill_opt.workload.model.memory import main_memory
from pipefill_opt.workload.model.network import Layer, Network
from pipefill_opt.workload.model.network_file import network_from_document
from pipefill_opt.workload.model.parallel import Parallel, Recompute, Training
from pipefill_opt.workload.model.parameters import StateBytes, states_of
from pipefill_opt.workload.model.roofline import Machine
from pipefill_opt.workload.model.split_problem import SplitProblem
from pipefill_opt.workload.model.split_stages import split_layers
from pipefill_opt.workload.rank_file import UNTRAINED
from pipefill_opt.workload.split import even

Document = Mapping[str, Any]
Stages = tuple[tuple[Layer, ...], ...]

MEMORY: Final = {"freed_by_input": "freed_by_I"}
"""Names of files for fields of `Memory`, where they differ."""


@dataclass(frozen=True, slots=True)
class ModelJob:
    """What a MAIN file by model name says. placement: the device of each stage; stages: the layers of each, by stage of the schedule.

    states: bytes of a parameter's weight, gradient and optimizer state.
    """

    network: Network
    clock: Clock
    family: Family
    size: Size
    options: Document
    stages: Stages
    placement: tuple[int, ...]
    states: StateBytes

    @property
    def training(self) -> Training:
        """How it is divided and trained."""
        return self.clock.training

    @property
    def machine(self) -> Machine:
        """What it runs on."""
        return self.clock.machine


def read_model_job(document: Document, folder: Path) -> ModelJob:
    """The job of a MAIN document by model name. Raises InputError, and ScheduleError where the family does not hold."""
    network = value_at("model", _network, document["model"], folder)
    hardware = value_at("hardware", read_hardware, document["hardware"], folder)
    coefficients = value_at("coefficients", read_coefficients, document.get("coefficients"), folder)
    precision = document.get("precision", "bf16" if "bf16" in hardware.peak else "fp16")
    machine = Machine(hardware, precision, coefficients)
    value_at("", machine.peak, Unit.MATMUL)
    family, options = _family(document)
    parallel = value_at("parallel", _parallel, document)
    size = value_at("", _size, family, parallel, document)
    training = Training(
        parallel,
        document["microbatch"],
        network.tokens(document.get("sequence")),
        precision,
        Recompute("none" if options.get("recompute", False) else document.get("recompute", "none")),  # R does it
        document.get("attention", "flash") == "flash",
        document.get("async_tensor", True),
        document.get("fusion", "fused") == "fused",
        family.name not in UNTRAINED,
    )
    _check_divides(network, training)
    clock = Clock(machine, training)
    stages = _stages(document.get("split", "even"), clock, network, family, size)
    states = states_of(document.get("optimizer", "none" if family.name in UNTRAINED else None), training)
    return ModelJob(network, clock, family, size, options, stages, family.placement(size), states)


def _network(given: str | Document, folder: Path) -> Network:
    """By name, from a file, or as it stands."""
    if isinstance(given, str):
        return read_network(given, folder)
    check(given, "network")
    return network_from_document(given)


def _parallel(document: Document) -> Parallel:
    entry = document.get("parallel", {})
    values = {key: entry[key] for key in ("tp", "pp", "dp", "cp", "ep") if key in entry}
    return Parallel(
        **values,
        chunks=entry.get("vp", 1),
        sequence_parallel=document.get("sequence_parallel", False),
        zero=document.get("zero", 0),
    )


def _family(document: Document) -> tuple[Family, Document]:
    """The schedule's family, by default 1F1B, interleaved where a device has several chunks; and its other options."""
    entry = document.get("schedule", {})
    chunks = document.get("parallel", {}).get("vp", 1)
    name = entry.get("family", "interleaved-1f1b" if chunks > 1 else "1f1b")
    if name not in FAMILIES:
        raise InputError(f"expected one of {', '.join(FAMILIES)}", value=name, where="schedule.family")
    return FAMILIES[name], {key: value for key, value in entry.items() if key != "family"}


def _size(family: Family, parallel: Parallel, document: Document) -> Size:
    samples = document["microbatch"] * parallel.dp
    if document["global_batch"] % samples:
        expected = f"expected a multiple of microbatch x dp, {samples}"
        raise InputError(expected, value=document["global_batch"], where="global_batch")
    chunks = parallel.chunks if not family.fixed_chunks or parallel.chunks > 1 else None
    if chunks == 1 and family.chunks > 1 and "vp" not in document.get("parallel", {}):
        chunks = None
    return family.size(parallel.pp, document["global_batch"] // samples, chunks)


def _check_divides(network: Network, training: Training) -> None:
    """Tensor parallelism divides the heads, expert parallelism the experts, context parallelism the tokens."""
    parallel = training.parallel
    operators = [operator for layer in network.layers for operator in layer.operators]
    for count in sorted({operator.heads for operator in operators if isinstance(operator, Attention)}):
        if count % parallel.tp:
            raise InputError(f"expected a divisor of the {count} heads", value=parallel.tp, where="parallel.tp")
    experts = {operator.experts for operator in operators if isinstance(operator, Linear)} - {1}
    if parallel.ep > 1 and not experts:
        raise InputError("expected 1 for a network without experts", value=parallel.ep, where="parallel.ep")
    for count in sorted(experts):
        if count % parallel.ep:
            raise InputError(f"expected a divisor of the {count} experts", value=parallel.ep, where="parallel.ep")
    if parallel.sequence_parallel and training.sequence % (parallel.tp * parallel.cp):
        expected = f"expected a multiple of tp x cp, {parallel.tp * parallel.cp}"
        raise InputError(expected, value=training.sequence, where="sequence")
    if training.sequence % parallel.cp:
        raise InputError(
            f"expected a divisor of the {training.sequence} tokens", value=parallel.cp, where="parallel.cp"
        )


def _stages(split: str | Sequence[int], clock: Clock, network: Network, family: Family, size: Size) -> Stages:
    """Layers by stage; pipes of the same stages have the same ones."""
    placement = family.placement(size)
    found: dict[int, tuple[Layer, ...]] = {}
    for pipe in family.pipes(size):
        if split == "balanced":
            trains = family.name not in UNTRAINED
            parts = _balanced(network, clock, [placement[stage] for stage in pipe], trains)
        else:
            parts = _parts(split, network, len(pipe))
        found |= dict(zip(pipe, parts, strict=True))
    return tuple(found[stage] for stage in range(len(found)))


def _balanced(network: Network, clock: Clock, devices: Sequence[int], trains: bool) -> Stages:
    """The slowest device as fast as can be; embedding and head are layers like others."""
    times = tuple(layer_ticks(clock, layer, trains) for layer in network.layers)
    problem = SplitProblem(times, tuple(devices))
    return _cut(network.layers, split_layers(problem).counts)


def _parts(split: str | Sequence[int], network: Network, stages: int) -> Stages:
    """Embedding and head on the first and the last stage; the split says how many other layers each stage has."""
    layers = network.layers
    front = next((index for index, layer in enumerate(layers) if layer.kind not in KEPT), len(layers))
    back = next((index for index, layer in enumerate(reversed(layers)) if layer.kind not in KEPT), 0)
    body = layers[front : len(layers) - back]
    counts = even(len(body), stages) if isinstance(split, str) else tuple(split)
    if len(counts) != stages or sum(counts) != len(body):
        expected = f"expected a list for {stages} stages, of {len(body)} layers in all (embedding and head not counted)"
        raise InputError(expected, value=f"{len(counts)} numbers, sum {sum(counts)}", where="split")
    ends = [front, *[0] * (stages - 2), back] if stages > 1 else [front + back]
    return _cut(layers, [count + end for count, end in zip(counts, ends, strict=True)])


def _cut(layers: tuple[Layer, ...], counts: Sequence[int]) -> Stages:
    places = [0, *accumulate(counts)]
    return tuple(layers[begin:end] for begin, end in pairwise(places))


def resolve(document: Document, folder: Path) -> tuple[dict[str, Any], Derived]:
    """The MAIN document with explicit numbers in place of a model's name, and what was derived."""
    job = read_model_job(document, folder)
    schedule = schedule_entry(job)
    explicit: dict[str, Any] = {
        "schedule": schedule,
        "durations": _durations(job) | document.get("durations", {}),
        "communication": communication(job, document.get("communication", {})),
        "memory": _memory(job, schedule) | document.get("memory", {}),
    }
    explicit |= {key: document[key] for key in ("boundary", "global_norm", "overlap") if key in document}
    return explicit, _derived(job, explicit)


def schedule_entry(job: ModelJob) -> dict[str, Any]:
    """The family with its size; gradients are reduced and weights stepped unless the file says otherwise."""
    devices, microbatches, chunks = job.size
    entry: dict[str, Any] = {"family": job.family.name, "devices": devices, "microbatches": microbatches}
    if not job.family.fixed_chunks:
        entry["chunks"] = chunks
    trains = job.family.name not in UNTRAINED
    return entry | {"reduce": trains, "step": trains} | _planned(job) | dict(job.options)


def _planned(job: ModelJob) -> dict[str, int]:
    """What a family that plans by costs takes F, I, W and a message to last: those of the slowest stage, in a unit that it can take."""
    if "forward" not in job.family.options:
        return {}
    times = [job.clock.stage(layers) for layers in job.stages]
    costs = {
        "forward": max(entry.forward for entry in times),
        "input_gradient": max(entry.input_gradient for entry in times),
        "weight_gradient": max(entry.weight_gradient for entry in times),
        "lag": lag(job),
    }
    unit = -(-max(costs.values()) // MAX_OPTION)
    return {name: ticks // unit for name, ticks in costs.items()}


def _durations(job: ModelJob) -> dict[str, Any]:
    times = [job.clock.stage(layers) for layers in job.stages]
    devices: list[list[Layer]] = [[] for _ in range(job.size.devices)]
    for stage, device in enumerate(job.placement):
        devices[device] += job.stages[stage]
    by_kind = {
        "F": [entry.forward for entry in times],
        "B": [entry.backward for entry in times],
        "I": [entry.input_gradient for entry in times],
        "W": [entry.weight_gradient for entry in times],
        "R": [entry.forward for entry in times],
        "REDUCE": [entry.reduce for entry in times],
        "STEP": [job.clock.step(layers) for layers in devices],
    }
    return {name: [f"{ticks}ns" for ticks in values] for name, values in by_kind.items()}


def communication(job: ModelJob, stated: Document) -> dict[str, Any]:
    """The longest message of a stage, as a delay, unless the file states one."""
    if set(stated) - {"mode"}:
        return dict(stated)
    return {**stated, "lag": f"{lag(job)}ns"}


def lag(job: ModelJob) -> int:
    """Ticks of the longest message of a stage."""
    ends = [layers[-1] for layers in job.stages if layers and layers[-1].width]
    return max((job.clock.message(layer) for layer in ends), default=0) if job.size.devices > 1 else 0


def _memory(job: ModelJob, entry: Document) -> dict[str, Any]:
    schedule = read_schedule(entry, Path())
    memory = main_memory(job.stages, schedule, job.training, job.machine.hardware, states=job.states)
    return {MEMORY.get(key, key): [f"{size}B" for size in getattr(memory, key)] for key in Memory.__dataclass_fields__}


def _derived(job: ModelJob, explicit: Document) -> Derived:
    parallel, training = job.training.parallel, job.training
    passes = 1 if job.family.name in UNTRAINED else 3
    return Derived(
        model=job.network.name,
        hardware=job.machine.hardware.name,
        coefficients=job.machine.coefficients.name,
        replicas=parallel.replicas,
        samples=training.microbatch * parallel.dp * job.size.microbatches,
        sequence=training.sequence,
        flops=passes * network_flops(job.network, training) * parallel.dp * job.size.microbatches,
        peak=job.machine.peak(Unit.MATMUL),
        layers=tuple(len(layers) for layers in job.stages),
        document=explicit,
    )
