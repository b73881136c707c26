"""The small language in which a family writes the row of a device: runs of actions, joined, woven and overlapped.

A row is an int32 array of shape (n, 4): kind, stage, micro-batch, and 1 where an overlapped pair begins.
"""

from __future__ import annotations

from typing import TypeAlias

import numpy as np
import numpy.typing as npt

from pipefill_opt.schedule.actions import Kind
from pipefill_opt.schedule.schedule import Int32

Row: TypeAlias = Int32


def run(kind: Kind, stage: int | npt.NDArray[np.int64], microbatches: npt.NDArray[np.int64]) -> Row:
    """One action a micro-batch, all of one kind, in the order given; `stage` is one stage or one for each action."""
    row = np.zeros((len(microbatches), 4), dtype=np.int32)
    row[:, 0] = kind
    row[:, 1] = stage
    row[:, 2] = microbatches
    return row


def join(*rows: Row) -> Row:
    """One row after the other."""
    return np.concatenate(rows)


def weave(*columns: tuple[Row, int]) -> Row:
    """Rows in lockstep: a column (row, delay) does its i-th action in step delay + i; in a step, columns take turns in order."""
    steps = np.concatenate([np.arange(len(row)) + delay for row, delay in columns])
    return np.concatenate([row for row, _ in columns])[np.argsort(steps, kind="stable")]


def overlap(forward: Row, backward: Row) -> Row:
    """Overlapped pairs: the i-th forward with the i-th backward. Both rows are of one length."""
    begins = forward.copy()
    begins[:, 3] = 1
    return weave((begins, 0), (backward, 0))
