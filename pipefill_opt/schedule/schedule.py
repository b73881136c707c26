"""`Schedule`: pipes, placement and one ordered list of actions a device, as arrays."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import TypeAlias

import numpy as np
import numpy.typing as npt

from pipefill_opt.schedule.actions import Action, Kind, Pair

Int8: TypeAlias = npt.NDArray[np.int8]
Int32: TypeAlias = npt.NDArray[np.int32]
Int64: TypeAlias = npt.NDArray[np.int64]
Bool: TypeAlias = npt.NDArray[np.bool_]


@dataclass(frozen=True, slots=True, eq=False)
class Schedule:
    """Which device does what, in which order. n actions, elementary ones; all rows one after the other.

    An overlapped pair is two neighbouring actions, F then B (or I), with `paired` true on the F.

    pipes: each a sequence of stages that micro-batches pass, in order; stage ids are global, micro-batch ids per pipe.
    placement: device of each stage.
    row_start: int64[devices + 1]; row d holds the actions row_start[d] to row_start[d + 1] - 1, in order.
    kind: int8[n] (`Kind`). stage: int32[n], -1 for STEP. microbatch: int32[n], -1 for none. part: int32[n], token slice
    or image patch, -1 for a whole micro-batch. paired: bool[n].
    """

    name: str
    pipes: tuple[tuple[int, ...], ...]
    placement: tuple[int, ...]
    row_start: Int64
    kind: Int8
    stage: Int32
    microbatch: Int32
    part: Int32
    paired: Bool

    @property
    def devices(self) -> int:
        """Number of devices (pipeline ranks)."""
        return len(self.row_start) - 1

    @property
    def stages(self) -> int:
        """Number of stages over all pipes."""
        return len(self.placement)

    @property
    def size(self) -> int:
        """Number of elementary actions."""
        return len(self.kind)

    def device(self) -> Int32:
        """int32[n]: the device of every action."""
        return np.repeat(np.arange(self.devices, dtype=np.int32), np.diff(self.row_start))

    def action(self, index: int) -> Action:
        """The elementary action at `index`."""
        return Action(
            Kind(int(self.kind[index])), int(self.stage[index]), int(self.microbatch[index]), int(self.part[index])
        )

    def row(self, device: int) -> Iterator[Action | Pair]:
        """Actions and pairs of a device, in order."""
        index, end = int(self.row_start[device]), int(self.row_start[device + 1])
        while index < end:
            if self.paired[index]:
                yield Pair(self.action(index), self.action(index + 1))
                index += 2
            else:
                yield self.action(index)
                index += 1

    @classmethod
    def from_rows(
        cls,
        rows: Sequence[Sequence[Action | Pair]],
        placement: Sequence[int],
        *,
        pipes: Sequence[Sequence[int]] | None = None,
        name: str = "custom",
    ) -> Schedule:
        """Pack rows of actions. Without `pipes`, all stages form one pipe in the order of their ids. Not validated."""
        flat: list[Action] = []
        paired: list[bool] = []
        starts = [0]
        for row in rows:
            for entry in row:
                if isinstance(entry, Pair):
                    flat += entry
                    paired += [True, False]
                else:
                    flat.append(entry)
                    paired.append(False)
            starts.append(len(flat))
        table = np.array(flat, dtype=np.int64).reshape(len(flat), 4)
        return cls(
            name=name,
            pipes=tuple(map(tuple, pipes)) if pipes is not None else (tuple(range(len(placement))),),
            placement=tuple(placement),
            row_start=np.array(starts, dtype=np.int64),
            kind=table[:, 0].astype(np.int8),
            stage=table[:, 1].astype(np.int32),
            microbatch=table[:, 2].astype(np.int32),
            part=table[:, 3].astype(np.int32),
            paired=np.array(paired, dtype=np.bool_),
        )


def same_order(first: Schedule, second: Schedule) -> bool:
    """Whether two schedules have the same pipes, placement and rows, pairs included; names do not count."""
    return (
        first.pipes == second.pipes
        and first.placement == second.placement
        and all(
            np.array_equal(getattr(first, field), getattr(second, field))
            for field in ("row_start", "kind", "stage", "microbatch", "part", "paired")
        )
    )
