"""What determines the period: the critical path of an iteration, and with the `flow` boundary the critical cycle through several."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from pipefill_opt.schedule.precedence import Edge
from pipefill_opt.schedule.schedule import Bool, Int8, Int64
from pipefill_opt.timeline.causes import Releases, Step, back, step
from pipefill_opt.timeline.timeline import EDGES, Timeline
from pipefill_opt.timeline.times import Times, settle
from pipefill_opt.workload.costs import Boundary


def critical_path(timeline: Timeline, released: Releases) -> tuple[Step, ...]:
    """The chain that determines the period, in order of time.

    With a barrier, that of the action that ends last, from the beginning of the iteration on: work and messages add up to the makespan, and
    the last step has the edge `barrier`. With `flow`, a cycle: the last step releases the first one, an iteration later, and all add up to
    the period times the steps that cross into a next iteration. Empty for a schedule without actions.
    """
    if not len(timeline.end):
        return ()
    if timeline.main.boundary is Boundary.FLOW:
        return _critical_cycle(timeline)
    last = int(np.argmax(timeline.end))
    start, end = int(timeline.start[last]), int(timeline.end[last])
    steps = [Step(last, start, end, "barrier", end - start, 0, True), *back(timeline, released, last, 0)]
    return tuple(reversed(steps))


@dataclass(frozen=True, slots=True, eq=False)
class _Edges:
    """Edges between actions, as arrays. kind: place in `EDGES`; crosses: into the next iteration."""

    before: Int64
    after: Int64
    kind: Int8
    crosses: Bool


def _critical_cycle(timeline: Timeline) -> tuple[Step, ...]:
    """A cycle of edges without float. Its mean is the period, and there is one, since the period is the largest mean of a cycle."""
    tight = _tight_edges(settle(timeline.main))
    entry = _entries(tight, len(timeline.start))
    action, seen = int(np.argmax(entry >= 0)), set[int]()
    while action not in seen:
        seen.add(action)
        action = int(tight.before[entry[action]])
    while not tight.crosses[entry[action]]:  # to begin with an iteration
        action = int(tight.before[entry[action]])
    steps: list[Step] = []
    now, begun, shift = int(timeline.start[action]), action, 0
    while not steps or action != begun:
        edge = int(entry[action])
        action, crosses = int(tight.before[edge]), bool(tight.crosses[edge])
        shift -= timeline.period if crosses else 0
        steps.append(step(timeline, action, EDGES[tight.kind[edge]], crosses, shift=shift, now=now))
        now = steps[-1].start
    return tuple(reversed(steps))


def _tight_edges(times: Times) -> _Edges:
    """All edges without float: those of an iteration, and from the last action of a row to its first one in the next iteration."""
    waits, schedule = times.waits, times.main.schedule
    after = waits.successor().astype(np.int64)
    within = np.flatnonzero(times.end[waits.pred] + times.lag == times.start[after])
    order = waits.kind[within] == Edge.ORDER
    rows = schedule.row_start[:-1][np.diff(schedule.row_start) > 0]
    ends = schedule.row_start[1:][np.diff(schedule.row_start) > 0] - 1
    back_again = times.end[ends] - times.period == times.start[rows]
    rows, ends = rows[back_again], ends[back_again]
    kind = np.where(order, EDGES.index("order"), EDGES.index("data"))
    return _Edges(
        before=np.append(waits.pred[within].astype(np.int64), ends),
        after=np.append(after[within], rows),
        kind=np.append(kind, np.full(len(rows), EDGES.index("order"))).astype(np.int8),
        crosses=np.repeat([False, True], [len(within), len(rows)]),
    )


def _entries(edges: _Edges, size: int) -> Int64:
    """int64[size]: for each action that can be followed back without end an edge to do so, -1 for the others."""
    left = np.bincount(edges.after, minlength=size)
    followers: list[list[int]] = [[] for _ in range(size)]
    for before, after in zip(edges.before.tolist(), edges.after.tolist(), strict=True):
        followers[before].append(after)
    ended = np.flatnonzero(left == 0).tolist()
    count = left.tolist()
    while ended:
        for after in followers[ended.pop()]:
            count[after] -= 1
            if not count[after]:
                ended.append(after)
    endless = np.array(count) > 0
    entry = np.full(size, -1, dtype=np.int64)
    usable = np.flatnonzero(endless[edges.before])
    entry[edges.after[usable]] = usable
    return entry
