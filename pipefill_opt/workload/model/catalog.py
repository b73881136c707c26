"""Networks and hardware by name (`models/networks/gpt-40b.yaml` is `gpt-40b`) or by the path of a file."""

from __future__ import annotations

from collections.abc import Mapping
from difflib import get_close_matches
from functools import cache
from pathlib import Path
from typing import Any

from pipefill_opt.errors import InputError
from pipefill_opt.files import data_folder, read_document
from pipefill_opt.units import exact, parse_bandwidth, parse_bytes, parse_time
from pipefill_opt.workload.main_costs import value_at
from pipefill_opt.workload.model.hardware import Hardware, Link
from pipefill_opt.workload.model.network import Network
from pipefill_opt.workload.model.network_file import network_from_document

Document = Mapping[str, Any]
SUFFIXES = (".yaml", ".yml", ".json")


def network_names() -> tuple[str, ...]:
    """Networks that come with the package."""
    return _names("networks")


def hardware_names() -> tuple[str, ...]:
    """Hardware that comes with the package."""
    return _names("hardware")


def read_network(name: str, folder: Path | str = ".") -> Network:
    """A network by name, or from a file (relative to `folder`). Raises InputError; an unknown name is told the nearest ones."""
    path = _find("networks", name, Path(folder), "a network")
    return network_from_document(read_document(path, "network"), file=str(path))


def read_hardware(name: str, folder: Path | str = ".") -> Hardware:
    """Hardware by name, or from a file (relative to `folder`). Raises InputError; an unknown name is told the nearest ones."""
    path = _find("hardware", name, Path(folder), "hardware")
    return hardware_from_document(read_document(path, "hardware"), file=str(path))


def hardware_path(name: str, folder: Path | str = ".") -> Path:
    """The file of a hardware, by name or path. Raises InputError."""
    return _find("hardware", name, Path(folder), "hardware")


def read_switch(name: str, folder: Path | str = ".") -> Document:
    """The measured switch costs of a hardware, as its file states them. Raises InputError where it has none."""
    path = _find("hardware", name, Path(folder), "hardware")
    switch: Document | None = read_document(path, "hardware").get("switch")
    if switch is None:
        raise InputError("expected a section `switch` (`pipefill calibrate` writes one)", file=str(path))
    return switch


def hardware_from_document(document: Document, *, file: str = "") -> Hardware:
    """Hardware from a document that fits its schema. Raises InputError."""
    try:
        return Hardware(
            name=document["name"],
            memory=value_at("memory", parse_bytes, document["memory"]),
            peak={kind: value_at(f"peak.{kind}", exact, rate) for kind, rate in document["peak"].items()},
            memory_bandwidth=value_at("memory_bandwidth", parse_bandwidth, document["memory_bandwidth"]),
            within=_link(document["links"], "within"),
            between=_link(document["links"], "between"),
            host=_link(document["links"], "host"),
            node=document.get("node", 8),
            context=value_at("context", parse_bytes, document.get("context", 0)),
            sources=tuple(document["sources"]),
            note=document.get("note", ""),
            provenance=document.get("provenance", "unverified"),
        )
    except InputError as error:
        raise error.located(file=file) from None


def _link(entry: Document, name: str) -> Link:
    link = entry[name]
    return Link(
        bandwidth=value_at(f"links.{name}.bandwidth", parse_bandwidth, link["bandwidth"]),
        latency=value_at(f"links.{name}.latency", parse_time, link["latency"]),
    )


@cache
def _names(kind: str) -> tuple[str, ...]:
    return tuple(sorted(path.stem for path in (data_folder("models") / kind).glob("*.yaml")))


def _find(kind: str, name: str, folder: Path, what: str) -> Path:
    if name.endswith(SUFFIXES):
        return folder / name
    if name in _names(kind):
        return data_folder("models") / kind / f"{name}.yaml"
    near = get_close_matches(name.lower(), _names(kind), n=3, cutoff=0.4) or _names(kind)
    raise InputError(f"expected {what} that is known, or a file; the nearest: {', '.join(near)}", value=name)
