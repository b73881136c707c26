"""What a MAIN file by model name states itself, for commands that put its layers on stages of their own: `split` and `rank`.

Capacity and reserve hold for any stages. Durations and sizes of stages belong to the file's own ones, and are refused.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Final

from pipefill_opt.errors import InputError
from pipefill_opt.units import parse_bytes
from pipefill_opt.workload.main_costs import per_place
from pipefill_opt.workload.model.hardware import Hardware

Document = Mapping[str, Any]

KNOWN: Final = {"durations": ("unit",), "memory": ("unit", "capacity", "reserve")}
"""What does not depend on which layers a stage has."""


def refuse_stages(document: Document) -> None:
    """Raises InputError for durations and sizes that the file states by stage."""
    for part, known in KNOWN.items():
        for key in document.get(part, {}):
            if key not in known:
                expected = "expected none for stages that are still to be found: they follow from the layers"
                raise InputError(expected, value=document[part][key], where=f"{part}.{key}")


def device_memory(document: Document, hardware: Hardware, devices: int) -> tuple[tuple[int, ...], tuple[int, ...]]:
    """Capacity and reserve of each device in bytes: as stated, else the hardware's memory and its context. Raises InputError."""
    memory = document.get("memory", {})

    def sizes(key: str, default: int) -> tuple[int, ...]:
        value = memory.get(key, f"{default}B")
        return per_place(value, memory.get("unit"), parse_bytes, devices, "device", f"memory.{key}")

    return sizes("capacity", hardware.memory), sizes("reserve", hardware.context)
