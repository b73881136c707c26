"""Published throughput of fill jobs on one device (NVIDIA DeepLearningExamples), against jobs by a network's name.

Mixed precision, one GPU. ResNet-50: PyTorch/Classification/ConvNets/resnet50v1.5/README.md (container 21.03); the coefficients of
convolutions were fitted to it. EfficientNet-B0: the same folder's efficientnet/README.md; its depthwise convolutions run slower than memory
allows, which is not in the model. BERT-large: PyTorch/LanguageModeling/BERT/README.md, V100 (container 19.07), eager; what that code and
the host add is not in the model either. Both are shown as `outside`, whatever comes out: ours is faster.
"""

from __future__ import annotations

import argparse
import sys
from pathlib import Path
from typing import Any

from paper_repro.targets import Target, report
from pipefill_opt.units import parse_time
from pipefill_opt.workload.model.fill_job import fill_job

TOLERANCE = 0.12
EAGER = {"attention": "stored", "fusion": "eager"}
JOBS: tuple[tuple[str, str, str, int, int | None, float], ...] = (
    ("resnet-50", "training", "v100-16gb", 256, None, 1200),
    ("resnet-50", "training", "v100-32gb", 256, None, 1156),
    ("resnet-50", "training", "a100-80gb", 256, None, 2470),
    ("resnet-50", "inference", "v100-16gb", 128, None, 3249),
    ("resnet-50", "inference", "v100-16gb", 256, None, 3382),
    ("efficientnet-b0", "training", "v100-16gb", 128, None, 1301),
    ("efficientnet-b0", "training", "a100-80gb", 256, None, 2489),
    ("bert-large", "training", "v100-16gb", 16, 128, 125.44),
    ("bert-large", "training", "v100-16gb", 4, 512, 26.64),
    ("bert-large", "training", "v100-32gb", 64, 128, 171.52),
    ("bert-large", "training", "v100-32gb", 8, 512, 30.08),
    ("bert-large", "inference", "v100-16gb", 4, 512, 94.36),
    ("bert-large", "inference", "v100-16gb", 4, 384, 119.76),
)
"""Network, kind, device, batch, tokens, samples per second. The batch of EfficientNet's runs is ours."""


def throughput(network: str, kind: str, hardware: str, batch: int, tokens: int | None) -> float:
    """Samples per second of the job alone."""
    entry: dict[str, Any] = {"network": network, "kind": kind, "hardware": hardware, "batches": [batch], **EAGER}
    if tokens is not None:
        entry["sequence"] = tokens
    (configuration,) = fill_job(entry, Path())["configs"]
    ticks = sum(parse_time(operator["duration"]) * operator["repeat"] for operator in configuration["operators"])
    return batch * 1e9 / ticks


def targets() -> list[Target]:
    """One for each job."""
    rows = []
    for network, kind, hardware, batch, tokens, published in JOBS:
        name = (
            f"{network}, {kind}, {hardware}, batch {batch}" + (f", {tokens} tokens" if tokens else "") + ", samples/s"
        )
        provenance = "seen" if network == "resnet-50" else "outside"
        ours = throughput(network, kind, hardware, batch, tokens)
        rows.append(Target(name, published, ours, TOLERANCE * published, provenance))
    return rows


def main(argv: list[str] | None = None) -> int:
    """Print and write CSV; 1 on drift."""
    parser = argparse.ArgumentParser(description="published throughput of fill jobs on one device")
    parser.add_argument("-o", "--output", type=Path, default=Path("out/repro"), metavar="DIR")
    folder = parser.parse_args(argv).output
    return report(targets(), folder / "models_fill_jobs.csv")


if __name__ == "__main__":
    sys.exit(main())
