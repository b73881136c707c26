"""Read INSTANCE files into `FillProblem`. Every refusal names file, path, value and what was expected."""

from __future__ import annotations

import logging
from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import replace
from fractions import Fraction
from pathlib import Path
from typing import Any, TypeVar

from pipefill_opt.errors import InputError
from pipefill_opt.files import check, read_document
from pipefill_opt.fill.fits import misfits
from pipefill_opt.fill.from_network import with_networks
from pipefill_opt.fill.problem import (
    Configuration,
    DeviceClass,
    FillBubble,
    FillProblem,
    Guard,
    Job,
    Objective,
    Operator,
    Switch,
    ValueRule,
)
from pipefill_opt.units import exact, parse_bandwidth, parse_bytes, parse_time
from pipefill_opt.workload.costs import MainJob
from pipefill_opt.workload.model.catalog import read_switch

LOG = logging.getLogger(__name__)
MAX_OPERATORS = 100_000
"""Most operators of an instance, `repeat` written out."""

Document = Mapping[str, Any]
T = TypeVar("T")


def read_instance(path: Path | str) -> FillProblem:
    """The fill problem of an INSTANCE file (YAML or JSON). Raises InputError."""
    path = Path(path)
    return _build(read_document(path, "instance"), str(path), path.parent)


def instance_from_document(document: Document, *, file: str = "", folder: Path | str = ".") -> FillProblem:
    """The fill problem of a parsed INSTANCE document; a MAIN file it names is looked for in `folder`. Raises InputError.

    A job that fits on no device is logged as a warning and stays in the problem, unused.
    """
    check(document, "instance", file=file)
    return _build(document, file, Path(folder))


def _build(document: Document, file: str, folder: Path) -> FillProblem:
    try:
        problem = _problem(with_networks(document, folder), Path(file).stem, folder)
    except InputError as error:
        raise error.located(file=file) from None
    for misfit in misfits(problem):
        LOG.warning("%s: %s", file or problem.name, misfit)
    return problem


def _problem(document: Document, stem: str, folder: Path) -> FillProblem:
    period, devices, main = _devices(document, folder)
    switch = _with_hardware(document.get("switch", {}), folder)
    devices = _interfered(devices, switch)
    names = _unique([device.name for device in devices], "devices")
    jobs = _jobs(document["jobs"], names)
    repeat = document.get("repeat", True)
    iterations = document.get("iterations", 1)
    if iterations == "auto" and not repeat:
        raise InputError("expected a whole number (auto needs repeat: true)", value="auto", where="iterations")
    objective = Objective(document.get("objective", "throughput"))
    _check_objective(jobs, objective)
    guard = document.get("guard", {})
    return FillProblem(
        name=document.get("name", stem),
        period=period,
        iterations=None if iterations == "auto" else iterations,
        max_iterations=document.get("max_iterations", 64),
        repeat=repeat,
        devices=devices,
        guard=Guard(
            _at(exact, guard.get("fraction", 1), "guard.fraction"),
            _at(parse_time, guard.get("margin", 0), "guard.margin"),
        ),
        switch=_switch(switch, jobs),
        jobs=jobs,
        objective=objective,
        migrate=document.get("migrate", False),
        main=main,
    )


def _at(parse: Callable[[Any], T], value: object, where: str) -> T:
    """`parse(value)`, an error of which names the place `where`."""
    try:
        return parse(value)
    except InputError as error:
        raise error.located(where=where) from None


def _unique(names: Iterable[str], where: str, key: str = "name") -> tuple[str, ...]:
    """The names; InputError at the second of two equal ones."""
    seen: dict[str, int] = {}
    for index, name in enumerate(names):
        if name in seen:
            raise InputError(
                f"expected another {key} than {where}[{seen[name]}]", value=name, where=f"{where}[{index}].{key}"
            )
        seen[name] = index
    return tuple(seen)


def _devices(document: Document, folder: Path) -> tuple[int, tuple[DeviceClass, ...], MainJob | None]:
    """Period, device classes and, where the instance names one, the main job they were computed from."""
    stated = [key for key in ("period", "devices") if key in document]
    if "main" in document:
        if stated:
            raise InputError("expected either main, or period and devices", where=stated[0])
        from pipefill_opt.fill.from_main import devices_from_main

        return devices_from_main(document["main"], folder)
    for key in ("period", "devices"):
        if key not in document:
            raise InputError(f"missing key {key!r} (or 'main' in place of period and devices)", where="top level")
    period = _at(parse_time, document["period"], "period")
    if period == 0:
        raise InputError("expected a period above 0", value=document["period"], where="period")
    return period, tuple(_device(entry, period, f"devices[{i}]") for i, entry in enumerate(document["devices"])), None


