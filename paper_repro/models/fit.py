"""How models/coefficients/default.yaml was fitted: least squares of log(ours / published) over the runs with role `fit` in runs.yaml.

Six numbers: share and half size of matrix products, shares of memory and link bandwidths, overhead of a device operation; each is held
near a guess with a small weight, since few runs decide some of them. The default file has them rounded.
"""

from __future__ import annotations

import argparse
import sys
from collections.abc import Sequence
from math import log
from typing import Any

import numpy as np
from scipy.optimize import least_squares

from paper_repro.models.throughput import Run, iteration, measured, read_runs

NAMES = ("matmul share", "matmul half", "memory", "links within", "links between", "kernel overhead, us")
GUESS = (0.92, 1.0, 0.8, 0.75, 0.6, 4.0)
LOWEST, HIGHEST = (0.6, 0.2, 0.5, 0.4, 0.2, 1.0), (1.0, 5.0, 0.98, 0.98, 0.98, 10.0)
SCALE = (0.1, 1.0, 0.1, 0.1, 0.2, 2.0)
PULL = 0.02
"""Weight of the guesses: a coefficient one `SCALE` away counts as an error of 2 %."""


def coefficients(values: Sequence[float]) -> dict[str, Any]:
    """The mapping of a MAIN file's `coefficients`."""
    share, half, memory, within, between, overhead = (f"{value:.6g}" for value in values)
    return {
        "name": "fitted",
        "peak": {"matmul": {"share": float(share), "half": float(half)}},
        "memory": float(memory),
        "links": {"within": float(within), "between": float(between)},
        "overhead": {"kernel": f"{round(1000 * float(overhead))}ns"},
    }


def errors(values: Sequence[float], runs: list[Run]) -> list[float]:
    """log(ours / published) of each run, as a rate."""
    found = []
    for run in runs:
        changed = {**run, "main": {**run["main"], "coefficients": coefficients(values)}}
        main, seconds = iteration(changed)
        ratio = log(measured(changed, main, seconds) / float(run["published"]))
        found.append(-ratio if run["measure"] == "seconds" else ratio)
    return found


def fit(runs: list[Run]) -> list[float]:
    """The best values, in the order of NAMES."""

    def residuals(values: Any) -> Any:
        pulled = PULL * (np.array(values) - GUESS) / SCALE
        return np.concatenate([errors(values, runs), pulled])

    solution = least_squares(residuals, GUESS, bounds=(LOWEST, HIGHEST), diff_step=0.02, max_nfev=30)
    return [float(value) for value in solution.x]


def main(argv: list[str] | None = None) -> int:
    """Print the coefficients and how far off they leave each run."""
    parser = argparse.ArgumentParser(description="fit the analytic model's coefficients to published runs")
    parser.parse_args(argv)
    runs = [run for run in read_runs() if run["role"] == "fit"]
    values = fit(runs)
    for name, value in zip(NAMES, values, strict=True):
        print(f"{name:22}{value:.4f}")
    for run, error in zip(runs, errors(values, runs), strict=True):
        print(f"{run['name']:60}{100 * error:+6.1f} %")
    return 0


if __name__ == "__main__":
    sys.exit(main())
