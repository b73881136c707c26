"""Find the runs of a pipeline without labels (torch's 1F1B): by messages and by autograd's links from forward to backward.

Operators that lead to a backward node are forward work, nodes of the autograd engine are backward work. A send or a
receive ends a run, and so do a change between forward and backward and the beginning of a step. A backward run belongs
to the forward run that its links come from. The k-th forward run of a step is micro-batch k, since messages keep their
order; the stage is the position of the rank.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Final

import numpy as np

from pipefill_opt.errors import InputError
from pipefill_opt.schedule.actions import Action, Kind
from pipefill_opt.schedule.schedule import Int64
from pipefill_opt.traces.labels import Label
from pipefill_opt.traces.measured import Interval
from pipefill_opt.traces.trace_events import Op, TraceEvents

_CUT: Final = 0
_FORWARD: Final = 1
_BACKWARD: Final = 2


@dataclass(slots=True)
class _Stretch:
    """Work between two cuts. partner: the other end of its links, of the first one."""

    kind: int
    start: int
    end: int
    partners: list[int]


def linked_labels(events: TraceEvents, position: int, windows: Sequence[Interval]) -> tuple[Label, ...]:
    """Runs of forward and backward work in the steps, as labels of stage `position`; none where there are no links.

    Raises InputError where links and runs contradict each other.
    """
    if not len(events.links):
        return ()
    stretches = _stretches(events, windows)
    forward = [stretch for stretch in stretches if stretch.kind == _FORWARD]
    found = []
    for window in windows or [(0, 2**63 - 1)]:
        own = [stretch for stretch in forward if window[0] <= stretch.start < window[1]]
        for microbatch, stretch in enumerate(own):
            found.append(_label(Kind.F, position, microbatch, stretch))
        for stretch in stretches:
            if stretch.kind == _BACKWARD and window[0] <= stretch.start < window[1]:
                found.append(_label(Kind.B, position, _origin(stretch, own, events), stretch))
    return tuple(sorted(found, key=lambda label: label.start))


def unmarked_steps(ranks: Sequence[tuple[Label, ...]]) -> list[tuple[Label, ...]]:
    """The labels of all ranks with micro-batches counted anew in every step, where none is marked.

    A step ends where the first rank has no micro-batch in flight. Where such steps are not of one length, but for the last, all is one.
    """
    sizes: list[int] = []
    live = 0
    for kind in _kinds(ranks[0]):
        if kind is Kind.F and live == 0:
            sizes.append(0)
        sizes[-1:] = [size + (kind is Kind.F) for size in sizes[-1:]]
        live += 1 if kind is Kind.F else -1
    if len(ranks) == 1 or len(sizes) < 2 or {*sizes[:-1]} != {sizes[0]} or sizes[-1] > sizes[0]:
        return list(ranks)
    return [tuple(_counted_anew(label, sizes[0]) for label in labels) for labels in ranks]


def _kinds(labels: Sequence[Label]) -> list[Kind]:
    return [label.action.kind for label in labels if isinstance(label.action, Action)]


def _counted_anew(label: Label, each: int) -> Label:
    action = label.action
    return (
        replace(label, action=action._replace(microbatch=action.microbatch % each))
        if isinstance(action, Action)
        else label
    )


def _label(kind: Kind, stage: int, microbatch: int, stretch: _Stretch) -> Label:
    return Label(Action(kind, stage, microbatch), stretch.start, stretch.end, tight=True)


def _origin(backward: _Stretch, forward: Sequence[_Stretch], events: TraceEvents) -> int:
    """The micro-batch of the forward run from which a backward run comes."""
    starts = [stretch.start for stretch in forward]
    places = {int(index) - 1 for index in np.searchsorted(starts, backward.partners, side="right")}
    if len(places) != 1 or -1 in places:
        raise InputError(
            "expected backward work whose links all come from one forward run of its step",
            value=f"{len(places)} runs" if places else "none",
            where=f"backward work at {backward.start} ns",
            file=events.source,
        )
    return places.pop()


def _stretches(events: TraceEvents, windows: Sequence[Interval]) -> list[_Stretch]:
    """Runs in order of time, each from its first linked operator to the end of the last operator before the next mark."""
    messages = events.ops.start[np.isin(events.ops.kind, (Op.SEND, Op.RECV))]
    cuts = np.concatenate([messages, np.array([time for window in windows for time in window], dtype=np.int64)])
    times = np.concatenate([cuts, events.links[:, 0], events.links[:, 1]])
    kinds = np.repeat([_CUT, _FORWARD, _BACKWARD], [len(cuts), len(events.links), len(events.links)])
    partners = np.concatenate([np.zeros(len(cuts), dtype=np.int64), events.links[:, 1], events.links[:, 0]])
    stretches: list[_Stretch] = []
    before = _CUT
    order = np.argsort(times, kind="stable")
    for time, kind, partner in zip(times[order].tolist(), kinds[order].tolist(), partners[order].tolist(), strict=True):
        if kind == _CUT:
            before = _CUT
        elif kind == before:
            stretches[-1].partners.append(partner)
        else:
            stretches.append(_Stretch(kind, time, time, [partner]))
            before = kind
    _set_ends(stretches, events, cuts)
    return stretches


def _set_ends(stretches: Sequence[_Stretch], events: TraceEvents, cuts: Int64) -> None:
    """A run ends with the last operator that begins in it, before the next run and the next cut."""
    starts = np.array([stretch.start for stretch in stretches], dtype=np.int64)
    bounds = np.sort(np.concatenate([starts, cuts]))
    ops = events.ops
    latest = np.maximum.accumulate(ops.end)
    for stretch in stretches:
        place = int(np.searchsorted(bounds, stretch.start, side="right"))
        bound = int(bounds[place]) if place < len(bounds) else 2**63 - 1
        last = int(np.searchsorted(ops.start, bound, side="left")) - 1
        if last >= 0:
            stretch.end = max(stretch.start, min(bound, int(latest[last])))
