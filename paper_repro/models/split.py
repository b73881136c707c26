"""Uneven layers of public issue trackers, split exactly.

- Megatron-LM issue 1303: 40 layers on 16 devices become two a device, which leaves out eight. Its flags for the first and the last stage
  want an equal number on each of the other fourteen: two, and six on either end.
- Megatron-LM issue 1304: 30 layers on 4 devices become seven a device, which leaves out two.
- torchtitan issue 2093: embedding and head count as one layer each unless the user finds better numbers, which is said to be hard. With
  the costs of layers a split needs no such numbers. How much it gains is our model's; a split that loses is a miss.
"""

from __future__ import annotations

import argparse
import sys
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

from paper_repro.targets import Target, report
from pipefill_opt.timeline.compute import timeline
from pipefill_opt.timeline.split_period import shortest_period
from pipefill_opt.workload.main_file import main_from_document
from pipefill_opt.workload.model.split_file import split_of_main
from pipefill_opt.workload.model.split_problem import Objective, SplitProblem
from pipefill_opt.workload.model.split_stages import split_layers

TITAN = (
    ("llama3-8b", 8, 1, {"tp": 8}),
    ("llama3-8b", 2, 2, {}),
    ("llama3-70b", 16, 1, {"tp": 8}),
    ("deepseek-v3", 8, 2, {"dp": 8, "ep": 8}),
)
"""Networks, pipeline ranks, stages on each, other parallelism."""


def equal_layers(layers: int, devices: int) -> int:
    """Layers of the slowest device, where all take equally long."""
    return max(split_layers(SplitProblem((1,) * layers, tuple(range(devices)))).counts)


def by_flags(layers: int, devices: int) -> int:
    """The same where the inner stages must have equal numbers: the best choice of first and last."""
    ends = {layers - inner * (devices - 2): inner for inner in range(1, layers // (devices - 2) + 1)}
    return min(max(inner, -(-both // 2)) for both, inner in ends.items() if both >= 2)


def by_rule(layers: int, stages: int) -> list[int]:
    """torchtitan's default: embedding and head as a layer each, the rest as equal as can be, the first stages one more."""
    each, more = divmod(layers + 2, stages)
    counts = [each + (stage < more) for stage in range(stages)]
    counts[0] -= 1
    counts[-1] -= 1
    return counts


def job(model: str, devices: int, chunks: int, parallel: Mapping[str, int]) -> dict[str, Any]:
    """A MAIN document: 4 times as many micro-batches as ranks."""
    chunked = {"vp": chunks} if chunks > 1 else {}
    return {
        "model": model,
        "hardware": "h100",
        "parallel": {"pp": devices, **chunked, **parallel},
        "sequence_parallel": parallel.get("tp", 1) > 1,
        "microbatch": 1,
        "global_batch": 4 * devices * parallel.get("dp", 1),
        "memory": {"capacity": "100TiB"},
    }


def period(document: Mapping[str, Any], split: Sequence[int]) -> float:
    """ms of an iteration, memory aside."""
    result = timeline(main_from_document({**document, "split": list(split)}))
    return float(result.ticks(result.period)) / 1e6


def titan_targets(model: str, devices: int, chunks: int, parallel: Mapping[str, int]) -> Iterator[Target]:
    """Iterations with equal numbers, by the default rule, and with the best split found."""
    document = job(model, devices, chunks, parallel)
    spec = split_of_main(document, Path(), Objective.PERIOD)
    spec = replace(spec, problem=SplitProblem(spec.problem.times, spec.problem.placement))
    assert spec.body is not None
    equal = period(document, spec.main_split(spec.equal))
    rule = period(document, by_rule(sum(spec.body), spec.problem.stages))
    best = period(document, spec.main_split(shortest_period(spec)[0].counts))
    name = f"torchtitan 2093: {model}, {devices} x {chunks} stages"
    yield Target(f"{name}: ms of an iteration", None, best, 0, "predicted")
    yield Target(f"{name}: gained over equal numbers, %", None, 100 * (equal / best - 1), 0, "predicted")
    yield Target(f"{name}: gained over its default rule, %", None, 100 * (rule / best - 1), 0, "predicted")


def targets() -> list[Target]:
    """All rows."""
    return [
        Target("Megatron-LM 1303: 40 layers, 16 devices: layers placed by 2 a device", 32, 16 * (40 // 16), 0, "seen"),
        Target("Megatron-LM 1303: most layers of a device, by its flags", 6, by_flags(40, 16), 0, "derived"),
        Target("Megatron-LM 1303: most layers of a device, exact split", 3, equal_layers(40, 16), 0, "derived"),
        Target("Megatron-LM 1304: 30 layers, 4 devices: layers placed by 7 a device", 28, 4 * (30 // 4), 0, "seen"),
        Target("Megatron-LM 1304: most layers of a device, exact split", 8, equal_layers(30, 4), 0, "derived"),
        *(row for case in TITAN for row in titan_targets(*case)),
    ]


def main(argv: list[str] | None = None) -> int:
    """Print, write CSV; 1 on drift."""
    parser = argparse.ArgumentParser(description="uneven layers of public issues, split exactly")
    parser.add_argument("-o", "--output", type=Path, default=Path("out/repro"), metavar="DIR")
    rows = targets()
    code = report(rows, parser.parse_args(argv).output / "split.csv")
    worse = [row.quantity for row in rows if "gained" in row.quantity and row.ours < 0]
    for quantity in worse:
        print(f"worse: {quantity}")
    return 1 if worse else code


if __name__ == "__main__":
    sys.exit(main())
