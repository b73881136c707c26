"""Roofline: how long a kernel takes, and whether compute, memory or its overhead decides. Exact fractions of ticks.

Williams, Waterman, Patterson 2009, Roofline: an insightful visual performance model for multicore architectures.
"""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum
from fractions import Fraction

from pipefill_opt.errors import InputError
from pipefill_opt.workload.model.coefficients import Coefficients
from pipefill_opt.workload.model.collectives import SECOND
from pipefill_opt.workload.model.hardware import Hardware
from pipefill_opt.workload.model.kernels import Kernel, Unit


class Bound(StrEnum):
    """What decides how long something takes."""

    COMPUTE = "compute"
    MEMORY = "memory"
    OVERHEAD = "overhead"
    NETWORK = "network"


@dataclass(frozen=True, slots=True)
class Timing:
    """Ticks: of the FLOPs at the rate reached, of the bytes at the bandwidth reached, and of launching."""

    compute: Fraction
    memory: Fraction
    overhead: int

    @property
    def total(self) -> Fraction:
        """The longer of compute and memory, and the overhead."""
        return max(self.compute, self.memory) + self.overhead

    @property
    def bound(self) -> Bound:
        """The largest part; of equal ones the first of compute, memory, overhead."""
        if self.overhead > max(self.compute, self.memory):
            return Bound.OVERHEAD
        return Bound.MEMORY if self.memory > self.compute else Bound.COMPUTE


@dataclass(frozen=True, slots=True)
class Machine:
    """Hardware as work of one precision sees it."""

    hardware: Hardware
    precision: str
    coefficients: Coefficients

    def peak(self, unit: Unit) -> Fraction:
        """FLOPs per second: of the precision's matrix units (fused attention stays in bf16 where products are in fp8), for vector work of
        32 bits. Raises InputError for a type it has not.
        """
        kind = "fp32" if unit is Unit.VECTOR else self.precision
        if kind == "fp8" and unit is Unit.ATTENTION:
            kind = "bf16"
        if kind not in self.hardware.peak:
            known = ", ".join(self.hardware.peak)
            raise InputError(f"expected a type that {self.hardware.name} has: {known}", value=kind, where="precision")
        return self.hardware.peak[kind]

    def rate(self, kernel: Kernel) -> Fraction:
        """FLOPs per second that a kernel reaches: less where its smallest dimension is small."""
        peak, reach = self.peak(kernel.unit), self.coefficients.reach[kernel.unit]
        best = peak * reach.share * self.coefficients.best_of(self.hardware.name)
        if not kernel.narrow:
            return best
        slack = reach.half * peak / self.hardware.memory_bandwidth
        return best * kernel.narrow / (kernel.narrow + slack)

    @property
    def bandwidth(self) -> Fraction:
        """Bytes per second of memory traffic."""
        return self.hardware.memory_bandwidth * self.coefficients.memory

    def timing(self, kernel: Kernel) -> Timing:
        """Of one kernel."""
        return Timing(
            compute=kernel.flops * SECOND / self.rate(kernel) if kernel.flops else Fraction(0),
            memory=kernel.bytes * SECOND / self.bandwidth,
            overhead=kernel.launches * self.coefficients.kernel,
        )
