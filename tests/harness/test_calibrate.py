"""Calibration: fits, the hardware file that it writes, and who reads that."""

from __future__ import annotations

import json
from itertools import product
from pathlib import Path
from typing import Any

import pytest

from pipefill_opt.errors import InputError
from pipefill_opt.files import check
from pipefill_opt.fill.read import instance_from_document
from pipefill_opt.harness.build import Backend
from pipefill_opt.harness.calibrate import Calibration, Effort, analysed, calibrate
from pipefill_opt.harness.fits import copy_features, fitted, product_features, statistic
from pipefill_opt.harness.hardware_file import default_name, hardware_document
from pipefill_opt.report.calibration import calibration_csv, calibration_text
from pipefill_opt.workload.model.catalog import hardware_from_document, read_hardware

Document = dict[str, Any]
SIDES = (64, 128, 256)
TINY = Effort(3, 1, ((24, 24, 24), (48, 48, 48)), ((32, 32, 32),), ("fp32",), (4096, 65536))


def sample(name: str, ns: float, **parameters: Any) -> Document:
    return {"name": name, "parameters": parameters, "ns": [round(ns * factor) for factor in (0.98, 1, 1, 1, 1.02)]}


def product_ns(m: int, n: int, k: int) -> float:
    """1 us and 0.25 ns for each multiplication: 8 TFLOP/s at the most."""
    return 1000 + m * n * k / 4


def result(shapes: list[tuple[int, ...]]) -> Document:
    """What a device of simple laws measures."""
    samples = [
        sample("gemm", product_ns(*shape), **dict(zip("mnk", shape, strict=True)), type="fp32") for shape in shapes
    ]
    for size, direction, pinned in product((1 << 16, 1 << 20, 1 << 24), ("device", "in", "out"), (False, True)):
        speed = {"device": 100, "in": 10, "out": 20}[direction] / (1 if pinned else 2)
        samples.append(sample("copy", 2000 + size / speed, bytes=size, direction=direction, pinned=pinned))
    for name, ns in (("handover", 5000), ("warm", 40_000), ("cold", 47_000), ("timer-gap", 1000)):
        samples.append(sample(name, ns))
    return {
        "backend": "host",
        "device": {"name": "Simple Device (1)", "memory_bytes": 2**34, "products": "own"},
        "clock": {"source": "none", "resolution_ns": 1},
        "calibrate": {"samples": samples, "skipped": [{"name": "gemm", "why": "no fp8 products"}]},
    }


def simple() -> Calibration:
    return analysed(result([*product(SIDES, repeat=3)]), result([(96, 96, 96), (200, 80, 120)]))


def test_statistics_are_medians_with_spread() -> None:
    found = statistic("x", {}, [*range(1, 102)])
    assert (found.count, found.median, found.p5, found.p95) == (101, 51, 6, 96)


def test_fits_find_simple_laws() -> None:
    points = [({"m": m, "n": n, "k": k}, product_ns(m, n, k)) for m, n, k in product(SIDES, repeat=3)]
    features = product_features(cores=1)
    fit = fitted([(features(shape), ns) for shape, ns in points])
    assert fit.predict(features({"m": 96, "n": 80, "k": 200})) == pytest.approx(product_ns(96, 80, 200), rel=1e-6)
    copies = fitted([(copy_features({"bytes": size}), 500 + size / 8) for size in (10, 1000, 100_000)])
    assert copies.weights == pytest.approx((500, 1 / 8))
    falling = fitted([({"one": 1.0, "size": float(size)}, 100.0 - size) for size in range(1, 50)])
    assert all(weight >= 0 for weight in falling.weights)


def test_other_shapes_are_predicted() -> None:
    found = simple()
    assert found.prediction_error == pytest.approx(0, abs=1e-4)
    assert [entry.parameters["m"] for entry in found.predictions] == [96, 200]
    assert found.median("cold") == 47_000
    assert found.median("nothing") is None


def test_the_hardware_file_is_read_as_any_other(tmp_path: Path) -> None:
    found = simple()
    document = hardware_document("mine", found)
    check(document, "hardware")
    hardware = hardware_from_document(document)
    rate = 2 * 256**3 / product_ns(256, 256, 256) * 1e9
    assert float(hardware.peak["fp32"]) == pytest.approx(rate, rel=1e-5)
    assert hardware.memory == 2**34
    assert float(hardware.host.bandwidth) == pytest.approx(10e9, rel=1e-3)
    assert float(hardware.memory_bandwidth) == pytest.approx(2 * 50e9, rel=0.01)
    assert hardware.provenance == "measured"
    assert "not measured" in hardware.note
    assert hardware_document("mine", found, {"name": "other", "links": document["links"], "node": 4})["node"] == 4
    assert default_name(Backend.HOST, found) == "host-simple-device-1"
    path = tmp_path / "mine.json"
    path.write_text(json.dumps(document), encoding="utf-8")
    assert read_hardware(str(path)).name == "mine"


def test_an_instance_takes_its_switch_costs_from_the_file(tmp_path: Path) -> None:
    (tmp_path / "mine.json").write_text(json.dumps(hardware_document("mine", simple())), encoding="utf-8")
    bubble = {"start": "0ms", "length": "10ms", "free": "1GiB", "kind": "inner"}
    document: Document = {
        "period": "20ms",
        "devices": [{"name": "d", "resident_free": "1GiB", "bubbles": [bubble]}],
        "switch": {"hardware": "mine.json", "leave": "3us"},
        "jobs": [
            {
                "name": "j",
                "keep": False,
                "configs": [{"name": "c", "resident": 0, "operators": [{"name": "o", "duration": "1ms", "memory": 0}]}],
            }
        ],
    }
    switch = instance_from_document(document, folder=tmp_path).switch
    assert (switch.enter, switch.leave, switch.between) == (12_000, 3_000, 8_000)
    assert switch.h2d == pytest.approx(10e9, rel=1e-3)
    assert switch.d2h == pytest.approx(20e9, rel=1e-3)
    document["switch"] = {"hardware": "h200"}
    with pytest.raises(InputError, match="expected a section `switch`"):
        instance_from_document(document, folder=tmp_path)


def test_calibration_of_the_host_end_to_end() -> None:
    heard: list[str] = []
    found = calibrate(Backend.HOST, effort=TINY, tell=lambda done, of, what: heard.append(f"{done}/{of} {what}"))
    assert heard == ["0/2 all measurements", "1/2 products of other shapes"]
    assert found.prediction_error is not None
    document = hardware_document(default_name(Backend.HOST, found), found)
    check(document, "hardware")
    json.dumps(document)
    text = calibration_text(found)
    assert "products of other shapes are predicted with a median error of" in text
    assert all(entry.name in text for entry in found.statistics)
    assert len(calibration_csv(found).splitlines()) == 1 + len(found.statistics)
