"""The fill job of `torch_pipeline`: batch inference of a few layers."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from pipefill_opt.workload.profile.library import torch_library

WIDTH = 256
ROWS = 32
LAYERS = 8


def factory() -> tuple[Any, Callable[[int], Any]]:
    """As `pipefill profile` wants it."""
    torch = torch_library()
    layers = [torch.nn.Linear(WIDTH, WIDTH) for _ in range(LAYERS)]
    return torch.nn.Sequential(*layers), lambda batch: torch.randn(ROWS * batch, WIDTH)
