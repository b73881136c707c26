"""Who waits for whom: all precedence of a schedule as arrays of predecessors, in a topological order. See docs/design.md, section 2."""

from __future__ import annotations

from dataclasses import dataclass
from enum import IntEnum
from typing import TYPE_CHECKING, Any

import numpy as np

from pipefill_opt.errors import ScheduleError
from pipefill_opt.kernels import kernel
from pipefill_opt.schedule.actions import Kind
from pipefill_opt.schedule.deadlock import deadlock
from pipefill_opt.schedule.schedule import Bool, Int8, Int32, Int64, Schedule

if TYPE_CHECKING:
    import numpy.typing as npt


class Edge(IntEnum):
    """Why an action waits for another. Stored as int8."""

    DATA = 0  # it needs what the other made
    ORDER = 1  # it stands behind the other in its device's row
    BLOCK = 2  # from the F of a pair to its B when both are one block: they start together


@dataclass(frozen=True, slots=True, eq=False)
class Precedence:
    """Predecessors of n actions, e edges in all.

    first: int64[n + 1]; the predecessors of action a are pred[first[a]] to pred[first[a + 1] - 1].
    pred: int32[e], indices of actions. kind: int8[e] (`Edge`). crosses: bool[e], true if the two are on different devices.
    order: int32[n], a topological order. block: whether overlapped pairs are one block.
    """

    schedule: Schedule
    block: bool
    first: Int64
    pred: Int32
    kind: Int8
    crosses: Bool
    order: Int32

    def successor(self) -> Int32:
        """int32[e]: the action that waits, for every edge."""
        return np.repeat(np.arange(self.schedule.size, dtype=np.int32), np.diff(self.first))


def precedence(schedule: Schedule, *, block: bool = False, global_norm: bool = False) -> Precedence:
    """The precedence of a valid schedule.

    Pipes: F after F of the stage before; B or I after B or I of the stage behind; B, I and R after F, B and I after R, W after I.
    Slices: F after F of the slice before, B or I after that of the slice behind. REDUCE after the last B or W of its stage, wherever
    it stands in the row; STEP after the last action of its row, wherever it stands, and with `global_norm` after every REDUCE.
    UNSHARD and RESHARD only keep their place in the row.

    With `block`, an overlapped pair is one block: the F also waits for all that its B waits for, and the B starts with it (edge
    `BLOCK`, meant to have the lag minus the block's length).

    Raises ScheduleError: `deadlock` with the cycle, `missing` where an action waits for one that is nowhere (`validate` says more).
    """
    columns, kinds = _candidates(schedule)
    if block and schedule.paired.any():
        columns, kinds = _as_blocks(columns, kinds, np.flatnonzero(schedule.paired))
    present = columns >= 0
    first = np.zeros(schedule.size + 1, dtype=np.int64)
    np.cumsum(present.sum(axis=1), out=first[1:])
    pred, kind = columns[present], kinds[present]
    if global_norm:
        first, pred, kind = _with_global_norm(schedule, first, pred, kind)
    device = schedule.device()
    crosses = device[pred] != np.repeat(device, np.diff(first))
    return Precedence(schedule, block, first, pred, kind, crosses, _topological(schedule, first, pred, kind, block))


def _topological(schedule: Schedule, first: Int64, pred: Int32, kind: Int8, block: bool) -> Int32:
    order = np.empty(schedule.size, dtype=np.int32)
    position = schedule.row_start[:-1].copy()
    done = kernel(_replay, len(pred) + schedule.size)(schedule.row_start, first, pred, position, order)
    if done < schedule.size:
        raise deadlock(schedule, first, pred, position, block)
    return order


