"""Read SPEC files of `rank`, and write the MAIN document of each candidate: a family with its chunks, recomputation and split.

A device's share of the model is the p-th part of it. A stage of a pipe with S stages has the S-th part: of the share, one of S / p.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final

from pipefill_opt.errors import InputError, ScheduleError
from pipefill_opt.files import check, read_document
from pipefill_opt.schedule.families import FAMILIES
from pipefill_opt.units import parse_bytes, parse_time
from pipefill_opt.workload.main_costs import value_at
from pipefill_opt.workload.split import Extra, Weights, balanced, even

Document = Mapping[str, Any]

TIMES: Final = ("F", "I", "W", "R")
SIZES: Final = ("static", "activation", "freed_by_I", "checkpoint")
UNTRAINED: Final = ("forward-only",)
"""Families that do not train: not ranked unless asked for."""


@dataclass(frozen=True, slots=True)
class RankSpec:
    """A job for any family. unit, first, last: ticks and bytes by name (`TIMES`, `SIZES`), of one device's share or, with `layers`, of
    one layer; what the first and the last stage have besides. whole: ticks that are not divided (overhead, STEP; REDUCE is), where given.
    memory: capacity, reserve and workspace in bytes, None without a memory model. lag: ticks, for families that plan with it. passed_on:
    parts of MAIN that stand as they are.
    """

    source: str
    devices: int
    microbatches: int
    chunks: tuple[int, ...]
    families: tuple[str, ...]
    recompute: tuple[bool, ...]
    layers: int | None
    splits: tuple[str | tuple[int, ...], ...]
    unit: Mapping[str, int]
    first: Mapping[str, int]
    last: Mapping[str, int]
    whole: Mapping[str, int]
    overlap: int | None
    memory: Mapping[str, int] | None
    lag: int
    passed_on: Document


@dataclass(frozen=True, slots=True)
class Candidate:
    """One way to run the job. chunks: None where the family has no choice. split: `even`, `balanced` or the layers, None without layers."""

    family: str
    chunks: int | None
    recompute: bool
    split: str | tuple[int, ...] | None


def read_rank(path: Path | str) -> RankSpec:
    """The SPEC of a file (YAML or JSON). Raises InputError."""
    return rank_from_document(read_document(path, "rank"), file=str(path), folder=Path(path).parent)


def rank_from_document(document: Document, *, file: str = "", folder: Path | str = ".") -> RankSpec:
    """The SPEC of a parsed document; a MAIN file that it names is looked for in `folder`. `file` names its origin in errors.

    Raises InputError.
    """
    check(document, "rank", file=file)
    try:
        if "main" in document:
            from pipefill_opt.workload.model.rank_model import rank_document

            document = rank_document(document, Path(folder))
        return _spec(document, file)
    except InputError as error:
        raise error.located(file=file) from None


def _spec(document: Document, file: str) -> RankSpec:
    durations, memory = document["durations"], document.get("memory", {})
    unit = _amounts("durations", durations, durations.get("unit"), TIMES, parse_time)
    unit.setdefault("R", unit["F"])
    unit |= dict.fromkeys(SIZES, 0) | _amounts("memory", memory, memory.get("unit"), SIZES, parse_bytes)
    sizes = _amounts("memory", memory, memory.get("unit"), ("capacity", "reserve", "workspace"), parse_bytes)
    families = document.get("families", [name for name in FAMILIES if name not in UNTRAINED])
    for index, name in enumerate(families):
        if name not in FAMILIES:
            raise InputError(f"expected one of {', '.join(FAMILIES)}", value=name, where=f"families[{index}]")
    layers = document.get("layers")
    if layers is None and "splits" in document:
        raise InputError("expected layers with it", where="splits")
    overlap = document.get("overlap", "sequential")
    if layers is not None and overlap != "sequential":
        raise InputError("expected no length of pairs with layers", where="overlap")
    splits = document.get("splits", ["even", "balanced"]) if layers is not None else []
    for index, split in enumerate(splits):
        if not isinstance(split, str) and sum(split) != layers:
            raise InputError(f"expected {layers} layers in all", value=sum(split), where=f"splits[{index}]")
    length = _overlap(overlap, durations.get("unit"))
    passed_on = ("communication", "boundary", *(("overlap",) if length is None else ()))
    return RankSpec(
        source=file,
        devices=document["devices"],
        microbatches=document["microbatches"],
        chunks=_several(document.get("chunks", [])),
        families=tuple(dict.fromkeys(families)),
        recompute=_several(document.get("recompute", False)),
        layers=layers,
        splits=tuple(split if isinstance(split, str) else tuple(split) for split in splits),
        unit=unit,
        first=_extra("first", document.get("first", {}), durations.get("unit")),
        last=_extra("last", document.get("last", {}), durations.get("unit")),
        whole=_amounts("durations", durations, durations.get("unit"), ("overhead", "REDUCE", "STEP"), parse_time),
        overlap=length,
        memory={"reserve": 0, "workspace": 0, **sizes} if "memory" in document else None,
        lag=_planned_lag(document.get("communication", {})),
        passed_on={key: document[key] for key in passed_on if key in document},
    )


def _amounts(where: str, entry: Document, unit: str | None, names: tuple[str, ...], parse: Any) -> dict[str, int]:
    return {name: value_at(f"{where}.{name}", parse, entry[name], unit) for name in names if name in entry}


def _extra(where: str, entry: Document, unit: str | None) -> dict[str, int]:
    extra = _amounts(where, entry, entry.get("unit", unit), TIMES, parse_time)
    extra.setdefault("R", extra.get("F", 0))
    return dict.fromkeys(TIMES + SIZES, 0) | extra | _amounts(where, entry, None, SIZES, parse_bytes)


def _several(value: Any) -> tuple[Any, ...]:
    return tuple(dict.fromkeys(value)) if isinstance(value, list) else (value,)


def _overlap(entry: Any, unit: str | None) -> int | None:
    """The length of a pair, where one is stated."""
    if not isinstance(entry, Mapping) or "length" not in entry:
        return None
    return value_at("overlap.length", parse_time, entry["length"], entry.get("unit", unit))


def _planned_lag(entry: Document) -> int:
    """Ticks of a stated lag, for families that plan with it."""
    return value_at("communication.lag", parse_time, entry.get("lag", 0), entry.get("unit"))


def candidates(spec: RankSpec) -> Iterator[Candidate]:
    """Every family with every choice that it leaves."""
    for name in spec.families:
        family = FAMILIES[name]
        free: tuple[int | None, ...] = (None,) if family.fixed_chunks else (spec.chunks or (family.chunks,))
        for chunks in free:
            for recompute in spec.recompute:
                for split in spec.splits or (None,):
                    yield Candidate(name, chunks, recompute, split)


def is_uneven(spec: RankSpec, candidate: Candidate) -> bool:
    """Whether the stages of a device cannot have equal parts of its share, which whole ticks forbid; they then differ by a tick."""
    if spec.layers is not None:
        return False
    parts = len(_places(spec, candidate)[0][0]) // spec.devices
    return any(spec.unit[name] % parts for name in TIMES)


def layers_by_stage(spec: RankSpec, candidate: Candidate) -> tuple[int, ...] | None:
    """Layers of each stage of a pipe (of the first one; others have the like), None without layers.

    Raises ScheduleError, code `size`, where the family does not hold, or the split is none for it.
    """
    if spec.layers is None:
        return None
    pipes, placement = _places(spec, candidate)
    return _layers(spec, candidate, [placement[stage] for stage in pipes[0]])


def main_document(spec: RankSpec, candidate: Candidate) -> dict[str, Any]:
    """The MAIN document of a candidate. Raises ScheduleError, code `size`, as `layers_by_stage`."""
    pipes, placement = _places(spec, candidate)
    weights = Weights(spec.unit, Extra(spec.first, spec.last))
    by_stage: dict[int, Mapping[str, int]] = {}
    for pipe in pipes:
        if spec.layers is None:
            amounts = weights.shared(len(pipe), spec.devices)
        else:
            amounts = weights.layered(_layers(spec, candidate, [placement[stage] for stage in pipe]))
        by_stage |= dict(zip(pipe, amounts, strict=True))
    stages = [by_stage[stage] for stage in range(len(placement))]
    per_device = len(pipes[0]) // spec.devices
    document = {
        "schedule": _schedule(spec, candidate, stages),
        "durations": _durations(spec, stages, per_device),
        **spec.passed_on,
    }
    if spec.overlap is not None:
        document["overlap"] = {"unit": "ns", "length": -(-spec.overlap // per_device)}
    if spec.memory is not None:
        document["memory"] = _memory(spec.memory, stages, placement, spec.devices)
    return document


def _places(spec: RankSpec, candidate: Candidate) -> tuple[tuple[tuple[int, ...], ...], tuple[int, ...]]:
    """The pipes, and the device of each stage."""
    family = FAMILIES[candidate.family]
    size = family.size(spec.devices, spec.microbatches, candidate.chunks)
    return family.pipes(size), family.placement(size)


def _layers(spec: RankSpec, candidate: Candidate, devices: Sequence[int]) -> tuple[int, ...]:
    """Layers of each stage of a pipe on these devices."""
    assert spec.layers is not None
    if candidate.split == "even":
        return even(spec.layers, len(devices))
    if candidate.split == "balanced":
        return balanced(spec.layers, devices, Weights(spec.unit, Extra(spec.first, spec.last)))
    assert isinstance(candidate.split, tuple)
    if len(candidate.split) != len(devices):
        raise ScheduleError(
            f"expected layers for {len(devices)} stages", code="size", value=len(candidate.split), where="splits"
        )
    return candidate.split


def _schedule(spec: RankSpec, candidate: Candidate, stages: list[Mapping[str, int]]) -> dict[str, Any]:
    entry: dict[str, Any] = {"family": candidate.family, "devices": spec.devices, "microbatches": spec.microbatches}
    if candidate.chunks is not None:
        entry["chunks"] = candidate.chunks
    flags = {"recompute": candidate.recompute, "reduce": "REDUCE" in spec.whole, "step": "STEP" in spec.whole}
    entry |= {name: True for name, flag in flags.items() if flag}
    if candidate.family == "zb-greedy":
        names = {"forward": "F", "input_gradient": "I", "weight_gradient": "W"}
        entry |= {option: max(1, *(stage[name] for stage in stages)) for option, name in names.items()}
        entry["lag"] = spec.lag
        activation = max(stage["activation"] for stage in stages)
        if spec.memory is not None and activation:
            room = spec.memory["capacity"] - spec.memory["reserve"] - spec.memory["workspace"]
            room -= max(stage["static"] for stage in stages)
            entry["cap"] = max(1, min(room // activation, spec.microbatches))
    return entry


def _durations(spec: RankSpec, stages: list[Mapping[str, int]], per_device: int) -> dict[str, Any]:
    more = spec.whole.get("overhead", 0)
    entry: dict[str, Any] = {"unit": "ns"}
    entry |= {name: [stage[name] + more for stage in stages] for name in TIMES}
    entry["B"] = [stage["I"] + stage["W"] + more for stage in stages]
    if "REDUCE" in spec.whole:
        entry["REDUCE"] = -(-spec.whole["REDUCE"] // per_device)
    if "STEP" in spec.whole:
        entry["STEP"] = spec.whole["STEP"]
    return entry


def _memory(
    sizes: Mapping[str, int], stages: list[Mapping[str, int]], placement: tuple[int, ...], devices: int
) -> dict[str, Any]:
    static = [0] * devices
    for stage, device in zip(stages, placement, strict=True):
        static[device] += stage["static"]
    by_stage = {name: [stage[name] for stage in stages] for name in SIZES if name != "static"}
    return {"unit": "B", **sizes, "static": static, **by_stage}
