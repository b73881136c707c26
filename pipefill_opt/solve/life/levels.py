"""How late copies complete that share turns: prices of laps by their number in a turn.

Of a copy of W laps let x(u) be those in turn u and n(i) the number of turns with at least i laps. Counted from its completion C backwards,
the middle of turn number d lies d + 1/2 before C; so C - (mean time of its laps) is least where fuller turns come later, and

    C - mean time >= sum over i of n(i)^2 / (2 W),        the sum of all n(i) being W:

laps number i of n(i) turns are, in the best order, 1/2, 3/2, ... before C. So few laps in many turns cost time. For any numbers z(i)
n^2 / 2 >= n z - z^2 / 2, and the completion is bounded by a sum over turns,

    C >= mean time + (sum over turns u and i <= x(u) of z(i) - k) / W,   k: the most that the sum of n(i) z(i) - n(i)^2 / 2 can be.

With prices p of copies no plan costs less than sum of copies x p - what all turns gain at most (`bounds`), where x laps in turn u gain

    sum over i <= x of (p - w (u + 1/2 + z(i) - k / W)) / W.

The best z are the numbers n of the best relaxed plan, in which copies of a job on a class are alike. It minimises a convex function, of the
number of turns in which device classes have which mix of laps, with a price for the copies that are missing; block after block (a
part of the time of a class) moves towards the mix that gains most, as far as Newton's step says (Frank and Wolfe's method by blocks:
Lacoste-Julien et al., ICML 2013), and prices follow the copies that are missing (augmented Lagrangian). All in floats: any z and p bound.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from pipefill_opt.solve.life.mixes import Ints

Floats = NDArray[np.float64]


@dataclass(frozen=True, slots=True, eq=False)
class Duals:
    """Prices of copies, of the place of one more copy by job and part of the time, and the numbers z by class and row of its mixes.

    edges: those of the parts, in turns. bound: what they prove, in floats.
    """

    prices: Floats
    places: Floats
    edges: Ints
    levels: tuple[Floats, ...]
    bound: float


def sweep(
    moves: bool,
    entries: Any,
    live: Any,
    wanted: Any,
    pairs: Any,
    parts: Any,
    count: Any,
    middle: Any,
    length: Any,
    job: Any,
    price: Any,
    level: Any,
    amount: Any,
    block: Any,
    busy: Any,
    place: Any,
    value: Any,
    best_of: Any,
    step: Any,
    seen: Any,
) -> float:
    """What all devices gain at most; if `moves`, each block moves on, and levels and prices with it.

    entries[e]: job, first row, end of rows; live[e]: whether pairs have it. parts[c]: first entry and pair of class c, with one more at the
    end. job[j]: copies, weight, price when none is missing, its rise if all are, most, copies done. amount[r]: device-turns with so
    many laps, in all; block[t, r]: in one part, where busy[t, e]. place[:, j, t]: price of a copy's place, what it is when no more copies
    work than there are, its rise with one more device-turn, device-turns. value, best_of, step: scratch by row. seen[k]: set for pairs
    that are best somewhere.
    """
    total = 0.0
    spare = np.zeros(len(entries))
    for e in range(len(entries)):
        for r in range(entries[e, 1], entries[e, 2]):
            spare[e] += level[r] * level[r] / (2 * wanted[e])
    for c in range(len(count)):
        first, end = parts[c, 0], parts[c + 1, 0]
        for t in range(len(middle)):
            size = length[t] * count[c]
            for e in range(first, end):
                if not live[e]:
                    continue
                j, a = entries[e, 0], entries[e, 1]
                weight = job[j, 1] / wanted[e]
                base = price[j] / wanted[e] + weight * (spare[e] - middle[t])
                sum_of, best, laps = -place[0, j, t], 0.0, 0
                for r in range(a, entries[e, 2]):
                    sum_of += base - weight * level[r]
                    if sum_of > best:
                        best, laps = sum_of, r - a + 1
                    value[r], best_of[r] = best, laps
            top, chosen = 0.0, -1
            for k in range(parts[c, 1], parts[c + 1, 1]):
                gain = value[pairs[k, 0]]
                if pairs[k, 1] >= 0:
                    gain += value[pairs[k, 1]]
                if gain > top:
                    top, chosen = gain, k
            total += top * size
            if chosen >= 0:
                seen[chosen] = True
            if not moves:
                continue
            slope, bend = top * size, 0.0
            for e in range(first, end):
                a, b = entries[e, 1], entries[e, 2]
                here = chosen >= 0 and (a <= pairs[chosen, 0] < b or a <= pairs[chosen, 1] < b)
                if not here and not busy[t, e]:
                    continue
                busy[t, e] = True
                j = entries[e, 0]
                weight = job[j, 1] / wanted[e]
                base = price[j] / wanted[e] + weight * (spare[e] - middle[t])
                whole, square, along, mixed, change = 0.0, 0.0, 0.0, 0.0, 0.0
                for r in range(a, b):
                    slope -= block[t, r] * (base - weight * level[r])
                    step[r] = -block[t, r]
                slope += block[t, a] * place[0, j, t]
                for side in range(2 if here else 0):
                    row = pairs[chosen, side]
                    if a <= row < b:
                        for r in range(a, a + best_of[row]):
                            step[r] += size
                for r in range(a, b):
                    whole += amount[r]
                    square += amount[r] * amount[r]
                    along += step[r]
                    mixed += amount[r] * step[r]
                    change += step[r] * step[r]
                if whole > 1e-6 * count[c]:
                    rate = along / whole
                    bend += job[j, 1] * (change - 2 * mixed * rate + square * rate * rate) / whole
                bend += job[j, 3] * (along / wanted[e]) ** 2 + place[2, j, t] * step[a] ** 2
            part = min(1.0, slope / bend) if bend > 0 else 1.0
            if part <= 0:
                continue
            for e in range(first, end):
                if not busy[t, e]:
                    continue
                j, a, b = entries[e, 0], entries[e, 1], entries[e, 2]
                whole, left, along, squares = 0.0, 0.0, 0.0, 0.0
                place[3, j, t] -= block[t, a]
                for r in range(a, b):
                    amount[r] = max(0.0, amount[r] + part * step[r])
                    block[t, r] = max(0.0, block[t, r] + part * step[r])
                    along += part * step[r]
                    left += block[t, r]
                    whole += amount[r]
                place[3, j, t] += block[t, a]
                over = place[3, j, t] - job[j, 0] * length[t]
                place[0, j, t] = max(0.0, place[1, j, t] + place[2, j, t] * over)
                busy[t, e] = left > 1e-9 * size
                if whole > 1e-6 * count[c]:
                    for r in range(a, b):
                        level[r] = amount[r] * wanted[e] / whole
                        squares += level[r] * level[r]
                    spare[e] = squares / (2 * wanted[e])
                job[j, 5] += along / wanted[e]
                price[j] = min(max(job[j, 2] + job[j, 3] * (job[j, 0] - job[j, 5]), 0.0), job[j, 4])
    return total
