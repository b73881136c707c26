"""Check the messages of a lowered order: every SEND with its RECV, where a pipe goes from one device to another and nowhere else."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final

import numpy as np

from pipefill_opt.schedule.actions import Action, Kind
from pipefill_opt.schedule.messages import is_message, with_messages, without_messages
from pipefill_opt.schedule.problems import SHOWN, Problem, place, problems_at
from pipefill_opt.schedule.schedule import Int64, Schedule

PARTNER: Final = {
    Kind.SEND_F: (Kind.RECV_F, 1),
    Kind.RECV_F: (Kind.SEND_F, -1),
    Kind.SEND_B: (Kind.RECV_B, -1),
    Kind.RECV_B: (Kind.SEND_B, 1),
}
"""Of each kind of message: the kind at the other end, and how many stages on in the pipe that end is."""


def check_messages(schedule: Schedule) -> Iterator[Problem]:
    """What is wrong with the messages of an order whose other actions are valid; nothing where it has none."""
    index = np.flatnonzero(is_message(schedule))
    if not len(index):
        return
    wanted = _messages(with_messages(without_messages(schedule)))
    found = [schedule.action(i) for i in index.tolist()]
    yield from _unexpected(schedule, index, found, set(wanted))
    yield from _doubled(schedule, index, found)
    yield from _missing(schedule, wanted, set(found))
    yield from _out_of_order(schedule, index)


def _messages(schedule: Schedule) -> list[Action]:
    return [schedule.action(i) for i in np.flatnonzero(is_message(schedule)).tolist()]


def _mask(schedule: Schedule, index: list[int]) -> np.ndarray[tuple[int], np.dtype[np.bool_]]:
    mask = np.zeros(schedule.size, dtype=np.bool_)
    mask[index] = True
    return mask


def _unexpected(schedule: Schedule, index: Int64, found: list[Action], wanted: set[Action]) -> Iterator[Problem]:
    """Messages that no one needs."""
    bad = _mask(schedule, [i for i, message in zip(index.tolist(), found, strict=True) if message not in wanted])

    def text(index: int) -> str:
        message = schedule.action(index)
        other = partner(schedule, message)
        if other is None:
            return "expected no message, there is no stage at the other end"
        if schedule.placement[other.stage] == schedule.placement[message.stage]:
            return f"expected no message, stage {other.stage} lies on the same rank"
        return "expected no message, no action needs it"

    yield from problems_at(schedule, bad, "unknown", text)


def _doubled(schedule: Schedule, index: Int64, found: list[Action]) -> Iterator[Problem]:
    first: dict[Action, int] = {}
    again = []
    for i, message in zip(index.tolist(), found, strict=True):
        if first.setdefault(message, i) != i:
            again.append(i)

    def text(index: int) -> str:
        return f"doubled, it stands at position {place(schedule, first[schedule.action(index)])[1]} as well"

    yield from problems_at(schedule, _mask(schedule, again), "doubled", text)


def _missing(schedule: Schedule, wanted: list[Action], found: set[Action]) -> Iterator[Problem]:
    """Needed messages that are nowhere, on the first rank that lacks some."""
    absent = [message for message in wanted if message not in found]
    ranks = [schedule.placement[message.stage] for message in absent]
    for message in [message for message, rank in zip(absent, ranks, strict=True) if rank == min(ranks)][: SHOWN + 1]:
        other = partner(schedule, message)
        assert other is not None
        there = f"rank {schedule.placement[other.stage]} has {other}" if other in found else f"as well as {other}"
        yield Problem("missing", min(ranks), None, str(message), f"missing, expected in this row, {there}")


def _out_of_order(schedule: Schedule, index: Int64) -> Iterator[Problem]:
    """SENDs ahead of what they send, RECVs behind what needs them."""
    forward = schedule.kind == Kind.F
    backward = (schedule.kind == Kind.B) | (schedule.kind == Kind.I)
    work = {
        (is_forward, schedule.action(i)[1:]): i
        for is_forward, chosen in ((True, forward), (False, backward))
        for i in np.flatnonzero(chosen).tolist()
    }
    user: dict[int, int] = {}
    for i in index.tolist():
        message = schedule.action(i)
        other = work.get((message.kind in (Kind.SEND_F, Kind.RECV_F), message[1:]), -1)
        if other >= 0 and (message.kind in (Kind.SEND_F, Kind.SEND_B)) != (other < i):
            user[i] = other

    def text(index: int) -> str:
        needs = schedule.action(user[index])
        at = f"{needs} at position {place(schedule, user[index])[1]}"
        return (
            f"expected behind {at}, which makes it"
            if user[index] > index
            else f"expected ahead of {at}, which needs it"
        )

    yield from problems_at(schedule, _mask(schedule, list(user)), "misplaced", text)


def partner(schedule: Schedule, message: Action) -> Action | None:
    """The other end of a message, None past the end of a pipe."""
    kind, step = PARTNER[message.kind]
    pipe = next(pipe for pipe in schedule.pipes if message.stage in pipe)
    at = pipe.index(message.stage) + step
    return message._replace(kind=kind, stage=pipe[at]) if 0 <= at < len(pipe) else None
