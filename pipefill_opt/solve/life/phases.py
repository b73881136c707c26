"""Lives as a plan: phases, slots, names of copies."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from itertools import count, pairwise

from pipefill_opt.fill.plan import FillPlan, Occurrence, Pattern, Phase, Segment, Slot
from pipefill_opt.solve.device import Visit
from pipefill_opt.solve.life.modes import Mode
from pipefill_opt.solve.life.shop import Life, Lives, Piece, Shop

Work = tuple[tuple[int, ...], tuple[Occurrence, ...]]
"""Where the slots begin, and what runs."""


def plan_of(shop: Shop, lives: Sequence[Lives]) -> FillPlan:
    """The plan in which devices live these lives; those that are left out stay empty."""
    writer = _Writer(shop)
    patterns = []
    for c, device in enumerate(shop.compiled.problem.devices):
        own = [entry for entry in lives if entry.class_index == c]
        idle = device.count - sum(entry.count for entry in own)
        for entry in own:
            patterns.append(Pattern(device.name, entry.count, tuple(writer.phases(entry.life)) or _EMPTY))
        if idle:
            patterns.append(Pattern(device.name, idle, _EMPTY))
    return FillPlan(tuple(patterns), iterations=shop.iterations)


_EMPTY = (Phase((), (), 1),)


class _Writer:
    """Writes one life after the other; copies are numbered over all of them."""

    def __init__(self, shop: Shop) -> None:
        self.shop = shop
        self.number = count()
        self._work: dict[Mode, Work] = {}
        self._both: dict[tuple[int, Mode | None, int], Work] = {}
        self._beside: dict[tuple[int, int], tuple[Occurrence, ...]] = {}

    def phases(self, life: Life) -> Iterator[Phase]:
        clock = 0
        for start, piece in life:
            if start > clock:
                yield Phase((), (), start - clock)
            yield from self.written(piece)
            clock = start + piece.turns

    def written(self, piece: Piece) -> Iterator[Phase]:
        if piece.parts:
            return self.layered(piece)
        if piece.legs:
            return self.relayed(piece)
        return self.repeated(piece) if piece.mode.walk is None else self.walked(piece)

    def layered(self, piece: Piece) -> Iterator[Phase]:
        """Two tracks."""
        layers = piece.layers
        assert layers is not None
        names = [self.name(copy.job) for copy in piece.copies]
        for part in piece.parts:
            slots = []
            if part.filler is None:
                firsts, occurrences = self.work(part.host) if part.host is not None else ((), ())
            else:
                key = (id(layers), part.host, part.filler)
                if key not in self._both:
                    firsts, visits = layers.plan(part.host, part.filler)
                    self._both[key] = (firsts, _occurrences(visits))
                firsts, occurrences = self._both[key]
            if part.host is not None:
                slots.append(self.slot(part.host, 0, firsts[0], names[part.host_copy]))
            if part.filler is not None:
                copy = piece.copies[part.filler_copy]
                slots.append(self.named(copy.job, copy.configuration, firsts[-1], names[part.filler_copy]))
            yield Phase(tuple(slots), occurrences, part.end - part.begin)

    def relayed(self, piece: Piece) -> Iterator[Phase]:
        """A copy and the next one, or any in turns of their own."""
        names = piece.names or [self.name(copy.job) for copy in piece.copies]
        clock = 0
        for leg in piece.legs:
            if leg.begin > clock:
                yield Phase((), (), leg.begin - clock)
            clock = leg.end
            if leg.pair is None:
                firsts, occurrences = self.work(leg.mode)
                slots = [self.slot(leg.mode, s, firsts[s], names[copy]) for s, copy in enumerate(leg.copies)]
            else:
                modes = (leg.pair.first, leg.pair.second)
                key = (id(leg.pair), leg.laps)
                if key not in self._beside:
                    self._beside[key] = _occurrences(leg.pair.visits(leg.laps))
                occurrences = self._beside[key]
                slots = [
                    self.slot(mode, 0, mode.start, names[copy]) for mode, copy in zip(modes, leg.copies, strict=True)
                ]
            yield Phase(tuple(slots), occurrences, leg.end - leg.begin)

    def work(self, mode: Mode) -> Work:
        """The closed plan of a mode, made once."""
        if mode not in self._work:
            plan = mode.written()
            self._work[mode] = (plan.first, _occurrences(plan.visits))
        return self._work[mode]

    def slot(self, mode: Mode, slot: int, first: int, name: str) -> Slot:
        return self.named(*mode.residents[slot], first, name)

    def named(self, job: int, configuration: int, first: int, name: str) -> Slot:
        entry = self.shop.compiled.problem.jobs[job]
        return Slot(entry.name, entry.configurations[configuration].name, first, name)

    def name(self, job: int) -> str:
        return f"{self.shop.compiled.problem.jobs[job].name}-{next(self.number)}"

    def repeated(self, piece: Piece) -> Iterator[Phase]:
        """A closed plan again and again; a phase ends where a slot goes on to its next copy. A copy that is done works on till then."""
        mode = piece.mode
        firsts, occurrences = self.work(mode)
        order = [
            sorted((copy for copy in piece.copies if copy.slot == s), key=lambda copy: copy.begin)
            for s in range(len(firsts))
        ]
        names = [[self.name(copy.job) for copy in copies] for copies in order]
        changes = sorted({0, piece.turns, *(copy.begin for copies in order for copy in copies[1:])})
        for begin, end in pairwise(changes):
            slots = []
            for s, copies in enumerate(order):
                index = max(i for i, copy in enumerate(copies) if copy.begin <= begin or i == 0)
                slots.append(self.slot(mode, s, firsts[s], names[s][index]))
            yield Phase(tuple(slots), occurrences, end - begin)

    def walked(self, piece: Piece) -> Iterator[Phase]:
        """A plan that runs once, turn by turn."""
        mode = piece.mode
        assert mode.walk is not None
        name = self.name(piece.copies[0].job)
        position, length = 0, mode.device.slots[0].length
        for visits in mode.walk.visits[: piece.turns]:
            yield Phase((self.slot(mode, 0, position, name),), _occurrences(visits), 1)
            position = (position + sum(run.count for visit in visits for run in visit.runs)) % length


def _occurrences(visits: Sequence[Visit]) -> tuple[Occurrence, ...]:
    return tuple(
        Occurrence(v.iteration, v.bubble, tuple(Segment(run.slot, run.first, run.count) for run in v.runs))
        for v in visits
    )
