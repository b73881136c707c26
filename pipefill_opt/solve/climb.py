"""One room backwards for a monotone device of up to five slots: the compiled heart of value iteration."""

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

    tables has one table a row, used in turn (two rows will do). Slots a to e; fewer are padded with slots of one position that cannot
    move. A table has wide[0] x .. x wide[4] entries, the last slot's positions side by side: positions 0 to length - 1, and as far
    beyond as one room leads, where an entry is that one lap before plus lap[s]. From position k to q > k a slot takes
    paid[offset[s] + q] - since[offset[s] + k] ticks, transfers included, and q <= limits[room][offset[s] + k]; path[set of slots] are
    the ticks between them; nets[room]: usable ticks without enter and leave. Tables, paid, since and limits must not fall when a
    position rises: so of the last slot only the furthest position counts, and that moves on with its start.
    """
    oa, ob, oc, od, oe = offset[0], offset[1], offset[2], offset[3], offset[4]
    row = wide[4]
    plane = wide[3] * row
    block = wide[2] * plane
    whole = wide[1] * block
    for step in range(len(steps)):
        after = tables[step % len(tables)]
        before = tables[(step + 1) % len(tables)]
        limit = limits[steps[step]]
        net = nets[steps[step]]
        for start in range(length[0] * length[1] * length[2] * length[3]):
            kd = start % length[3]
            kc = start // length[3] % length[2]
            kb = start // length[3] // length[2] % length[1]
            ka = start // length[3] // length[2] // length[1]
            here = ka * whole + kb * block + kc * plane + kd * row
            for ke in range(length[4]):
                before[here + ke] = after[here + ke]
            for a in range(ka, limit[oa + ka] + 1):
                time_a = 0 if a == ka else paid[oa + a] - since[oa + ka]
                if time_a > net:
                    break
                for b in range(kb, limit[ob + kb] + 1):
                    time_b = time_a if b == kb else time_a + paid[ob + b] - since[ob + kb]
                    with_b = (a != ka) + 2 * (b != kb)
                    if time_b + path[with_b] > net:
                        break
                    for c in range(kc, limit[oc + kc] + 1):
                        time_c = time_b if c == kc else time_b + paid[oc + c] - since[oc + kc]
                        with_c = with_b + 4 * (c != kc)
                        if time_c + path[with_c] > net:
                            break
                        for d in range(kd, limit[od + kd] + 1):
                            time_d = time_c if d == kd else time_c + paid[od + d] - since[od + kd]
                            with_d = with_c + 8 * (d != kd)
                            if time_d + path[with_d] > net:
                                break
                            left = net - time_d - path[with_d + 16]
                            there = a * whole + b * block + c * plane + d * row
                            e = 0
                            for ke in range(length[4]):
                                if e < ke:
                                    e = ke
                                most = limit[oe + ke]
                                ready = left + since[oe + ke]
                                while e < most and paid[oe + e + 1] <= ready:
                                    e += 1
                                if after[there + e] > before[here + ke]:
                                    before[here + ke] = after[there + e]
        for entry in range(wide[0] * wide[1] * wide[2] * wide[3]):
            d = entry % wide[3]
            c = entry // wide[3] % wide[2]
            b = entry // wide[3] // wide[2] % wide[1]
            a = entry // wide[3] // wide[2] // wide[1]
            own = entry * row
            if a >= length[0]:
                other, more = own - length[0] * whole, lap[0]
            elif b >= length[1]:
                other, more = own - length[1] * block, lap[1]
            elif c >= length[2]:
                other, more = own - length[2] * plane, lap[2]
            elif d >= length[3]:
                other, more = own - length[3] * row, lap[3]
            else:
                other, more = own, 0
            if other != own:
                for e in range(length[4]):
                    before[own + e] = before[other + e] + more
            for e in range(length[4], row):
                before[own + e] = before[own + e - length[4]] + lap[4]
