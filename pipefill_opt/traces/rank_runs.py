"""From the traces of all ranks to the runs of one pipeline: labels or links, host or device."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from itertools import pairwise

from pipefill_opt.errors import InputError
from pipefill_opt.traces.device_runs import device_runs
from pipefill_opt.traces.flow_links import linked_labels, unmarked_steps
from pipefill_opt.traces.host_runs import host_runs, waits
from pipefill_opt.traces.labels import Label, gpipe_labels, named_labels, step_windows
from pipefill_opt.traces.measured import Interval, RankRuns, by_rank, members, producer, step_at
from pipefill_opt.traces.trace_events import Op, TraceEvents, Work


def rank_runs(traces: Sequence[TraceEvents], prefix: str | None = None) -> tuple[RankRuns, ...]:
    """The runs of every rank, in order of rank. `prefix`: of the labels, see `named_labels`.

    Raises InputError for a rank that comes twice or is missing, and where a rank has no runs.
    """
    ordered = by_rank(traces)
    _refuse_mixed(ordered)
    windows = [step_windows(events.annotations) for events in ordered]
    labels = [named_labels(events, prefix) for events in ordered]
    if not any(labels):
        labels = [gpipe_labels(events, stage) for stage, events in enumerate(ordered)]
        if not any(labels):
            both = zip(ordered, windows, strict=True)
            labels = [linked_labels(events, i, list(marked.values())) for i, (events, marked) in enumerate(both)]
            if not any(windows):
                labels = unmarked_steps(labels)
        if any(labels):
            _refuse_holes(ordered)
    ranks = tuple(_runs(*of_rank) for of_rank in zip(ordered, labels, windows, strict=True))
    _refuse_gaps(ordered, ranks, windows)
    return ranks


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
        capacity=events.capacity,
        reserved=events.reserved,
    )


def _messages_on_device(events: TraceEvents) -> tuple[Interval, ...]:
    device = events.device
    kept = device.kind == Work.COMMUNICATION
    return tuple(zip(device.start[kept].tolist(), device.end[kept].tolist(), strict=True))


def _refuse_mixed(traces: Sequence[TraceEvents]) -> None:
    worlds = {events.world for events in traces if events.world}
    if len(worlds) > 1:
        raise InputError(
            "expected traces of one run, and these tell of different numbers of ranks",
            value=" and ".join(map(str, sorted(worlds))),
        )


def _refuse_holes(traces: Sequence[TraceEvents]) -> None:
    """InputError where the ranks are none of one pipeline: these are equally far apart, and as far divides their number.

    Only for labels without stages, where a rank that is missing between others would go unseen.
    """
    ranks, world = [events.rank for events in traces], traces[0].world
    strides = {second - first for first, second in pairwise(ranks)}
    if world and (len(strides) > 1 or world % len(ranks) or any(world % stride for stride in strides)):
        raise InputError(
            f"expected all ranks of the pipeline, and of {world} there are only these (their labels name no stages)",
            value=f"ranks {', '.join(map(str, ranks))}",
        )


def _refuse_gaps(
    traces: Sequence[TraceEvents], ranks: Sequence[RankRuns], windows: Sequence[Mapping[int, Interval]]
) -> None:
    """InputError where a rank receives more in its steps than the ranks given can send: one is missing."""
    last = max(action.stage for rank in ranks for run in rank.runs for action in members(run.action))
    for events, rank, marked in zip(traces, ranks, windows, strict=True):
        runs = [run for run in rank.runs if run.step is not None or not marked]
        own = {action for run in runs for action in members(run.action)}
        made = [producer(action, last) for run in runs for action in members(run.action)]
        expected = sum(action is not None and action not in own for action in made)
        times = events.ops.start[events.ops.kind == Op.RECV].tolist()
        received = sum(not marked or step_at(time, marked) is not None for time in times)
        if received > expected and len(traces) != events.world:
            raise InputError(
                "expected all ranks of the pipeline, and this one receives messages from none of those given",
                value=f"{len(traces)} of {events.world or 'unknown'} ranks, {received} messages for {expected} runs",
                file=events.source,
            )
