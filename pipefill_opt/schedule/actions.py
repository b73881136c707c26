"""Actions and their text, which is torch's, extended by a third index: `3F7`, `3F7.2`, `(0F3;3B1)OVERLAP_F_B`.

Source of the grammar: torch.distributed.pipelining 2.13; see docs/design.md, section 2.
"""

from __future__ import annotations

import re
from enum import IntEnum
from typing import Final, NamedTuple

from pipefill_opt.errors import ScheduleError


class Kind(IntEnum):
    """What an action does. The order of the values is not meaningful; they are stored as int8."""

    F = 0  # forward
    B = 1  # full backward
    I = 2  # backward for the input gradient only  # noqa: E741  (the field's letter)
    W = 3  # backward for the weight gradient only
    R = 4  # recomputation of a forward
    REDUCE = 5  # gradient reduction of a stage
    STEP = 6  # optimizer step of a device
    UNSHARD = 7
    RESHARD = 8
    SEND_F = 9
    RECV_F = 10
    SEND_B = 11
    RECV_B = 12


COMPUTE: Final = frozenset({Kind.F, Kind.B, Kind.I, Kind.W, Kind.R})
"""Kinds that carry a micro-batch and take a device's compute time."""
NO_MICROBATCH: Final = frozenset({Kind.REDUCE, Kind.STEP, Kind.UNSHARD, Kind.RESHARD})

_TEXT: Final = {kind: kind.name for kind in Kind} | {Kind.REDUCE: "REDUCE_GRAD"}
_KIND: Final = {text: kind for kind, text in _TEXT.items() if kind is not Kind.STEP} | {"REDUCE": Kind.REDUCE}
_PLAIN: Final = re.compile(r"([0-9]{1,9})([A-Z]+(?:_[A-Z]+)?)(?:([0-9]{1,9})(?:\.([0-9]{1,9}))?)?")
_PAIR: Final = re.compile(r"\(([^;()]*);([^;()]*)\)OVERLAP_F_B")


class Action(NamedTuple):
    """One action. `microbatch` is -1 for kinds without one; `part` (token slice or image patch) is -1 for a whole one.

    `stage` is -1 for STEP, which belongs to a device.
    """

    kind: Kind
    stage: int
    microbatch: int = -1
    part: int = -1

    def __str__(self) -> str:
        if self.kind is Kind.STEP:
            return "STEP"
        text = f"{self.stage}{_TEXT[self.kind]}"
        if self.microbatch >= 0:
            text += str(self.microbatch)
        if self.part >= 0:
            text += f".{self.part}"
        return text


class Pair(NamedTuple):
    """An overlapped pair: the forward of one micro-batch with the backward of another, on one device."""

    forward: Action
    backward: Action

    def __str__(self) -> str:
        return f"({self.forward};{self.backward})OVERLAP_F_B"


def parse_action(text: str) -> Action | Pair:
    """The action that `text` spells, all of it. Raises ScheduleError (code `grammar`)."""
    action = _single(text)
    if action:
        return action
    pair = _PAIR.fullmatch(text)
    forward, backward = map(_single, pair.groups()) if pair else (None, None)
    if not forward or not backward or forward.kind is not Kind.F or backward.kind not in (Kind.B, Kind.I):
        raise _grammar(text)
    return Pair(forward, backward)


def _single(text: str) -> Action | None:
    plain = _PLAIN.fullmatch(text)
    if not plain:
        return Action(Kind.STEP, -1) if text == "STEP" else None
    stage, letters, microbatch, part = plain.groups()
    kind = _KIND.get(letters)
    if kind is None or (microbatch is None) != (kind in NO_MICROBATCH):
        return None
    return Action(kind, int(stage), -1 if microbatch is None else int(microbatch), -1 if part is None else int(part))


def _grammar(text: str) -> ScheduleError:
    return ScheduleError(
        "expected an action such as 3F7, 3B7, 3I7, 3W7, 3F7.2, 3REDUCE_GRAD, STEP or (0F3;3B1)OVERLAP_F_B",
        code="grammar",
        value=text if text.isprintable() and text.split() == [text] else repr(text),
    )
