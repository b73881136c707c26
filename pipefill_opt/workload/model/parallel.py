"""How a job is divided over devices, and what a device does for it: `Parallel`, `Training`."""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum
from math import gcd
from typing import Final

from pipefill_opt.errors import InputError


class Recompute(StrEnum):
    """What the backward computes again instead of keeping it."""

    NONE = "none"
    SELECTIVE = "selective"  # scores, softmax and weighted sum of the attention
    FULL = "full"  # every layer, from its input


PRECISIONS: Final = {"fp32": 4, "tf32": 4, "fp16": 2, "bf16": 2, "fp8": 1}
"""Bytes of a number that matrix products read; activations and gradients between operators have 2 with fp8, else as many."""


@dataclass(frozen=True, slots=True)
class Parallel:
    """tp: tensor, cp: context (parts of a sequence), pp: pipeline, dp: data, ep: expert parallelism (a part of tp x cp x dp).

    chunks: stages of the model on each device. sequence_parallel: norms and dropouts divide the sequence among the tp ranks.
    zero: what data parallelism shards: 0 nothing, 1 optimizer state, 2 gradients too, 3 weights too.
    """

    tp: int = 1
    pp: int = 1
    dp: int = 1
    cp: int = 1
    ep: int = 1
    chunks: int = 1
    sequence_parallel: bool = False
    zero: int = 0

    @property
    def devices(self) -> int:
        """Devices of the whole job."""
        return self.tp * self.cp * self.pp * self.dp

    @property
    def replicas(self) -> int:
        """Devices that do the same work at the same time: those of one pipeline rank."""
        return self.tp * self.cp * self.dp

    @property
    def expert_tp(self) -> int:
        """Devices that divide one expert: all tp ranks, or none where the experts are spread over these too."""
        return gcd(self.tp, self.replicas // self.ep)

    @property
    def expert_copies(self) -> int:
        """Devices that hold the same part of the same experts."""
        return self.replicas // (self.ep * self.expert_tp)

    def __post_init__(self) -> None:
        for name in ("tp", "pp", "dp", "cp", "ep", "chunks"):
            if getattr(self, name) < 1:
                raise InputError("expected a whole number of at least 1", value=getattr(self, name), where=name)
        if not 0 <= self.zero <= 3:
            raise InputError("expected a ZeRO stage from 0 to 3", value=self.zero, where="zero")
        if self.replicas % self.ep:
            expected = f"expected a divisor of tp x cp x dp, {self.replicas}"
            raise InputError(expected, value=self.ep, where="ep")
        if self.expert_tp not in (1, self.tp):
            expected = f"expected a divisor of cp x dp, {self.cp * self.dp}, or one that leaves each expert whole"
            raise InputError(expected, value=self.ep, where="ep")
        if self.expert_tp < self.tp and not self.sequence_parallel:
            expected = "expected sequence_parallel: true with experts spread over tensor-parallel ranks"
            raise InputError(expected, value=self.ep, where="ep")


@dataclass(frozen=True, slots=True)
class Training:
    """One way to train: samples of a micro-batch on one replica, tokens of a sample, number format, recomputation.

    flash: scores are never written to memory (and are computed again by the backward); else they are kept. async_tensor: sums of
    tensor parallelism run beside weight gradients, as far as the coefficients say. fused: bias, dropout, mask and the like take no
    passes over memory of their own, as in Megatron-LM or compiled code; else each does, as in PyTorch without compilation. trains:
    else nothing drops out.
    """

    parallel: Parallel
    microbatch: int
    sequence: int
    precision: str = "bf16"
    recompute: Recompute = Recompute.NONE
    flash: bool = True
    async_tensor: bool = True
    fused: bool = True
    trains: bool = True

    @property
    def element(self) -> int:
        """Bytes of a number that passes between operators."""
        return max(2, PRECISIONS[self.precision])