def _replay(row_start: Int64, first: Int64, pred: Int32, position: Int64, order: Int32) -> int:
    """Kernel: run every row as far as it goes, asleep on the first predecessor that is not done. O(n + e).

    Fills `order` and returns how many actions ran; `position` ends at each device's first action that did not.
    """
    devices = len(position)
    done = np.zeros(len(order), dtype=np.bool_)
    sleeper = np.full(len(order), -1, dtype=np.int32)  # first device asleep on an action
    neighbour = np.full(devices, -1, dtype=np.int32)  # next device asleep on the same one
    awake = np.arange(devices - 1, -1, -1).astype(np.int32)
    waiting, count = devices, 0
    while waiting > 0:
        waiting -= 1
        device = awake[waiting]
        action = position[device]
        while action < row_start[device + 1]:
            blocker = -1
            for edge in range(first[action], first[action + 1]):
                if not done[pred[edge]]:
                    blocker = pred[edge]
                    break
            if blocker >= 0:
                neighbour[device] = sleeper[blocker]
                sleeper[blocker] = device
                break
            done[action] = True
            order[count] = action
            count += 1
            woken = sleeper[action]
            while woken >= 0:
                awake[waiting] = woken
                waiting += 1
                woken = neighbour[woken]
            action += 1
        position[device] = action
    return count


def _candidates(schedule: Schedule) -> tuple[Int32, Int8]:
    """Predecessors as a table, int32[n, c] with -1 for none, and their kinds: one column for each rule that the schedule needs."""
    kind, n = schedule.kind, schedule.size
    index = np.arange(n, dtype=np.int32)
    place = _Places(schedule)
    forward, backward = kind == Kind.F, (kind == Kind.B) | (kind == Kind.I)
    weight, again = kind == Kind.W, kind == Kind.R

    order = index - 1
    order[schedule.row_start[:-1][np.diff(schedule.row_start) > 0]] = -1
    columns = [order]

    flow = np.full(n, -1, dtype=np.int32)
    place.look_up(flow, forward, Kind.F, stage=place.before)
    place.look_up(flow, backward, Kind.I, stage=place.behind)
    columns.append(flow)

    own = np.full(n, -1, dtype=np.int32)
    place.look_up(own, backward | again, Kind.F)
    place.look_up(own, weight, Kind.I)
    columns.append(own)

    if again.any():
        redone = np.full(n, -1, dtype=np.int32)
        place.look_up(redone, backward, Kind.R, needed=False)
        columns.append(redone)
    if (schedule.part > 0).any():
        slices = np.full(n, -1, dtype=np.int32)
        place.look_up(slices, forward & (schedule.part > 0), Kind.F, part=-1)
        place.look_up(slices, backward & (schedule.part < place.last_part), Kind.I, part=+1)
        columns.append(slices)
    if (kind >= Kind.REDUCE).any():
        columns.append(_closing(schedule))
    kinds = np.full((n, len(columns)), Edge.DATA, dtype=np.int8)
    kinds[:, 0] = Edge.ORDER
    return np.stack(columns, axis=1), kinds


def _closing(schedule: Schedule) -> Int32:
    """What REDUCE and STEP wait for beside their row: the last B or W of the stage, the last other action of the device."""
    kind, starts = schedule.kind, schedule.row_start
    column = np.full(schedule.size, -1, dtype=np.int32)
    gradients = np.flatnonzero((kind == Kind.B) | (kind == Kind.W))
    last = np.full(schedule.stages, -1, dtype=np.int32)
    last[schedule.stage[gradients]] = gradients
    reduces = np.flatnonzero(kind == Kind.REDUCE)
    column[reduces] = last[schedule.stage[reduces]]
    for step in np.flatnonzero(kind == Kind.STEP):
        end = int(starts[np.searchsorted(starts, step, side="right")]) - 1
        if step != end:
            column[step] = end
    return column


def _as_blocks(columns: Int32, kinds: Int8, pairs: Int64) -> tuple[Int32, Int8]:
    """Move what the B of each pair waits for, its row apart, to the F."""
    moved = np.full((len(columns), columns.shape[1] - 1), -1, dtype=np.int32)
    moved[pairs] = columns[pairs + 1, 1:]
    columns[pairs + 1, 1:] = -1
    kinds[pairs + 1, 0] = Edge.BLOCK
    return np.hstack([columns, moved]), np.hstack([kinds, np.full(moved.shape, Edge.DATA, dtype=np.int8)])


