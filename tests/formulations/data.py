"""Writes fill problems as data sections of the MathProg models in models/formulations.

The arithmetic is that of the brute force (tests/solve/brute_force.py), which knows of the package the data types only. Times and bytes are
divided by the greatest number that leaves all items whole; limits are then rounded down, which changes nothing for sums of whole items.
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Iterable, Iterator, Mapping, Sequence
from fractions import Fraction
from typing import Final

from pipefill_opt.fill.problem import FillProblem
from tests.solve.brute_force import FRESH, Device, Positions, columns, devices_of, value_scale

Entries = Mapping[tuple[object, ...], int]
"""A parameter: its entries by subscripts."""
INT: Final = "\n  "


def parameter(name: str, entries: Entries | int) -> str:
    """One parameter as text."""
    if isinstance(entries, int):
        return f"param {name} := {entries};"
    if not entries:
        return ""
    return (
        f"param {name} :=" + "".join(f"{INT}{' '.join(map(str, key))} {value}" for key, value in entries.items()) + ";"
    )


def members(name: str, entries: Iterable[object]) -> str:
    """One set as text."""
    found = [" ".join(map(str, entry)) if isinstance(entry, tuple) else str(entry) for entry in entries]
    return f"set {name} := {', '.join(found)};"


def section(lines: Sequence[str]) -> str:
    """A whole data section."""
    return "data;\n" + "\n".join(line for line in lines if line) + "\nend;\n"


def per(entries: Mapping[object, Sequence[int]], first: int = 0) -> dict[tuple[object, ...], int]:
    """A row of numbers for each key, as a parameter with one subscript more, counted from `first`."""
    found = {}
    for key, row in entries.items():
        own = key if isinstance(key, tuple) else (key,)
        found.update({(*own, first + i): value for i, value in enumerate(row)})
    return found


def divisor(numbers: Iterable[int]) -> int:
    """The greatest common divisor, 1 of nothing."""
    return math.gcd(*numbers) or 1


class GivenDevice(Device):
    """A device whose residents are given: one that does nothing stays, with its resident bytes, and carries nothing.

    The brute force takes fewer residents instead.
    """

    def starts(self) -> Iterator[Positions]:
        """Every position tuple, idle slots at FRESH."""
        every = [(*range(len(ticks)), FRESH) if self.problem.repeat else (FRESH,) for ticks in self.ticks]
        return (start for start in itertools.product(*every) if self.rests(start))

    def runs(self, bubble: int, slot: int, positions: Positions, inside: frozenset[int]) -> bool:
        """What is idle stays idle in a plan that repeats."""
        idle = self.problem.repeat and positions[slot] == FRESH
        return not idle and super().runs(bubble, slot, positions, inside)


class Scale:
    """Units in which all items of some devices are whole: ticks and bytes."""

    def __init__(self, problem: FillProblem, devices: Sequence[Device]) -> None:
        rows = [row for d in devices for row in (*d.ticks, *d.move_in, *d.move_out)]
        changes = [d.between(a, b) for d in devices for a in d.slots for b in d.slots]
        switch = problem.switch
        self.ticks = divisor([switch.enter, switch.leave, *changes, *(ticks for row in rows for ticks in row)])
        rows = [row for d in devices for row in (*d.memory, *d.holds, d.resident)]
        self.bytes = divisor(size for row in rows for size in row)


def device_data(problem: FillProblem, device: Device, iterations: int) -> tuple[str, int]:
    """The data of device.mod for one device over H = `iterations`, and the worth of one unit of its objective in 1 / `device.scale`."""
    scale = Scale(problem, [device])
    unit = divisor(value for row in device.value for value in row)
    slots = list(device.slots)
    lines = [
        parameter("repeat", int(problem.repeat)),
        parameter("H", iterations),
        parameter("bubbles", len(device.usable)),
        parameter("usable", {(b,): ticks // scale.ticks for b, ticks in enumerate(device.usable, start=1)}),
        parameter("free", {(b,): own.free // scale.bytes for b, own in enumerate(device.device.bubbles, start=1)}),
        parameter("resident_free", device.device.resident_free // scale.bytes),
        parameter("enter", problem.switch.enter // scale.ticks),
        parameter("leave", problem.switch.leave // scale.ticks),
        members("SLOT", slots),
        parameter("length", {(s,): len(device.ticks[s]) for s in slots}),
        parameter("keep", {(s,): int(device.kept[s]) for s in slots}),
        parameter("resident", {(s,): device.resident[s] // scale.bytes for s in slots}),
        parameter("ticks", _rows(device.ticks, scale.ticks)),
        parameter("memory", _rows(device.memory, scale.bytes)),
        parameter("holds", _rows(device.holds, scale.bytes)),
        parameter("worth", _rows(device.value, unit)),
        parameter("into", _rows(device.move_in, scale.ticks)),
        parameter("out", _rows(device.move_out, scale.ticks)),
        parameter("between", {(s, t): device.between(s, t) // scale.ticks for s in slots for t in slots}),
    ]
    return section(lines), unit


def _rows(rows: Sequence[Sequence[int]], unit: int) -> dict[tuple[object, ...], int]:
    return per({s: [value // unit for value in row] for s, row in enumerate(rows)})


def throughput_data(problem: FillProblem, iterations: int) -> tuple[str, Fraction]:
    """The data of throughput.mod for H = `iterations`, and the worth of one unit of its objective per main iteration."""
    scale = value_scale(problem)
    kinds = [(j, c) for j, job in enumerate(problem.jobs) for c in range(len(job.configurations))]
    alone = {(g, kind): Device(problem, own, (kind,), scale) for g, own in enumerate(problem.devices) for kind in kinds}
    every = Scale(problem, list(alone.values()))
    changes = change_ticks(problem)
    every.ticks = divisor([every.ticks, *changes.values()])
    unit = divisor(value for device in alone.values() for row in device.value for value in row)
    devices = [(f"d{g}_{k}", g) for g, own in enumerate(problem.devices) for k in range(own.count)]
    jobs = range(len(problem.jobs))
    empty = [Device(problem, own, (), scale) for own in problem.devices]
    allowed = [
        (g, kind)
        for g, own in enumerate(problem.devices)
        for kind in kinds
        if own.name in problem.jobs[kind[0]].devices
    ]

    def row(parameter_name: str, rows: Mapping[tuple[object, ...], Sequence[int]], size: int, first: int = 0) -> str:
        return parameter(parameter_name, per({key: [v // size for v in row] for key, row in rows.items()}, first))

    own = {(name(kind),): alone[0, kind] for kind in kinds}
    lines = [
        parameter("repeat", int(problem.repeat)),
        parameter("H", iterations),
        parameter("enter", problem.switch.enter // every.ticks),
        parameter("leave", problem.switch.leave // every.ticks),
        members("JOB", jobs),
        parameter("copies", {(j,): problem.jobs[j].copies for j in jobs}),
        parameter("keep", {(j,): int(problem.jobs[j].keep) for j in jobs}),
        parameter("between", {key: ticks // every.ticks for key, ticks in changes.items()}),
        members("KIND", [name(kind) for kind in kinds]),
        parameter("job", {(name(kind),): kind[0] for kind in kinds}),
        parameter("length", {key: len(device.ticks[0]) for key, device in own.items()}),
        row("memory", {key: device.memory[0] for key, device in own.items()}, every.bytes),
        row("worth", {key: device.value[0] for key, device in own.items()}, unit),
        parameter("resident", {key: device.resident[0] // every.bytes for key, device in own.items()}),
        row("holds", {key: device.holds[0] for key, device in own.items()}, every.bytes),
        row("into", {key: device.move_in[0] for key, device in own.items()}, every.ticks),
        row("out", {key: device.move_out[0] for key, device in own.items()}, every.ticks),
        members("CLASS", range(len(empty))),
        parameter("bubbles", {(g,): len(device.usable) for g, device in enumerate(empty)}),
        row("usable", {(g,): device.usable for g, device in enumerate(empty)}, every.ticks, 1),
        row("free", {(g,): [b.free for b in device.device.bubbles] for g, device in enumerate(empty)}, every.bytes, 1),
        parameter("resident_free", {(g,): d.device.resident_free // every.bytes for g, d in enumerate(empty)}),
        row("ticks", {(g, name(kind)): device.ticks[0] for (g, kind), device in alone.items()}, every.ticks),
        members("DEVICE", [device for device, _ in devices]),
        parameter("class", {(device,): g for device, g in devices}),
        members("MAY", [(g, name(kind)) for g, kind in allowed]),
    ]
    return section(lines), Fraction(unit, scale * iterations)


def name(kind: tuple[int, int]) -> str:
    """A job in one of its configurations, as the data call it."""
    return f"k{kind[0]}_{kind[1]}"


def change_ticks(problem: FillProblem) -> dict[tuple[object, ...], int]:
    """Ticks from one job to another, by their numbers."""
    between = problem.switch.between
    names = [job.name for job in problem.jobs]
    return {
        (a, b): between if isinstance(between, int) else between[names[a]][names[b]]
        for a in range(len(names))
        for b in range(len(names))
    }


def master_data(problem: FillProblem, iterations: int) -> tuple[str, Fraction]:
    """The data of master.mod, all patterns that the brute force finds, and the worth of a unit of its objective per main iteration."""
    scale = value_scale(problem)
    patterns: list[tuple[int, tuple[int, ...], int]] = []
    for g, own in enumerate(problem.devices):
        found = columns(problem, devices_of(problem, own), iterations)
        patterns += [(g, used, best.value) for used, (_, best) in found.items()]
    unit = divisor(value for _, _, value in patterns)
    numbers = range(len(patterns))
    lines = [
        members("CLASS", range(len(problem.devices))),
        members("JOB", range(len(problem.jobs))),
        members("PATTERN", numbers),
        parameter("count", {(g,): own.count for g, own in enumerate(problem.devices)}),
        parameter("copies", {(j,): job.copies for j, job in enumerate(problem.jobs)}),
        parameter("class", {(q,): patterns[q][0] for q in numbers}),
        parameter("worth", {(q,): patterns[q][2] // unit for q in numbers}),
        parameter("uses", {(q, j): used for q in numbers for j, used in enumerate(patterns[q][1]) if used}),
    ]
    return section(lines), Fraction(unit, scale * iterations)