def _interfered(devices: tuple[DeviceClass, ...], switch: Document) -> tuple[DeviceClass, ...]:
    """Fill work beside the main job's communication takes `interference` times as long: each class is so much slower."""
    factor = _at(exact, switch.get("interference", 1), "switch.interference")
    return tuple(replace(device, speed=device.speed / factor) for device in devices)


def _device(entry: Document, period: int, where: str) -> DeviceClass:
    bubbles = tuple(_bubble(bubble, f"{where}.bubbles[{i}]") for i, bubble in enumerate(entry["bubbles"]))
    _check_bubbles(bubbles, period, where)
    return DeviceClass(
        name=entry["name"],
        count=entry.get("count", 1),
        speed=_at(exact, entry.get("speed", 1), f"{where}.speed"),
        resident_free=_at(parse_bytes, entry["resident_free"], f"{where}.resident_free"),
        bubbles=bubbles,
    )


def _bubble(entry: Document, where: str) -> FillBubble:
    return FillBubble(
        start=_at(parse_time, entry["start"], f"{where}.start"),
        length=_at(parse_time, entry["length"], f"{where}.length"),
        free=_at(parse_bytes, entry["free"], f"{where}.free"),
        kind=entry.get("kind", "inner"),
    )


def _check_bubbles(bubbles: Sequence[FillBubble], period: int, where: str) -> None:
    """In order of start, inside the period, not overlapping; the last may wrap up to the first one's start."""
    for index, bubble in enumerate(bubbles):
        place = f"{where}.bubbles[{index}]"
        if bubble.start >= period:
            raise InputError(
                f"expected a start before the period's end, {period} ns",
                value=f"{bubble.start} ns",
                where=f"{place}.start",
            )
        end = bubble.start + bubble.length
        last = index + 1 == len(bubbles)
        limit = period + bubbles[0].start if last else bubbles[index + 1].start
        if not last and limit < bubble.start:
            raise InputError(
                f"expected bubbles in order of start, at or after {bubble.start} ns",
                value=f"{limit} ns",
                where=f"{where}.bubbles[{index + 1}].start",
            )
        if end > limit:
            raise InputError(
                f"expected a bubble that ends before the next one starts, {limit} ns",
                value=f"ends at {end} ns",
                where=place,
            )


def _jobs(entries: Sequence[Document], classes: tuple[str, ...]) -> tuple[Job, ...]:
    _unique([entry["name"] for entry in entries], "jobs")
    total = 0
    for index, entry in enumerate(entries):
        for number, config in enumerate(entry["configs"]):
            total += sum(operator.get("repeat", 1) for operator in config["operators"])
            if total > MAX_OPERATORS:
                raise InputError(
                    f"expected at most {MAX_OPERATORS} operators in all, repeat written out",
                    value=f"{total} operators up to here",
                    where=f"jobs[{index}].configs[{number}].operators",
                )
    return tuple(_job(entry, classes, f"jobs[{index}]") for index, entry in enumerate(entries))


def _job(entry: Document, classes: tuple[str, ...], where: str) -> Job:
    allowed = tuple(entry.get("devices", classes))
    doubled = [name for name, times in Counter(allowed).items() if times > 1]
    for index, name in enumerate(allowed):
        if name not in classes:
            raise InputError(
                f"expected one of the device classes {', '.join(classes)}",
                value=name,
                where=f"{where}.devices[{index}]",
            )
    if doubled:
        raise InputError("expected each device class once", value=doubled[0], where=f"{where}.devices")
    rule = ValueRule(entry.get("value", "time"))
    _unique([config["name"] for config in entry["configs"]], f"{where}.configs")
    deadline = entry.get("deadline")
    return Job(
        name=entry["name"],
        copies=entry.get("copies", 1),
        weight=_at(exact, entry.get("weight", 1), f"{where}.weight"),
        iterations=entry.get("iterations"),
        release=_at(parse_time, entry.get("release", 0), f"{where}.release"),
        deadline=None if deadline is None else _at(parse_time, deadline, f"{where}.deadline"),
        devices=allowed,
        keep=entry.get("keep", True),
        value_rule=rule,
        configurations=tuple(_configuration(c, rule, f"{where}.configs[{i}]") for i, c in enumerate(entry["configs"])),
    )