def _with_global_norm(schedule: Schedule, first: Int64, pred: Int32, kind: Int8) -> tuple[Int64, Int32, Int8]:
    steps = np.flatnonzero(schedule.kind == Kind.STEP)
    reduces = np.flatnonzero(schedule.kind == Kind.REDUCE).astype(np.int32)
    at = np.repeat(first[steps + 1], len(reduces))
    pred = np.insert(pred, at, np.tile(reduces, len(steps)))
    kind = np.insert(kind, at, Edge.DATA)
    extra = np.zeros(len(first), dtype=np.int64)
    extra[steps + 1] = len(reduces)
    return first + np.cumsum(extra), pred, kind


class _Places:
    """Where the F, the B or I, and the R of every (stage, micro-batch, part) stand: a dense table for each."""

    def __init__(self, schedule: Schedule) -> None:
        self.schedule = schedule
        stages = schedule.stages
        self.before = np.full(stages, -1, dtype=np.int32)
        self.behind = np.full(stages, -1, dtype=np.int32)
        microbatches = np.zeros(stages, dtype=np.int64)
        parts = np.zeros(stages, dtype=np.int64)
        work = (schedule.microbatch >= 0) & (schedule.stage >= 0)
        np.maximum.at(microbatches, schedule.stage[work], schedule.microbatch[work] + 1)
        np.maximum.at(parts, schedule.stage[work], np.maximum(schedule.part[work], 0) + 1)
        for pipe in schedule.pipes:
            stops = np.array(pipe, dtype=np.int32)
            self.before[stops[1:]] = stops[:-1]
            self.behind[stops[:-1]] = stops[1:]
            microbatches[stops] = microbatches[stops].max(initial=0)
            parts[stops] = parts[stops].max(initial=0)
        self.parts = parts
        self.base = np.zeros(stages + 1, dtype=np.int64)
        np.cumsum(microbatches * parts, out=self.base[1:])
        if self.base[-1] > max(schedule.size, 1):
            raise _missing(schedule)
        self.last_part = parts[schedule.stage] - 1
        self.slot = (
            self.base[schedule.stage] + schedule.microbatch * parts[schedule.stage] + np.maximum(schedule.part, 0)
        )
        kind = schedule.kind
        self.table = {
            Kind.F: self._fill(kind == Kind.F),
            Kind.I: self._fill((kind == Kind.B) | (kind == Kind.I)),
            Kind.R: self._fill(kind == Kind.R),
        }

    def _fill(self, mask: Bool) -> Int32:
        table = np.full(int(self.base[-1]), -1, dtype=np.int32)
        indices = np.flatnonzero(mask).astype(np.int32)
        table[self.slot[indices]] = indices
        return table

    def look_up(
        self,
        column: Int32,
        mask: Bool,
        kind: Kind,
        *,
        stage: npt.NDArray[Any] | None = None,
        part: int = 0,
        needed: bool = True,
    ) -> None:
        """Put into `column`, for the actions of `mask`, the action of `kind` (I stands for B too) of the stage `stage[s]` or their own."""
        indices = np.flatnonzero(mask)
        slot = self.slot[indices]
        if stage is not None:
            own = self.schedule.stage[indices]
            there = stage[own] >= 0
            indices, own, slot = indices[there], own[there], slot[there]
            slot = slot - self.base[own] + self.base[stage[own]]
        found = self.table[kind][slot + part]
        if needed and (found < 0).any():
            raise _missing(self.schedule)
        column[indices] = found


def _missing(schedule: Schedule) -> ScheduleError:
    """The error for an action that waits for one that is nowhere: `validate` knows which, as far as it finds fault."""
    from pipefill_opt.schedule.validate import validate

    validate(schedule)
    return ScheduleError("expected every action that another one waits for to be in the schedule", code="missing")
