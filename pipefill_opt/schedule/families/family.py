"""`Family`: a rule that writes the order of every device, for all sizes in its domain."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any, Final, NamedTuple, TypeAlias

import numpy as np

from pipefill_opt.errors import InputError, ScheduleError
from pipefill_opt.schedule.families.rows import Row, join
from pipefill_opt.schedule.schedule import Schedule
from pipefill_opt.schedule.transform import with_recompute, with_reduce, with_step

MAX_ACTIONS: Final = 50_000_000
"""The largest schedule that a family builds: a wrong zero in a file must not take all memory."""

MAX_OPTION: Final = 10**9
"""The largest number that a family takes as an option, so that its plans fit 64 bits."""

SHARED_OPTIONS: Final = ("chunks", "recompute", "reduce", "step")
"""Options of `Family.build` that every family takes."""


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


class Expected(NamedTuple):
    """What a rule wanted instead of this size: the field in question, and the words."""

    field: str
    text: str


class Option(NamedTuple):
    """A whole number that a family takes besides its size; `default` None leaves it to the rule."""

    default: int | None
    least: int
    meaning: str


Options: TypeAlias = Mapping[str, int | None]
Rule: TypeAlias = Callable[[Size, Options], list[Row]]
Stages: TypeAlias = tuple[int, ...]


def by_rank(row: Callable[[Size, int], Row]) -> Rule:
    """The rule that writes the order of each device from the size and its rank alone."""

    def rows(size: Size, options: Options) -> list[Row]:
        return [row(size, rank) for rank in range(size.devices)]

    return rows


def looped(size: Size) -> Stages:
    """Stage s on device s mod p."""
    return tuple(range(size.devices)) * size.chunks


def vee(size: Size) -> Stages:
    """Down the devices and up again, as often as there are chunks: two of them make a V."""
    down, up = tuple(range(size.devices)), tuple(reversed(range(size.devices)))
    return tuple(device for chunk in range(size.chunks) for device in (up if chunk % 2 else down))


def one_pipe(size: Size) -> tuple[Stages, ...]:
    """All micro-batches pass all stages in order."""
    return (tuple(range(size.devices * size.chunks)),)


def two_pipes(size: Size) -> tuple[Stages, ...]:
    """Micro-batches go down the devices (stages 0 to p-1) or up (stages p to 2p-1), to be placed as `vee`."""
    p = size.devices
    return tuple(range(p)), tuple(range(p, 2 * p))


def all_sizes(size: Size) -> Expected | None:
    """The domain of a rule that holds everywhere."""
    return None


@dataclass(frozen=True, slots=True)
class Family:
    """A schedule family.

    rows(size, options): the order of every device. placement(size): device of each stage. pipes(size): as in `Schedule`.
    domain(size): what was expected instead, None where the rule holds. chunks: the default, and the only choice where `fixed_chunks`.
    closed_form: the makespan in words, with its domain; makespan(size, costs): the same in ticks, None outside the domain.
    in_flight: in words, the most activations (of one chunk) that rank r holds, each until its B or W.
    options: what `build` takes besides the size. most: devices x micro-batches x chunks up to which it builds.
    """

    name: str
    summary: str
    source: str
    closed_form: str
    in_flight: str
    makespan: Callable[[Size, StageCosts], int | None]
    rows: Rule
    placement: Callable[[Size], Stages] = looped
    pipes: Callable[[Size], tuple[Stages, ...]] = one_pipe
    domain: Callable[[Size], Expected | None] = all_sizes
    chunks: int = 1
    fixed_chunks: bool = True
    options: Mapping[str, Option] = field(default_factory=dict)
    most: int = MAX_ACTIONS // 2

    def size(self, devices: int, microbatches: int, chunks: int | None = None) -> Size:
        """The size asked for, checked against the domain. Raises ScheduleError, code `size`."""
        size = Size(devices, microbatches, self.chunks if chunks is None else chunks)
        for name, value in zip(Size._fields, size, strict=True):
            if not _whole(value, 1):
                raise ScheduleError("expected a whole number of at least 1", code="size", value=value, where=name)
        if self.fixed_chunks and size.chunks != self.chunks:
            raise ScheduleError(
                f"expected {self.chunks}, the chunks a device of family {self.name}",
                code="size",
                value=size.chunks,
                where="chunks",
            )
        if devices * microbatches * size.chunks > self.most:
            raise ScheduleError(
                f"expected devices x microbatches x chunks up to {self.most} (family {self.name})",
                code="size",
                value=f"{devices} x {microbatches} x {size.chunks}",
            )
        expected = self.domain(size)
        if expected:
            raise ScheduleError(
                f"expected {expected.text} (family {self.name}, {devices} devices)",
                code="size",
                value=getattr(size, expected.field),
                where=expected.field,
            )
        return size

    def build(
        self,
        devices: int,
        microbatches: int,
        *,
        chunks: int | None = None,
        recompute: bool = False,
        reduce: bool = False,
        step: bool = False,
        **options: Any,
    ) -> Schedule:
        """The schedule of this size. `microbatches` counts those of all pipes.

        `recompute` runs every forward once more before its backward, `reduce` ends each row with the gradient reductions of its
        stages, as torch's GPipe does, and `step` ends it with an optimizer step. `options` are those of the family.

        Raises ScheduleError, code `size`, where the rule does not hold, and InputError for a wrong option.
        """
        for name, flag in (("recompute", recompute), ("reduce", reduce), ("step", step)):
            if not isinstance(flag, bool):
                raise InputError("expected true or false", value=flag, where=name)
        settings = self._settings(options)
        size = self.size(devices, microbatches, chunks)
        schedule = _pack(self.name, self.pipes(size), self.placement(size), self.rows(size, settings))
        if recompute:
            schedule = with_recompute(schedule)
        if reduce:
            schedule = with_reduce(schedule)
        return with_step(schedule) if step else schedule

    def _settings(self, options: Mapping[str, Any]) -> Options:
        for name, value in options.items():
            if name not in self.options:
                known = ", ".join((*SHARED_OPTIONS, *self.options))
                raise InputError(f"expected no option but {known} (family {self.name})", value=name)
            least = self.options[name].least
            if not _whole(value, least) or value > MAX_OPTION:
                raise InputError(f"expected a whole number from {least} to {MAX_OPTION}", value=value, where=name)
        return {name: options.get(name, option.default) for name, option in self.options.items()}


def _whole(value: object, least: int) -> bool:
    return isinstance(value, int) and not isinstance(value, bool) and value >= least


def _pack(name: str, pipes: tuple[Stages, ...], placement: Stages, rows: list[Row]) -> Schedule:
    table = join(*rows)
    return Schedule(
        name=name,
        pipes=pipes,
        placement=placement,
        row_start=np.concatenate(([0], np.cumsum([len(row) for row in rows]))).astype(np.int64),
        kind=table[:, 0].astype(np.int8),
        stage=np.ascontiguousarray(table[:, 1]),
        microbatch=np.ascontiguousarray(table[:, 2]),
        part=np.full(len(table), -1, dtype=np.int32),
        paired=table[:, 3].astype(np.bool_),
    )
