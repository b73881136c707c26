"""Times of all actions, whatever the communication and the boundary: `settle(main)` -> `Times`."""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction

import numpy as np

from pipefill_opt.errors import InputError
from pipefill_opt.schedule.precedence import Precedence, precedence
from pipefill_opt.schedule.schedule import Bool, Int64, Schedule
from pipefill_opt.timeline.flow import steady
from pipefill_opt.timeline.links import latest_end_by_links, link_run, links_of, settled_lag
from pipefill_opt.timeline.longest_path import latest_end, longest_path
from pipefill_opt.workload.costs import Boundary, MainJob, Mode
from pipefill_opt.workload.weights import action_durations, as_timed, edge_lags, is_block


@dataclass(frozen=True, slots=True, eq=False)
class Times:
    """n actions and e edges of `waits`; all times in units of 1 / scale tick.

    main: the job as timed (`as_timed`). lag: int64[e], with which plain precedence gives these starts; a message that had to queue for
    its link has the wait in it, and true in queued: bool[e]. slack: int64[n], total float. span: the largest (last end - first start)
    of a device; makespan and span are those of one iteration by itself, all devices ready at 0.
    """

    main: MainJob
    waits: Precedence
    scale: int
    duration: Int64
    lag: Int64
    queued: Bool
    start: Int64
    end: Int64
    slack: Int64
    period: int
    makespan: int
    span: int


def settle(main: MainJob) -> Times:
    """The times of a main job. Raises what `timeline` raises, without the file."""
    main = as_timed(main)
    waits, duration, lag = _weighted(main)
    if main.boundary is Boundary.FLOW:
        _refuse_links(main)
        return _flow(main, waits, duration, lag)
    if main.communication.mode is Mode.LINK:
        return _by_links(main, waits, duration, lag)
    start = longest_path(waits, duration, lag)
    end = start + duration
    makespan = int(end.max(initial=0))
    slack = latest_end(waits, duration, lag, makespan) - end
    span = _span(main.schedule, start, end)
    return Times(main, waits, 1, duration, lag, _none(lag), start, end, slack, makespan, makespan, span)


def flow_period(main: MainJob) -> Fraction | None:
    """The exact steady period of a main job without a barrier, in ticks, whatever its boundary; None in mode `link`, which has none."""
    main = as_timed(main)
    if main.communication.mode is Mode.LINK:
        return None
    found = steady(*_weighted(main))
    return Fraction(found.period, found.scale)


def earliest_starts(main: MainJob, waits: Precedence, duration: Int64, lag: Int64, ready: Int64, *, runs: int) -> Int64:
    """int64[n]: starts of one iteration of a job as timed, in its mode of communication; `waits` may have more edges than it has.

    Other arguments as in `longest_path`.
    """
    if main.communication.mode is Mode.LINK:
        run = link_run(links_of(waits), duration, lag, main.communication.occupancy, ready=ready, runs=runs)
        return run.start
    return longest_path(waits, duration, lag, ready=ready, runs=runs)


def _weighted(main: MainJob) -> tuple[Precedence, Int64, Int64]:
    duration = action_durations(main)
    waits = precedence(main.schedule, block=is_block(main), global_norm=main.global_norm)
    return waits, duration, edge_lags(main, waits, duration)


def _by_links(main: MainJob, waits: Precedence, duration: Int64, lag: Int64) -> Times:
    links, occupancy = links_of(waits), main.communication.occupancy
    run = link_run(links, duration, lag, occupancy)
    end = run.start + duration
    makespan = int(end.max(initial=0))
    slack = latest_end_by_links(links, run, duration, lag, occupancy, makespan) - end
    settled, queued = settled_lag(links, run, end, lag)
    span = _span(main.schedule, run.start, end)
    return Times(main, waits, 1, duration, settled, queued, run.start, end, slack, makespan, makespan, span)


def _flow(main: MainJob, waits: Precedence, duration: Int64, lag: Int64) -> Times:
    """Slack: how long an action may wait, once, so that the next iteration begins everywhere as early as before."""
    alone = longest_path(waits, duration, lag)
    makespan = int((alone + duration).max(initial=0))
    span = _span(main.schedule, alone, alone + duration)
    found = steady(waits, duration, lag)
    scale, period, start = found.scale, found.period, found.start
    duration, lag = duration * scale, lag * scale
    end = start + duration
    rows = main.schedule.row_start
    lengths = np.diff(rows)
    due = np.repeat(start[rows[:-1][lengths > 0]], lengths[lengths > 0]) + period
    slack = latest_end(waits, duration, lag, due) - end
    return Times(
        main, waits, scale, duration, lag, _none(lag), start, end, slack, period, makespan * scale, span * scale
    )


def _refuse_links(main: MainJob) -> None:
    if main.communication.mode is Mode.LINK:
        raise InputError(
            "expected barrier with communication mode link (queues on links have no exact period)",
            value=main.boundary.value,
            where="boundary",
        )


def _none(lag: Int64) -> Bool:
    return np.zeros(len(lag), dtype=np.bool_)


def _span(schedule: Schedule, start: Int64, end: Int64) -> int:
    """The largest (last end - first start) of a device."""
    rows = np.flatnonzero(np.diff(schedule.row_start) > 0)
    spans = end[schedule.row_start[rows + 1] - 1] - start[schedule.row_start[rows]]
    return int(spans.max(initial=0))
