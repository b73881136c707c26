"""A real pipeline with fill work in its bubbles: `python -m paper_repro.hardware.torch_pipeline -o DIR` (needs the extra torch).

A small training pipeline of torch.distributed.pipelining, one process a rank: gloo on the CPU, NCCL on as many GPUs. It is measured, read
by our own import (`intervals`), and a fill job is profiled on the same device; our solver makes the plan, a hook on the stages runs it.
Steps without and with fill work alternate. Slowdown of the main job and fill throughput, predicted and measured, go into
DIR/torch_pipeline.json.

The processes share the machine's cores: with other work on them, or fewer cores than ranks, a CPU's figures tell how the hook behaves,
not how a GPU would.
"""

from __future__ import annotations

import argparse
import csv
import io
import json
import os
import platform
import subprocess
import sys
from collections import Counter
from collections.abc import Sequence
from dataclasses import asdict
from datetime import UTC, datetime
from pathlib import Path
from statistics import median
from typing import Any

from pipefill_opt.errors import InputError, PipefillError
from pipefill_opt.files import write_text
from pipefill_opt.fill.plan_file import plan_document, read_plan
from pipefill_opt.fill.read import read_instance
from pipefill_opt.harness.program import Iterations, Scenario, scenario
from pipefill_opt.solve.facade import solve
from pipefill_opt.solve.result import Limits
from pipefill_opt.traces.importing import measured_intervals
from pipefill_opt.traces.main_document import main_document
from pipefill_opt.workload.profile.document import job_document
from pipefill_opt.workload.profile.library import torch_library
from pipefill_opt.workload.profile.profiler import Manner, profile_module

Document = dict[str, Any]
JOB = f"{Path(__file__).parent / 'torch_job.py'}:factory"
WAIT_SECONDS = 300
COPIES = 64
MEMORY = {"capacity": "4GiB", "static": "1GiB"}
"""Of a rank, for the plan: the host's memory is not what is scarce here."""


