"""Fill jobs that an INSTANCE file gives by a network's name, written out as configurations of operators."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

from pipefill_opt.errors import InputError
from pipefill_opt.workload.model.fill_job import OWN_KEYS, fill_job

Document = Mapping[str, Any]


def with_networks(document: Document, folder: Path) -> Document:
    """The instance with the `configs` of every job; a file that a job names is looked for in `folder`. Raises InputError."""
    if not any("network" in job for job in document["jobs"]):
        for index, job in enumerate(document["jobs"]):
            _refuse_alone(job, index)
        return document
    return {**document, "jobs": [_written_out(job, index, folder) for index, job in enumerate(document["jobs"])]}


def _written_out(job: Document, index: int, folder: Path) -> Document:
    if "network" not in job:
        _refuse_alone(job, index)
        return job
    if "configs" in job:
        raise InputError("expected either network or configs", where=f"jobs[{index}].configs")
    try:
        return fill_job(job, folder)
    except InputError as error:
        raise error.located(where=f"jobs[{index}]") from None


def _refuse_alone(job: Document, index: int) -> None:
    """What only a network's job has needs one."""
    for key in OWN_KEYS:
        if key in job:
            raise InputError("expected network with it", value=job[key], where=f"jobs[{index}].{key}")
