"""Hardware as data."""

from __future__ import annotations

from fractions import Fraction
from pathlib import Path

import pytest

from pipefill_opt.errors import InputError
from pipefill_opt.workload.model.catalog import hardware_names, read_hardware

ASKED = ["v100-16gb", "v100-32gb", "a100-40gb", "a100-80gb", "h100", "h800", "h200", "rtx-6000-ada", "l20", "l40"]


def test_all_that_were_asked_for_are_there() -> None:
    assert set(ASKED) <= set(hardware_names())


@pytest.mark.parametrize("name", hardware_names())
def test_figures_hang_together(name: str) -> None:
    hardware = read_hardware(name)
    assert hardware.name == name
    assert hardware.peak["fp16"] > hardware.peak["fp32"]
    assert hardware.peak.get("bf16", hardware.peak["fp16"]) == hardware.peak["fp16"]
    assert hardware.memory_bandwidth > hardware.within.bandwidth >= hardware.between.bandwidth
    assert hardware.context < hardware.memory // 10
    assert hardware.sources


def test_numbers_are_exact() -> None:
    hardware = read_hardware("a100-80gb")
    assert hardware.memory == 80 * 2**30
    assert hardware.peak["bf16"] == Fraction(312 * 10**12)
    assert hardware.memory_bandwidth == 2039 * 10**9
    assert hardware.within.latency == 3000


def test_a_wrong_file_is_refused(tmp_path: Path) -> None:
    text = (
        "{name: h, memory: 1GiB, peak: {fp32: 1e12}, memory_bandwidth: fast, sources: [us], "
        "links: {within: {bandwidth: 1GB/s, latency: 0}, between: {bandwidth: 1GB/s, latency: 0}, host: {bandwidth: 1GB/s, latency: 0}}}"
    )
    (tmp_path / "h.yaml").write_text(text, encoding="utf-8")
    with pytest.raises(InputError, match=r"h\.yaml: memory_bandwidth: fast: expected a bandwidth"):
        read_hardware("h.yaml", tmp_path)
    with pytest.raises(InputError, match="the nearest: v100-16gb, v100-32gb"):
        read_hardware("v100-64gb")
