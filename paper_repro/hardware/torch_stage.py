"""One rank of the small torch pipeline of `torch_pipeline`: `python -m paper_repro.hardware.torch_stage REQUEST.json RANK`.

Runs the steps of the request with a hook on its stage, fill work in those that are to have it, and writes what ran.
"""

from __future__ import annotations

import json
import sys
import time
from collections.abc import Callable
from contextlib import ExitStack
from dataclasses import asdict
from pathlib import Path
from typing import Any

from pipefill_opt.fill.plan_file import read_plan
from pipefill_opt.fill.read import read_instance
from pipefill_opt.harness.program import Iterations, PlannedOperator, WatchedDevice, scenario
from pipefill_opt.harness.torch_hook import BubbleHook
from pipefill_opt.workload.profile.library import torch_library
from pipefill_opt.workload.profile.profiler import Manner, job_stepper

Request = dict[str, Any]


def main(arguments: list[str]) -> int:
    """Run, write `rank.json` into the request's folder."""
    request: Request = json.loads(Path(arguments[0]).read_text(encoding="utf-8"))
    rank = int(arguments[1])
    torch = torch_library()
    import torch.distributed.pipelining.schedules as schedules

    torch.set_num_threads(1)
    torch.manual_seed(0)
    cuda = request["device"] == "cuda"
    device = torch.device("cuda", rank) if cuda else torch.device("cpu")
    if cuda:
        torch.cuda.set_device(device)
    distributed = torch.distributed
    distributed.init_process_group(
        "nccl" if cuda else "gloo",
        init_method=f"file://{request['folder']}/{request['name']}.store",
        rank=rank,
        world_size=request["ranks"],
    )
    try:
        found = _steps(request, rank, device, torch, schedules)
    finally:
        distributed.destroy_process_group()
    Path(request["folder"], f"{request['name']}-{rank}.json").write_text(json.dumps(found), encoding="utf-8")
    return 0


def _steps(request: Request, rank: int, device: Any, torch: Any, schedules: Any) -> dict[str, Any]:
    """All steps: when each began and ended, actions, fill operators."""
    count, width, rows = request["microbatches"], request["width"], request["rows"]
    layers = [part for _ in range(request["layers"]) for part in (torch.nn.Linear(width, width), torch.nn.ReLU())]
    module = torch.nn.Sequential(*layers).to(device)
    example = torch.zeros(rows, width, device=device)
    pipelining = torch.distributed.pipelining
    stage = pipelining.PipelineStage(module, rank, request["ranks"], device, input_args=(example,))
    family = {"1f1b": pipelining.Schedule1F1B, "gpipe": pipelining.ScheduleGPipe}[request["family"]]
    schedule = family(stage, count, loss_fn=torch.nn.functional.mse_loss)
    optimizer = torch.optim.SGD(module.parameters(), lr=1e-3)
    data = torch.randn(rows * count, width, device=device)
    settle = torch.cuda.synchronize if device.type == "cuda" else _nothing
    iterations = Iterations(**request["iterations"])
    with ExitStack() as open_:
        watched, turns, run = _fill(request, rank, open_)
        hook = open_.enter_context(BubbleHook(stage, schedules, watched, run, settle=settle))
        times = []
        torch.distributed.barrier()
        filled = 0
        for number, fill in enumerate(iterations.with_fill()):
            begin = time.perf_counter_ns()
            hook.begin(filled % turns if fill else None)
            filled += fill
            if rank == 0:
                schedule.step(data)
            else:
                schedule.step(target=data if rank == request["ranks"] - 1 else None)
            optimizer.step()
            optimizer.zero_grad()
            settle()
            ready = torch.distributed.barrier(async_op=True)
            hook.end()
            ready.wait()
            times.append((number, begin, time.perf_counter_ns()))
    return {
        "steps": times,
        "actions": [asdict(ran) for ran in hook.actions],
        "operators": [asdict(ran) for ran in hook.operators],
        "overruns": hook.overruns,
        "left": [(step, operator.index) for step, operator in hook.left],
    }


def _fill(
    request: Request, rank: int, open_: ExitStack
) -> tuple[WatchedDevice, int, Callable[[PlannedOperator], None]]:
    """What the plan has for this rank, its main iterations, and what runs an operator; without a plan the order alone."""
    if request["plan"] is None:
        return _order(request, rank), 1, _nothing_of
    problem = read_instance(Path(request["folder"], request["instance"]))
    plan = read_plan(Path(request["folder"], request["plan"]), problem)
    found = scenario(problem, plan, [f"device{rank}"])
    (watched,) = found.devices
    slots = {(operator.slot, operator.configuration) for visit in watched.visits for operator in visit.operators}
    manner = Manner(training=request["training"], device=request["device"])
    steppers = {}
    for slot, configuration in sorted(slots):
        stepper, count = job_stepper(request["job"], int(configuration.removeprefix("bs")), manner)
        open_.callback(stepper.close)
        steppers[slot] = stepper
        first = next(o.index for visit in watched.visits for o in visit.operators if o.slot == slot)
        for _ in range(3 * count + first):  # warmed up, and where the plan begins
            stepper.advance()
    return watched, found.turns, lambda operator: _nothing_of(steppers[operator.slot].advance())


def _order(request: Request, rank: int) -> WatchedDevice:
    """The actions of a rank, in torch's own order, without a plan."""
    from pipefill_opt.schedule.families import build_family
    from pipefill_opt.schedule.texts import action_texts

    schedule = build_family(request["family"], devices=request["ranks"], microbatches=request["microbatches"])
    texts = action_texts(schedule)
    row = range(int(schedule.row_start[rank]), int(schedule.row_start[rank + 1]))
    return WatchedDevice(f"device{rank}", rank, tuple((texts[a], 0, 0) for a in row), (), (), 0, 0)


def _nothing() -> None:
    """A CPU has nothing to wait for."""


def _nothing_of(_value: object) -> None:
    """Forget it."""


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
