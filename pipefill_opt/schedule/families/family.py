"""`Family`: a rule that writes the order of every device, for all sizes in its domain."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Final, NamedTuple

import numpy as np

from pipefill_opt.errors import InputError, ScheduleError
from pipefill_opt.schedule.actions import Kind
from pipefill_opt.schedule.families.rows import Row, join, run
from pipefill_opt.schedule.schedule import Schedule

MAX_ACTIONS: Final = 50_000_000
"""The largest schedule that a family builds: a wrong zero in a file must not take all memory."""


class Size(NamedTuple):
    """p devices, m micro-batches, v chunks (stages) on each device."""

    devices: int
    microbatches: int
    chunks: int


class StageCosts(NamedTuple):
    """Ticks of one stage, equal for all stages; a full backward takes I + W. No communication."""

    forward: int
    input_gradient: int
    weight_gradient: int

    @property
    def round_trip(self) -> int:
        """Forward and full backward."""
        return sum(self)

    @property
    def equal(self) -> bool:
        """F = I = W, where the zero-bubble closed forms hold."""
        return self.forward == self.input_gradient == self.weight_gradient


def looped(size: Size) -> tuple[int, ...]:
    """Stage s on device s mod p."""
    return tuple(range(size.devices)) * size.chunks


def vee(size: Size) -> tuple[int, ...]:
    """Two chunks: down the devices and up again, so that the last device holds the two middle stages."""
    return (*range(size.devices), *reversed(range(size.devices)))


def all_sizes(size: Size) -> str:
    """The domain of a rule that holds everywhere."""
    return ""


@dataclass(frozen=True, slots=True)
class Family:
    """A schedule family.

    row(size, rank): the order of a device. placement(size): device of each stage. domain(size): what was expected of the
    micro-batches, empty where the rule holds. chunks: the default, and the only choice where `fixed_chunks`.
    closed_form: the makespan in words, with its domain; makespan(size, costs): the same in ticks, None outside the domain.
    in_flight: in words, the most activations (of one chunk) that rank r holds, each until its B or W.
    """

    name: str
    summary: str
    source: str
    closed_form: str
    in_flight: str
    makespan: Callable[[Size, StageCosts], int | None]
    row: Callable[[Size, int], Row]
    placement: Callable[[Size], tuple[int, ...]] = looped
    domain: Callable[[Size], str] = all_sizes
    chunks: int = 1
    fixed_chunks: bool = True

    def size(self, devices: int, microbatches: int, chunks: int | None = None) -> Size:
        """The size asked for, checked against the domain. Raises ScheduleError, code `size`."""
        size = Size(devices, microbatches, self.chunks if chunks is None else chunks)
        for field, value in zip(Size._fields, size, strict=True):
            if isinstance(value, bool) or not isinstance(value, int) or value < 1:
                raise ScheduleError("expected a whole number of at least 1", code="size", value=value, where=field)
        if self.fixed_chunks and size.chunks != self.chunks:
            raise ScheduleError(
                f"expected {self.chunks}, the chunks a device of family {self.name}",
                code="size",
                value=size.chunks,
                where="chunks",
            )
        if devices * microbatches * size.chunks > MAX_ACTIONS // 2:
            raise ScheduleError(
                f"expected at most {MAX_ACTIONS} actions: devices x microbatches x chunks up to {MAX_ACTIONS // 2}",
                code="size",
                value=f"{devices} x {microbatches} x {size.chunks}",
            )
        expected = self.domain(size)
        if expected:
            raise ScheduleError(
                f"expected {expected} (family {self.name}, {devices} devices)",
                code="size",
                value=microbatches,
                where="microbatches",
            )
        return size

    def build(self, devices: int, microbatches: int, *, chunks: int | None = None, reduce: bool = False) -> Schedule:
        """The schedule of this size. `reduce` ends each row with the gradient reductions of its stages, as torch's GPipe does.

        Raises ScheduleError, code `size`, where the rule does not hold.
        """
        if not isinstance(reduce, bool):
            raise InputError("expected true or false", value=reduce, where="reduce")
        size = self.size(devices, microbatches, chunks)
        placement = self.placement(size)
        rows = [self.row(size, rank) for rank in range(devices)]
        if reduce:
            stages = [np.flatnonzero(np.equal(placement, rank)) for rank in range(devices)]
            rows = [
                join(row, run(Kind.REDUCE, own, np.full(len(own), -1))) for row, own in zip(rows, stages, strict=True)
            ]
        return _pack(self.name, placement, rows)


def _pack(name: str, placement: tuple[int, ...], rows: list[Row]) -> Schedule:
    table = join(*rows)
    return Schedule(
        name=name,
        pipes=(tuple(range(len(placement))),),
        placement=placement,
        row_start=np.concatenate(([0], np.cumsum([len(row) for row in rows]))).astype(np.int64),
        kind=table[:, 0].astype(np.int8),
        stage=np.ascontiguousarray(table[:, 1]),
        microbatch=np.ascontiguousarray(table[:, 2]),
        part=np.full(len(table), -1, dtype=np.int32),
        paired=table[:, 3].astype(np.bool_),
    )
