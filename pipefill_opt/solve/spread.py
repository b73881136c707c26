"""All rooms forwards for a monotone device of up to five slots: the compiled heart of the search from one start."""

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

    An entry [h, i, j, k] of a table (below sizes[0..3], the last side by side) is the furthest that slot 4 gets while slots 0 to 3
    have done h, i, j, k operators since `start`; -1: not reached. tables has one table a row, used in turn (two rows will do). Nobody goes
    further than sizes[s] - 1; fewer than five slots are padded with ones that cannot move. From position x to q > x slot s takes
    paid[offset[s] + q] - since[offset[s] + x] ticks and q <= limits[room][offset[s] + x], laps counted on; path[set of slots] are the
    ticks between them; nets[room]: usable ticks without enter and leave. No state is gone on from that another is ahead of, or whose
    hope is below `least`: hopes[t][position of all slots on their first lap, the last side by side] + lap[s] for each lap.
    """
    n0, n1, n2, n3 = sizes[0], sizes[1], sizes[2], sizes[3]
    plane = n2 * n3
    block = n1 * plane
    gone_on = 0
    for t in range(len(steps)):
        before = tables[t % len(tables)]
        after = tables[(t + 1) % len(tables)]
        hope = hopes[t]
        limit = limits[steps[t]]
        net = nets[steps[t]]
        for entry in range(n0 * block):
            after[entry] = before[entry]
        for here in range(n0 * block):
            far = before[here]
            if far < 0:
                continue
            k = here % n3
            j = here // n3 % n2
            i = here // plane % n1
            h = here // block
            if k + 1 < n3 and before[here + 1] >= far:
                continue
            if j + 1 < n2 and before[here + n3] >= far:
                continue
            if i + 1 < n1 and before[here + plane] >= far:
                continue
            if h + 1 < n0 and before[here + block] >= far:
                continue
            x0, x1, x2, x3, x4 = start[0] + h, start[1] + i, start[2] + j, start[3] + k, start[4] + far
            l0, l1, l2 = x0 // length[0], x1 // length[1], x2 // length[2]
            l3, l4 = x3 // length[3], x4 // length[4]
            at = ((x0 - l0 * length[0]) * length[1] + x1 - l1 * length[1]) * length[2] + x2 - l2 * length[2]
            at = (at * length[3] + x3 - l3 * length[3]) * length[4] + x4 - l4 * length[4]
            if hope[at] + l0 * lap[0] + l1 * lap[1] + l2 * lap[2] + l3 * lap[3] + l4 * lap[4] < least:
                continue
            gone_on += 1
            most0 = min(limit[offset[0] + x0], start[0] + n0 - 1)
            most1 = min(limit[offset[1] + x1], start[1] + n1 - 1)
            most2 = min(limit[offset[2] + x2], start[2] + n2 - 1)
            most3 = min(limit[offset[3] + x3], start[3] + n3 - 1)
            most4 = min(limit[offset[4] + x4], start[4] + sizes[4] - 1)
            since4 = since[offset[4] + x4]
            for a in range(x0, most0 + 1):
                time_a = 0 if a == x0 else paid[offset[0] + a] - since[offset[0] + x0]
                if time_a > net:
                    break
                for b in range(x1, most1 + 1):
                    time_b = time_a if b == x1 else time_a + paid[offset[1] + b] - since[offset[1] + x1]
                    with_b = (a != x0) + 2 * (b != x1)
                    if time_b + path[with_b] > net:
                        break
                    for c in range(x2, most2 + 1):
                        time_c = time_b if c == x2 else time_b + paid[offset[2] + c] - since[offset[2] + x2]
                        with_c = with_b + 4 * (c != x2)
                        if time_c + path[with_c] > net:
                            break
                        for d in range(x3, most3 + 1):
                            time_d = time_c if d == x3 else time_c + paid[offset[3] + d] - since[offset[3] + x3]
                            with_d = with_c + 8 * (d != x3)
                            if time_d + path[with_d] > net:
                                break
                            ready = net - time_d - path[with_d + 16] + since4
                            low, high = x4, most4
                            while low < high:
                                middle = (low + high + 1) // 2
                                if paid[offset[4] + middle] <= ready:
                                    low = middle
                                else:
                                    high = middle - 1
                            there = (a - start[0]) * block + (b - start[1]) * plane + (c - start[2]) * n3 + d - start[3]
                            if low - start[4] > after[there]:
                                after[there] = low - start[4]
    return gone_on
