"""Medians and spreads of samples, and small non-negative fits of what a size costs."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from itertools import combinations
from statistics import median
from typing import Any

import numpy as np

Parameters = Mapping[str, Any]


@dataclass(frozen=True, slots=True)
class Statistic:
    """ns of one measurement: how many samples, their median, 5th and 95th percentile."""

    name: str
    parameters: Parameters
    count: int
    median: float
    p5: float
    p95: float


def statistic(name: str, parameters: Parameters, samples: Sequence[int]) -> Statistic:
    """Of at least one sample."""
    low, high = np.quantile(np.asarray(samples, dtype=np.float64), (0.05, 0.95))
    return Statistic(name, parameters, len(samples), float(median(samples)), float(low), float(high))


@dataclass(frozen=True, slots=True)
class Fit:
    """ns = sum of weight x feature; weights 0 or more."""

    features: tuple[str, ...]
    weights: tuple[float, ...]

    def predict(self, features: Mapping[str, float]) -> float:
        """ns for one point."""
        return sum(weight * features[name] for name, weight in zip(self.features, self.weights, strict=True))


def fitted(points: Sequence[tuple[Mapping[str, float], float]]) -> Fit:
    """The non-negative weights of least squared relative error over (features, ns), ns above 0; of few features, all subsets are tried."""
    names = tuple(points[0][0])
    table = np.array([[features[name] for name in names] for features, _ in points], dtype=np.float64)
    table /= np.array([time for _, time in points], dtype=np.float64)[:, None]
    best_error, best = np.inf, np.zeros(len(names))
    for size in range(1, len(names) + 1):
        for chosen in combinations(range(len(names)), size):
            columns = table[:, chosen]
            scale = np.maximum(np.abs(columns).max(axis=0), 1e-300)
            weights, *_ = np.linalg.lstsq(columns / scale, np.ones(len(points)), rcond=None)
            weights /= scale
            if (weights >= 0).all():
                error = float(((columns @ weights - 1) ** 2).sum())
                if error < best_error:
                    best_error, best = error, np.zeros(len(names))
                    best[list(chosen)] = weights
    return Fit(names, tuple(float(weight) for weight in best))


def product_features(cores: int) -> Callable[[Parameters], dict[str, float]]:
    """Of a product m x n x k: one, its multiplications, its numbers, and on many cores the waves of 128 x 128 tiles over them."""

    def features(parameters: Parameters) -> dict[str, float]:
        m, n, k = (float(parameters[side]) for side in "mnk")
        found = {"one": 1.0, "multiplications": m * n * k, "numbers": m * k + k * n + m * n}
        if cores > 1:
            waves = np.ceil(np.ceil(m / 128) * np.ceil(n / 128) / cores)
            found["waves"] = float(waves * k)
        return found

    return features


def copy_features(parameters: Parameters) -> dict[str, float]:
    """Of a copy: one, and its bytes."""
    return {"one": 1.0, "bytes": float(parameters["bytes"])}
