"""Rooflines: what decides, at what rate, and coefficients that replace others."""

from __future__ import annotations

from fractions import Fraction
from pathlib import Path
from typing import Any

import pytest

from pipefill_opt.errors import InputError
from pipefill_opt.workload.model.catalog import hardware_names, read_hardware, read_network
from pipefill_opt.workload.model.coefficients import read_coefficients
from pipefill_opt.workload.model.durations import Clock
from pipefill_opt.workload.model.kernels import Kernel, Unit
from pipefill_opt.workload.model.parallel import Parallel, Training
from pipefill_opt.workload.model.roofline import Bound, Machine
from pipefill_opt.workload.model.roofline_view import view

PLAIN: dict[str, Any] = {
    "best": {"a100": 1, "other": 1},
    "peak": {unit.value: {"share": 1, "half": 0} for unit in Unit},
    "memory": 1,
    "overhead": {"kernel": "2us"},
}


def machine(change: dict[str, Any] | None = None, precision: str = "bf16") -> Machine:
    return Machine(read_hardware("a100-80gb"), precision, read_coefficients(PLAIN | (change or {})))


def test_the_longer_of_compute_and_memory_and_the_overhead() -> None:
    """312 TFLOP/s, 2039 GB/s: 312e6 FLOPs take 1 us, and so do 2039000 bytes."""
    compute = machine().timing(Kernel("k", Unit.MATMUL, 3 * 312 * 10**6, 2_039_000, 512))
    assert (compute.compute, compute.memory, compute.total, compute.bound) == (3000, 1000, 5000, Bound.COMPUTE)
    memory = machine().timing(Kernel("k", Unit.MATMUL, 312 * 10**6, 3 * 2_039_000, 512))
    assert (memory.total, memory.bound) == (5000, Bound.MEMORY)
    small = machine().timing(Kernel("k", Unit.VECTOR, 0, 2039, launches=1))
    assert (small.total, small.bound) == (2001, Bound.OVERHEAD)
    assert machine().timing(Kernel("k", Unit.VECTOR, 0, 2_039_000, launches=0)).total == 1000


def test_small_dimensions_reach_less() -> None:
    """Half of the rate where the smallest dimension is `half` ridges: 312e12 / 2039e9 FLOPs a byte."""
    steep = machine({"peak": {"matmul": {"share": 0.5, "half": 2}}})
    ridge = Fraction(312 * 10**12, 2039 * 10**9)
    assert steep.rate(Kernel("k", Unit.MATMUL, 1, 1)) == 156 * 10**12
    assert steep.rate(Kernel("k", Unit.MATMUL, 1, 1, 306)) == 156 * 10**12 * Fraction(306) / (306 + 2 * ridge)
    assert steep.rate(Kernel("k", Unit.MATMUL, 1, 1, 16)) < steep.rate(Kernel("k", Unit.MATMUL, 1, 1, 17))


def test_vector_work_runs_in_32_bits_and_fp8_on_hardware_that_has_it() -> None:
    assert machine().peak(Unit.VECTOR) == Fraction("19.5e12")
    fast = Machine(read_hardware("h100"), "fp8", read_coefficients())
    assert fast.peak(Unit.MATMUL) == 2 * fast.peak(Unit.ATTENTION), "fused attention stays in bf16"
    with pytest.raises(InputError, match="expected a type that a100-80gb has: fp32, tf32, fp16, bf16"):
        machine(precision="fp8").peak(Unit.MATMUL)


def test_a_file_replaces_what_it_names(tmp_path: Path) -> None:
    (tmp_path / "c.yaml").write_text("name: mine\nmemory: 0.5\nlinks: {within: 0.9}\n", encoding="utf-8")
    default, mine = read_coefficients(), read_coefficients("c.yaml", tmp_path)
    assert (mine.name, mine.memory, mine.within) == ("mine", Fraction(1, 2), Fraction(9, 10))
    assert (mine.between, mine.reach, mine.kernel) == (default.between, default.reach, default.kernel)


@pytest.mark.parametrize(
    ("text", "line"),
    [
        ("memory: 1.5", 'memory: "1.5": expected a share above 0, up to 1'),
        ("links: {within: 0}", "links.within: 0: expected a share above 0"),
        ("overhead: {kernel: 5}", "overhead.kernel: 5: expected a time with its unit"),
        ("colour: red", "colour: red: unknown key"),
        ("peak: {matmul: {half: -1}}", "peak.matmul.half: -1: expected a number from 0"),
    ],
)
def test_wrong_coefficients(text: str, line: str, tmp_path: Path) -> None:
    (tmp_path / "c.yaml").write_text(text, encoding="utf-8")
    with pytest.raises(InputError) as caught:
        read_coefficients("c.yaml", tmp_path)
    assert f"c.yaml: {line}" in str(caught.value)


@pytest.mark.parametrize("name", hardware_names())
def test_best_shares_by_the_beginning_of_a_name(name: str) -> None:
    coefficients = read_coefficients()
    assert 0 < coefficients.best_of(name) <= 1
    assert coefficients.best_of("a100-of-mine") == coefficients.best_of("a100-80gb")
    assert coefficients.best_of("unheard-of") == coefficients.best["other"]


def test_a_view_adds_up_to_the_layers_times() -> None:
    network = read_network("bert-base")
    clock = Clock(machine(), Training(Parallel(), 8, 512))
    found = view(network, clock)
    times = [clock.layer(layer) for layer in network.layers]
    total = sum(entry.forward + entry.input_gradient + entry.weight_gradient + entry.again for entry in times)
    assert sum(found.by_bound().values()) == total
    assert sum(row.count * row.ticks for row in found.rows) == total
    assert {row.bound for row in found.rows} >= {Bound.COMPUTE, Bound.MEMORY}


def test_overhead_decides_small_cases() -> None:
    """The question of marin 6532: a micro-batch of one short sample is bound by launches, a large one is not."""
    network = read_network("bert-base")

    def share(samples: int, tokens: int) -> Fraction:
        bounds = view(network, Clock(machine(), Training(Parallel(), samples, tokens))).by_bound()
        return bounds[Bound.OVERHEAD] / sum(bounds.values())

    assert share(1, 32) > Fraction(2, 5)
    assert share(32, 512) < Fraction(1, 100)
