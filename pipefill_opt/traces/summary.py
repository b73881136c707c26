"""What complete steps say: durations of actions, lags of messages, the time between, idle time."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from fractions import Fraction

from pipefill_opt.schedule.actions import COMPUTE, Action
from pipefill_opt.traces.measured import Entry, Interval, Measured, Run, Step, covered, members, producer


@dataclass(frozen=True, slots=True)
class StepTimes:
    """ns of one step. durations: by device and entry. after: what comes behind a run that is neither a run nor waiting for a message.

    lags: from a producer's end to the start of the consumer that waited for it. head: from the step's start to the first run, on
    devices that need no message for it (else 0); tail: from the last run of all devices to the step's end.
    """

    durations: dict[tuple[int, Entry], int]
    after: dict[tuple[int, Entry], int]
    lags: tuple[int, ...]
    head: tuple[int, ...]
    tail: tuple[int, ...]


def is_compute(entry: Entry) -> bool:
    """Whether an entry is work on micro-batches: F, B, I, W, R or a pair of them."""
    return all(action.kind in COMPUTE for action in members(entry))


def step_times(step: Step) -> StepTimes:
    """The times of a step, each run compared with the one before it on its device and with those whose output it needs."""
    place = {
        action: (device, run) for device, row in enumerate(step.rows) for run in row for action in members(run.action)
    }
    last = max(action.stage for action in place)
    after: dict[tuple[int, Entry], int] = {}
    lags, head, tail = [], [], []
    latest = max(run.end for row in step.rows for run in row)
    for device, (row, window) in enumerate(zip(step.rows, step.windows, strict=True)):
        head.append(0 if _arrivals(row[0], device, place, last) else max(0, row[0].start - window[0]))
        ready = window[0]
        before: Run | None = None
        for run in row:
            arrival = max(_arrivals(run, device, place, last), default=None)
            if arrival is not None and arrival > ready:
                lags.append(max(0, run.start - arrival))
            elif before is not None:
                after[device, before.action] = max(0, run.start - ready)
            before, ready = run, max(ready, run.end)
        tail.append(max(0, window[1] - latest))
    durations = {(device, run.action): run.end - run.start for device, row in enumerate(step.rows) for run in row}
    return StepTimes(durations, after, tuple(lags), tuple(head), tuple(tail))


def _arrivals(run: Run, device: int, place: dict[Action, tuple[int, Run]], last: int) -> list[int]:
    """Ends of the runs on other devices whose output a run needs."""
    made = [producer(action, last) for action in members(run.action)]
    sources = [place[action] for action in made if action is not None and action in place]
    return [source.end for sender, source in sources if sender != device]


def samples(measured: Measured) -> dict[tuple[int, Entry], tuple[int, ...]]:
    """The durations of every entry of every device, one for each step, in the order of the rows."""
    times = [step_times(step).durations for step in measured.steps]
    return {key: tuple(of_step[key] for of_step in times) for key in times[0]}


def median(values: Sequence[int]) -> int:
    """The median, that of an even number rounded up; whole ns."""
    ordered = sorted(values)
    middle = len(ordered) // 2
    return ordered[middle] if len(ordered) % 2 else -(-(ordered[middle - 1] + ordered[middle]) // 2)


def idle_by_device(step: Step) -> tuple[int, ...]:
    """Time of the step on each device without work on micro-batches; reductions and optimizer steps are not counted as such."""
    return tuple(
        end - start - covered(_spans(row, compute=True))
        for row, (start, end) in zip(step.rows, step.windows, strict=True)
    )


def sync_by_device(step: Step) -> tuple[int, ...]:
    """The part of the idle time in which a device reduces gradients, steps its optimizer, or gathers or frees weights."""
    return tuple(covered(_spans(row)) - covered(_spans(row, compute=True)) for row in step.rows)


def _spans(row: Sequence[Run], *, compute: bool = False) -> Iterator[Interval]:
    """The runs of a row as intervals; with `compute`, only work on micro-batches."""
    return ((run.start, run.end) for run in row if not compute or is_compute(run.action))


def idle_share(step: Step) -> Fraction:
    """Idle time of all devices as a share of the step."""
    return Fraction(sum(idle_by_device(step)), sum(end - start for start, end in step.windows))


def spread(values: Sequence[int]) -> int:
    """Largest minus smallest."""
    return max(values) - min(values)
