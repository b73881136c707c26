"""The split with the shortest iteration: never worse than the others, and what a heavy late stage costs."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from pipefill_opt.errors import InfeasibleError, InputError
from pipefill_opt.timeline.compute import timeline
from pipefill_opt.timeline.split_period import shortest_period
from pipefill_opt.workload.main_file import main_from_document
from pipefill_opt.workload.model.split_file import split_from_document
from pipefill_opt.workload.model.split_problem import Objective
from pipefill_opt.workload.model.split_stages import split_layers

MAIN = """\
model: llama3-8b
hardware: h100
parallel: {tp: 8, pp: 4}
sequence_parallel: true
microbatch: 1
global_batch: 8
"""


def period(document: dict[str, Any], split: Any) -> int:
    result = timeline(main_from_document({**document, "split": split}))
    return int(result.period)


@pytest.mark.parametrize(
    "extra", ["", "schedule: {family: gpipe}\n", "schedule: {family: zbv}\n", "schedule: {family: forward-only}\n"]
)
def test_it_is_never_worse(tmp_path: Path, extra: str) -> None:
    (tmp_path / "job.yaml").write_text(MAIN + extra, encoding="utf-8")
    spec = split_from_document(
        {"main": "job.yaml", "objective": "period"}, file=str(tmp_path / "spec.yaml"), folder=tmp_path
    )
    assert spec.main is not None
    found, equal = shortest_period(spec)
    document = dict(spec.main)
    assert found.value == period(document, spec.main_split(found.counts))
    assert equal == period(document, spec.main_split(spec.equal))
    fastest = split_layers(spec.problem, Objective.DEVICE)
    assert spec.microbatches * fastest.value <= found.bound <= found.value
    assert found.value <= min(equal, period(document, spec.main_split(fastest.counts)))


def test_said_progress_and_refusals(tmp_path: Path) -> None:
    (tmp_path / "job.yaml").write_text(MAIN, encoding="utf-8")
    spec = split_from_document(
        {"main": "job.yaml", "objective": "period"}, file=str(tmp_path / "s.yaml"), folder=tmp_path
    )
    said: list[str] = []
    shortest_period(spec, said.append)
    assert said[0] == "0 splits timed"
    assert len(said) == len(set(said)) > 10
    with pytest.raises(InputError, match="objective: period: expected main with it"):
        split_from_document(
            {
                "objective": "period",
                "layers": [{"time": "1ms"}],
                "schedule": {"family": "1f1b", "devices": 1, "microbatches": 1},
            }
        )
    (tmp_path / "job.yaml").write_text(
        MAIN.replace("h100", "v100-16gb").replace("llama3-8b", "llama3-405b"), encoding="utf-8"
    )
    spec = split_from_document(
        {"main": "job.yaml", "objective": "period"}, file=str(tmp_path / "s.yaml"), folder=tmp_path
    )
    with pytest.raises(InfeasibleError, match=r"no split fits: stage 3 has room for 14\.78 GiB"):
        shortest_period(spec)
