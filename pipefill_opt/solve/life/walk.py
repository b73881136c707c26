"""The best life of one device at given prices: a dynamic program over time whose steps are pieces of work, one after the other."""

from __future__ import annotations

from typing import Any


def best_life(
    value: Any,
    choice: Any,
    duration: Any,
    gain: Any,
    slope: Any,
    first: Any,
    last: Any,
) -> None:
    """value[t] = the most that can be gained by t, for t from 0 to len(value) - 1; choice[t]: the piece that ends at t, -1 for none.

    Piece i takes duration[i] (above 0), begins at first[i] at the earliest, ends at last[i] at the latest, and ending at t gains
    gain[i] - slope[i] x t. Of equals the earlier piece counts.
    """
    value[0] = 0
    choice[0] = -1
    for t in range(1, len(value)):
        best = value[t - 1]
        chosen = -1
        for i in range(len(duration)):
            start = t - duration[i]
            if start >= first[i] and t <= last[i]:
                total = value[start] + gain[i] - slope[i] * t
                if total > best:
                    best = total
                    chosen = i
        value[t] = best
        choice[t] = chosen


def best_cut_life(
    value: Any,
    choice: Any,
    cut: Any,
    duration: Any,
    rate: Any,
    full: Any,
    price: Any,
    first: Any,
    last: Any,
    window: Any,
) -> None:
    """The same for pieces that may be cut short: piece i, run for x turns, gains min(rate[i] x, full[i]) - price[i].

    cut[t]: how long the piece that ends at t ran. window: scratch, one row of len(value) + 2 a piece, for the starts that can still be
    best (by value[s] - rate s, falling), its last two entries where that queue begins and ends.
    """
    size = len(value)
    value[0] = 0
    choice[0] = -1
    for i in range(len(duration)):
        window[i, size] = 0
        window[i, size + 1] = 0
    for t in range(1, size):
        best = value[t - 1]
        chosen = -1
        length = 0
        for i in range(len(duration)):
            s = t - 1
            if s >= first[i] and s < last[i]:
                key = value[s] - rate[i] * s
                tail = window[i, size + 1]
                while tail > window[i, size] and value[window[i, tail - 1]] - rate[i] * window[i, tail - 1] <= key:
                    tail -= 1
                window[i, tail] = s
                window[i, size + 1] = tail + 1
            if t > last[i]:
                continue
            start = t - duration[i]
            while window[i, size] < window[i, size + 1] and window[i, window[i, size]] <= start:
                window[i, size] += 1
            if start >= first[i]:
                total = value[start] + full[i] - price[i]
                if total > best:
                    best = total
                    chosen = i
                    length = duration[i]
            if window[i, size] < window[i, size + 1]:
                s = window[i, window[i, size]]
                total = value[s] + rate[i] * (t - s) - price[i]
                if total > best:
                    best = total
                    chosen = i
                    length = t - s
        value[t] = best
        choice[t] = chosen
        cut[t] = length
