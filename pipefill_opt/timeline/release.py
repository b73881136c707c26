"""What released an action: the edge and the predecessor that determine its start. Causes of bubbles and chains of causes rest on it."""

from __future__ import annotations

import numpy as np

from pipefill_opt.schedule.precedence import Edge
from pipefill_opt.schedule.schedule import Int8, Int32, Int64
from pipefill_opt.timeline.longest_path import binding_edge
from pipefill_opt.timeline.timeline import EDGES
from pipefill_opt.timeline.times import Times
from pipefill_opt.workload.costs import Boundary

_DATA, _ORDER, _BARRIER, _LINK, _START = range(len(EDGES))


def release(times: Times, actions: Int64) -> tuple[Int8, Int32]:
    """Of each of the given actions the edge (place in `EDGES`) and the action at its other end, -1 for none.

    Ties: another device before the own one, data before order, then the smaller stage, micro-batch, part. An action that starts at 0
    is released by the barrier, which is set by the action that ends last; with `flow`, a device's first action is released by its last one,
    of the iteration before, or by `start`.
    """
    waits, schedule = times.waits, times.main.schedule
    device = schedule.device()[actions]
    flows = times.main.boundary is Boundary.FLOW
    edge = np.full(len(actions), _START if flows else _BARRIER, dtype=np.int8)
    action = np.full(len(actions), -1, dtype=np.int32)
    binding = binding_edge(waits, actions, times.start, times.end, times.lag)
    bound = (binding >= 0) & (times.start[actions] > 0)
    within = binding[bound]
    edge[bound] = np.where(times.queued[within], _LINK, np.where(waits.kind[within] == Edge.ORDER, _ORDER, _DATA))
    action[bound] = waits.pred[within]
    if flows:
        last = schedule.row_start[device + 1] - 1
        wrapped = ~bound & (times.end[last] - times.period == times.start[actions])
        edge[wrapped], action[wrapped] = _ORDER, last[wrapped]
    elif not bound.all():
        action[~bound] = _barrier(times)[device[~bound]]
    return edge, action


def _barrier(times: Times) -> Int32:
    """int32[devices]: the action that ends last, for each device."""
    schedule = times.main.schedule
    last = np.flatnonzero(times.end == times.period)
    last = last[np.lexsort((last, schedule.part[last], schedule.microbatch[last], schedule.stage[last]))]
    device = schedule.device()[last]
    barrier = np.full(schedule.devices, last[0], dtype=np.int32)
    others = last[device != device[0]]
    if len(others):
        barrier[device[0]] = others[0]
    return barrier
