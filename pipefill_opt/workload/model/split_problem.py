"""Layers to stages: the data of the problem, and what a split comes to. All times are ticks, all sizes bytes, all exact."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from enum import StrEnum
from itertools import accumulate, pairwise
from typing import Final

from pipefill_opt.errors import InputError

LARGEST: Final = 2**60
"""All ticks add up to less, and all bytes of a stage that has every layer, so that sums fit 64 bits."""


class Objective(StrEnum):
    """What a split minimises: the longest stage, the device whose stages take longest together, or the period of the iteration."""

    STAGE = "stage"
    DEVICE = "device"
    PERIOD = "period"  # timeline/split_period.py


MOST_LAYERS: Final = 10_000


@dataclass(frozen=True, slots=True)
class LayerMemory:
    """Bytes. fixed: of each layer throughout; live: of each layer for a micro-batch in flight. in_flight, room: by stage."""

    fixed: tuple[int, ...]
    live: tuple[int, ...]
    in_flight: tuple[int, ...]
    room: tuple[int, ...]


@dataclass(frozen=True, slots=True)
class SplitProblem:
    """times: of each layer for one micro-batch, forward and backward. placement: the device of each stage; every stage gets a run of
    consecutive layers, at least one. memory: a cap for each stage, or None.
    """

    times: tuple[int, ...]
    placement: tuple[int, ...]
    memory: LayerMemory | None = None
    _sums: tuple[int, ...] = field(init=False, repr=False)
    _sizes: tuple[tuple[int, ...], ...] = field(init=False, repr=False)

    def __post_init__(self) -> None:
        if len(self.times) < len(self.placement):
            expected = f"expected at least {len(self.placement)} layers, one for each stage"
            raise InputError(expected, value=len(self.times), where="layers")
        if len(self.times) > MOST_LAYERS:
            raise InputError(f"expected at most {MOST_LAYERS} layers", value=len(self.times), where="layers")
        object.__setattr__(self, "_sums", (0, *accumulate(self.times)))
        object.__setattr__(self, "_sizes", tuple(self._size_sums(stage) for stage in range(self.stages)))
        largest = max(self._sums[-1], *(sizes[-1] for sizes in self._sizes))
        if largest >= LARGEST:
            raise InputError(f"expected times and sizes that add up to less than {LARGEST}", value=largest)

    def _size_sums(self, stage: int) -> tuple[int, ...]:
        if self.memory is None:
            return (0,) * (self.layers + 1)
        count = self.memory.in_flight[stage]
        each = (fixed + count * live for fixed, live in zip(self.memory.fixed, self.memory.live, strict=True))
        return (0, *accumulate(each))

    @property
    def layers(self) -> int:
        """Number of layers."""
        return len(self.times)

    @property
    def stages(self) -> int:
        """Number of stages."""
        return len(self.placement)

    @property
    def devices(self) -> int:
        """Number of devices."""
        return max(self.placement) + 1

    def sums(self) -> tuple[int, ...]:
        """Ticks of the first i layers, for i from 0 to all."""
        return self._sums

    def size_sums(self, stage: int) -> tuple[int, ...]:
        """Bytes of the first i layers, were they on this stage."""
        return self._sizes[stage]

    def room(self, stage: int) -> int:
        """Bytes that the layers of a stage may take; 0, as do the layers, without memory."""
        return 0 if self.memory is None else self.memory.room[stage]

    def ends(self, counts: Sequence[int]) -> tuple[int, ...]:
        """Where stages end, from 0 on: `stages` + 1 numbers."""
        return (0, *accumulate(counts))

    def stage_times(self, counts: Sequence[int]) -> tuple[int, ...]:
        """Ticks of each stage."""
        return tuple(self._sums[end] - self._sums[begin] for begin, end in pairwise(self.ends(counts)))

    def device_times(self, counts: Sequence[int]) -> tuple[int, ...]:
        """Ticks of each device, of all its stages."""
        loads = [0] * self.devices
        for device, ticks in zip(self.placement, self.stage_times(counts), strict=True):
            loads[device] += ticks
        return tuple(loads)

    def stage_bytes(self, counts: Sequence[int]) -> tuple[int, ...]:
        """Bytes of each stage; 0 without memory."""
        ends = self.ends(counts)
        return tuple(self._sizes[k][ends[k + 1]] - self._sizes[k][ends[k]] for k in range(self.stages))

    def fits(self, counts: Sequence[int]) -> bool:
        """Whether every stage has at least a layer and memory for its layers."""
        return min(counts) >= 1 and all(size <= self.room(stage) for stage, size in enumerate(self.stage_bytes(counts)))


@dataclass(frozen=True, slots=True)
class Split:
    """Layers of each stage. value: of the objective, ticks; bound: no split is better, so that value == bound is the optimum."""

    problem: SplitProblem
    counts: tuple[int, ...]
    objective: Objective
    value: int
    bound: int

    @property
    def proved(self) -> bool:
        """Whether no split is better."""
        return self.value == self.bound

    @property
    def stage_times(self) -> tuple[int, ...]:
        """Ticks of each stage."""
        return self.problem.stage_times(self.counts)

    @property
    def device_times(self) -> tuple[int, ...]:
        """Ticks of each device."""
        return self.problem.device_times(self.counts)
