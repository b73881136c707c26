"""Plans in which copies move between devices, for the makespan of small queues: `migrate: true`.

First how many turns each class runs with which copies, as an integer program: no class has more than its devices' turns, no copy is in more
places than there are turns. Then when: from the first turn on, as many devices as can be take turns that are left, copies and classes
without a turn to spare before all others, for as long as that can go on. This may fail: then more turns are tried.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Final

from pipefill_opt.solve.life.menu import Menu
from pipefill_opt.solve.life.order import Stretch, Task, Use, uses
from pipefill_opt.solve.life.shop import Copy, Leg, Lives, Piece, Shop
from pipefill_opt.solve.life.stand import Modes, cast, stand
from pipefill_opt.solve.program import Maximize, Program, Row
from pipefill_opt.solve.watch import Watch

MOST_SLOTS: Final = 2
WORK: Final = 10.0
"""Deterministic time of one integer program."""
MOST_USES: Final = 20_000


@dataclass(frozen=True, slots=True)
class _Part:
    """Some turns of a class with the same copies."""

    c: int
    use: Use


class Moving:
    """The search for plans of given numbers of turns."""

    def __init__(self, shop: Shop, menus: Sequence[Menu], search: Maximize, watch: Watch) -> None:
        self.shop = shop
        self.menus = menus
        self.search = search
        self.watch = watch
        self.tasks = [
            Task(job, shop.wanted[job] or 0, shop.release[job], None)
            for job, copies in enumerate(shop.copies)
            for _ in range(copies)
        ]
        every = [uses(menu, self.tasks, most=MOST_SLOTS) for menu in menus]
        self.many = None in every
        self.parts = [
            _Part(c, use) for c, own in enumerate(every) for use in own or () if use.choice.points is not None
        ]

    def plan(self, turns: int) -> list[Lives] | None:
        """Lives that end by so many turns, if they are found."""
        if self.many or len(self.parts) > MOST_USES:
            return None
        numbers = self._numbers(turns)
        stretches = None if numbers is None else self._times(numbers, turns)
        return None if stretches is None else self._lives(stretches)

    def _answer(self, program: Program) -> tuple[int, ...] | None:
        return self.search(program, replace(self.watch.left(), work=WORK), None).point

    def _numbers(self, turns: int) -> dict[int, int] | None:
        """Turns of each part; as many device turns as can be stay free."""
        rows = []
        for c, count in enumerate(self.shop.counts):
            own = [i for i, part in enumerate(self.parts) if part.c == c]
            rows.append(Row(tuple(own), (1,) * len(own), None, count * turns))
        for k, task in enumerate(self.tasks):
            own = [i for i, part in enumerate(self.parts) if part.use.laps[k]]
            rows.append(Row(tuple(own), (1,) * len(own), None, turns - task.release))
            rows.append(Row(tuple(own), tuple(-self.parts[i].use.laps[k] for i in own), None, -task.wanted))
        free = len(self.parts)
        most = sum(self.shop.counts) * turns
        rows.append(Row(tuple(range(free + 1)), (1,) * (free + 1), None, most))
        upper = (*(self.shop.counts[part.c] * turns for part in self.parts), most)
        point = self._answer(Program((0,) * free + (1,), upper, tuple(rows)))
        return None if point is None else {i: n for i, n in enumerate(point[:free]) if n}

    def _times(self, numbers: dict[int, int], turns: int) -> list[tuple[int, Stretch]] | None:
        """(class, stretch) of all parts, no copy in two places at a time."""
        left = dict(numbers)
        clock = 0
        found = []
        while left:
            rest = turns - clock
            chosen = self._together(left, clock, rest)
            if not chosen:
                return None
            span = self._span(left, chosen, clock, rest)
            if span <= 0:
                return None
            for i in chosen:
                found.append((self.parts[i].c, Stretch(clock, span, self.parts[i].use)))
                left[i] -= span
            left = {i: n for i, n in left.items() if n}
            clock += span
        return found

    def _load(self, left: dict[int, int], k: int) -> int:
        """Turns that are left for a copy."""
        return sum(n for i, n in left.items() if self.parts[i].use.laps[k])

    def _together(self, left: dict[int, int], clock: int, rest: int) -> list[int]:
        """The parts of the next turns: all copies and classes without a turn to spare, and else those with the least."""
        able = [i for i in left if all(self.tasks[k].release <= clock for k in self.parts[i].use.copies)]
        rows = []
        worth = dict.fromkeys(able, 1)
        for k in range(len(self.tasks)):
            own = tuple(j for j, i in enumerate(able) if self.parts[i].use.laps[k])
            load = self._load(left, k)
            rows.append(Row(own, (1,) * len(own), 1 if load == rest else None, 1))
            for j in own:
                worth[able[j]] += load
        for c, count in enumerate(self.shop.counts):
            own = tuple(j for j, i in enumerate(able) if self.parts[i].c == c)
            load = sum(n for i, n in left.items() if self.parts[i].c == c)
            rows.append(Row(own, (1,) * len(own), count if load == count * rest else None, count))
            for j in own:
                worth[able[j]] += load // max(1, count)
        point = self._answer(Program(tuple(worth.values()), (1,) * len(able), tuple(rows))) if able else None
        return [] if point is None else [i for i, taken in zip(able, point, strict=True) if taken]

    def _span(self, left: dict[int, int], chosen: Sequence[int], clock: int, rest: int) -> int:
        """For how many turns they can go on: until one is done, a copy is released, or others have no turn to spare."""
        spans = [left[i] for i in chosen]
        for k, task in enumerate(self.tasks):
            load = self._load(left, k)
            if task.release > clock:
                spans.append(task.release - clock)
            elif load and not any(self.parts[i].use.laps[k] for i in chosen):
                spans.append(rest - load)
        for c, count in enumerate(self.shop.counts):
            busy = sum(self.parts[i].c == c for i in chosen)
            load = sum(n for i, n in left.items() if self.parts[i].c == c)
            if busy < count and load:
                spans.append((count * rest - load) // (count - busy))
        return min(spans)

    def _lives(self, stretches: Sequence[tuple[int, Stretch]]) -> list[Lives] | None:
        """One piece a device; a copy has the same name wherever it is."""
        stands, lost = stand(self.shop.compiled, [stretch for _, stretch in stretches])
        if lost:
            return None
        names = [f"{self.shop.compiled.problem.jobs[task.job].name}-{k}" for k, task in enumerate(self.tasks)]
        free = {(c, number): 0 for c, count in enumerate(self.shop.counts) for number in range(count)}
        legs: dict[tuple[int, int], list[Leg]] = {device: [] for device in free}
        modes = [Modes(menu) for menu in self.menus]
        for c, stretch in stretches:
            device = next(device for device, clock in free.items() if device[0] == c and clock <= stretch.begin)
            free[device] = stretch.begin + stretch.turns
            entry = cast(stretch.use, stands)
            assert entry is not None
            legs[device].append(Leg(stretch.begin, free[device], entry.copies, modes[c].of(entry)))
        lives = []
        for (c, _), own in legs.items():
            if own:
                used = sorted({k for leg in own for k in leg.copies})
                copies = tuple(
                    Copy(0, *stands[k][0], 0, max(leg.end for leg in own if k in leg.copies), 0, None) for k in used
                )
                own = [replace(leg, copies=tuple(used.index(k) for k in leg.copies)) for leg in own]
                piece = Piece(own[0].mode, own[-1].end, copies, 0, legs=tuple(own), names=tuple(names[k] for k in used))
                lives.append(Lives(c, 1, ((0, piece),)))
        return lives
