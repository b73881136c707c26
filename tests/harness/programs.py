"""Small replay requests. Real devices sleep too where a test must hold on a machine that others use as well."""

from __future__ import annotations

from typing import Any

Document = dict[str, Any]
MS = 1_000_000


def sleep(ms: float) -> Document:
    return {"kind": "sleep", "loops": int(ms * MS)}


def tiles(loops: int) -> Document:
    return {"kind": "tiles", "loops": loops}


def operator(work: Document, memory: int = 0, held: int = 0) -> Document:
    return {"work": work, "memory": memory, "held": held}


def two_devices(
    iterations: list[bool], *, work: Document | None = None, fill: list[Document] | None = None, limit: int = 100
) -> Document:
    """`a` works for 2 ms, waits for `b` (5 ms) and works for 2 ms: 9 ms an iteration, with a bubble of 5 ms on `a`."""
    work = work or sleep(2)
    visit = {"before": 1, "limit": limit, "operators": [operator(sleep(1), 30, 10)] * 2 if fill is None else fill}
    return {
        "mode": "replay",
        "iterations": iterations,
        "boundary": "barrier",
        "deadline": 20_000 * MS,
        "lags": [0, 0],
        "devices": [
            {
                "name": "a",
                "real": True,
                "main_bytes": 100,
                "fill_bytes": 100,
                "actions": [
                    {"work": work, "sends": [0], "takes": 60},
                    {"work": work, "waits": [1], "gives": 60},
                ],
                "turns": [[visit]],
            },
            {
                "name": "b",
                "real": False,
                "main_bytes": 0,
                "fill_bytes": 0,
                "actions": [{"work": sleep(5), "waits": [0], "sends": [1]}],
            },
        ],
    }
