"""The precedence of a main job as a `networkx.DiGraph`, for people who want to look at it with their own tools."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

from pipefill_opt.errors import InputError
from pipefill_opt.schedule.precedence import Edge
from pipefill_opt.timeline.times import settle
from pipefill_opt.workload.costs import Boundary, MainJob

if TYPE_CHECKING:
    import networkx


def to_networkx(main: MainJob) -> networkx.DiGraph:
    """The graph of a valid schedule. Nodes 0 to n - 1 are the actions, by index; node -1 stands for the end of the iteration.

    Node attributes: action (text), device, duration (ticks); node -1 has only duration 0. Edge attributes: kind (`data`, `order`,
    `block`, `message` or `end`), lag (ticks), weight (duration of the earlier action + lag), so that
    `networkx.dag_longest_path_length(graph)` is the makespan. Where two edges join the same two actions, the one with the larger lag is
    kept, and of equal ones `data`. The job is as timed (`Timeline.main`); in mode `link` the lag of a message has its wait for the
    link in it; the boundary does not count. Raises what `timeline` raises.
    """
    import networkx

    try:
        times = settle(replace(main, boundary=Boundary.BARRIER))
    except InputError as error:
        raise error.located(file=main.source) from None
    schedule, waits = times.main.schedule, times.waits
    graph = networkx.DiGraph()
    ticks = times.duration.tolist()
    device = schedule.device().tolist()
    for index in range(schedule.size):
        graph.add_node(index, action=str(schedule.action(index)), device=device[index], duration=ticks[index])
        graph.add_edge(index, -1, kind="end", lag=0, weight=ticks[index])
    graph.add_node(-1, duration=0)
    names = [edge.name.lower() for edge in Edge]
    columns = (waits.pred, waits.successor(), waits.kind, times.lag)
    for earlier, later, kind, lag in zip(*(column.tolist() for column in columns), strict=True):
        known = graph.get_edge_data(earlier, later)
        if known is None or (lag, names[kind] == "data") > (known["lag"], known["kind"] == "data"):
            graph.add_edge(earlier, later, kind=names[kind], lag=lag, weight=ticks[earlier] + lag)
    return graph
