"""From the traces of all ranks to the runs of one pipeline: labels or links, host or device."""

from __future__ import annotations

from collections.abc import Sequence

from pipefill_opt.errors import InputError
from pipefill_opt.traces.device_runs import device_runs
from pipefill_opt.traces.flow_links import linked_labels
from pipefill_opt.traces.host_runs import host_runs, waits
from pipefill_opt.traces.labels import Label, find_labels, step_windows
from pipefill_opt.traces.measured import Interval, RankRuns
from pipefill_opt.traces.trace_events import TraceEvents, Work


def rank_runs(traces: Sequence[TraceEvents], prefix: str | None = None) -> tuple[RankRuns, ...]:
    """The runs of every rank, in order of rank. `prefix`: of the labels, see `find_labels`.

    Raises InputError for a rank that comes twice or is missing, and where a rank has no runs.
    """
    ordered = _all_ranks(traces)
    windows = [step_windows(events.annotations) for events in ordered]
    labels = [find_labels(events, position, prefix) for position, events in enumerate(ordered)]
    if not any(labels):
        labels = [
            linked_labels(events, position, list(marked.values()))
            for position, (events, marked) in enumerate(zip(ordered, windows, strict=True))
        ]
    return tuple(_runs(*of_rank) for of_rank in zip(ordered, labels, windows, strict=True))


def _runs(events: TraceEvents, labels: Sequence[Label], windows: dict[int, Interval]) -> RankRuns:
    if not labels:
        raise InputError(
            "expected labels of actions (PP:0F3, Forward 3, or one's own prefix), or autograd's links between forward"
            " and backward; `pipefill idle` tells how long streams are busy and idle without them",
            value=f"rank {events.rank} without",
            file=events.source,
        )
    on_device = len(events.device.start) > 0
    runs = (device_runs if on_device else host_runs)(labels, events, windows)
    if not runs:
        raise InputError("expected kernels that labels have launched", value="none", file=events.source)
    return RankRuns(
        rank=events.rank,
        source=events.source,
        runs=runs,
        windows={} if on_device else windows,
        communication=_messages_on_device(events) if on_device else waits(events),
    )


def _messages_on_device(events: TraceEvents) -> tuple[Interval, ...]:
    device = events.device
    kept = device.kind == Work.COMMUNICATION
    return tuple(zip(device.start[kept].tolist(), device.end[kept].tolist(), strict=True))


def _all_ranks(traces: Sequence[TraceEvents]) -> list[TraceEvents]:
    """In order of rank, each rank once, and as many as the traces say there are."""
    seen: dict[int, str] = {}
    for events in traces:
        if events.rank in seen:
            expected = f"expected each rank once, and {seen[events.rank]} is of this rank too"
            raise InputError(expected, value=f"rank {events.rank}", file=events.source)
        seen[events.rank] = events.source
    worlds = {events.world for events in traces if events.world}
    if len(worlds) > 1:
        raise InputError(
            "expected traces of one run, and these tell of different numbers of ranks",
            value=" and ".join(map(str, sorted(worlds))),
        )
    return sorted(traces, key=lambda events: events.rank)