def main(arguments: Sequence[str] | None = None) -> int:
    """Measure, plan, run, report; 2 where torch is missing."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("-o", "--output", type=Path, required=True, help="folder for what is measured")
    parser.add_argument("--ranks", type=int, default=2)
    parser.add_argument("--microbatches", type=int, default=4)
    parser.add_argument("--family", choices=("1f1b", "gpipe"), default="1f1b")
    parser.add_argument("--rows", type=int, default=128, help="of a micro-batch")
    parser.add_argument("--width", type=int, default=512)
    parser.add_argument("--layers", type=int, default=6, help="of a stage")
    parser.add_argument("--rounds", type=int, default=8, help="blocks of steps without, and with fill work")
    parser.add_argument("--block", type=int, default=4, help="steps of a block; the first one does not count")
    parser.add_argument("--guard", default="0.8", help="share of a bubble that the plan may use")
    options = parser.parse_args(arguments)
    try:
        result = run(options)
    except PipefillError as error:
        print(f"error: {error}", file=sys.stderr)
        return error.exit_code
    write_text(options.output / "torch_pipeline.json", json.dumps(result, indent=1) + "\n")
    print(text(result))
    return 0


def run(options: argparse.Namespace) -> Document:
    """The whole experiment; its files go into the output folder. Raises InputError, torch that is missing included."""
    torch = torch_library()
    folder: Path = options.output.resolve()
    folder.mkdir(parents=True, exist_ok=True)
    cuda = torch.cuda.is_available() and torch.cuda.device_count() >= options.ranks
    iterations = Iterations(warmup=3, block=options.block, rounds=options.rounds)
    request = {
        **{key: getattr(options, key) for key in ("ranks", "microbatches", "family", "rows", "width", "layers")},
        "folder": str(folder),
        "device": "cuda" if cuda else "cpu",
        "job": JOB,
        "training": False,
        "instance": "instance.yaml",
    }
    measured = together({**request, "name": "main", "plan": None, "iterations": asdict(Iterations(10, 1, 0))})
    write_text(folder / "main.csv", interval_csv(measured, range(2, 10)))
    main_file = main_document(measured_intervals(folder / "main.csv"), count_gaps=True, memory=MEMORY)
    write_text(folder / "main.yaml", json.dumps(main_file) + "\n")
    planned = plan(folder, request["device"], options.guard)
    found = together({**request, "name": "fill", "plan": "plan.json", "iterations": asdict(iterations)})
    return {
        "date": datetime.now(UTC).date().isoformat(),
        "machine": machine(torch, cuda),
        "backend": "nccl" if cuda else "gloo",
        **{key: request[key] for key in ("ranks", "microbatches", "family", "rows", "width", "layers")},
        "guard": options.guard,
        "iterations": asdict(iterations),
        **summary(found, planned, iterations),
    }


def plan(folder: Path, device: str, guard: str) -> Scenario:
    """Profile the job, write instance and plan; what is predicted of each rank."""
    torch = torch_library()
    before = torch.get_num_threads()
    torch.set_num_threads(1)  # as the ranks have
    try:
        profile = profile_module(JOB, [1, 4], Manner(device=device), name="fill")
    finally:
        torch.set_num_threads(before)
    document = job_document(profile, "main.yaml")
    document["jobs"][0]["copies"] = COPIES
    document["guard"] = {"fraction": float(guard)}
    document["switch"] = {"enter": f"{max(found.handover for found in profile.configurations)}ns"}
    write_text(folder / "instance.yaml", json.dumps(document) + "\n")
    problem = read_instance(folder / "instance.yaml")
    solution = solve(problem, limits=Limits(time=30))
    write_text(folder / "plan.json", json.dumps(plan_document(problem, solution.plan)) + "\n")
    names = [entry.name for entry in problem.devices]
    return scenario(problem, read_plan(folder / "plan.json", problem), names)


def together(request: Document) -> list[Document]:
    """One process a rank; what each wrote. Raises InputError where one fails, with the end of what it said."""
    folder, name = Path(request["folder"]), request["name"]
    file = folder / f"{name}-request.json"
    (folder / f"{name}.store").unlink(missing_ok=True)
    file.write_text(json.dumps(request), encoding="utf-8")
    environment = {
        **os.environ,
        "OMP_NUM_THREADS": "1",
        "GLOO_SOCKET_IFNAME": os.environ.get("GLOO_SOCKET_IFNAME", "lo"),
    }
    processes = [
        subprocess.Popen(
            [sys.executable, "-m", "paper_repro.hardware.torch_stage", str(file), str(rank)],
            env=environment, stderr=subprocess.PIPE, text=True, cwd=Path(__file__).parents[2],
        )
        for rank in range(request["ranks"])
    ]  # fmt: skip
    try:
        said = [process.communicate(timeout=WAIT_SECONDS)[1] for process in processes]
    except subprocess.TimeoutExpired:
        raise InputError(f"expected an end within {WAIT_SECONDS} s", where=name) from None
    finally:
        for process in processes:
            process.kill()
            process.wait()
    for rank, (process, words) in enumerate(zip(processes, said, strict=True)):
        if process.returncode:
            raise InputError("expected a rank that runs", value=words[-300:], where=f"{name}: rank {rank}")
    return [json.loads((folder / f"{name}-{rank}.json").read_text(encoding="utf-8")) for rank in range(len(processes))]


def interval_csv(ranks: Sequence[Document], steps: Sequence[int]) -> str:
    """What ran as `pipefill import intervals` reads it; only these steps."""
    stream = io.StringIO()
    writer = csv.writer(stream, lineterminator="\n")
    writer.writerow(("rank", "action", "start", "end", "step"))
    for rank, found in enumerate(ranks):
        writer.writerows((rank, "step", begin, end, number) for number, begin, end in found["steps"] if number in steps)
        writer.writerows(
            (rank, ran["text"], ran["start"], ran["end"], ran["step"])
            for ran in found["actions"]
            if ran["step"] in steps
        )
    return stream.getvalue()


def summary(ranks: Sequence[Document], planned: Scenario, iterations: Iterations) -> Document:
    """Medians without and with fill work, slowdown, and the fill work done against the plan."""
    fills = iterations.with_fill()
    lengths = {number: end - begin for number, begin, end in ranks[0]["steps"]}
    counted = iterations.counted()
    without = [lengths[number] for number in counted if not fills[number]]
    with_fill = [lengths[number] for number in counted if fills[number]]
    steps = {number for number in counted if fills[number]}
    done = [sum(ran["step"] in steps for ran in found["operators"]) for found in ranks]
    left = [sum(step in steps for step, _ in found["left"]) for found in ranks]
    asked = [sum(len(visit.operators) for visit in device.visits) / planned.turns for device in planned.devices]
    busy = sum(ran["end"] - ran["start"] for found in ranks for ran in found["operators"] if ran["step"] in steps)
    late = sum(ns for found in ranks for step, ns in found["overruns"] if step in steps)
    rounds = [
        median(with_fill[at : at + size]) / median(without[at : at + size]) - 1
        for size in (iterations.block - 1,)
        for at in range(0, len(with_fill), size)
    ]
    per_step = Counter(ran["step"] for found in ranks for ran in found["operators"] if ran["step"] in steps)
    return {
        "period": {"predicted": planned.period, "without": median(without), "with": median(with_fill)},
        "slowdown": median(with_fill) / median(without) - 1,
        "slowdown_by_round": sorted(rounds),
        "overrun_share": late / (len(ranks) * sum(with_fill)),
        "steps": {"without": len(without), "with": len(with_fill)},
        "step_ns": {"without": without, "with": with_fill},
        "operators": {
            "planned_a_step": asked,
            "done_a_step": [count / len(steps) for count in done],
            "left_a_step": [count / len(steps) for count in left],
            "median_a_step": median(per_step[number] for number in sorted(steps)),
        },
        "fill_share": busy / (len(ranks) * sum(with_fill)),
        "done_share": sum(done) / (sum(asked) * len(steps)) if sum(asked) else None,
    }


def machine(torch: Any, cuda: bool) -> Document:
    """What it ran on."""
    found = {"system": platform.system(), "processor": platform.machine(), "cores": os.cpu_count()}
    found |= {"torch": torch.__version__, "load": os.getloadavg()[0]}
    return {**found, "gpu": torch.cuda.get_device_name(0)} if cuda else found


def text(result: Document) -> str:
    """The figures in a few lines."""
    period, operators = result["period"], result["operators"]
    share = result["done_share"]
    lines = [
        f"{result['family']}, {result['ranks']} ranks, {result['backend']}, {result['date']}, {result['machine']}",
        f"a step: predicted {period['predicted'] / 1e6:.2f} ms, without fill work {period['without'] / 1e6:.2f} ms, "
        f"with it {period['with'] / 1e6:.2f} ms: slowdown {100 * result['slowdown']:.2f} %",
        f"slowdown by round of {result['iterations']['block'] - 1} steps each: {100 * result['slowdown_by_round'][0]:.1f} % to "
        f"{100 * result['slowdown_by_round'][-1]:.1f} %; "
        f"fill work that outlasted its bubble: {100 * result['overrun_share']:.2f} % of all time",
        f"operators a step: planned {operators['planned_a_step']}, done {operators['done_a_step']}, left {operators['left_a_step']}",
        f"of the plan's operators {'nothing was planned' if share is None else f'{100 * share:.1f} % done'}; "
        f"fill work took {100 * result['fill_share']:.1f} % of all time",
    ]
    return "\n".join(lines)


if __name__ == "__main__":
    sys.exit(main())
