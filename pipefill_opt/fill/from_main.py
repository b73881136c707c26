"""Device classes from a main job: `main: {file: ...}` in an INSTANCE file."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

from pipefill_opt.errors import InputError
from pipefill_opt.fill.problem import DeviceClass, FillBubble
from pipefill_opt.units import exact
from pipefill_opt.workload.costs import Boundary, MainJob


def devices_from_main(entry: Mapping[str, Any], folder: Path) -> tuple[int, tuple[DeviceClass, ...], MainJob]:
    """Period, one class `device0`, `device1`, ... for each device of the MAIN file, and the main job itself.

    `entry`: {file, count, speed, kinds} as in the schema, the file relative to `folder`; count is 1 unless stated, for a job by a
    model's name the devices of a pipeline rank. resident_free = capacity - reserve - peak; where that is below 0 (`timeline` warns),
    nothing is free. Raises InputError, for a file without a memory model too.
    """
    from pipefill_opt.timeline.compute import timeline
    from pipefill_opt.workload.main_file import read_main

    path = folder / entry["file"]
    main = read_main(path)
    if main.memory is None:
        raise InputError(
            "expected a main job with memory (free bytes are unknown without)", value=path, where="main.file"
        )
    if main.boundary is not Boundary.BARRIER:
        raise InputError(
            f"expected a main job with boundary barrier (it has {main.boundary}), whose iterations all begin at one time",
            value=path,
            where="main.file",
        )
    result = timeline(main)
    if result.period == 0:
        raise InputError("expected a main job with a period above 0", value=path, where="main.file")
    assert result.peak is not None
    kinds = entry.get("kinds")
    classes = []
    for device in range(main.schedule.devices):
        free = main.memory.capacity[device] - main.memory.reserve[device] - int(result.peak[device])
        bubbles = tuple(
            FillBubble(bubble.start, bubble.length, max(0, bubble.free or 0), bubble.kind)
            for bubble in result.bubbles[device]
            if kinds is None or bubble.kind in kinds
        )
        classes.append(
            DeviceClass(
                name=f"device{device}",
                count=entry.get("count", main.derived.replicas if main.derived else 1),
                speed=exact(entry.get("speed", 1)),
                resident_free=max(0, free),
                bubbles=bubbles,
                main_device=device,
            )
        )
    return result.period, tuple(classes), main
