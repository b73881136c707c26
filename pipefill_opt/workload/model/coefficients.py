"""Coefficients of the analytic model: what is reached of the peaks, and what everything costs besides. Data: models/coefficients."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from fractions import Fraction
from pathlib import Path
from typing import Any

from pipefill_opt.errors import InputError
from pipefill_opt.files import check, data_folder, read_document
from pipefill_opt.units import exact, parse_time
from pipefill_opt.workload.main_costs import value_at
from pipefill_opt.workload.model.kernels import Unit

Document = Mapping[str, Any]
DEFAULT = "default"


@dataclass(frozen=True, slots=True)
class Reach:
    """A rate of share x d / (d + half x ridge) of the best one, for a smallest dimension d. ridge: FLOPs for a byte, of the device."""

    share: Fraction
    half: Fraction


@dataclass(frozen=True, slots=True)
class Coefficients:
    """All exact. best: share of the peak that the fastest matrix product reaches, by the beginning of the hardware's name. memory, within,
    between: shares of bandwidths. kernel, action: ticks of overhead of a device operation and of an action. tensor, data: shares of
    transfers hidden beside weight gradients and backwards. optimizer: bytes a parameter that a step moves.
    """

    name: str
    best: Mapping[str, Fraction]
    reach: Mapping[Unit, Reach]
    memory: Fraction
    within: Fraction
    between: Fraction
    kernel: int
    action: int
    tensor: Fraction
    data: Fraction
    optimizer: Fraction

    def best_of(self, hardware: str) -> Fraction:
        """Of the longest name that the hardware's begins with; of `other` where there is none."""
        known = [name for name in self.best if hardware.startswith(name)]
        return self.best[max(known, key=len) if known else "other"]


def read_coefficients(given: str | Document | None = None, folder: Path | str = ".") -> Coefficients:
    """The default ones, with those of a file (relative to `folder`) or of a mapping in their place. Raises InputError."""
    document = read_document(data_folder("models") / "coefficients" / f"{DEFAULT}.yaml", "coefficients")
    file = ""
    if isinstance(given, str) and given != DEFAULT:
        file = str(Path(folder) / given)
        document = _merged(document, read_document(file, "coefficients"))
    elif isinstance(given, Mapping):
        check(given, "coefficients")
        document = _merged(document, given)
    try:
        return _coefficients(document)
    except InputError as error:
        raise error.located(file=file) from None


def _merged(base: Document, other: Document) -> dict[str, Any]:
    """`other` over `base`, mappings key by key."""
    merged = dict(base)
    for key, value in other.items():
        both = isinstance(value, Mapping) and isinstance(base.get(key), Mapping)
        merged[key] = _merged(base[key], value) if both else value
    return merged


def _coefficients(document: Document) -> Coefficients:
    def number(*path: str) -> Fraction:
        value: Any = document
        for key in path:
            value = value[key]
        return value_at(".".join(path), exact, value)

    def time(*path: str) -> int:
        return value_at(".".join(path), parse_time, document[path[0]][path[1]])

    return Coefficients(
        name=document.get("name", DEFAULT),
        best={name: number("best", name) for name in document["best"]},
        reach={unit: Reach(number("peak", unit, "share"), number("peak", unit, "half")) for unit in Unit},
        memory=number("memory"),
        within=number("links", "within"),
        between=number("links", "between"),
        kernel=time("overhead", "kernel"),
        action=time("overhead", "action"),
        tensor=number("hidden", "tensor"),
        data=number("hidden", "data"),
        optimizer=number("optimizer"),
    )
