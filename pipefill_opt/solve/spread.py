"""All rooms forwards for a monotone device of up to five slots: the compiled heart of the search from starts."""

from __future__ import annotations

from typing import Any


def spread(
    tables: Any,
    sizes: Any,
    starts: Any,
    bases: Any,
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
    needed: Any,
    window: Any,
) -> tuple[int, int]:
    """From each start in turn: table t + 1 = what is reached after room steps[t] from table t. Ends after the first start whose last table
    has the highest corner. Returns (starts before that one, the number of states gone on from).

    An entry [h, i, j, k] of a table (below sizes[0..3], the last side by side) is the furthest that slot 4 gets while slots 0 to 3
    have done h, i, j, k operators since the start; -1: not reached. tables has one table a row, used in turn (two rows will do), all -1
    to begin with; those of the last start stay. window[row]: by axis, from where to where entries of a table may be reached; all 0 to
    begin with. Nobody goes further than sizes[s] - 1; fewer than five slots are padded with ones that cannot move.

    From position x to q > x slot s takes paid[offset[s] + q] - since[offset[s] + x] ticks and q <= limits[room][offset[s] + x], laps
    counted on; path[set of slots] are the ticks between them; nets[room]: usable ticks without enter and leave. The further slot 3 goes,
    the less far slot 4 gets: no time falls when a position rises, or a slot more runs.

    No state is gone on from, or kept, that another is ahead of, or whose hope is below its start's base + needed[t]: hopes[t][position of
    all slots on their first lap, the last side by side] + lap[s] for each lap; hopes has a row for each room of a main iteration, and one
    for its end.
    """
    n0, n1, n2, n3 = sizes[0], sizes[1], sizes[2], sizes[3]
    plane = n2 * n3
    block = n1 * plane
    rows = len(tables)
    gone_on = 0
    for number in range(len(starts)):
        s0, s1, s2, s3, s4 = (
            starts[number, 0],
            starts[number, 1],
            starts[number, 2],
            starts[number, 3],
            starts[number, 4],
        )
        for row in range(rows):  # what the start before left
            for h in range(window[row, 0, 0], window[row, 0, 1]):
                for i in range(window[row, 1, 0], window[row, 1, 1]):
                    for j in range(window[row, 2, 0], window[row, 2, 1]):
                        for k in range(window[row, 3, 0], window[row, 3, 1]):
                            tables[row, h * block + i * plane + j * n3 + k] = -1
            for axis in range(4):
                window[row, axis, 0] = 0
                window[row, axis, 1] = 0
        tables[0, 0] = 0
        for axis in range(4):
            window[0, axis, 1] = 1
        for t in range(len(steps)):
            row, other = t % rows, (t + 1) % rows
            before, after = tables[row], tables[other]
            for h in range(window[other, 0, 0], window[other, 0, 1]):
                for i in range(window[other, 1, 0], window[other, 1, 1]):
                    for j in range(window[other, 2, 0], window[other, 2, 1]):
                        for k in range(window[other, 3, 0], window[other, 3, 1]):
                            after[h * block + i * plane + j * n3 + k] = -1
            low0, low1, low2, low3 = n0, n1, n2, n3
            high0, high1, high2, high3 = -1, -1, -1, -1
            hope = hopes[t % (len(hopes) - 1)]
            limit = limits[steps[t]]
            net = nets[steps[t]]
            least = bases[number] + needed[t]
            for h in range(window[row, 0, 0], window[row, 0, 1]):
                for i in range(window[row, 1, 0], window[row, 1, 1]):
                    for j in range(window[row, 2, 0], window[row, 2, 1]):
                        for k in range(window[row, 3, 0], window[row, 3, 1]):
                            here = h * block + i * plane + j * n3 + k
                            far = before[here]
                            if far < 0:
                                continue
                            if k + 1 < n3 and before[here + 1] >= far:
                                continue
                            if j + 1 < n2 and before[here + n3] >= far:
                                continue
                            if i + 1 < n1 and before[here + plane] >= far:
                                continue
                            if h + 1 < n0 and before[here + block] >= far:
                                continue
                            x0, x1, x2, x3, x4 = s0 + h, s1 + i, s2 + j, s3 + k, s4 + far
                            l0, l1, l2 = x0 // length[0], x1 // length[1], x2 // length[2]
                            l3, l4 = x3 // length[3], x4 // length[4]
                            at = ((x0 - l0 * length[0]) * length[1] + x1 - l1 * length[1]) * length[2]
                            at = (at + x2 - l2 * length[2]) * length[3] + x3 - l3 * length[3]
                            at = at * length[4] + x4 - l4 * length[4]
                            laps = l0 * lap[0] + l1 * lap[1] + l2 * lap[2] + l3 * lap[3] + l4 * lap[4]
                            if hope[at] + laps < least:
                                continue
                            gone_on += 1
                            after[here] = max(after[here], far)
                            high0, high1, high2, high3 = max(high0, h), max(high1, i), max(high2, j), max(high3, k)
                            low0, low1, low2, low3 = min(low0, h), min(low1, i), min(low2, j), min(low3, k)
                            most0 = min(limit[offset[0] + x0], s0 + n0 - 1)
                            most1 = min(limit[offset[1] + x1], s1 + n1 - 1)
                            most2 = min(limit[offset[2] + x2], s2 + n2 - 1)
                            most3 = min(limit[offset[3] + x3], s3 + n3 - 1)
                            most4 = min(limit[offset[4] + x4], s4 + sizes[4] - 1)
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
                                        time_c = time_b
                                        if c != x2:
                                            time_c += paid[offset[2] + c] - since[offset[2] + x2]
                                        with_c = with_b + 4 * (c != x2)
                                        if time_c + path[with_c] > net:
                                            break
                                        low = most4
                                        for d in range(x3, most3 + 1):
                                            time_d = time_c
                                            if d != x3:
                                                time_d += paid[offset[3] + d] - since[offset[3] + x3]
                                            with_d = with_c + 8 * (d != x3)
                                            if time_d + path[with_d] > net:
                                                break
                                            ready = net - time_d - path[with_d + 16] + since4
                                            while low > x4 and paid[offset[4] + low] > ready:
                                                low -= 1
                                            there = (a - s0) * block + (b - s1) * plane + (c - s2) * n3 + d - s3
                                            after[there] = max(after[there], low - s4)
                                            high0, high1 = max(high0, a - s0), max(high1, b - s1)
                                            high2, high3 = max(high2, c - s2), max(high3, d - s3)
            window[other, 0, 0], window[other, 0, 1] = low0, high0 + 1
            window[other, 1, 0], window[other, 1, 1] = low1, high1 + 1
            window[other, 2, 0], window[other, 2, 1] = low2, high2 + 1
            window[other, 3, 0], window[other, 3, 1] = low3, high3 + 1
        if tables[len(steps) % rows, n0 * block - 1] >= sizes[4] - 1:
            return number, gone_on
    return len(starts), gone_on
