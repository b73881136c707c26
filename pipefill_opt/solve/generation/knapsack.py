"""A bound on whole pieces in a room: branch and bound that may end early."""

from __future__ import annotations

from collections.abc import Sequence
from fractions import Fraction

from pipefill_opt.solve.bounds import fractional_knapsack


def whole_knapsack(items: Sequence[tuple[int, int, int]], room: int, *, steps: int = 200) -> int:
    """An upper bound on the best choice of whole pieces (value, size, most) in `room`; the best itself, if `steps` suffice to find it."""
    items = sorted(items, key=lambda item: Fraction(-item[0], item[1]))
    best, open_nodes, left = 0, [(fractional_knapsack(items, room), 0, 0, room)], steps
    while open_nodes:
        open_nodes.sort()
        bound, value, first, free = open_nodes.pop()
        if bound <= best or left <= 0:
            return max(best, bound)
        if first == len(items):
            best = max(best, value)
            continue
        worth, size, most = items[first]
        for number in range(min(most, free // size), -1, -1):
            left -= 1
            now, rest = value + number * worth, free - number * size
            limit = now + fractional_knapsack(items[first + 1 :], rest)
            if limit <= best or left <= 0:
                if limit > best:
                    open_nodes.append((limit, now, first + 1, rest))
                break
            best = max(best, now)
            open_nodes.append((limit, now, first + 1, rest))
    return best
