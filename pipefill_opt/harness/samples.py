"""The samples in a RESULT: periods, bubbles, operators, switches, iteration by iteration, in ns on the device."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any

from pipefill_opt.errors import InputError
from pipefill_opt.files import check
from pipefill_opt.harness.program import Iterations
from pipefill_opt.harness.replay import FORMAT

Document = dict[str, Any]
Spans = list[list[int]]


@dataclass(frozen=True, slots=True)
class Visited:
    """Fill work of one visit in one iteration. before: end of the action before the bubble; spans: of its operators; after: start of
    the action after it, None where the run had ended."""

    device: int
    visit: int
    before: int
    spans: tuple[tuple[int, int], ...]
    after: int | None


@dataclass(frozen=True, slots=True)
class Samples:
    """A RESULT of `replay`, looked into. ends[i]: when the last device ended iteration i."""

    document: Document
    devices: tuple[Document, ...]
    measured: tuple[Document, ...]
    ends: tuple[int, ...]
    counted: tuple[int, ...]

    def periods(self, *, with_fill: bool) -> list[int]:
        """From end to end of iterations, those that count."""
        return [self.ends[i] - self.ends[i - 1] for i in self.which(with_fill=with_fill)]

    def which(self, *, with_fill: bool) -> list[int]:
        """The iterations that count, with or without fill work."""
        flags = self.document["with_fill"]
        return [i for i in self.counted if flags[i] == with_fill]

    def turn(self, i: int) -> int:
        """Which main iteration of the plan iteration `i`, with fill work, plays."""
        return turn_of(self.document, i)

    def before(self, device: int, i: int, place: int) -> int:
        """When the bubble before action `place` begins."""
        actions: Spans = self.measured[device]["actions"][i]
        return actions[place - 1][1] if place else max(self.ends[i - 1], 0)

    def after(self, device: int, i: int, place: int) -> int | None:
        """When the action after the bubble starts; None past the last iteration."""
        iterations = self.measured[device]["actions"]
        if place < len(iterations[i]):
            return int(iterations[i][place][0])
        return int(iterations[i + 1][0][0]) if i + 1 < len(iterations) else None

    def bubble(self, device: int, place: int) -> list[int]:
        """Lengths of the bubble before action `place`, without fill work."""
        lengths = []
        for i in self.which(with_fill=False):
            after = self.after(device, i, place)
            if after is not None:
                lengths.append(after - self.before(device, i, place))
        return lengths

    def action(self, device: int, place: int) -> list[int]:
        """Durations of an action, without fill work."""
        iterations = self.measured[device]["actions"]
        return [iterations[i][place][1] - iterations[i][place][0] for i in self.which(with_fill=False)]

    def visits(self) -> Iterator[Visited]:
        """All visits of all iterations that count."""
        for number, (device, measured) in enumerate(zip(self.devices, self.measured, strict=True)):
            for i in self.which(with_fill=True):
                turn = self.turn(i)
                done = 0
                for index, visit in enumerate(device["visits"]):
                    if visit["iteration"] != turn:
                        continue
                    count = len(visit["operators"])
                    spans = tuple((s, e) for s, e in measured["fills"][i][done : done + count])
                    done += count
                    place = visit["before"]
                    yield Visited(number, index, self.before(number, i, place), spans, self.after(number, i, place))


def turn_of(document: Document, i: int) -> int:
    """Which main iteration of the plan iteration `i`, with fill work, plays."""
    return int(sum(document["with_fill"][:i]) % document["predicted"]["turns"])


def samples(document: Document) -> Samples:
    """Raises InputError if the document is no RESULT of `replay`, or its parts do not fit each other."""
    if document.get("kind") != "replay" or document.get("format") != FORMAT:
        raise InputError(f"expected a RESULT of `pipefill replay`, format {FORMAT}", where="kind")
    check(document, "result")
    devices = tuple(document["predicted"]["devices"])
    by_name = {entry["name"]: entry for entry in document["measured"]}
    for device in devices:
        if device["name"] not in by_name:
            raise InputError("expected every predicted device", value=device["name"], where="measured")
        _fits_itself(device, document["predicted"]["turns"])
    measured = tuple(by_name[device["name"]] for device in devices)
    if document["failure"]:
        _names_its_place(document["failure"], devices)
        return Samples(document, devices, measured, (), ())
    iterations = Iterations(**document["iterations"])
    flags = document["with_fill"]
    if iterations.warmup < 1 or iterations.block < 2 or iterations.rounds < 1:
        raise InputError("expected warm-up, blocks of two or more, and rounds", where="iterations")
    if iterations.warmup + 2 * iterations.block * iterations.rounds != len(flags):
        raise InputError("expected as many iterations as `with_fill` has", where="iterations")
    for device, entry in zip(devices, measured, strict=True):
        _was_measured(document, device, entry)
    rows = [entry["actions"] for entry in document["measured"]]
    if any(len(row) != len(flags) for row in rows):
        raise InputError("expected an entry for each iteration", where="measured")
    ends = tuple(max(row[i][-1][1] for row in rows if row[i]) for i in range(len(flags)))
    return Samples(document, devices, measured, ends, tuple(iterations.counted()))


def _fits_itself(device: Document, turns: int) -> None:
    """Bubbles and visits stand before actions that there are, each visit in a bubble."""
    where = f"predicted.devices: {device['name']}"
    places = [bubble["before"] for bubble in device["bubbles"]]
    if len(set(places)) != len(places) or max(places, default=0) > len(device["actions"]):
        raise InputError("expected bubbles before different actions", where=where)
    for visit in device["visits"]:
        if visit["before"] not in places or visit["iteration"] >= turns:
            raise InputError("expected visits of bubbles", value=visit["before"], where=where)


def _names_its_place(failure: Document, devices: Sequence[Document]) -> None:
    if failure["kind"] == "memory" and failure["device"] not in [device["name"] for device in devices]:
        raise InputError("expected a watched device", value=failure["device"], where="failure.device")


def _was_measured(document: Document, device: Document, measured: Document) -> None:
    """As many spans as there are actions and operators, in every iteration."""
    flags, actions, fills = document["with_fill"], measured["actions"], measured["fills"]
    fits = len(actions) == len(fills) == len(flags) and all(len(row) == len(device["actions"]) for row in actions)
    for i, flag in enumerate(flags if fits else ()):
        turn = turn_of(document, i)
        planned = [visit for visit in device["visits"] if flag and visit["iteration"] == turn]
        fits = fits and len(fills[i]) == sum(len(visit["operators"]) for visit in planned)
    if not fits:
        raise InputError("expected a span for each action and operator", value=device["name"], where="measured")
