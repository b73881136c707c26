"""A count of a schedule's compute actions by task, and the micro-batches and parts that a pipe has. Used by `validate`."""

from __future__ import annotations

from dataclasses import dataclass
from enum import IntEnum
from typing import Final

import numpy as np

from pipefill_opt.schedule.actions import Kind
from pipefill_opt.schedule.schedule import Int64, Schedule


class Task(IntEnum):
    """What has to be done once for each stage, micro-batch and part. A full backward does two tasks."""

    FORWARD = 0
    INPUT_GRADIENT = 1
    WEIGHT_GRADIENT = 2
    RECOMPUTE = 3


TASKS: Final = {
    Task.FORWARD: (Kind.F,),
    Task.INPUT_GRADIENT: (Kind.B, Kind.I),
    Task.WEIGHT_GRADIENT: (Kind.B, Kind.W),
    Task.RECOMPUTE: (Kind.R,),
}


@dataclass(frozen=True, slots=True, eq=False)
class Census:
    """e entries, one for each task of each action, sorted by (group, micro-batch, part), then by place in the schedule.

    A group is a stage and a task: group = 4 x stage + task. index: int64[e], the action. group: int64[e].
    microbatches, parts: int64[stages], how many the stage's pipe has by the majority of its groups; parts 0 = not cut.
    """

    index: Int64
    group: Int64
    microbatches: Int64
    parts: Int64


def take_census(schedule: Schedule) -> Census:
    """Count. Kinds and stages must be known ones."""
    pieces = [np.flatnonzero(np.isin(schedule.kind, kinds)) for kinds in TASKS.values()]
    index = np.concatenate(pieces)
    task = np.repeat(np.arange(len(TASKS)), [len(piece) for piece in pieces])
    group = len(TASKS) * schedule.stage[index].astype(np.int64) + task
    microbatch, part = schedule.microbatch[index], schedule.part[index]
    order = np.lexsort((microbatch, group) if part.max(initial=-1) < 0 else (part, microbatch, group))
    index, group = index[order], group[order]
    start = np.searchsorted(group, np.arange(len(TASKS) * schedule.stages + 1))
    counts = (_largest(values[order] + np.int64(1), start, schedule.stages) for values in (microbatch, part))
    return Census(index, group, *(_by_majority(count, schedule) for count in counts))


def _largest(values: Int64, start: Int64, stages: int) -> Int64:
    """int64[stages, tasks]: the largest value of each group, -1 for an empty one."""
    largest = np.full(len(start) - 1, -1, dtype=np.int64)
    full = np.flatnonzero(np.diff(start))
    if len(full):
        largest[full] = np.maximum.reduceat(values, start[full])
    return largest.reshape(stages, len(TASKS))


def _by_majority(largest: Int64, schedule: Schedule) -> Int64:
    """int64[stages]: the count that most groups of a pipe agree on; the larger one where two are as frequent."""
    result = np.zeros(schedule.stages, dtype=np.int64)
    for pipe in schedule.pipes:
        groups = largest[list(pipe), : Task.RECOMPUTE]
        counts, votes = np.unique(groups[groups >= 0], return_counts=True)
        if len(counts):
            result[list(pipe)] = counts[votes == votes.max()].max()
    return result
