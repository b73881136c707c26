"""One room backwards for a monotone device of up to three slots: the compiled heart of value iteration."""

from __future__ import annotations

from typing import Any


def climb(
    tables: Any,
    steps: Any,
    length: Any,
    wide: Any,
    lap: Any,
    offset: Any,
    paid: Any,
    since: Any,
    limits: Any,
    path: Any,
    nets: Any,
) -> None:
    """Rooms backwards: table k + 1 = the best of table k over all that room steps[k] allows, from each position.

    tables has one table a row, used in turn (two rows will do). Slots a, b, c; fewer are padded with slots of one position that cannot
    move. A table has wide[0] x wide[1] x wide[2] entries, the last slot's positions side by side: positions 0 to length - 1, and as far
    beyond as one room leads, where an entry is that one lap before plus lap[s]. From position k to q > k a slot takes
    paid[offset[s] + q] - since[offset[s] + k] ticks, transfers included, and q <= limits[room][offset[s] + k]; path[set of slots] are
    the ticks between them; nets[room]: usable ticks without enter and leave. Tables, paid, since and limits must not fall when a
    position rises: so of the last slot only the furthest position counts, and that moves on with its start.
    """
    oa, ob, oc = offset[0], offset[1], offset[2]
    row = wide[2]
    plane = wide[1] * row
    for step in range(len(steps)):
        after = tables[step % len(tables)]
        before = tables[(step + 1) % len(tables)]
        limit = limits[steps[step]]
        net = nets[steps[step]]
        for ka in range(length[0]):
            for kb in range(length[1]):
                here = ka * plane + kb * row
                for kc in range(length[2]):
                    before[here + kc] = after[here + kc]
                for a in range(ka, limit[oa + ka] + 1):
                    time_a = 0 if a == ka else paid[oa + a] - since[oa + ka]
                    if time_a > net:
                        break
                    for b in range(kb, limit[ob + kb] + 1):
                        time_b = time_a if b == kb else time_a + paid[ob + b] - since[ob + kb]
                        visited = (a != ka) + 2 * (b != kb)
                        if time_b + path[visited] > net:
                            break
                        left = net - time_b - path[visited + 4]
                        there = a * plane + b * row
                        c = 0
                        for kc in range(length[2]):
                            if c < kc:
                                c = kc
                            most = limit[oc + kc]
                            ready = left + since[oc + kc]
                            while c < most and paid[oc + c + 1] <= ready:
                                c += 1
                            if after[there + c] > before[here + kc]:
                                before[here + kc] = after[there + c]
        for a in range(wide[0]):
            for b in range(wide[1]):
                own = a * plane + b * row
                if a >= length[0]:
                    for c in range(length[2]):
                        before[own + c] = before[own - length[0] * plane + c] + lap[0]
                elif b >= length[1]:
                    for c in range(length[2]):
                        before[own + c] = before[own - length[1] * row + c] + lap[1]
                for c in range(length[2], row):
                    before[own + c] = before[own + c - length[2]] + lap[2]
