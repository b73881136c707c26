"""One room backwards for a monotone device of up to four slots: the compiled heart of value iteration."""

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

    tables has one table a row, used in turn (two rows will do). Slots a, b, c, d; fewer are padded with slots of one position that cannot
    move. A table has wide[0] x .. x wide[3] entries, the last slot's positions side by side: positions 0 to length - 1, and as far
    beyond as one room leads, where an entry is that one lap before plus lap[s]. From position k to q > k a slot takes
    paid[offset[s] + q] - since[offset[s] + k] ticks, transfers included, and q <= limits[room][offset[s] + k]; path[set of slots] are
    the ticks between them; nets[room]: usable ticks without enter and leave. Tables, paid, since and limits must not fall when a
    position rises: so of the last slot only the furthest position counts, and that moves on with its start.
    """
    oa, ob, oc, od = offset[0], offset[1], offset[2], offset[3]
    row = wide[3]
    plane = wide[2] * row
    block = wide[1] * plane
    for step in range(len(steps)):
        after = tables[step % len(tables)]
        before = tables[(step + 1) % len(tables)]
        limit = limits[steps[step]]
        net = nets[steps[step]]
        for ka in range(length[0]):
            for kb in range(length[1]):
                for kc in range(length[2]):
                    here = ka * block + kb * plane + kc * row
                    for kd in range(length[3]):
                        before[here + kd] = after[here + kd]
                    for a in range(ka, limit[oa + ka] + 1):
                        time_a = 0 if a == ka else paid[oa + a] - since[oa + ka]
                        if time_a > net:
                            break
                        for b in range(kb, limit[ob + kb] + 1):
                            time_b = time_a if b == kb else time_a + paid[ob + b] - since[ob + kb]
                            chosen = (a != ka) + 2 * (b != kb)
                            if time_b + path[chosen] > net:
                                break
                            for c in range(kc, limit[oc + kc] + 1):
                                time_c = time_b if c == kc else time_b + paid[oc + c] - since[oc + kc]
                                visited = chosen + 4 * (c != kc)
                                if time_c + path[visited] > net:
                                    break
                                left = net - time_c - path[visited + 8]
                                there = a * block + b * plane + c * row
                                d = 0
                                for kd in range(length[3]):
                                    if d < kd:
                                        d = kd
                                    most = limit[od + kd]
                                    ready = left + since[od + kd]
                                    while d < most and paid[od + d + 1] <= ready:
                                        d += 1
                                    if after[there + d] > before[here + kd]:
                                        before[here + kd] = after[there + d]
        for a in range(wide[0]):
            for b in range(wide[1]):
                for c in range(wide[2]):
                    own = a * block + b * plane + c * row
                    if a >= length[0]:
                        other, more = own - length[0] * block, lap[0]
                    elif b >= length[1]:
                        other, more = own - length[1] * plane, lap[1]
                    elif c >= length[2]:
                        other, more = own - length[2] * row, lap[2]
                    else:
                        other, more = own, 0
                    if other != own:
                        for d in range(length[3]):
                            before[own + d] = before[other + d] + more
                    for d in range(length[3], row):
                        before[own + d] = before[own + d - length[3]] + lap[3]
