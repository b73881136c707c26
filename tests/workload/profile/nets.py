"""Factories for `pipefill profile`, in a file of their own, as a user has them."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import torch
from torch import nn
from torch.utils.checkpoint import checkpoint

WIDTH = 256
WORDS = 100


class Block(nn.Module):  # type: ignore[misc]  # torch is untyped to us
    """Residual, as in a transformer."""

    def __init__(self) -> None:
        super().__init__()
        self.norm = nn.LayerNorm(WIDTH)
        self.up = nn.Linear(WIDTH, 4 * WIDTH)
        self.down = nn.Linear(4 * WIDTH, WIDTH)

    def forward(self, x: Any) -> Any:
        return x + self.down(torch.relu(self.up(self.norm(x))))


class Net(nn.Module):  # type: ignore[misc]
    """With work between its blocks, and `again` blocks that are recomputed in the backward."""

    def __init__(self, again: bool = False) -> None:
        super().__init__()
        self.embed = nn.Embedding(WORDS, WIDTH)
        self.layers = nn.ModuleList(Block() for _ in range(3))
        self.head = nn.Linear(WIDTH, WORDS)
        self.again = again

    def forward(self, tokens: Any) -> Any:
        x = self.embed(tokens) * 2
        for layer in self.layers:
            x = checkpoint(layer, x, use_reentrant=False) if self.again else layer(x)
        return {"logits": self.head(x)}


class Moody(nn.Module):  # type: ignore[misc]
    """Calls another unit each time."""

    def __init__(self) -> None:
        super().__init__()
        self.units = nn.ModuleList(nn.Linear(8, 8) for _ in range(2))
        self.calls = 0

    def forward(self, x: Any) -> Any:
        self.calls += 1
        return self.units[self.calls % 2](x)


def tokens(batch: int) -> Any:
    return torch.randint(0, WORDS, (batch, 64))


def net() -> tuple[Any, Callable[[int], Any]]:
    return Net(), tokens


def recomputed() -> tuple[Any, Callable[[int], Any], Callable[[Any], Any]]:
    return Net(again=True), lambda batch: {"tokens": tokens(batch)}, lambda output: output["logits"].square().mean()


def chain() -> tuple[Any, Callable[[int], Any]]:
    return nn.Sequential(nn.Linear(256, 512), nn.ReLU(), nn.Linear(512, 16)), lambda batch: torch.randn(batch, 256)


def moody() -> tuple[Any, Callable[[int], Any]]:
    return Moody(), lambda batch: torch.randn(batch, 8)


def wrong_inputs() -> tuple[Any, Callable[[int], Any]]:
    return nn.Linear(8, 8), lambda batch: torch.randn(batch, 9)


def frozen() -> tuple[Any, Callable[[int], Any]]:
    return nn.ReLU(), lambda batch: torch.randn(batch, 9)
