"""Which ranges of the host are runs of actions: by their names, in one of three styles.

- `PP:0F3` (torch's schedule runtime, with SEND and RECV as labels too), or one's own prefix before an action;
- `Forward 3` and `Backward 3` (torch's GPipe): the stage is the position of the rank in the pipeline;
- none: `flow_links` finds the runs of an unlabelled pipeline.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import Final

from pipefill_opt.errors import InputError, ScheduleError
from pipefill_opt.schedule.actions import Action, Kind, parse_action
from pipefill_opt.schedule.messages import MESSAGES
from pipefill_opt.traces.measured import STEP, Entry, Interval
from pipefill_opt.traces.trace_events import Annotation, TraceEvents

RUNTIME: Final = "PP:"
STEP_MARK: Final = re.compile(r"(?:step|iter|iteration|ProfilerStep)[ #_:]{0,2}([0-9]{1,9})", re.IGNORECASE)
OPTIMIZER: Final = re.compile(r"Optimizer\.step#.*")
"""torch's own label around an optimizer step."""
_PREFIXED: Final = re.compile(r"([^:]*:)(.*)")
_GPIPE: Final = re.compile(r"(Forward|Backward) ([0-9]{1,9})")


@dataclass(frozen=True, slots=True)
class Label:
    """A range of the host that launches an action, waits included. ns.

    tight: put round the stage's call by the program's author; torch's own labels hold bookkeeping besides.
    """

    action: Entry
    start: int
    end: int
    tight: bool = False

    @property
    def message(self) -> bool:
        """Whether it is a SEND or RECV."""
        return isinstance(self.action, Action) and self.action.kind in MESSAGES


def named_labels(events: TraceEvents, prefix: str | None = None) -> tuple[Label, ...]:
    """The labels of one rank that name an action, in order of start; none where it has none.

    prefix: the one to look for; by default `PP:`, else a prefix that comes before actions only.
    Raises InputError where `prefix` is given and no action has it.
    """
    if prefix is None:
        return _with_prefix(events.annotations, RUNTIME) or _with_prefix(
            events.annotations, _own_prefix(events), tight=True
        )
    labels = _with_prefix(events.annotations, prefix, tight=prefix != RUNTIME)
    if not labels:
        raise InputError("expected labels of actions with this prefix", value=prefix, file=events.source)
    return labels


def gpipe_labels(events: TraceEvents, stage: int) -> tuple[Label, ...]:
    """The labels `Forward 3` and `Backward 3` of a rank that runs `stage`, in order of start."""
    return _labels(events.annotations, lambda name: _gpipe(name, stage))


def step_windows(annotations: Sequence[Annotation]) -> dict[int, Interval]:
    """The steps that the trace marks (`step 3`, `ProfilerStep#3`), by number; of equal ones the longest."""
    windows: dict[int, Interval] = {}
    for annotation in annotations:
        named = STEP_MARK.fullmatch(annotation.name)
        if named:
            number, window = int(named.group(1)), (annotation.start, annotation.end)
            before = windows.get(number, (0, 0))
            if window[1] - window[0] > before[1] - before[0]:
                windows[number] = window
    return dict(sorted(windows.items()))


def _with_prefix(annotations: Sequence[Annotation], prefix: str | None, *, tight: bool = False) -> tuple[Label, ...]:
    if prefix is None:
        return ()
    found = _labels(annotations, lambda name: _action(name[len(prefix) :]) if name.startswith(prefix) else None)
    return tuple(replace(label, tight=tight) for label in found)


def _labels(annotations: Sequence[Annotation], read: Callable[[str], Entry | None]) -> tuple[Label, ...]:
    """The outermost ranges whose names `read` understands, and torch's optimizer steps where there are any."""
    found: list[Label] = []
    last: dict[int, int] = {}
    optimizers: list[Label] = []
    for annotation in annotations:
        if OPTIMIZER.fullmatch(annotation.name):
            optimizers.append(Label(STEP, annotation.start, annotation.end))
            continue
        action = read(annotation.name)
        if action is not None and annotation.start >= last.get(annotation.thread, annotation.start):
            found.append(Label(action, annotation.start, annotation.end))
            last[annotation.thread] = annotation.end
    return tuple(sorted(found + optimizers, key=lambda label: label.start)) if found else ()


def no_actions(traces: Sequence[TraceEvents], prefix: str | None = None) -> tuple[str, ...]:
    """For each rank with ranges that begin as actions do but are none (`PP:0FULL_BACKWARD0`): how many, in a sentence."""
    start = RUNTIME if prefix is None else prefix
    notes = []
    for events in traces:
        names = [a.name for a in events.annotations if start and a.name.startswith(start)]
        strange = [name for name in names if _action(name[len(start) :]) is None]
        if strange:
            notes.append(
                f"{events.source}: {len(strange)} ranges such as {strange[0]!r} are no actions and were ignored"
            )
    return tuple(notes)


def _own_prefix(events: TraceEvents) -> str | None:
    """A prefix after which only actions come, the one with most of them."""
    count: dict[str, int] = {}
    for annotation in events.annotations:
        parts = _PREFIXED.fullmatch(annotation.name)
        if parts:
            prefix, text = parts.groups()
            count[prefix] = count.get(prefix, 0) + 1 if _action(text) is not None and count.get(prefix, 1) else 0
    return max((prefix for prefix in count if count[prefix]), key=lambda prefix: count[prefix], default=None)


def _action(text: str) -> Entry | None:
    try:
        return parse_action(text)
    except ScheduleError:
        return None


def _gpipe(name: str, stage: int) -> Entry | None:
    named = _GPIPE.fullmatch(name)
    if not named:
        return None
    return Action(Kind.F if named.group(1) == "Forward" else Kind.B, stage, int(named.group(2)))
