"""What `calibrate` writes: a HARDWARE document that MAIN files name as any other, with the measured switch costs for INSTANCE files."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from pipefill_opt.harness.build import Backend
from pipefill_opt.harness.calibrate import Calibration
from pipefill_opt.harness.fits import Fit, Statistic

Document = dict[str, Any]
TYPES = ("fp32", "tf32", "fp16", "bf16", "fp8")
"""Those of HARDWARE files; others (fp64) stand among the measurements only."""


def hardware_document(name: str, found: Calibration, like: Mapping[str, Any] | None = None) -> Document:
    """HARDWARE, all measured but for what `like` (another HARDWARE document) lends: the links to other devices.

    Without `like` the link to the host stands in their place, and the note says so.
    """
    host = {"bandwidth": _bandwidth(found, "in"), "latency": f"{round(_weight(found.copies['in', True], 'one'))}ns"}
    links = dict(like["links"]) if like is not None else {"within": host, "between": host}
    lent = (
        f"links to other devices as in {like['name']}"
        if like is not None
        else "links to other devices not measured: that to the host stands there"
    )
    device = str(found.device["name"])
    return {
        "name": name,
        "memory": f"{found.device['memory_bytes']}B",
        "peak": peaks(found),
        "memory_bandwidth": f"{round(_device_bandwidth(found) / 1e6)}MB/s",
        "node": int(like.get("node", 1)) if like is not None else 1,
        "links": {**links, "host": host},
        "sources": [f"measured on {device} by pipefill calibrate, {found.backend} backend, {found.date}"],
        "provenance": "measured",
        "note": f"products by {found.device['products']}; {lent}",
        "switch": switch_document(found),
        "measured": {
            "date": found.date,
            "backend": found.backend.value,
            "device": found.device,
            "clock": found.clock,
            "statistics": [_statistic(entry) for entry in found.statistics],
            "skipped": list(found.skipped),
            "prediction_error": found.prediction_error,
        },
    }


def peaks(found: Calibration) -> dict[str, float]:
    """The best rate of a product, in FLOPs per second, by type."""
    best: dict[str, float] = {}
    for entry in found.statistics:
        if entry.name == "gemm" and entry.parameters["type"] in TYPES:
            m, n, k = (entry.parameters[side] for side in "mnk")
            rate = 2 * m * n * k / entry.median * 1e9
            best[entry.parameters["type"]] = float(f"{max(rate, best.get(entry.parameters['type'], 0.0)):.6g}")
    return best


def switch_document(found: Calibration) -> Document:
    """Switch costs: to hand over to another stream and start with cold caches; to hand back; bandwidths of pinned copies.

    `between` is a launch and cold caches, within one process; between two processes `process` tells more.
    """
    handover = _median(found, "handover")
    cold = max(0.0, _median(found, "cold") - _median(found, "warm"))
    return {
        "enter": f"{round(handover + cold)}ns",
        "leave": f"{round(handover + cold)}ns",
        "between": f"{round(_median(found, 'timer-gap') + cold)}ns",
        "h2d": _bandwidth(found, "in"),
        "d2h": _bandwidth(found, "out"),
    }


def _median(found: Calibration, name: str) -> float:
    return found.median(name) or 0.0


def _weight(fit: Fit, feature: str) -> float:
    return dict(zip(fit.features, fit.weights, strict=True))[feature]


def _bandwidth(found: Calibration, direction: str) -> str:
    """Of pinned copies, from the fit over sizes: bytes per second for each further byte."""
    per_byte = _weight(found.copies[direction, True], "bytes")
    return f"{round(1e9 / per_byte / 1e6)}MB/s" if per_byte > 0 else _best_bandwidth(found, direction)


def _best_bandwidth(found: Calibration, direction: str) -> str:
    rates = [
        entry.parameters["bytes"] / entry.median
        for entry in found.statistics
        if entry.name == "copy" and entry.parameters["direction"] == direction
    ]
    return f"{round(max(rates) * 1e3)}MB/s"


def _device_bandwidth(found: Calibration) -> float:
    """Bytes per second read and written by the largest copy within the device: on the host small ones stay in caches."""
    copies = [entry for entry in found.statistics if entry.name == "copy" and entry.parameters["direction"] == "device"]
    largest = max(copies, key=lambda entry: int(entry.parameters["bytes"]))
    return 2 * float(largest.parameters["bytes"]) / largest.median * 1e9


def _statistic(entry: Statistic) -> Document:
    return {
        "name": entry.name,
        "parameters": dict(entry.parameters),
        "count": entry.count,
        "median_ns": entry.median,
        "p5_ns": entry.p5,
        "p95_ns": entry.p95,
    }


def default_name(backend: Backend, found: Calibration) -> str:
    """A name for the file, from the device's."""
    letters = "".join(letter if letter.isalnum() else "-" for letter in str(found.device["name"]).lower())
    return "-".join(part for part in f"{backend}-{letters}".split("-") if part)
