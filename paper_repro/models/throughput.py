"""Published training throughput against the analytic model, with one set of coefficients for all runs (models/coefficients/default.yaml).

Runs and their sources are data: runs.yaml. Each run is resolved as a MAIN file by model name, and its iteration is an exact timeline.
Times become what the source reports by the source's own count of FLOPs. A run in which ours is off by more than 10 % is a miss. Runs of
software that the model does not describe are shown as `outside`, whatever comes out.
"""

from __future__ import annotations

import argparse
import sys
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

from paper_repro.targets import Target, report
from pipefill_opt.files import read_text, write_bytes
from pipefill_opt.parse import parse_yaml
from pipefill_opt.timeline.compute import timeline
from pipefill_opt.workload.costs import MainJob
from pipefill_opt.workload.main_file import main_from_document
from pipefill_opt.workload.model.catalog import read_network
from pipefill_opt.workload.model.layers import Attention, Linear
from pipefill_opt.workload.model.network import Network

HERE = Path(__file__).parent
TOLERANCE = 0.10
Run = Mapping[str, Any]


def hardware_flops(network: Network, main: MainJob) -> float:
    """96 B s l h^2 (1 + s / 6h + V / 16lh): four passes, recomputation counted (Narayanan et al. 2021, equation 3)."""
    batch, sequence, layers, width, vocabulary = _sizes(network, main)
    share = 1 + sequence / (6 * width) + vocabulary / (16 * layers * width)
    return 96 * batch * sequence * layers * width**2 * share


def weights_flops(network: Network, main: MainJob) -> float:
    """8 for each weight and token: four passes over the weights, attention not counted (BigScience)."""
    batch, sequence, *_ = _sizes(network, main)
    return 8 * 176e9 * batch * sequence


def six_flops(network: Network, main: MainJob) -> float:
    """6 for each weight and token, as the budget of Llama 3 405B: 3.8e25 FLOPs for 15.6e12 tokens (Grattafiori et al. 2024, section 3)."""
    batch, sequence, *_ = _sizes(network, main)
    return 6 * network.parameters * batch * sequence


def _sizes(network: Network, main: MainJob) -> tuple[int, int, int, int, int]:
    """Samples of an iteration, tokens of a sample, layers, width, vocabulary."""
    assert main.derived is not None
    blocks = [layer for layer in network.layers if any(isinstance(op, Attention) for op in layer.operators)]
    logits = next(op for op in network.layers[-1].operators if isinstance(op, Linear))
    return main.derived.samples, main.derived.sequence, len(blocks), blocks[0].width, logits.outputs


COUNTS: Mapping[str, Callable[[Network, MainJob], float]] = {
    "hardware": hardware_flops,
    "weights": weights_flops,
    "six": six_flops,
}
UNITS = {"seconds": "s an iteration", "samples": "samples/s/GPU", "tokens": "tokens/s/GPU"}


def measured(run: Run, main: MainJob, seconds: float) -> float:
    """Ours in the unit of the source: seconds an iteration, samples per second and GPU, or TFLOP/s per GPU."""
    assert main.derived is not None
    gpus = main.derived.replicas * main.schedule.devices
    if run["measure"] == "seconds":
        return seconds
    if run["measure"] == "samples":
        return main.derived.samples / (seconds * gpus)
    if run["measure"] == "tokens":
        return main.derived.samples * main.derived.sequence / (seconds * gpus)
    network = read_network(run["main"]["model"], HERE)
    return COUNTS[run["measure"]](network, main) / (seconds * gpus) / 1e12


def iteration(run: Run) -> tuple[MainJob, float]:
    """The resolved job and the seconds of an iteration."""
    main = main_from_document(run["main"], file=run["name"], folder=HERE)
    result = timeline(main)
    return main, float(result.ticks(result.period)) / 1e9


def targets(runs: list[Run]) -> list[Target]:
    """One for each run; the tolerance is a share of the published value."""
    rows = []
    for run in runs:
        main, seconds = iteration(run)
        published = float(run["published"])
        name = f"{run['name']}, {UNITS.get(run['measure'], 'TFLOP/s per GPU')} ({run['role']})"
        provenance = "outside" if run["role"] == "outside" else run["provenance"]
        rows.append(Target(name, published, measured(run, main, seconds), TOLERANCE * published, provenance))
    return rows


def read_runs() -> list[Run]:
    """The runs of runs.yaml."""
    runs: list[Run] = parse_yaml(read_text(HERE / "runs.yaml"), file="runs.yaml")["runs"]
    return runs


def summary(runs: list[Run], rows: list[Target]) -> str:
    """How far off, by role and source."""
    lines = []
    for role in ("fit", "held-out", "outside"):
        own = [
            (run["source"], abs(row.ours / float(run["published"]) - 1))
            for run, row in zip(runs, rows, strict=True)
            if run["role"] == role
        ]
        sources = ", ".join(sorted({source for source, _ in own}))
        worst, mean = max(error for _, error in own), sum(error for _, error in own) / len(own)
        lines.append(
            f"{role}: {len(own)} runs of {sources}; off by {100 * mean:.1f} % on average, {100 * worst:.1f} % at most"
        )
    return "\n".join(lines)


def picture(runs: list[Run], rows: list[Target]) -> bytes:
    """Ours by the published value, a mark for each run, with the band of 10 %."""
    import io

    from matplotlib.backends.backend_agg import FigureCanvasAgg
    from matplotlib.figure import Figure

    figure = Figure(figsize=(8, 8), dpi=120)
    FigureCanvasAgg(figure)
    axes = figure.add_subplot()
    axes.axvspan(-100 * TOLERANCE, 100 * TOLERANCE, color="#E8EEF5")
    for role, colour in (("fit", "#7A7A7A"), ("held-out", "#1F3F77"), ("outside", "#EE7733")):
        own = [(index, row) for index, (run, row) in enumerate(zip(runs, rows, strict=True)) if run["role"] == role]
        off = [100 * (row.ours / float(runs[index]["published"]) - 1) for index, row in own]
        axes.plot(off, [-index for index, _ in own], "o", color=colour, label=role)
    axes.axvline(0, color="#7A7A7A", linewidth=0.8)
    axes.set_yticks([-index for index in range(len(runs))], [run["name"] for run in runs], fontsize=7)
    axes.set_xlabel("ours against published, %")
    axes.legend(frameon=False)
    figure.tight_layout()
    stream = io.BytesIO()
    figure.savefig(stream, format="png", metadata={"Software": None})
    return stream.getvalue()


def main(argv: list[str] | None = None) -> int:
    """Print, write CSV and picture; 1 on a miss."""
    parser = argparse.ArgumentParser(description="published training throughput against the analytic model")
    parser.add_argument("-o", "--output", type=Path, default=Path("out/repro"), metavar="DIR")
    folder = parser.parse_args(argv).output
    runs = read_runs()
    rows = targets(runs)
    write_bytes(folder / "models_throughput.png", picture(runs, rows))
    code = report(rows, folder / "models_throughput.csv")
    print(summary(runs, rows))
    return code


if __name__ == "__main__":
    sys.exit(main())
