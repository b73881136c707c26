"""What a device does, piece by piece: `Kernel` (compute) and `Transfer` (a collective), with FLOPs and bytes."""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum

from pipefill_opt.workload.model.collectives import Collective


class Unit(StrEnum):
    """What a kernel runs on; each has its own share of the peak."""

    MATMUL = "matmul"
    ATTENTION = "attention"  # fused: scores never reach memory
    CONV = "conv"
    VECTOR = "vector"  # elementwise, reductions, look-ups: no matrix units


@dataclass(frozen=True, slots=True)
class Kernel:
    """One piece of compute. bytes: read and written, once each. narrow: the smallest dimension of its matrix product, 0 without.

    launches: device operations that it takes (0 where it is fused into its neighbour).
    """

    name: str
    unit: Unit
    flops: int
    bytes: int
    narrow: int = 0
    launches: int = 1


class Axis(StrEnum):
    """Which devices take part in a transfer."""

    TENSOR = "tensor"
    CONTEXT = "context"
    EXPERT = "expert"
    DATA = "data"


@dataclass(frozen=True, slots=True)
class Transfer:
    """A collective of `bytes` in all, over an axis of the parallelism. hidden: it runs beside the weight gradient."""

    name: str
    kind: Collective
    axis: Axis
    bytes: int
    hidden: bool = False


Piece = Kernel | Transfer


@dataclass(frozen=True, slots=True)
class Work:
    """What one layer, or operator, does for one micro-batch on one device, in order.

    again: what selective recomputation repeats of `forward`. I and W are the two parts of a backward.
    """

    forward: tuple[Piece, ...] = ()
    input_gradient: tuple[Piece, ...] = ()
    weight_gradient: tuple[Piece, ...] = ()
    again: tuple[Piece, ...] = ()

    def __add__(self, other: Work) -> Work:
        return Work(
            self.forward + other.forward,
            other.input_gradient + self.input_gradient,
            other.weight_gradient + self.weight_gradient,
            self.again + other.again,
        )
