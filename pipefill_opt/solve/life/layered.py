"""Lives of two tracks as one piece: who hosts when, and the parts in which nobody changes."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from itertools import pairwise

import numpy as np
from numpy.typing import NDArray

from pipefill_opt.solve.life.layers import Fill, Layers
from pipefill_opt.solve.life.shop import Copy, Life, Part, Piece, Shop

Ints = NDArray[np.int64]


def hosts_of(layers: Layers, life: Life, horizon: int) -> Ints:
    """Turn by turn the number of the host; the number of hosts for nobody, -1 where there is no room beside."""
    hosts = np.full(horizon, len(layers.hosts), dtype=np.int64)
    for start, piece in life:
        simple = len(piece.copies) == 1 and not piece.parts
        hosts[start : start + piece.turns] = layers.number.get(piece.mode, -1) if simple else -1
    return hosts


def layered_piece(shop: Shop, layers: Layers, life: Life, fills: Sequence[Fill]) -> Piece:
    """The life and its fillers as one piece. Pieces of several slots keep their own track, and are no hosts."""
    copies: list[Copy] = []
    numbers: dict[int, int] = {}
    for index, (start, piece) in enumerate(life):
        numbers[index] = len(copies)
        copies += [replace(copy, begin=copy.begin + start, end=copy.end + start) for copy in piece.copies]
    first = len(copies)
    for fill in fills:
        job, configuration = layers.kinds[fill.filler]
        copies.append(Copy(1, job, configuration, fill.begin, fill.end, shop.wanted[job] or 0, None))
    last = max(life[-1][0] + life[-1][1].turns if life else 0, fills[-1].end if fills else 0)
    marks = {0, last, *(mark for fill in fills for mark in (fill.begin, fill.end))}
    marks |= {mark for start, piece in life for mark in (start, start + piece.turns)}
    parts = []
    for begin, end in pairwise(sorted(marks)):
        there = next((i for i, (start, piece) in enumerate(life) if start <= begin < start + piece.turns), None)
        host = None if there is None else life[there][1].mode
        row = len(layers.hosts) if host is None else layers.number[host]
        track = next((i for i, fill in enumerate(fills) if fill.begin <= begin < fill.end), None)
        filler = None if track is None or not layers.rates[row, fills[track].filler] else fills[track].filler
        parts.append(Part(begin, end, host, -1 if there is None else numbers[there], filler, first + (track or 0)))
    mode = life[0][1].mode if life else layers.hosts[0]
    return Piece(mode, last, tuple(copies), 0, tuple(parts), layers)
