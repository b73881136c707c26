"""Small queues, proved: which device takes which copies, from the exact turns of each class.

What a device makes of some copies depends on how many of each job they are. Bounds for all such numbers (`yard`) are shared out among the
devices by dynamic programming (`lattice`); the numbers that this chooses are searched exactly, which raises their bounds, until the
choice costs what its lives cost. Numbers that no plan better than the best one can have are left out.
"""

from __future__ import annotations

from collections.abc import Sequence
from fractions import Fraction
from math import comb, prod
from typing import Final

import numpy as np

from pipefill_opt.fill.problem import Objective
from pipefill_opt.solve.life.due import FINE, Due
from pipefill_opt.solve.life.incumbent import Incumbent, common
from pipefill_opt.solve.life.lattice import NEVER, Ints, Lattice
from pipefill_opt.solve.life.menu import Menu
from pipefill_opt.solve.life.moving import Moving
from pipefill_opt.solve.life.order import Task, uses
from pipefill_opt.solve.life.shop import Copy, Leg, Life, Lives, Piece, Shop
from pipefill_opt.solve.life.stand import Modes, Stands, all_stands, allowed, cast, stand
from pipefill_opt.solve.life.together import ORIGIN as TOGETHER
from pipefill_opt.solve.life.together import least_turns
from pipefill_opt.solve.life.yard import PRICE, Finish, Known, Yard

ORIGIN: Final = "search of all ways to share out the copies"
MOST_DEVICES: Final = 12
MOST_COPIES: Final = 64
MOST_PAIRS: Final = 1_000_000
"""Pairs of numbers of copies, one within the other."""
MOST_COST: Final = 2**50
MOST_TOTAL: Final = 2**60
MOST_ROUNDS: Final = 3_000
MOST_PLANS: Final = 300
MOST_STANDS: Final = 200
"""Most positions of some copies that are all tried, where no position has all turns of their life."""
PRUNE: Final = 4
"""Rounds between two looks at what is still of use."""
FEW: Final = 2
"""Numbers of so few copies have prices of their own at first."""


def search_small(shop: Shop, best: Incumbent) -> None:
    """Search for a better plan, and a better bound, of a small queue with given H; nothing for any other."""
    problem = shop.compiled.problem
    pairs = prod(comb(job.copies + 2, 2) for job in problem.jobs)
    if not problem.repeat or problem.iterations is None or not problem.jobs or pairs > MOST_PAIRS:
        return
    if sum(shop.copies) > MOST_COPIES:
        return
    if sum(shop.counts) > MOST_DEVICES or best.value is None or _most_cost(shop) > MOST_COST:
        return
    if shop.objective is Objective.ON_TIME and None in shop.deadline:
        return
    menus = []
    for c in range(len(shop.counts)):
        menus.append(Menu(shop.compiled, c, shop.iterations, best.watch))
        if not menus[-1].whole:
            return
    if _most_laps(shop, menus) > MOST_TOTAL:
        return
    if shop.objective is Objective.MAKESPAN:
        wanted = [own or 0 for own in shop.wanted]
        turns = least_turns(menus, shop.counts, shop.copies, wanted, shop.release)
        best.prove(Fraction(turns * shop.turn), TOGETHER)
    if not best.over():
        _Small(shop, best, menus).search()
    if problem.migrate and shop.objective is Objective.MAKESPAN:
        _move(shop, best, menus)


