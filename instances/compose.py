"""What the generators of the suite share: instance files as text, chains of operators, seeded draws.

A generator has `files()`, {name: text} of its family, and writes them with `main`: `python instances/make_inner.py [FOLDER]`.
Times are whole microseconds here, sizes whole MB.
"""

from __future__ import annotations

import random
import sys
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any

Fields = dict[str, Any]
Range = tuple[int, int]
"""Least and most, both included."""

LINE = 150
TOP = ("main", "period", "iterations", "max_iterations", "repeat", "guard", "switch", "objective", "migrate")


def time(us: int) -> str:
    """`3.2ms`."""
    whole, rest = divmod(us, 1000)
    return f"{whole}.{rest:03d}".rstrip("0").rstrip(".") + "ms"


def size(mb: int) -> str:
    """`120MB`."""
    return f"{mb}MB" if mb else "0"


def flow(value: Any) -> str:
    """A value in YAML's flow style; texts must be plain words."""
    if isinstance(value, Mapping):
        return "{" + ", ".join(f"{key}: {flow(inner)}" for key, inner in value.items()) + "}"
    if isinstance(value, list | tuple):
        return "[" + ", ".join(flow(inner) for inner in value) + "]"
    return {True: "true", False: "false"}[value] if isinstance(value, bool) else str(value)


def instance_text(comments: Sequence[str], fields: Fields) -> str:
    """An INSTANCE file: comments, one line a field, then classes and jobs."""
    lines = [f"# {comment}" for comment in comments]
    lines += [f"{key}: {flow(fields[key])}" for key in TOP if key in fields]
    for device in fields.get("devices", ()):
        lines += ["devices:"] if device is fields["devices"][0] else []
        lines.append(
            "  - {" + flow({key: value for key, value in device.items() if key != "bubbles"})[1:-1] + ", bubbles: ["
        )
        lines += [f"      {flow(bubble)}," for bubble in device["bubbles"]]
        lines.append("    ]}")
    lines.append("jobs:")
    for job in fields["jobs"]:
        lines += [
            f"  {'-' if key == 'name' else ' '} {key}: {flow(value)}" for key, value in job.items() if key != "configs"
        ]
        lines.append("    configs:")
        for configuration in job["configs"]:
            lines += _configuration(configuration)
    return "\n".join(lines) + "\n"


def _configuration(configuration: Fields) -> list[str]:
    """On one line if that is short, else one operator a line."""
    whole = f"      - {flow(configuration)}"
    if len(whole) <= LINE:
        return [whole]
    head = flow({key: value for key, value in configuration.items() if key != "operators"})[1:-1]
    chain = [f"          {flow(entry)}," for entry in configuration["operators"]]
    return [f"      - {{{head}, operators: [", *chain, "        ]}"]


def main(family: str, files: Callable[[], Mapping[str, str]]) -> None:
    """Write the files of a family, to the folder that the command line names or to the suite."""
    folder = Path(sys.argv[1]) if len(sys.argv) > 1 else Path(__file__).resolve().parent / family
    folder.mkdir(parents=True, exist_ok=True)
    for name, text in files().items():
        (folder / name).write_text(text, encoding="utf-8")


class Draw:
    """Seeded draws. `between` and `pick` give the same numbers on every Python."""

    def __init__(self, seed: int) -> None:
        self._rng = random.Random(seed)

    def between(self, bounds: Range, step: int = 1) -> int:
        """A multiple of `step` above the lower bound, up to the upper one."""
        least, most = bounds
        return least + step * self._rng.randrange((most - least) // step + 1)

    def pick(self, options: Sequence[Any]) -> Any:
        return options[self._rng.randrange(len(options))]

    def bubbles(
        self, lengths: Sequence[tuple[str, Range]], free: Range, *, gap: Range = (10_000, 30_000)
    ) -> list[Fields]:
        """Bubbles of these kinds, one after the other with a gap between; lengths and gaps in us, free in MB."""
        drawn, start = [], 0
        for kind, bounds in lengths:
            length = self.between(bounds, 500)
            drawn.append(bubble(start, length, self.between(free, 100), kind))
            start += length + self.between(gap, 1000)
        return drawn

    def inference(self, blocks: int, us: Range, *, work: Range, carry: Range = (0, 0)) -> list[Fields]:
        """A chain of different blocks; work: MB beside what comes in and goes out; carry: MB if paused between two blocks."""
        carries = [self.between(carry, 10) for _ in range(blocks - 1)] + [0]
        chain = []
        for k, after in enumerate(carries):
            memory = max(carries[k - 1] if k else 0, after) + self.between(work, 10)
            chain.append(operator(f"b{k + 1}", self.between(us, 100), memory, after))
        return chain

    def batches(
        self, blocks: int, us: Range, *, work: Range, carry: Range = (0, 0)
    ) -> tuple[list[Fields], list[Fields]]:
        """As `inference`, and the same blocks with twice the batch: 1.5 to 1.9 times as long, twice the bytes."""
        carries = [self.between(carry, 10) for _ in range(blocks - 1)] + [0]
        small, large = [], []
        for k, after in enumerate(carries):
            memory = max(carries[k - 1] if k else 0, after) + self.between(work, 10)
            duration = self.between(us, 100)
            small.append(operator(f"b{k + 1}", duration, memory, after))
            large.append(
                operator(f"b{k + 1}", duration * self.between((150, 190)) // 10_000 * 100, 2 * memory, 2 * after)
            )
        return small, large

    def training(self, blocks: int, us: Range, *, work: Range, saved: Range, recompute: bool = False) -> list[Fields]:
        """Forward and backward over the blocks, then an update; saved: MB that a block's forward leaves for its backward.

        recompute: a tenth is left, and each backward does its forward again.
        """
        forward = [self.between(us, 100) for _ in range(blocks)]
        whole = [self.between(saved, 10) for _ in range(blocks)]
        return train(forward, whole, self.between(work, 10), recompute=recompute)


def operator(name: str, us: int, memory: int, carry: int = 0, repeat: int = 1) -> Fields:
    """One operator as it stands in a file."""
    fields: Fields = {"name": name, "duration": time(us), "memory": size(memory)}
    if carry:
        fields["carry"] = size(carry)
    if repeat > 1:
        fields["repeat"] = repeat
    return fields


def train(
    forward: Sequence[int], saved: Sequence[int], work: int, *, recompute: bool = False, update: int = 0
) -> list[Fields]:
    """The chain of a training step; see `Draw.training`. update: us of the optimizer's step, by default an eighth of the forwards."""
    left = [max(10, mb // 10) for mb in saved] if recompute else list(saved)
    chain, held = [], 0
    for k, us in enumerate(forward):
        chain.append(operator(f"f{k + 1}", us, held + saved[k] + work, held + left[k]))
        held += left[k]
    for k in reversed(range(len(forward))):
        chain.append(
            operator(
                f"b{k + 1}", (3 if recompute else 2) * forward[k], held - left[k] + saved[k] + work, held - left[k]
            )
        )
        held -= left[k]
    return [*chain, operator("update", update or max(100, sum(forward) // 800 * 100), work)]


def config(name: str, samples: int, resident: int, operators: Sequence[Fields]) -> Fields:
    """A configuration as it stands in a file."""
    return {"name": name, "samples": samples, "resident": size(resident), "operators": list(operators)}


def bubble(start: int, length: int, free: int, kind: str) -> Fields:
    """A bubble as it stands in a file."""
    return {"start": time(start), "length": time(length), "free": size(free), "kind": kind}
