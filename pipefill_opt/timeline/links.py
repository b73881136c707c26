"""`link` communication: each directed link sends one message at a time, first ready first. An exact event simulation.

A message is an edge from a forward, or a backward, to the one that needs its output on another device. It is ready when the producer
ends, keeps the link busy for `occupancy` ticks, and is there as many ticks after it was sent as its edge has lag. Of messages that are
ready at the same time the one to the smaller receiving stage goes first, then the smaller micro-batch, part, and forward before
backward.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Final

import numpy as np

from pipefill_opt.kernels import kernel
from pipefill_opt.schedule.actions import Kind
from pipefill_opt.schedule.precedence import Edge, Precedence
from pipefill_opt.schedule.schedule import Bool, Int32, Int64
from pipefill_opt.timeline.longest_path import latest_end

_NEVER: Final = 2**62


@dataclass(frozen=True, slots=True, eq=False)
class Links:
    """The m messages of a precedence with e edges, by link, and the edges by predecessor, as the simulation needs them.

    by_pred: int64[e], edges in the order of their predecessors; next: int64[n + 1], where those of each action begin in it.
    message: int64[m], edges that are messages, by link and then in the order of equally ready ones. number: int64[e], the place
    of an edge in `message`, -1 for others. first: int64[links + 1], where the messages of each link begin in `message`.
    """

    precedence: Precedence
    by_pred: Int64
    next: Int64
    message: Int64
    number: Int64
    first: Int64


@dataclass(frozen=True, slots=True, eq=False)
class LinkRun:
    """start: int64[n], of the actions. sent: int64[m], when each message of `Links.message` goes out. queue: int64[m], places in
    `message`, those of a link in the order of sending. order: int64[n + m], a topological order of actions and, from n on, messages.
    """

    start: Int64
    sent: Int64
    queue: Int64
    order: Int64


def links_of(precedence: Precedence) -> Links:
    """The messages of a precedence without SEND and RECV actions."""
    schedule, pred = precedence.schedule, precedence.pred
    passes = np.isin(schedule.kind, (Kind.F, Kind.B, Kind.I))
    message = np.flatnonzero(precedence.crosses & (precedence.kind == Edge.DATA) & passes[pred])
    sender = pred[message]
    device = schedule.device().astype(np.int64)
    link = device[sender] * schedule.devices + device[precedence.successor()[message]]
    columns = (schedule.kind, schedule.part, schedule.microbatch)
    order = np.lexsort((*(column[sender] for column in columns), _receiving_stage(precedence, sender), link))
    message = message[order]
    number = np.full(len(pred), -1, dtype=np.int64)
    number[message] = np.arange(len(message))
    return Links(
        precedence=precedence,
        by_pred=np.argsort(pred, kind="stable"),
        next=_borders(np.bincount(pred, minlength=schedule.size)),
        message=message,
        number=number,
        first=_borders(np.unique(link, return_counts=True)[1]),
    )


def link_run(
    links: Links, duration: Int64, lag: Int64, occupancy: int, *, ready: Int64 | None = None, runs: int = 1
) -> LinkRun:
    """Earliest starts with links. duration, lag, ready, runs as in `longest_path`; the lag of a message counts from its sending."""
    waits, by_pred = links.precedence, links.by_pred
    n, m, count = len(duration), len(links.message), len(links.first) - 1
    edge_of = np.empty(len(by_pred), dtype=np.int64)
    edge_of[by_pred] = np.arange(len(by_pred))
    start = np.zeros(n, dtype=np.int64) if ready is None else ready.copy()
    sent, queue, order = np.empty(m, np.int64), np.empty(m, np.int64), np.empty(n + m, np.int64)
    kernel(_simulate, n * runs)(
        waits.schedule.device(),
        links.next,
        waits.successor()[by_pred],
        lag[by_pred],
        links.number[by_pred],
        edge_of[links.message],
        np.repeat(np.arange(count), np.diff(links.first)),
        links.first[:-1],
        np.diff(waits.first),
        np.full(waits.schedule.devices + count, _NEVER),
        duration,
        occupancy,
        start,
        sent,
        queue,
        order,
    )
    return LinkRun(start, sent, queue, order)


def settled_lag(links: Links, run: LinkRun, end: Int64, lag: Int64) -> tuple[Int64, Bool]:
    """int64[e]: the lags with which plain precedence gives the same times. bool[e]: true on messages that had to queue."""
    settled, queued = lag.copy(), np.zeros(len(lag), dtype=np.bool_)
    delay = run.sent - end[links.precedence.pred[links.message]]
    settled[links.message] += delay
    queued[links.message] = delay > 0
    return settled, queued


def latest_end_by_links(links: Links, run: LinkRun, duration: Int64, lag: Int64, occupancy: int, due: int) -> Int64:
    """int64[n]: the latest end of every action with which none ends after `due`, the messages of each link in the order in which
    they were sent.
    """
    waits, n, m = links.precedence, len(duration), len(links.message)
    before = np.arange(m)  # itself, for the first message of a link
    behind = np.setdiff1d(np.arange(m), links.first)
    before[run.queue[behind]] = run.queue[behind - 1]
    producer = waits.pred[links.message]
    pred, after_sending = waits.pred.astype(np.int64), lag.copy()
    pred[links.message] = n + np.arange(m)
    after_sending[links.message] -= occupancy
    second = np.where(before == np.arange(m), producer, n + before)
    joined = replace(
        waits,
        first=np.append(waits.first, waits.first[-1] + 2 * np.arange(1, m + 1)),
        pred=np.append(pred, np.stack([producer, second], axis=1).ravel()).astype(np.int32),
        order=run.order.astype(np.int32),
    )
    lengths = np.append(duration, np.full(m, occupancy, dtype=np.int64))
    return latest_end(joined, lengths, np.append(after_sending, np.zeros(2 * m, dtype=np.int64)), due)[:n]


def _borders(counts: Int64) -> Int64:
    return np.append(0, np.cumsum(counts)).astype(np.int64)


def _receiving_stage(precedence: Precedence, sender: Int32) -> Int64:
    """int64[len(sender)]: the stage that needs the output of an F, or of a B or I, and that is not the last of its way."""
    schedule = precedence.schedule
    before, behind = (np.full(schedule.stages, -1, dtype=np.int64) for _ in range(2))
    for pipe in schedule.pipes:
        behind[list(pipe[:-1])] = pipe[1:]
        before[list(pipe[1:])] = pipe[:-1]
    stage = schedule.stage[sender]
    return np.where(schedule.kind[sender] == Kind.F, behind[stage], before[stage])


def _simulate(
    device: Int32,
    first: Int64,
    target: Int32,
    lag: Int64,
    number: Int64,
    edge_of: Int64,
    link: Int64,
    begin: Int64,
    waits: Int64,
    due: Int64,
    duration: Int64,
    occupancy: int,
    start: Int64,
    sent: Int64,
    queue: Int64,
    order: Int64,
) -> None:
    """Kernel: events in order of time; at one time the ends of actions come before the links choose a message.

    target, lag, number: of the edges by predecessor, those of action a from first[a] on; number is that of a message, -1 for other
    edges. edge_of, link: the edge and the link of each message. begin: int64[links], where those of each link begin. waits: int64[n],
    edges into each action. due: int64[devices + links], when the running action of a device ends and when a link sends its next
    message; `_NEVER` for all at first. Changes waits, due and start; fills sent, queue and order.
    """
    devices = len(due) - len(begin)
    running = np.zeros(devices, dtype=np.int64)
    head, tail, free = begin.copy(), begin.copy(), np.zeros(len(begin), dtype=np.int64)
    for action in range(len(duration)):
        if waits[action] == 0:
            running[device[action]] = action
            due[device[action]] = start[action] + duration[action]
    for count in range(len(order)):
        slot = np.argmin(due)
        now = due[slot]
        due[slot] = _NEVER
        sends = slot >= devices
        if sends:
            at = slot - devices
            message = queue[head[at]]
            head[at] += 1
            free[at] = now + occupancy
            if head[at] < tail[at]:
                due[slot] = free[at]
            sent[message] = now
            order[count] = len(duration) + message
            low, high = edge_of[message], edge_of[message] + 1
        else:
            action = running[slot]
            order[count] = action
            low, high = first[action], first[action + 1]
        for edge in range(low, high):
            if (
                number[edge] >= 0 and not sends
            ):  # a message gets in line; until it is sent, `sent` holds when it was ready
                message, at = number[edge], link[number[edge]]
                place = tail[at]
                while place > head[at] and queue[place - 1] > message and sent[queue[place - 1]] == now:
                    queue[place] = queue[place - 1]
                    place -= 1
                queue[place] = message
                sent[message] = now
                tail[at] += 1
                if due[devices + at] == _NEVER:
                    due[devices + at] = max(now, free[at])
                continue
            after = target[edge]
            start[after] = max(start[after], now + lag[edge])
            waits[after] -= 1
            if waits[after] == 0:
                running[device[after]] = after
                due[device[after]] = start[after] + duration[after]
