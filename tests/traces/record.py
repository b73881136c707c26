"""Record the traces in tests/data/traces: small torch pipelines on CPU processes, and what hooks around each stage call measured.

    python -m tests.traces.record OUT     (needs torch 2.13 or newer; a minute)

NAME.rankR.json.gz is Kineto's trace without the name of the machine, NAME.rankR.gt.json the hooks' rows: stage, kind,
micro-batch, start and end in unix ns; `step`, number, start and end close a step.
"""

from __future__ import annotations

import gzip
import json
import os
import re
import sys
import tempfile
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

WIDTH, ROWS, STEPS = 256, 16, 2
PIPELINES = {"1f1b_p3_m4": ("Schedule1F1B", 3, 4, 1), "izb_p2_m4": ("ScheduleInterleavedZeroBubble", 2, 4, 2)}
"""Schedule, ranks, micro-batches, chunks: one without labels, one with backwards split into I and W."""
NAMES = r'("(?:host_name|traceName|trace_id)": )"[^"]*"'
CALLS = {"forward_one_chunk": "F", "backward_one_chunk": "B", "backward_weight_one_chunk": "W"}


def hook(stage: Any, rows: list[list[object]]) -> None:
    """Write down start and end of every call of a stage."""
    for name, kind in CALLS.items():
        setattr(stage, name, _timed(getattr(stage, name), stage.stage_index, kind, rows))


def _timed(call: Callable[..., Any], stage: int, kind: str, rows: list[list[object]]) -> Callable[..., Any]:
    def timed(microbatch: int, *arguments: Any, **keywords: Any) -> Any:
        start = time.time_ns()
        result = call(microbatch, *arguments, **keywords)
        split = kind == "B" and not keywords.get("full_backward", True)
        rows.append([stage, "I" if split else kind, microbatch, start, time.time_ns()])
        return result

    return timed


def run(rank: int, name: str, folder: str, port: int) -> None:
    """One rank: two steps to warm up, then STEPS under the profiler."""
    import torch
    import torch.distributed as dist
    from torch.distributed.pipelining import PipelineStage, schedules

    schedule, ranks, microbatches, chunks = PIPELINES[name]
    os.environ.update(MASTER_ADDR="127.0.0.1", MASTER_PORT=str(port))
    torch.set_num_threads(1)
    dist.init_process_group("gloo", rank=rank, world_size=ranks)
    stages, rows = [], []
    for index in range(rank, ranks * chunks, ranks):
        layers = [torch.nn.Linear(WIDTH, 8 * WIDTH), torch.nn.GELU(), torch.nn.Linear(8 * WIDTH, WIDTH)]
        stages.append(PipelineStage(torch.nn.Sequential(*layers), index, ranks * chunks, torch.device("cpu")))
        hook(stages[-1], rows)
    made = getattr(schedules, schedule)(stages if chunks > 1 else stages[0], microbatches, loss_fn=torch.nn.MSELoss())
    data = torch.randn(ROWS * microbatches, WIDTH)
    words = {"target": data, "losses": []} if rank == ranks - 1 else {}
    for _ in range(2):
        made.step(*((data,) if rank == 0 else ()), **words)
    rows.clear()
    with torch.profiler.profile(activities=[torch.profiler.ProfilerActivity.CPU]) as profile:
        for number in range(STEPS):
            dist.barrier()
            start = time.time_ns()
            with torch.profiler.record_function(f"step {number}"):
                made.step(*((data,) if rank == 0 else ()), **words)
            rows.append(["step", number, start, time.time_ns()])
    with tempfile.NamedTemporaryFile(suffix=".json") as raw:
        profile.export_chrome_trace(raw.name)
        text = re.sub(NAMES, r'\1""', Path(raw.name).read_text(encoding="utf-8"))
    out = Path(folder) / f"{name}.rank{rank}"
    Path(f"{out}.json.gz").write_bytes(gzip.compress(text.encode(), mtime=0))
    Path(f"{out}.gt.json").write_text(json.dumps(rows) + "\n", encoding="utf-8")
    dist.barrier()
    dist.destroy_process_group()


def main(folder: str) -> None:
    """Record every pipeline."""
    import torch.multiprocessing

    Path(folder).mkdir(parents=True, exist_ok=True)
    for index, (name, (_, ranks, _, _)) in enumerate(PIPELINES.items()):
        port = 29500 + (os.getpid() + index) % 2000
        torch.multiprocessing.spawn(run, args=(name, folder, port), nprocs=ranks, join=True)


if __name__ == "__main__":
    main(sys.argv[1])