def _configuration(entry: Document, rule: ValueRule, where: str) -> Configuration:
    operators: list[Operator] = []
    for index, operator in enumerate(entry["operators"]):
        operators += [_operator(operator, rule, f"{where}.operators[{index}]")] * operator.get("repeat", 1)
    return Configuration(
        name=entry["name"],
        samples=_at(exact, entry.get("samples", 1), f"{where}.samples"),
        resident=_at(parse_bytes, entry["resident"], f"{where}.resident"),
        operators=tuple(operators),
    )


def _operator(entry: Document, rule: ValueRule, where: str) -> Operator:
    duration = _at(parse_time, entry["duration"], f"{where}.duration")
    if duration == 0:
        raise InputError("expected a duration above 0", value=entry["duration"], where=f"{where}.duration")
    if rule is ValueRule.FLOPS and "flops" not in entry and "value" not in entry:
        raise InputError("missing key 'flops' (the job has value: flops)", where=where)
    value = entry.get("value")
    return Operator(
        name=entry["name"],
        duration=duration,
        memory=_at(parse_bytes, entry["memory"], f"{where}.memory"),
        carry=_at(parse_bytes, entry.get("carry", 0), f"{where}.carry"),
        flops=_at(exact, entry.get("flops", 0), f"{where}.flops"),
        value=None if value is None else _at(exact, value, f"{where}.value"),
    )


def _with_hardware(entry: Document, folder: Path) -> Document:
    """Switch costs with those of the hardware that they name behind them."""
    if "hardware" not in entry:
        return entry
    return {**read_switch(entry["hardware"], folder), **entry}


def _switch(entry: Document, jobs: tuple[Job, ...]) -> Switch:
    rates: dict[str, Fraction | None] = {}
    swapped = [job.name for job in jobs if not job.keep]
    for key in ("h2d", "d2h"):
        if key not in entry and swapped:
            raise InputError(f"missing key {key!r} (job {swapped[0]!r} has keep: false)", where="switch")
        rates[key] = _at(parse_bandwidth, entry[key], f"switch.{key}") if key in entry else None
    return Switch(
        enter=_at(parse_time, entry.get("enter", 0), "switch.enter"),
        leave=_at(parse_time, entry.get("leave", 0), "switch.leave"),
        between=_between(entry.get("between", 0), [job.name for job in jobs]),
        h2d=rates["h2d"],
        d2h=rates["d2h"],
    )


def _between(entry: Any, names: Sequence[str]) -> int | Mapping[str, Mapping[str, int]]:
    """One time, or the table with every pair of jobs."""
    where = "switch.between"
    if not isinstance(entry, Mapping):
        return _at(parse_time, entry, where)
    _check_keys(entry, names, where)
    table: dict[str, dict[str, int]] = {}
    for source in names:
        _check_keys(entry[source], names, f"{where}.{source}")
        table[source] = {name: _at(parse_time, entry[source][name], f"{where}.{source}.{name}") for name in names}
    return table


def _check_keys(entry: Mapping[str, Any], names: Sequence[str], where: str) -> None:
    """The keys are exactly the job names."""
    for name in entry:
        if name not in names:
            raise InputError(f"unknown key, expected the jobs {', '.join(names)}", value=name, where=where)
    for name in names:
        if name not in entry:
            raise InputError(f"missing key {name!r} (the table has every pair of jobs)", where=where)


def _check_objective(jobs: tuple[Job, ...], objective: Objective) -> None:
    """An objective over time needs an end for every job."""
    for index, job in enumerate(jobs):
        if objective in (Objective.MAKESPAN, Objective.COMPLETION) and job.iterations is None:
            raise InputError(f"missing key 'iterations' (objective: {objective})", where=f"jobs[{index}]")
        if objective is Objective.ON_TIME and job.iterations is None and job.deadline is None:
            raise InputError(f"missing key 'deadline' or 'iterations' (objective: {objective})", where=f"jobs[{index}]")
