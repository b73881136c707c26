"""Read and write the CSV orders of torch.distributed.pipelining: one row a rank, one cell a lockstep slot.

Strict where torch is lax: junk after an action and blank lines are errors. An empty cell is a slot without work; it has no
duration and is dropped. Orders may be compute only or lowered: with SEND_F, RECV_F, SEND_B, RECV_B, UNSHARD, RESHARD, REDUCE_GRAD.
"""

from __future__ import annotations

import logging
from dataclasses import replace
from typing import Final

import numpy as np

from pipefill_opt.errors import InputError, ScheduleError
from pipefill_opt.schedule.actions import Action, Kind, Pair, parse_action
from pipefill_opt.schedule.schedule import Schedule
from pipefill_opt.schedule.validate import validate

logger = logging.getLogger(__name__)

IDLE_ROW: Final = ","
"""A rank without actions: two empty slots, because torch and we read a blank line differently."""


def read_torch_csv(text: str, *, file: str = "") -> Schedule:
    """The validated schedule of a CSV. One pipe over all stages; a stage lies where most of its actions stand.

    Raises ScheduleError with file, row, column and text of what is wrong.
    """
    try:
        schedule = _placed([_read_row(rank, line) for rank, line in enumerate(_lines(text))])
        validate(schedule)
    except InputError as error:
        raise error.located(file=file) from None
    return schedule


def _lines(text: str) -> list[str]:
    """Rows without their line ends, CRLF or LF; only the last one may lack its end."""
    lines = text.split("\n")
    if not lines[-1]:
        lines.pop()
    if not lines:
        raise ScheduleError("expected one row of actions for each rank, found an empty file", code="grammar")
    return [line.removesuffix("\r") for line in lines]


def _read_row(rank: int, line: str) -> list[Action | Pair]:
    where = f"row {rank + 1} (rank {rank})"
    if not line:
        raise ScheduleError("expected a row of actions, found a blank line", code="grammar", where=where, rank=rank)
    row: list[Action | Pair] = []
    for column, cell in enumerate(line.split(","), start=1):
        if not cell:
            continue
        try:
            action = parse_action(cell)
        except ScheduleError as error:
            error.rank = rank
            raise error.located(where=f"{where}, column {column}") from None
        row.append(action)
    return row


def _placed(rows: list[list[Action | Pair]]) -> Schedule:
    """The schedule of these rows, each stage on the rank that holds most of its actions, the first of equal ones."""
    schedule = Schedule.from_rows(rows, (), name="torch-csv")
    staged = schedule.kind != Kind.STEP
    stages, held = np.unique(schedule.stage[staged], return_inverse=True)
    absent = np.flatnonzero(stages != np.arange(len(stages)))
    if len(absent):
        raise ScheduleError(
            f"stage without a device: expected actions of every stage up to {stages[-1]} in some row",
            code="unknown",
            value=f"stage {absent[0]}",
        )
    device = schedule.device()[staged]
    pairs, count = np.unique(held * schedule.devices + device, return_counts=True)
    stage, rank = np.divmod(pairs, schedule.devices)
    placement = dict(zip(*(values[np.lexsort((-rank, count))].tolist() for values in (stage, rank)), strict=True))
    return replace(
        schedule, placement=tuple(placement[stage] for stage in range(len(stages))), pipes=(tuple(range(len(stages))),)
    )


def write_torch_csv(schedule: Schedule) -> str:
    """The CSV of a schedule, with CRLF as torch writes it and without idle slots; `read_torch_csv` gives the same order back.

    Raises InputError for what such a file cannot say: several pipes.
    """
    if schedule.pipes != (tuple(range(schedule.stages)),):
        raise InputError("expected one pipe over all stages in order; a torch CSV has no other", value=schedule.pipes)
    beyond = np.isin(schedule.kind, (Kind.R, Kind.STEP)) | (schedule.part >= 0)
    for index in np.flatnonzero(beyond)[:1].tolist():
        logger.warning("torch itself has no action such as %s: it will not read this file", schedule.action(index))
    rows = (",".join(map(str, schedule.row(device))) for device in range(schedule.devices))
    return "".join(f"{row or IDLE_ROW}\r\n" for row in rows)
