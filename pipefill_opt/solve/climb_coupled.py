"""One room backwards where slots couple, for any number of slots: the compiled heart of value iteration with carried bytes."""

from __future__ import annotations

from typing import Any


def climb_coupled(
    tables: Any,
    steps: Any,
    length: Any,
    wide: Any,
    lap: Any,
    worth: Any,
    rate: float,
    allowed: Any,
    offset: Any,
    paid: Any,
    since: Any,
    limits: Any,
    nets: Any,
    free: Any,
    path: Any,
    orders: Any,
    base: Any,
    kept: Any,
    carry: Any,
    memory: Any,
    little: Any,
    strict: bool,
    never: int,
    scratch: Any,
) -> None:
    """Rooms backwards: table k + 1 = the best of table k over all that room steps[k] allows, from each allowed position.

    tables, steps, length, wide, lap, offset, paid, since, limits, nets: as for `climb`; entries that rule 5 forbids (allowed[position of
    all slots] is 0) are `never`. Each slot runs at most one segment in a room. Rule 4: a running slot s needs base[s] + the most memory
    of the operators it runs, memory[offset[s] + k, number], + what the other kept slots carry, in free[room].
    strict: in one of the orders of the running slots (orders[set of slots, number]: the slots, then -1 up to the number of slots, then
    the ticks between them, -1 after the last order) the others carry what they do where they stand then, carry[offset[s] + k]: the
    runs are a plan. Else running takes path[set of slots] ticks more, and others carry the least of all they carry in this room,
    little[offset[s] + k, number]: no plan is lost.

    Choices are left out that cannot be the best by the worth of positions, worth[offset[s] + k], some function that goes on by lap[s] a
    lap and grows by at most `rate` a tick and one: no entry is more above the sum of worths than the first laps show. scratch: six rows,
    an entry a slot.
    """
    slots = len(length)
    now, time, place, first, stride, hope = scratch[0], scratch[1], scratch[2], scratch[3], scratch[4], scratch[5]
    row = wide[slots - 1]
    states = 1
    for s in range(slots):
        states *= length[s]
    for step in range(len(steps)):
        after = tables[step % len(tables)]
        before = tables[(step + 1) % len(tables)]
        room = steps[step]
        net = nets[room]
        above = never
        for state in range(states):
            rest = state
            here, size, sum_of_worths = 0, 1, 0
            for s in range(slots - 1, -1, -1):
                k = rest % length[s]
                rest //= length[s]
                here += k * size
                size *= wide[s]
                sum_of_worths += worth[offset[s] + k]
            above = max(above, after[here] - sum_of_worths)
        for state in range(states):
            rest = state
            here, size = 0, 1
            hope[0] = above
            for s in range(slots - 1, -1, -1):
                first[s] = rest % length[s]
                rest //= length[s]
                stride[s] = size
                here += first[s] * size
                size *= wide[s]
                hope[0] += worth[offset[s] + first[s]]
            if allowed[state] == 0:
                before[here] = never
                continue
            best = after[here]
            depth = 0
            now[0] = limits[room, offset[0] + first[0]] + 1
            time[0] = place[0] = 0
            while depth >= 0:
                now[depth] -= 1
                if now[depth] < first[depth]:
                    depth -= 1
                    continue
                start = offset[depth] + first[depth]
                at = offset[depth] + now[depth]
                ticks = time[depth]
                if at != start:
                    ticks += paid[at] - since[start]
                if ticks > net:
                    continue
                hoped = hope[depth] + worth[at] - worth[start]
                if depth < slots - 1:
                    if hoped + int(rate * (net - ticks)) + slots <= best:
                        continue
                    time[depth + 1] = ticks
                    place[depth + 1] = place[depth] + now[depth] * stride[depth]
                    hope[depth + 1] = hoped
                    depth += 1
                    now[depth] = limits[room, offset[depth] + first[depth]] + 1
                    continue
                if hoped <= best:
                    depth -= 1
                    continue
                there = place[depth] + now[depth]
                if after[there] <= best:
                    continue
                chosen = 0
                for s in range(slots):
                    if now[s] != first[s]:
                        chosen += 1 << s
                fits = False
                if not strict:
                    fits = ticks + path[chosen] <= net
                    for s in range(slots):
                        if fits and chosen >> s & 1:
                            x = offset[s] + first[s]
                            need = base[s] + memory[x, now[s] - first[s]]
                            for o in range(slots):
                                if o != s and kept[o] != 0:
                                    need += little[offset[o] + first[o], now[o] - first[o]]
                            fits = need <= free[room]
                else:
                    for number in range(len(orders[chosen])):
                        if fits or orders[chosen, number, slots] < 0:
                            break
                        fits = ticks + orders[chosen, number, slots] <= net
                        done = 0
                        for turn in range(slots):
                            s = orders[chosen, number, turn]
                            if s < 0 or not fits:
                                break
                            need = base[s] + memory[offset[s] + first[s], now[s] - first[s]]
                            for o in range(slots):
                                if o != s and kept[o] != 0:
                                    need += carry[offset[o] + (now[o] if done >> o & 1 else first[o])]
                            fits = need <= free[room]
                            done += 1 << s
                if fits:
                    best = after[there]
            before[here] = best
        for entry in range(len(before) // row):
            own = entry * row
            rest = entry
            other, more = own, 0
            for s in range(slots - 2, -1, -1):
                if rest % wide[s] >= length[s]:
                    other, more = own - length[s] * stride[s], lap[s]
                rest //= wide[s]
            if other != own:
                for k in range(length[slots - 1]):
                    before[own + k] = before[other + k] + more
            for k in range(length[slots - 1], row):
                before[own + k] = before[own + k - length[slots - 1]] + lap[slots - 1]