def _move(shop: Shop, best: Incumbent, menus: Sequence[Menu]) -> None:
    """Try fewer turns by copies that move, the fewest first."""
    from pipefill_opt.solve.cpsat import maximize

    moving = Moving(shop, menus, maximize, best.watch)
    assert best.value is not None
    assert best.bound is not None
    least = -(-best.bound.numerator // (best.bound.denominator * shop.turn))
    for turns in range(least, int(best.value / shop.turn)):
        if best.over():
            return
        lives = moving.plan(turns)
        if lives is not None:
            best.keep(shop, lives, "copies that move")
            return


def _most_laps(shop: Shop, menus: Sequence[Menu]) -> Fraction:
    """Laps of all copies, or of a turn, in prices: sums of them are 64-bit numbers."""
    turn = max((sum(choice.laps) for menu in menus for choice in menu.choices), default=0)
    last = max((end or 0 for end in shop.deadline), default=0)
    total = sum(
        number * max(turn, turn * last if own is None else own)
        for number, own in zip(shop.copies, shop.wanted, strict=True)
    )
    if shop.objective is not Objective.ON_TIME:
        return Fraction(total * PRICE)
    worth = [value for job in shop.worth for value in job]
    return max(worth) / (common(worth) or 1) * total * FINE


def _most_cost(shop: Shop) -> Fraction:
    """In whole units: costs are far below."""
    if shop.objective is Objective.ON_TIME:
        unit = common([worth for job in shop.worth for worth in job])
        turns = max((end for end in shop.deadline if end is not None), default=0)
        most = max(max(job) for job in shop.worth) * turns * sum(shop.copies) * MOST_DEVICES
        return most / unit if unit else Fraction(MOST_COST + 1)
    weight = sum(shop.weights, Fraction(1)) / (common(shop.weights) or 1)
    return weight * sum(shop.copies) ** 2 * (max(shop.release) + max(wanted or 1 for wanted in shop.wanted))


class _Small:
    """One search. unit: what a cost of 1 is in the objective, minus it for the on-time value."""

    def __init__(self, shop: Shop, best: Incumbent, menus: Sequence[Menu]) -> None:
        from pipefill_opt.solve.cpsat import maximize

        self.shop = shop
        self.best = best
        self.menus = menus
        self.lattice = Lattice(shop.copies)
        self.widest = shop.objective is Objective.MAKESPAN
        self.bench = shop.objective is Objective.ON_TIME
        self.yards: list[Yard]
        if self.bench:
            unit = common([worth for job in shop.worth for worth in job])
            worth = [[int(value / unit) for value in job] for job in shop.worth]
            ends = [0 if end is None else end for end in shop.deadline]
            self.unit = -unit
            self.yards = [
                Due(menu, self.lattice, maximize, best.watch, shop.wanted, shop.release, ends, worth) for menu in menus
            ]
        else:
            unit = Fraction(1) if self.widest else common(shop.weights) or Fraction(1)
            weight = None if self.widest else [int(value / unit) for value in shop.weights]
            wanted = [own or 0 for own in shop.wanted]
            self.unit = unit * shop.turn
            self.yards = [
                Finish(menu, self.lattice, maximize, best.watch, wanted, shop.release, weight) for menu in menus
            ]
        self.modes = [Modes(menu) for menu in menus]
        self.found: list[dict[int, tuple[int, Life]]] = [{0: (0, ())} for _ in menus]
        self.lived: list[dict[int, Known]] = [{} for _ in menus]
        self.classes = [c for c, count in enumerate(shop.counts) for _ in range(count)]
        self.all = self.lattice.size - 1
        self.rest: list[Ints] = [np.zeros(self.lattice.size, dtype=np.int64) for _ in menus]

    @property
    def top(self) -> int:
        """What the best plan costs."""
        assert self.best.value is not None
        ratio = self.best.value / self.unit
        return -(-ratio.numerator // ratio.denominator)

    def search(self) -> None:
        """Until it is proved, or nothing is left to search."""
        for number in np.flatnonzero(self.lattice.counts.sum(axis=1) <= FEW).tolist():
            self._cut([(c, number) for c in range(len(self.yards))])
        for round_ in range(MOST_ROUNDS):
            if self.best.watch.ended() is not None:
                break
            if round_ % PRUNE == 0:
                self._prune()
            low, chosen = self._share([yard.open() for yard in self.yards])
            raised = self._keep(sorted(set(zip(self.classes, chosen, strict=False))))
            low = min(low, self.top)
            if not self.best.problem.migrate:
                self.best.prove(low * self.unit, ORIGIN)
            if low >= self.top or self.best.over():
                break
            wanted = sorted(set(zip(self.classes, chosen, strict=True)))
            entries = [(c, number) for c, number in wanted if not self.yards[c].exact[number]]
            if not self._cut(entries) and not self._settle(entries, low) and not raised:
                break
        self._plan()

    def _plan(self) -> None:
        """Where lives of known cost are not there from any positions: the best plan of those that are."""
        for _ in range(MOST_PLANS):
            if self.best.over():
                return
            costs = []
            for yard, own in zip(self.yards, self.found, strict=True):
                cost = yard.open()
                for number in yard.known:
                    if number in own:
                        cost[number] = own[number][0]
                    elif number in self.lived[yard.menu.c]:
                        cost[number] = NEVER
                costs.append(cost)
            low, chosen = self._share(costs)
            if low >= self.top:
                return
            entries = sorted(set(zip(self.classes, chosen, strict=True)))
            new = [(c, n) for c, n in entries if n not in self.found[c] or not self.yards[c].exact[n]]
            self._cut(new)
            if not self._settle(new, low) and all(n in self.lived[c] for c, n in entries):
                return
            self._keep(entries)

    def _share(self, costs: Sequence[Ints]) -> tuple[int, list[int]]:
        """(least cost, numbers of the devices). On the bench sits who is not served."""
        own = [costs[c] for c in self.classes]
        if not self.bench:
            return self.lattice.share(own, self.all, most=self.widest)
        low, chosen = self.lattice.share([np.zeros(self.lattice.size, dtype=np.int64), *own], self.all, most=False)
        return low, chosen[1:]

    def _cut(self, entries: Sequence[tuple[int, int]]) -> bool:
        """Prices that fit these numbers; False if all were there."""
        new = [self.yards[c].cut(number) for c, number in entries]
        for c in {c for c, _ in entries}:
            self.yards[c].refresh()
        return any(new)

    def _settle(self, entries: Sequence[tuple[int, int]], low: int) -> bool:
        """Search these numbers; False if nothing came of it."""
        changed = False
        for c, number in entries:
            yard = self.yards[c]
            known = yard.known.get(number)
            if self.widest and known is not None and known.cost <= low:
                continue
            was = int(yard.low[number])
            worst = self.top - 1 - (0 if self.widest else int(self.rest[c][number]))
            yard.settle(number, worst)
            changed |= bool(yard.exact[number]) or int(yard.low[number]) > was
            changed |= yard.known.get(number) is not known
        return changed

    def _prune(self) -> None:
        """Find out what no better plan can have: too dear beside the best use of all other devices."""
        for c, yard in enumerate(self.yards):
            now = np.full(self.lattice.size, NEVER, dtype=np.int64)
            now[0] = 0
            others = list(self.classes)
            if c not in others:
                continue
            others.remove(c)
            for other in others:
                now = self.lattice.shared(now, self.yards[other].open(), most=self.widest)
            if self.bench:
                now = self.lattice.shared(now, np.zeros(self.lattice.size, dtype=np.int64), most=False)
            self.rest[c] = now[::-1]
            total = np.maximum(self.rest[c], yard.low) if self.widest else self.rest[c] + yard.low
            yard.dead |= total >= self.top

    def _live(self, c: int, number: int) -> bool:
        """The known life of these copies from where copies can stand, or the best one near it; True if that raised a bound."""
        yard = self.yards[c]
        known = yard.known[number]
        stands, lost = stand(self.shop.compiled, known.stretches)
        raised = False
        if lost:
            entries = uses(self.menus[c], known.tasks)
            assert entries is not None  # as the life was found among them
            everywhere = all_stands(self.shop.compiled, self.menus[c], known.tasks, MOST_STANDS)
            tried = [(own, *yard.again(number, allowed(entries, own))) for own in everywhere or [stands]]
            found = [(life.cost, k, own, life) for k, (own, life, _) in enumerate(tried) if life is not None]
            if not found:
                return False
            _, _, stands, known = min(found, key=lambda entry: entry[:2])
            bound = min(bound for _, _, bound in tried)
            sure = bool(everywhere) and all(use.choice.points is not None for use in entries)
            raised = sure and bound > int(yard.low[number])
            if raised:
                yard.replace(number, known, bound)
                self.lived[c][number] = known
        cost, life = self._life(c, known, stands)
        if number not in self.found[c] or cost < self.found[c][number][0]:
            self.found[c][number] = (cost, life)
        return raised

    def _life(self, c: int, known: Known, stands: Stands) -> tuple[int, Life]:
        """(cost, life) as one piece."""
        left = [task.wanted for task in known.tasks]
        begin: dict[int, int] = {}
        end = [0] * len(known.tasks)
        legs = []
        number = {k: i for i, k in enumerate(k for k in range(len(known.tasks)) if k in stands)}
        for stretch in known.stretches:
            entry = cast(stretch.use, stands)
            assert entry is not None
            mode = self.modes[c].of(entry)
            last = stretch.begin + stretch.turns
            legs.append(Leg(stretch.begin, last, tuple(number[k] for k in entry.copies), mode))
            for k, laps in zip(entry.copies, entry.laps, strict=True):
                begin.setdefault(k, stretch.begin)
                if left[k] > 0:
                    end[k] = min(last, stretch.begin - (-left[k] // laps))
                    left[k] -= laps * stretch.turns
        copies = []
        cost = 0
        for k in number:
            task = known.tasks[k]
            configuration = stands[k][0][1]
            done = task.wanted - max(0, left[k])
            copies.append(Copy(0, task.job, configuration, begin.get(k, 0), end[k], done, None))
            cost = max(cost, end[k]) if self.widest else cost + self._cost(task, configuration, done, end[k])
        if not legs:
            return 0, ()
        return cost, ((0, Piece(legs[0].mode, legs[-1].end, tuple(copies), 0, legs=tuple(legs))),)

    def _cost(self, task: Task, configuration: int, done: int, end: int) -> int:
        if self.bench:
            return int(done * self.shop.worth[task.job][configuration] / self.unit)
        return int(self.shop.weights[task.job] * end * self.shop.turn / self.unit)

    def _keep(self, entries: Sequence[tuple[int, int]]) -> bool:
        """The best plan of the lives found, those of these numbers too; True if that raised a bound."""
        new = raised = False
        for c, number in entries:
            known = self.yards[c].known.get(number)
            if known is not None and self.lived[c].get(number) is not known:
                self.lived[c][number] = known
                raised |= self._live(c, number)
                new = True
        if not new:
            return False
        costs = []
        for own in self.found:
            cost = np.full(self.lattice.size, NEVER, dtype=np.int64)
            for number, (value, _) in own.items():
                cost[number] = value
            costs.append(cost)
        low, chosen = self._share(costs)
        if low >= self.top or not chosen:
            return raised
        lives = [self.found[c][number][1] for c, number in zip(self.classes, chosen, strict=True)]
        plan = [Lives(c, 1, life) for c, life in zip(self.classes, lives, strict=True) if life]
        self.best.keep(self.shop, plan, ORIGIN)
        return raised
