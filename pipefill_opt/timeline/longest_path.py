"""Earliest starts, latest ends and binding predecessors on the precedence of a schedule: the exact kernel under every timeline.

It takes any durations and lags, so that re-timing runs on it too.
"""

from __future__ import annotations

import numpy as np

from pipefill_opt.kernels import kernel
from pipefill_opt.schedule.precedence import Precedence
from pipefill_opt.schedule.schedule import Bool, Int8, Int32, Int64


def longest_path(
    precedence: Precedence, duration: Int64, lag: Int64, *, ready: Int64 | None = None, runs: int = 1
) -> Int64:
    """int64[n]: the earliest start of every action, the latest of ready(a) and, over its predecessors p,
    start(p) + duration(p) + lag(p, a).

    duration: int64[n] ticks. lag: int64[e] ticks, one for each edge as they stand in `precedence.pred`, so that one on an edge of
    kind `ORDER` keeps the device busy between two neighbours. ready: int64[n] ticks, 0 for all by default.
    runs: how often it will be called on such inputs, so that many small ones are compiled as well.
    """
    run = kernel(_forward, len(duration) * runs)
    since = np.zeros(len(duration), dtype=np.int64) if ready is None else ready
    return run(precedence.order, precedence.first, precedence.pred, duration, lag, since)


def latest_end(precedence: Precedence, duration: Int64, lag: Int64, due: Int64 | int) -> Int64:
    """int64[n]: the latest end of every action with which each ends when it is due, int64[n] or one time for all, or before. Other
    arguments as in `longest_path`.
    """
    latest = np.empty(len(duration), dtype=np.int64)
    latest[:] = due
    kernel(_backward, len(duration))(precedence.order, precedence.first, precedence.pred, duration, lag, latest)
    return latest


def binding_edge(precedence: Precedence, actions: Int64, start: Int64, end: Int64, lag: Int64) -> Int64:
    """int64[len(actions)]: the edge that determines the start of each action, -1 for one that starts at 0 unbound.

    Ties: another device before the own one, data before order, then the smaller stage, micro-batch, part and index.
    """
    schedule = precedence.schedule
    run = kernel(_binding, len(actions))
    return run(
        actions,
        precedence.first,
        precedence.pred,
        precedence.kind,
        precedence.crosses,
        start,
        end,
        lag,
        schedule.stage,
        schedule.microbatch,
        schedule.part,
    )


def _forward(order: Int32, first: Int64, pred: Int32, duration: Int64, lag: Int64, ready: Int64) -> Int64:
    """Kernel of `longest_path`. Source: the critical path method's forward pass."""
    end = np.zeros(len(order), dtype=np.int64)
    for action in order:
        start = ready[action]
        for edge in range(first[action], first[action + 1]):
            arrival = end[pred[edge]] + lag[edge]
            if arrival > start:
                start = arrival
        end[action] = start + duration[action]
    return end - duration


def _backward(order: Int32, first: Int64, pred: Int32, duration: Int64, lag: Int64, latest: Int64) -> None:
    """Kernel of `latest_end`: lowers `latest`. Source: the critical path method's backward pass."""
    for at in range(len(order) - 1, -1, -1):
        action = order[at]
        start = latest[action] - duration[action]
        for edge in range(first[action], first[action + 1]):
            due = start - lag[edge]
            if due < latest[pred[edge]]:
                latest[pred[edge]] = due


def _binding(
    actions: Int64,
    first: Int64,
    pred: Int32,
    kind: Int8,
    crosses: Bool,
    start: Int64,
    end: Int64,
    lag: Int64,
    stage: Int32,
    microbatch: Int32,
    part: Int32,
) -> Int64:
    """Kernel of `binding_edge`."""
    binding = np.full(len(actions), -1, dtype=np.int64)
    for at in range(len(actions)):
        action = actions[at]
        best = -1
        for edge in range(first[action], first[action + 1]):
            p = pred[edge]
            if end[p] + lag[edge] != start[action]:
                continue
            if best < 0:
                best = edge
                continue
            b = pred[best]
            if crosses[edge] != crosses[best]:
                better = crosses[edge]
            elif kind[edge] != kind[best]:
                better = kind[edge] < kind[best]
            elif stage[p] != stage[b]:
                better = stage[p] < stage[b]
            elif microbatch[p] != microbatch[b]:
                better = microbatch[p] < microbatch[b]
            elif part[p] != part[b]:
                better = part[p] < part[b]
            else:
                better = p < b
            if better:
                best = edge
        binding[at] = best
    return binding
