"""The best relays of one device at given prices: a walk over time whose states are the copy in front and the laps that it has left.

Two copies share a turn, the one in front and the next one. While both go on they do what one of some `options` says; in its last turn the
front does what is left, and the next one all that fits beside it (`pairs`): then that one is in front. So a walk is a relay to the turn.
Of the states of one kind at one time only the best few are kept, and a walk goes on only from those that promise hardly less than the best
at their time: a state promises what was gained so far and, for the laps done of the copy at work, their part of its gain.
"""

from __future__ import annotations

from typing import Any, Final

ALONE: Final = -1
"""The copy beside, where there is none."""
END, AT, REST, BEFORE, FRONT, OTHER, LAPS, LAST, FIRST = range(9)
COLUMNS: Final = 9
"""Columns of what a step does. Until END the kind FRONT, and OTHER beside it, `LAPS` laps of the front a turn, in the last turn LAST; then
REST laps are left of a copy of kind AT: OTHER, where the front ends FIRST (1), else the front; or nobody works. BEFORE: the state that it
begins in."""


def steps_from(
    t: int,
    left: Any,
    value: Any,
    promise: Any,
    least: float,
    came: Any,
    copies: Any,
    alone: Any,
    wanted: Any,
    options: Any,
    beside: Any,
    gain: Any,
    slope: Any,
    step: Any,
    gained: Any,
) -> int:
    """Fill `step` and `gained` with all steps from the states at time t; how many. Kind number `kinds`: nobody works.

    left[t, kind, place]: laps (-1: no such state); value: gained so far; promise: see above, states that promise less than `least` are
    left; came: how, columns as above. copies[k]: copies of a kind.
    alone[k]: laps a turn. options[i, k, o]: laps of i in front of k (0: none). beside[i, k, x]: laps of k beside x of i (-1: impossible).
    A copy of kind k that ends at t gains gain[k] - slope[k] t.
    """
    kinds = len(gain)
    last, beam = left.shape[0] - 1, left.shape[2]
    number = 0
    have = alone * 0
    for state in range(kinds + 1):
        for s in range(beam):
            if left[t, state, s] < 0 or promise[t, state, s] < least:
                continue
            fresh = state == kinds
            have[:] = 0
            here = (t * (kinds + 1) + state) * beam + s
            way = here
            while way > 0:
                then = came[way // beam // (kinds + 1), way // beam % (kinds + 1), way % beam]
                way = then[BEFORE]
                if way >= 0 and then[OTHER] >= 0:
                    have[then[OTHER]] += 1
                if way >= 0 and way // beam % (kinds + 1) == kinds:
                    have[then[FRONT]] += 1
            for i in range(0 if fresh else state, kinds if fresh else state + 1):
                if (fresh and have[i] >= copies[i]) or gain[i] <= slope[i] * (t + 1):
                    continue
                r = wanted[i] if fresh else left[t, state, s]
                for k in range(ALONE, kinds):
                    if k >= 0 and (have[k] + (fresh and i == k) >= copies[k] or gain[k] <= slope[k] * (t + 1)):
                        continue
                    for o in range(options.shape[2] if k >= 0 else 1):
                        both = 0.0
                        if k < 0:
                            a = x = alone[i]
                            end = t + (r + a - 1) // a
                            at, rest = kinds, 0
                            front = True
                        else:
                            a = options[i, k, o]
                            if a <= 0:
                                continue
                            b = beside[i, k, a]
                            full = (r - 1) // a
                            front = b <= 0 or b * full < wanted[k]
                            if front:  # the front ends first
                                x = r - a * full
                                while beside[i, k, x] < 0:
                                    x += 1
                                end = t + full + 1
                                at, rest = k, wanted[k] - b * full - beside[i, k, x]
                            else:
                                turns = (wanted[k] + b - 1) // b
                                x = beside.shape[2] - 1
                                while x > a and beside[i, k, x] < wanted[k] - b * (turns - 1):
                                    x -= 1
                                end = t + turns
                                at, rest = i, r - a * (turns - 1) - x
                            if rest <= 0:
                                late = gain[at] - slope[at] * end
                                at, rest = kinds, 0
                                if late <= 0:
                                    continue
                                both = late
                        who = i if front else k
                        own = gain[who] - slope[who] * end
                        if end > last or own <= 0:
                            continue
                        gained[number] = value[t, state, s] + own + both
                        row = step[number]
                        row[END], row[AT], row[REST], row[BEFORE] = end, at, rest, here
                        row[FRONT], row[OTHER], row[LAPS], row[LAST], row[FIRST] = i, k, a, x, front
                        number += 1
    return number


def keep_best(
    number: int,
    step: Any,
    gained: Any,
    left: Any,
    value: Any,
    promise: Any,
    came: Any,
    wanted: Any,
    gain: Any,
    slope: Any,
) -> None:
    """Enter steps as states where they end: those that no other one of the kind is at least as good as; the most promising of them."""
    kinds = len(gain)
    for n in range(number):
        end, at, rest = step[n, END], step[n, AT], step[n, REST]
        promised = gained[n]
        if at < kinds:
            promised += (gain[at] - slope[at] * end) * (wanted[at] - rest) / wanted[at]
        place, empty, least = -1, False, promised
        for s in range(left.shape[2]):
            there = left[end, at, s]
            if there >= 0 and there <= rest and value[end, at, s] >= gained[n]:
                place = -1
                break
            if there < 0 or (there >= rest and value[end, at, s] <= gained[n]):
                left[end, at, s] = -1
                place, empty = s, True
            elif not empty and promise[end, at, s] < least:
                place, least = s, promise[end, at, s]
        if place >= 0:
            left[end, at, place] = rest
            value[end, at, place] = gained[n]
            promise[end, at, place] = promised
            came[end, at, place] = step[n]
