"""Whether a main job fits into memory; by how much it does not, on which stage; and which changes of a job by model name make it fit.

The peak of a device does not depend on times: its row fixes the order in which memory is taken and given back.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import combinations, product
from pathlib import Path
from typing import Any, Final

import numpy as np

from pipefill_opt.errors import InfeasibleError, InputError
from pipefill_opt.timeline.memory import memory_steps
from pipefill_opt.workload.costs import MainJob
from pipefill_opt.workload.main_file import main_from_document
from pipefill_opt.workload.weights import is_block

Document = Mapping[str, Any]
Change = tuple[str, Any]
"""A key of the MAIN document, with dots, and its new value."""

MOST_CHANGES: Final = 3
"""Most changes that are made together."""
MOST_TRIED: Final = 250
"""Most changed jobs that are looked at."""


@dataclass(frozen=True, slots=True)
class Need:
    """Bytes of a device. peak: the most that it uses. room: capacity less reserve. stages: those that it holds."""

    device: int
    stages: tuple[int, ...]
    peak: int
    room: int

    @property
    def lacking(self) -> int:
        """By how much it does not fit, below 0 where it does."""
        return self.peak - self.room


@dataclass(frozen=True, slots=True)
class Remedy:
    """Changes with which a job fits. spare: bytes that its tightest device then has left. devices: of the whole job."""

    changes: tuple[Change, ...]
    document: Document
    spare: int
    devices: int


def needs(main: MainJob) -> tuple[Need, ...]:
    """Of each device. Raises ValueError without a memory model."""
    if main.memory is None:
        raise ValueError("this main job has no memory model")
    start = np.arange(main.schedule.size, dtype=np.int64)
    end = start + 1
    block = is_block(main)
    if block:
        pairs = np.flatnonzero(main.schedule.paired)
        start[pairs + 1], end[pairs] = start[pairs], end[pairs + 1]
    steps = memory_steps(main.schedule, main.memory, start, end, block=block)
    found = []
    for device in range(main.schedule.devices):
        stages = tuple(stage for stage, at in enumerate(main.schedule.placement) if at == device)
        room = main.memory.capacity[device] - main.memory.reserve[device]
        found.append(Need(device, stages, int(steps.device(device)[1].max()), room))
    return tuple(found)


def tightest(main: MainJob) -> Need:
    """The device with least room left."""
    return max(needs(main), key=lambda need: need.lacking)


def remedies(
    document: Document, folder: Path | str = ".", tell: Callable[[str], None] = lambda text: None
) -> tuple[Remedy, ...]:
    """Changes with which a job by model name fits, each evaluated again: single ones, or as few together as it takes.

    Smaller micro-batches, attention that keeps no scores, recomputation, sequence parallelism, ZeRO, and more tensor or pipeline
    parallelism, with less data parallelism where that divides. Of each only the least that is enough. tell: takes words on how far it is.
    """
    choices = _choices(document)
    tried = 0
    for together in range(1, MOST_CHANGES + 1):
        found: list[Remedy] = []
        for keys in combinations(choices, together):
            for values in _rising(choices, keys):
                tried += 1
                tell(f"{tried} changed jobs tried for memory")
                remedy = _evaluated(document, tuple(zip(keys, values, strict=True)), folder)
                if remedy is not None:
                    found.append(remedy)
                    break
                if tried >= MOST_TRIED:
                    return tuple(found)
        if found:
            return tuple(found)
    return ()


def _rising(choices: Mapping[str, Sequence[Any]], keys: Sequence[str]) -> Iterator[tuple[Any, ...]]:
    """Values of these keys, weaker changes first."""
    ranges = [range(len(choices[key])) for key in keys]
    for places in sorted(product(*ranges), key=lambda places: (sum(places), places)):
        yield tuple(choices[key][place] for key, place in zip(keys, places, strict=True))


def _choices(document: Document) -> dict[str, list[Any]]:
    """For each key the values beyond the present one, weaker changes first."""
    parallel = document.get("parallel", {})
    tp, pp = parallel.get("tp", 1), parallel.get("pp", 1)
    microbatch, recompute = document["microbatch"], document.get("recompute", "none")
    found: dict[str, list[Any]] = {
        "microbatch": [count for count in range(microbatch - 1, 0, -1) if microbatch % count == 0],
        "attention": ["flash"] if document.get("attention") == "stored" else [],
        "recompute": {"none": ["selective", "full"], "selective": ["full"]}.get(recompute, []),
        "sequence_parallel": [True] if tp > 1 and not document.get("sequence_parallel", False) else [],
        "zero": list(range(document.get("zero", 0) + 1, 4))
        if parallel.get("dp", 1) * parallel.get("cp", 1) > 1
        else [],
        "parallel.tp": [tp * factor for factor in (2, 4, 8)],
        "parallel.pp": [pp * factor for factor in (2, 4)],
    }
    return {key: values for key, values in found.items() if values}


def _evaluated(document: Document, changes: tuple[Change, ...], folder: Path | str) -> Remedy | None:
    """The changed job, if it is one and fits."""
    changed = _changed(document, changes)
    try:
        main = main_from_document(changed, folder=folder)
    except (InputError, InfeasibleError):  # it does not divide, or its family does not hold
        return None
    need = tightest(main)
    assert main.derived is not None
    devices = main.derived.replicas * main.schedule.devices
    return Remedy(changes, changed, -need.lacking, devices) if need.lacking <= 0 else None


def _changed(document: Document, changes: Sequence[Change]) -> dict[str, Any]:
    """More tensor or pipeline parallelism takes its devices from data parallelism, where that divides."""
    changed = dict(document)
    for key, value in changes:
        group, _, name = key.rpartition(".")
        if not group:
            changed[key] = value
            continue
        parallel = dict(changed.get(group, {}))
        factor, dp = value // parallel.get(name, 1), parallel.get("dp", 1)
        parallel[name] = value
        if dp % factor == 0:
            parallel["dp"] = dp // factor
        changed[group] = parallel
    return changed
