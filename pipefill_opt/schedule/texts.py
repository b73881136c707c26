"""The texts of all actions of a schedule at once, fast on millions of them."""

from __future__ import annotations

import numpy as np

from pipefill_opt.schedule.actions import NO_MICROBATCH, Action, Kind
from pipefill_opt.schedule.schedule import Schedule


def action_texts(schedule: Schedule) -> list[str]:
    """The text of every elementary action, as `str(schedule.action(i))`."""
    names = [str(Action(kind, 0, -1))[1:] for kind in Kind]
    columns = zip(schedule.stage.tolist(), schedule.kind.tolist(), schedule.microbatch.tolist(), strict=True)
    texts = [f"{stage}{names[kind]}{microbatch}" for stage, kind, microbatch in columns]
    odd = (schedule.part >= 0) | np.isin(schedule.kind, list(NO_MICROBATCH))
    for index in np.flatnonzero(odd).tolist():
        texts[index] = str(schedule.action(index))
    return texts
