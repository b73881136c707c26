"""Who waits for whom: all precedence of a schedule as arrays of predecessors, in a topological order. See docs/design.md, section 2."""

from __future__ import annotations

from dataclasses import dataclass
from enum import IntEnum

import numpy as np

from pipefill_opt.errors import ScheduleError
from pipefill_opt.kernels import kernel
from pipefill_opt.schedule.actions import NO_MICROBATCH, Kind
from pipefill_opt.schedule.deadlock import deadlock
from pipefill_opt.schedule.messages import is_message
from pipefill_opt.schedule.schedule import Bool, Int8, Int32, Int64, Schedule


class Edge(IntEnum):
    """Why an action waits for another. Stored as int8."""

    DATA = 0  # it needs what the other made
    ORDER = 1  # it stands behind the other in its device's row
    BLOCK = 2  # from the F of a pair to its B when both are one block: they start together
    MESSAGE = 3  # from a SEND to its RECV, which starts no earlier


# Plain integers for the kernels.
_DATA, _ORDER, _BLOCK, _MESSAGE = map(int, Edge)
_F, _B, _I, _W, _R, _REDUCE, _STEP = map(int, (Kind.F, Kind.B, Kind.I, Kind.W, Kind.R, Kind.REDUCE, Kind.STEP))
_SEND_F, _RECV_F, _SEND_B, _RECV_B = map(int, (Kind.SEND_F, Kind.RECV_F, Kind.SEND_B, Kind.RECV_B))


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

    Where a message stands in the order as SEND and RECV, the one waits for what it sends, the other for the SEND (edge `MESSAGE`, meant
    to have the lag minus the SEND's duration), and what needs the message for the RECV in place of the action on the other device.

    Raises ScheduleError: `deadlock` with the cycle, `missing` where an action waits for one that is nowhere (`validate` says more).
    """
    first, pred, kind, crosses = _edges(schedule, block)
    if global_norm:
        first, pred, kind, crosses = _with_global_norm(schedule, first, pred, kind, crosses)
    return Precedence(
        schedule, block, first, pred, kind, crosses, topological_order(schedule, first, pred, block=block)
    )


def topological_order(schedule: Schedule, first: Int64, pred: Int32, *, block: bool = False) -> Int32:
    """int32[n]: a topological order, from predecessors as in `Precedence`. Raises ScheduleError, code `deadlock`."""
    order = np.empty(schedule.size, dtype=np.int32)
    position = schedule.row_start[:-1].copy()
    done = kernel(_replay, schedule.size)(schedule.row_start, first, pred, position, order)
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


def _edges(schedule: Schedule, block: bool) -> tuple[Int64, Int32, Int8, Bool]:
    """All edges but those of `global_norm`: first, pred, kind and crosses as in `Precedence`."""
    n, stages = schedule.size, schedule.stages
    ends = schedule.row_start[1:][np.diff(schedule.row_start) > 0] - 1
    if (
        sorted(stage for pipe in schedule.pipes for stage in pipe) != list(range(stages))
        or int(schedule.stage.max(initial=-1)) >= stages
        or (~np.isin(schedule.kind, list(NO_MICROBATCH)) & (schedule.microbatch < 0)).any()
        or schedule.paired[ends].any()
    ):
        raise _invalid(schedule)
    pipe = np.zeros(stages, dtype=np.int32)
    before, behind = np.full(stages, -1, dtype=np.int32), np.full(stages, -1, dtype=np.int32)
    for number, stops in enumerate(schedule.pipes):
        pipe[list(stops)] = number
        before[list(stops[1:])] = stops[:-1]
        behind[list(stops[:-1])] = stops[1:]
    columns = (schedule.kind, schedule.stage, schedule.microbatch, schedule.part)
    microbatches, parts = (np.zeros(len(schedule.pipes), dtype=np.int64) for _ in range(2))
    kernel(_count, n)(schedule.stage, schedule.microbatch, schedule.part, pipe, microbatches, parts)
    base = np.append(0, np.cumsum(microbatches[pipe] * parts[pipe]))
    if base[-1] > n:  # a valid schedule has an F for each of these places
        raise _invalid(schedule)
    messages = bool(is_message(schedule).any())
    places = np.full((7 if messages else 3, int(base[-1])), -1, dtype=np.int32)
    gradient = np.full(stages, -1, dtype=np.int32)
    kernel(_place, n)(*columns, base, parts[pipe], places, gradient)
    first = np.empty(n + 1, dtype=np.int64)
    most = n * (3 + bool((schedule.kind == Kind.R).any()) + bool((schedule.part > 0).any()))
    pred, kind, crosses = np.empty(most, np.int32), np.empty(most, np.int8), np.empty(most, np.bool_)
    own, joined = parts[pipe], schedule.paired & block
    write = kernel(_write, n)
    count = write(
        *columns, schedule.row_start, joined, before, behind, base, own, places, gradient, first, pred, kind, crosses
    )
    if count < 0:
        raise _invalid(schedule)
    return first, pred[:count], kind[:count], crosses[:count]


def _count(stage: Int32, microbatch: Int32, part: Int32, pipe: Int32, microbatches: Int64, parts: Int64) -> None:
    """Kernel: micro-batches and parts of every pipe, one more than the largest that stands in the schedule."""
    for action in range(len(stage)):
        if microbatch[action] >= 0:
            p = pipe[stage[action]]
            microbatches[p] = max(microbatches[p], microbatch[action] + 1)
            parts[p] = max(parts[p], part[action] + 1, 1)


def _place(
    kind: Int8, stage: Int32, microbatch: Int32, part: Int32, base: Int64, parts: Int64, places: Int32, gradient: Int32
) -> None:
    """Kernel: where the F, the B or I, and the R of every (stage, micro-batch, part) stand, after them SEND_F, RECV_F, SEND_B and
    RECV_B if there are messages; the last B or W of every stage.
    """
    for action in range(len(kind)):
        k, s = kind[action], stage[action]
        if k in (_B, _W):
            gradient[s] = action
        table = 0 if k == _F else 1 if k in (_B, _I) else 2 if k == _R else k - _SEND_F + 3 if k >= _SEND_F else -1
        if table >= 0:
            places[table, base[s] + microbatch[action] * parts[s] + max(part[action], 0)] = action


def _write(
    kind: Int8,
    stage: Int32,
    microbatch: Int32,
    part: Int32,
    row_start: Int64,
    block: Bool,
    before: Int32,
    behind: Int32,
    base: Int64,
    parts: Int64,
    places: Int32,
    gradient: Int32,
    first: Int64,
    pred: Int32,
    edge: Int8,
    crosses: Bool,
) -> int:
    """Kernel: the predecessors of every action, into the last four. Returns their number, -1 if one is nowhere.

    block: bool[n], true on the F of pairs that are one block: it also takes what its B waits for.
    """
    count = 0
    found = np.empty(4, dtype=np.int32)
    messages = len(places) > 3
    first[0] = 0
    for row in range(len(row_start) - 1):
        begin, end = row_start[row], row_start[row + 1]
        for action in range(begin, end):
            last = action + 2 if block[action] else action + 1
            if action > begin:
                pred[count], edge[count], crosses[count] = action - 1, _ORDER, False
                count += 1
                if block[action - 1]:
                    edge[count - 1] = _BLOCK
                    last = action
            for member in range(action, last):
                k, s = kind[member], stage[member]
                at = base[s] + microbatch[member] * parts[s] + max(part[member], 0)
                wanted = 0
                if k == _F:
                    if messages and places[4, at] >= 0:
                        found[wanted] = places[4, at]
                        wanted += 1
                    elif before[s] >= 0:
                        found[wanted] = places[0, at - base[s] + base[before[s]]]
                        wanted += 1
                    if part[member] > 0:
                        found[wanted] = places[0, at - 1]
                        wanted += 1
                elif k in (_B, _I):
                    found[0] = places[0, at]
                    wanted = 1
                    if messages and places[6, at] >= 0:
                        found[wanted] = places[6, at]
                        wanted += 1
                    elif behind[s] >= 0:
                        found[wanted] = places[1, at - base[s] + base[behind[s]]]
                        wanted += 1
                    if max(part[member], 0) + 1 < parts[s]:
                        found[wanted] = places[1, at + 1]
                        wanted += 1
                    if places[2, at] >= 0:
                        found[wanted] = places[2, at]
                        wanted += 1
                elif k in (_W, _R):
                    found[0] = places[1 if k == _W else 0, at]
                    wanted = 1
                elif k in (_SEND_F, _SEND_B):
                    found[0] = places[0 if k == _SEND_F else 1, at]
                    wanted = 1
                elif k in (_RECV_F, _RECV_B):
                    sender = before[s] if k == _RECV_F else behind[s]
                    found[0] = places[k - _RECV_F + 3, at - base[s] + base[sender]] if sender >= 0 else -1
                    wanted = 1
                elif k == _REDUCE and gradient[s] >= 0:
                    found[0] = gradient[s]
                    wanted = 1
                elif k == _STEP and member + 1 < end:
                    found[0] = end - 1
                    wanted = 1
                for number in range(wanted):
                    if found[number] < 0:
                        return -1
                    pred[count], edge[count] = found[number], _MESSAGE if k in (_RECV_F, _RECV_B) else _DATA
                    crosses[count] = not begin <= found[number] < end
                    count += 1
            first[action + 1] = count
    return count


def _with_global_norm(
    schedule: Schedule, first: Int64, pred: Int32, kind: Int8, crosses: Bool
) -> tuple[Int64, Int32, Int8, Bool]:
    steps = np.flatnonzero(schedule.kind == Kind.STEP)
    reduces = np.flatnonzero(schedule.kind == Kind.REDUCE).astype(np.int32)
    at = np.repeat(first[steps + 1], len(reduces))
    device = schedule.device()
    pred = np.insert(pred, at, np.tile(reduces, len(steps)))
    kind = np.insert(kind, at, Edge.DATA)
    crosses = np.insert(crosses, at, (device[steps][:, None] != device[reduces]).ravel())
    extra = np.zeros(len(first), dtype=np.int64)
    extra[steps + 1] = len(reduces)
    return first + np.cumsum(extra), pred, kind, crosses


def _invalid(schedule: Schedule) -> ScheduleError:
    """The error for a schedule on which the kernels cannot run: `validate` says what is wrong with it."""
    from pipefill_opt.schedule.validate import validate

    validate(schedule)
    return ScheduleError("expected every action that another one waits for to be in the schedule", code="missing")
