"""Bytes that a device keeps, against published formulas and figures.

Activations of a block: Korthikanti et al. 2022 (arXiv 2205.05198), table 2, exactly, summed up here from single operators. What weight
gradients need: Qi et al. 2023 (arXiv 2401.10241), table 1. States: Rajbhandari et al. 2020 (arXiv 1910.02054), figure 1.
"""

from __future__ import annotations

import argparse
import sys
from collections.abc import Iterator
from fractions import Fraction
from pathlib import Path

from paper_repro.targets import Target, report
from pipefill_opt.workload.model.activations import Kept, layer_held, layer_kept
from pipefill_opt.workload.model.catalog import read_network
from pipefill_opt.workload.model.network import Layer
from pipefill_opt.workload.model.parallel import Parallel, Recompute, Training
from pipefill_opt.workload.model.parameters import STATES, Parameters, state_bytes

MODELS = {
    "megatron-22b": (64, 6144),
    "gpt3-175b": (96, 12288),
    "megatron-530b": (128, 20480),
    "megatron-1t": (160, 25600),
}
"""Heads and width of the models that the paper measures."""
TOKENS = 2048
TENSOR = 8
ZERO = {0: 120.0, 1: 31.4, 2: 16.6, 3: 1.9}
"""GB of 7.5 billion parameters on each of 64 ranks, by ZeRO stage."""


def training(tensor: int, sequence_parallel: bool, recompute: Recompute) -> Training:
    """One sample, attention scores kept."""
    parallel = Parallel(tp=tensor, sequence_parallel=sequence_parallel)
    return Training(parallel, 1, TOKENS, recompute=recompute, flash=False)


def block_targets(name: str, heads: int, width: int) -> Iterator[Target]:
    """MiB of a block for one micro-batch of one sample."""
    embedding, block = read_network(name).layers[:2]
    sbh, scores = TOKENS * width, 5 * heads * TOKENS**2
    t, none, selective = TENSOR, Recompute.NONE, Recompute.SELECTIVE
    rows: tuple[tuple[str, Fraction, Training], ...] = (
        ("no parallelism", Fraction(34 * sbh + scores), training(1, False, none)),
        (f"t = {t}", Fraction((10 * t + 24) * sbh + scores, t), training(t, False, none)),
        (f"t = {t}, sequence parallel", Fraction(34 * sbh + scores, t), training(t, True, none)),
        (f"t = {t}, selective", Fraction((10 * t + 24) * sbh, t), training(t, False, selective)),
        (f"t = {t}, sequence parallel, selective", Fraction(34 * sbh, t), training(t, True, selective)),
        ("full recomputation", Fraction(2 * sbh), training(1, False, Recompute.FULL)),
    )
    for label, formula, how in rows:
        ours = layer_held(block, embedding, how).kept
        yield Target(f"activations of a block of {name}, {label}, MiB", float(formula / 2**20), ours / 2**20, 0, "seen")
    kept = layer_kept(block, training(1, False, none))
    yield Target(f"kept for weight gradients, {name}, MiB", 32 * sbh / 2**20, kept.for_weights / 2**20, 0, "unverified")


def share_of_scores(block: Layer, width: int) -> float:
    """5 a s / h: the part of the scores, in units of s b h bytes."""
    kept: Kept = layer_kept(block, training(1, False, Recompute.NONE))
    return kept.scores / (TOKENS * width)


def targets() -> list[Target]:
    """All rows."""
    rows = [target for name, (heads, width) in MODELS.items() for target in block_targets(name, heads, width)]
    for name, figure in (("gpt3-175b", 80), ("megatron-530b", 64)):
        ours = share_of_scores(read_network(name).layers[1], MODELS[name][1])
        rows.append(Target(f"5 a s / h of {name}", figure, ours, 0, "seen"))
    for zero, figure in ZERO.items():
        held = state_bytes(Parameters(7_500_000_000), Parallel(dp=64, zero=zero), STATES["adam"])
        rows.append(Target(f"states of 7.5B parameters, 64 ranks, ZeRO {zero}, GB", figure, held / 1e9, 0.05, "seen"))
    return rows


def main(argv: list[str] | None = None) -> int:
    """Print, write CSV; 1 on drift."""
    parser = argparse.ArgumentParser(description="activation and state bytes by published formulas")
    parser.add_argument("-o", "--output", type=Path, default=Path("out/repro"), metavar="DIR")
    return report(targets(), parser.parse_args(argv).output / "activations.csv")


if __name__ == "__main__":
    sys.exit(main())
