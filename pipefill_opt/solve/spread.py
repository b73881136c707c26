"""All rooms forwards for a monotone device of up to four slots: the compiled heart of the search from one start."""

from __future__ import annotations

from typing import Any


def spread(
    tables: Any,
    sizes: Any,
    start: Any,
    steps: Any,
    nets: Any,
    path: Any,
    offset: Any,
    paid: Any,
    since: Any,
    limits: Any,
    hopes: Any,
    length: Any,
    lap: Any,
    least: int,
) -> int:
    """Table t + 1 = what is reached after room steps[t] from table t. Returns the number of states gone on from.

    An entry [i, j, k] of a table (i, j, k < sizes[0..2], the last side by side) is the furthest that slot 3 gets while slots 0, 1, 2
    have done i, j, k operators since `start`; -1: not reached. tables has one table a row, used in turn (two rows will do). Nobody goes
    further than sizes[s] - 1; fewer than four slots are padded with ones that cannot move. From position x to q > x slot s takes
    paid[offset[s] + q] - since[offset[s] + x] ticks and q <= limits[room][offset[s] + x], laps counted on; path[set of slots] are the
    ticks between them; nets[room]: usable ticks without enter and leave. No state is gone on from that another is ahead of, or whose
    hope is below `least`: hopes[t][position of all slots on their first lap, the last side by side] + lap[s] for each lap.
    """
    n0, n1, n2 = sizes[0], sizes[1], sizes[2]
    plane = n1 * n2
    visited_states = 0
    for t in range(len(steps)):
        before = tables[t % len(tables)]
        after = tables[(t + 1) % len(tables)]
        hope = hopes[t]
        limit = limits[steps[t]]
        net = nets[steps[t]]
        for entry in range(n0 * plane):
            after[entry] = before[entry]
        for i in range(n0):
            x0 = start[0] + i
            most0 = min(limit[offset[0] + x0], start[0] + n0 - 1)
            for j in range(n1):
                x1 = start[1] + j
                most1 = min(limit[offset[1] + x1], start[1] + n1 - 1)
                for k in range(n2):
                    here = i * plane + j * n2 + k
                    d = before[here]
                    if d < 0:
                        continue
                    if i + 1 < n0 and before[here + plane] >= d:
                        continue
                    if j + 1 < n1 and before[here + n2] >= d:
                        continue
                    if k + 1 < n2 and before[here + 1] >= d:
                        continue
                    x2 = start[2] + k
                    x3 = start[3] + d
                    l0, l1, l2, l3 = x0 // length[0], x1 // length[1], x2 // length[2], x3 // length[3]
                    at = ((x0 - l0 * length[0]) * length[1] + x1 - l1 * length[1]) * length[2] + x2 - l2 * length[2]
                    at = at * length[3] + x3 - l3 * length[3]
                    if hope[at] + l0 * lap[0] + l1 * lap[1] + l2 * lap[2] + l3 * lap[3] < least:
                        continue
                    visited_states += 1
                    most2 = min(limit[offset[2] + x2], start[2] + n2 - 1)
                    most3 = min(limit[offset[3] + x3], start[3] + sizes[3] - 1)
                    since3 = since[offset[3] + x3]
                    for a in range(x0, most0 + 1):
                        time_a = 0 if a == x0 else paid[offset[0] + a] - since[offset[0] + x0]
                        if time_a > net:
                            break
                        for b in range(x1, most1 + 1):
                            time_b = time_a if b == x1 else time_a + paid[offset[1] + b] - since[offset[1] + x1]
                            chosen = (a != x0) + 2 * (b != x1)
                            if time_b + path[chosen] > net:
                                break
                            for c in range(x2, most2 + 1):
                                time_c = time_b if c == x2 else time_b + paid[offset[2] + c] - since[offset[2] + x2]
                                all_chosen = chosen + 4 * (c != x2)
                                if time_c + path[all_chosen] > net:
                                    break
                                ready = net - time_c - path[all_chosen + 8] + since3
                                low, high = x3, most3
                                while low < high:
                                    middle = (low + high + 1) // 2
                                    if paid[offset[3] + middle] <= ready:
                                        low = middle
                                    else:
                                        high = middle - 1
                                there = (a - start[0]) * plane + (b - start[1]) * n2 + c - start[2]
                                if low - start[3] > after[there]:
                                    after[there] = low - start[3]
    return visited_states
