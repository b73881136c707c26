"""Zero Bubble (Qi et al. 2024, arXiv 2401.10241), table 4: what schedules gain over 1F1B, from the analytic model.

Throughput of ZB-2p, ZB-1p and interleaved 1F1B by that of 1F1B, for four models and three numbers of micro-batches each. Durations and
lags are derived from the models' names with the default coefficients; ZB-1p and ZB-2p are our greedy zero bubble under caps of p and 2p
activations, planned with these costs, without a barrier between iterations (the paper validates the optimizer's step afterwards). Our
interleaving hides all messages, Megatron-LM's does not, so that it gains more here.
"""

from __future__ import annotations

import argparse
import sys
from pathlib import Path
from typing import Any

from paper_repro.models.throughput import HERE
from paper_repro.targets import Target, report
from pipefill_opt.timeline.compute import timeline
from pipefill_opt.workload.main_file import main_from_document

TOLERANCE = {"ZB-2p": 0.04, "ZB-1p": 0.04, "1F1B-I": 0.10}
MODELS = {"1.5b": (8, 6, 22), "6.2b": (8, 3, 30), "14.6b": (16, 1, 46), "28.3b": (32, 1, 62)}
"""Devices, samples of a micro-batch, layers (table 3)."""
SCHEDULES = ("ZB-2p", "ZB-1p", "1F1B", "1F1B-I")
PUBLISHED = {
    "1.5b": {24: (14.5, 12.9, 11.8, 13.1), 32: (14.8, 13.4, 12.5, 13.4), 64: (14.9, 14.2, 13.6, 13.9)},
    "6.2b": {24: (4.32, 3.88, 3.50, 4.01), 32: (4.35, 4.00, 3.70, 4.08), 64: (4.39, 4.20, 4.03, 4.19)},
    "14.6b": {48: (1.81, 1.61, 1.40, 1.54), 64: (1.83, 1.67, 1.49, 1.59), 128: (1.85, 1.76, 1.64, 1.66)},
    "28.3b": {96: (0.99, 0.87, 0.76, 0.82), 128: (1.00, 0.90, 0.80, 0.85), 256: (1.00, 0.96, 0.88, 0.90)},
}
"""Samples per GPU and second (table 4), in the order of SCHEDULES."""


def document(model: str, microbatches: int, schedule: str) -> dict[str, Any]:
    """The run as a MAIN document; the first and the last stage have a layer less."""
    devices, samples, layers = MODELS[model]
    each = (layers + 2) // devices
    chunks = each if schedule == "1F1B-I" else 1
    counts = [each // chunks] * (devices * chunks)
    counts[0] -= 1
    counts[-1] -= 1
    main: dict[str, Any] = {
        "model": f"networks/zb-{model}.yaml",
        "hardware": "a100-80gb",
        "parallel": {"pp": devices, "vp": chunks},
        "global_batch": microbatches * samples,
        "microbatch": samples,
        "precision": "fp16",
        "attention": "stored",
        "split": counts,
    }
    if schedule.startswith("ZB"):
        cap = {"ZB-1p": devices, "ZB-2p": 2 * devices}[schedule]
        return main | {"schedule": {"family": "zb-greedy", "cap": cap}, "boundary": "flow"}
    return main


def throughput(model: str, microbatches: int, schedule: str) -> float:
    """Samples per GPU and second."""
    main = main_from_document(document(model, microbatches, schedule), folder=HERE)
    result = timeline(main)
    devices, samples, _ = MODELS[model]
    return microbatches * samples * 1e9 / float(result.ticks(result.period)) / devices


def targets() -> list[Target]:
    """One for each schedule but 1F1B, model and number of micro-batches."""
    rows = []
    for model, runs in PUBLISHED.items():
        for microbatches, published in runs.items():
            ours = {schedule: throughput(model, microbatches, schedule) for schedule in SCHEDULES}
            theirs = dict(zip(SCHEDULES, published, strict=True))
            for schedule in ("ZB-2p", "ZB-1p", "1F1B-I"):
                gain = theirs[schedule] / theirs["1F1B"]
                name = f"{schedule} by 1F1B, {model}, {microbatches} micro-batches"
                rows.append(Target(name, gain, ours[schedule] / ours["1F1B"], TOLERANCE[schedule] * gain, "seen"))
    return rows


def main(argv: list[str] | None = None) -> int:
    """Print and write CSV; 1 on drift."""
    parser = argparse.ArgumentParser(description="Zero Bubble: what schedules gain over 1F1B, from the analytic model")
    parser.add_argument("-o", "--output", type=Path, default=Path("out/repro"), metavar="DIR")
    folder = parser.parse_args(argv).output
    return report(targets(), folder / "models_zero_bubble.csv")


if __name__ == "__main__":
    sys.exit(main())
