"""`calibrate`: what a device costs, measured; and how well that predicts shapes it was not calibrated on."""

from __future__ import annotations

import threading
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from statistics import median
from typing import Any, Final

from pipefill_opt.harness.build import Backend
from pipefill_opt.harness.fits import Fit, Statistic, copy_features, fitted, product_features, statistic
from pipefill_opt.harness.run import run

Document = dict[str, Any]


@dataclass(frozen=True, slots=True)
class Effort:
    """What is measured: repeats and warm-up, products (m, n, k) to calibrate on and others to predict, types, sizes in bytes."""

    repeats: int
    warmup: int
    shapes: tuple[tuple[int, int, int], ...]
    others: tuple[tuple[int, int, int], ...]
    types: tuple[str, ...]
    sizes: tuple[int, ...]


def _shapes(sides: Sequence[int], longest: int) -> tuple[tuple[int, int, int], ...]:
    cubes = tuple((side, side, side) for side in sides)
    flat = tuple((side, 4 * side, side) for side in sides) + tuple((side, side, 4 * side) for side in sides)
    return cubes + tuple(shape for shape in flat if max(shape) <= longest)


EFFORTS: Final[Mapping[tuple[Backend, bool], Effort]] = {
    (Backend.HOST, True): Effort(5, 1, _shapes((32, 64, 96), 256), _shapes((48, 80), 256), ("fp32",), (4096, 65536, 1 << 20)),
    (Backend.HOST, False): Effort(
        31, 5, _shapes((32, 64, 96, 128, 192, 256), 512), _shapes((48, 80, 112, 160, 224), 512), ("fp32", "fp64"),
        (1 << 12, 1 << 16, 1 << 20, 1 << 24),
    ),
    (Backend.CUDA, True): Effort(
        15, 5, _shapes((512, 1024, 2048), 4096), _shapes((768, 1536), 4096), ("fp32", "bf16"), (1 << 16, 1 << 20, 1 << 24)
    ),
    (Backend.CUDA, False): Effort(
        51, 10, _shapes((256, 512, 1024, 2048, 4096, 8192), 16384), _shapes((384, 768, 1536, 3072, 6144), 16384),
        ("fp32", "tf32", "fp16", "bf16"), (1 << 12, 1 << 16, 1 << 20, 1 << 24, 1 << 28),
    ),
}  # fmt: skip
"""By backend, and whether it is the quick one."""


@dataclass(frozen=True, slots=True)
class Prediction:
    """A product that was not calibrated on: predicted and measured ns."""

    parameters: Mapping[str, Any]
    predicted: float
    measured: float

    @property
    def error(self) -> float:
        """Relative to what was measured."""
        return abs(self.predicted - self.measured) / self.measured


@dataclass(frozen=True, slots=True)
class Calibration:
    """What was measured, when and on what. products: fits by type; copies: fits by (direction, pinned)."""

    date: str
    backend: Backend
    device: Document
    clock: Document
    statistics: tuple[Statistic, ...]
    skipped: tuple[str, ...]
    products: Mapping[str, Fit]
    copies: Mapping[tuple[str, bool], Fit]
    predictions: tuple[Prediction, ...]
    cores: int

    @property
    def prediction_error(self) -> float | None:
        """Median relative error over the products that were not calibrated on; None where there are none."""
        return median(entry.error for entry in self.predictions) if self.predictions else None

    def median(self, name: str, **parameters: Any) -> float | None:
        """Median ns of a measurement, None if it was not made."""
        for entry in self.statistics:
            if entry.name == name and all(entry.parameters.get(key) == value for key, value in parameters.items()):
                return entry.median
        return None


def calibrate(
    backend: Backend,
    *,
    quick: bool = False,
    device: int = 0,
    effort: Effort | None = None,
    stop: threading.Event | None = None,
    tell: Callable[[int, int, str], None] | None = None,
) -> Calibration:
    """Measure a device. tell(done, of, what) hears of progress. Raises BuildError, DeviceError, InterruptedRunError."""
    effort = effort or EFFORTS[backend, quick]
    common = {
        "mode": "calibrate",
        "device": device,
        "repeats": effort.repeats,
        "warmup": effort.warmup,
        "types": list(effort.types),
    }
    if tell is not None:
        tell(0, 2, "all measurements")
    first = run({**common, "shapes": list(effort.shapes), "sizes": list(effort.sizes)}, backend, stop=stop)
    if tell is not None:
        tell(1, 2, "products of other shapes")
    second = run({**common, "measure": ["gemm"], "shapes": list(effort.others)}, backend, stop=stop)
    return analysed(first, second)


def analysed(first: Document, second: Document) -> Calibration:
    """From two results of the native program: what to calibrate on, and other products."""
    backend = Backend(first["backend"])
    cores = int(first["device"].get("cores", 1)) if backend is Backend.CUDA else 1
    statistics = _statistics(first)
    features = product_features(cores)
    products = {
        kind: fitted([(features(s.parameters), s.median) for s in statistics if _is_product(s, kind)])
        for kind in sorted({str(s.parameters["type"]) for s in statistics if s.name == "gemm"})
    }
    ways = sorted({(s.parameters["direction"], s.parameters["pinned"]) for s in statistics if s.name == "copy"})
    copies = {
        (direction, pinned): fitted(
            [
                (copy_features(s.parameters), s.median)
                for s in statistics
                if s.name == "copy" and (s.parameters["direction"], s.parameters["pinned"]) == (direction, pinned)
            ]
        )
        for direction, pinned in ways
    }
    predictions = tuple(
        Prediction(s.parameters, products[s.parameters["type"]].predict(features(s.parameters)), s.median)
        for s in _statistics(second)
        if s.name == "gemm" and s.parameters["type"] in products
    )
    return Calibration(
        date=datetime.now(UTC).date().isoformat(),
        backend=backend,
        device=first["device"],
        clock=first["clock"],
        statistics=statistics,
        skipped=tuple(f"{entry['name']}: {entry['why']}" for entry in first["calibrate"]["skipped"]),
        products=products,
        copies=copies,
        predictions=predictions,
        cores=cores,
    )


def _statistics(result: Document) -> tuple[Statistic, ...]:
    return tuple(
        statistic(entry["name"], entry["parameters"], [max(1, value) for value in entry["ns"]])
        for entry in result["calibrate"]["samples"]
        if entry["ns"]
    )


def _is_product(entry: Statistic, kind: str) -> bool:
    return entry.name == "gemm" and entry.parameters["type"] == kind
