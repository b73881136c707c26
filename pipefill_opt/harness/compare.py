"""`compare`: prediction against measurement, with thresholds and a verdict; what is off is named."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from enum import StrEnum
from statistics import median
from typing import Any

import numpy as np

from pipefill_opt.harness.samples import Samples, samples, turn_of

Document = dict[str, Any]


class Quantity(StrEnum):
    """What is compared."""

    PERIOD = "period"
    BUBBLE = "bubble"
    ACTION = "action"
    OPERATOR = "operator"
    SWITCH = "switch"
    SLOWDOWN = "slowdown"
    FILL = "fill"
    MEMORY = "memory"


@dataclass(frozen=True, slots=True)
class Thresholds:
    """Largest relative errors. Times that differ by less than `noise` ns are taken as equal. slowdown: of the main job by fill work.

    fill: the least share of the planned fill throughput.
    """

    period: float = 0.02
    bubble: float = 0.05
    work: float = 0.05
    switch: float = 0.5
    slowdown: float = 0.02
    fill: float = 0.8
    noise: int = 20_000


@dataclass(frozen=True, slots=True)
class Row:
    """One comparison; times in ns, memory in bytes, slowdown and fill as shares. p5, p95: of the samples, None for a single number.

    finding: what is wrong, in words; empty where it is within its threshold.
    """

    quantity: Quantity
    place: str
    predicted: float
    measured: float
    p5: float | None
    p95: float | None
    finding: str

    @property
    def error(self) -> float | None:
        """Relative to the prediction, None where that is 0."""
        return (self.measured - self.predicted) / self.predicted if self.predicted else None


@dataclass(frozen=True, slots=True)
class Comparison:
    """All rows. overruns: visits that ended after their bubble would have, of how many. failure: what ended the run, in words, or empty."""

    rows: tuple[Row, ...]
    overruns: int
    visits: int
    failure: str

    @property
    def findings(self) -> tuple[str, ...]:
        """What is off, in words, the failure first."""
        found = tuple(row.finding for row in self.rows if row.finding)
        return (self.failure, *found) if self.failure else found

    @property
    def holds(self) -> bool:
        """The verdict."""
        return not self.findings

    def median_error(self, quantity: Quantity) -> float | None:
        """Median of the relative errors of one quantity, None where there are none."""
        errors = [abs(row.error) for row in self.rows if row.quantity is quantity and row.error is not None]
        return median(errors) if errors else None


def compare(document: Document, thresholds: Thresholds | None = None) -> Comparison:
    """Compare a RESULT of `replay`. Raises InputError."""
    limits = thresholds or Thresholds()
    found = samples(document)
    if document["failure"]:
        return Comparison((), 0, 0, failure_text(document))
    rows = [*_period(found, limits), *_bubbles(found, limits), *_actions(found, limits), *_operators(found, limits)]
    rows += [*_switches(found, limits), *_memory(found)]
    late = overruns(found)
    return Comparison(tuple(rows), sum(late), len(late), "")


def failure_text(document: Document) -> str:
    """What ended the run: a memory cap, with the operator that broke it, or the deadline."""
    failure = document["failure"]
    if failure["kind"] == "deadline":
        return f"the run did not end within {failure['limit'] / 1e9:.0f} s: a deadlock, or a far too slow machine"
    if failure["pool"] == "device":
        return f"the device has no {failure['asked']} bytes for the pools of {failure['device']}"
    what = f"action {failure['action']}, beside what fill work keeps,"
    if failure["pool"] == "fill":
        (device,) = [entry for entry in document["predicted"]["devices"] if entry["name"] == failure["device"]]
        turn = turn_of(document, failure["iteration"])
        visits = [v for v in device["visits"] if (v["iteration"], v["before"]) == (turn, failure["action"])]
        operators = visits[0]["operators"] if visits else []
        known = failure["operator"] < len(operators)
        name, index, *_ = operators[failure["operator"]] if known else ("?", failure["operator"])
        what = f"operator {index} of {name}, in the bubble before action {failure['action']}"
    return (
        f"memory: {what} on {failure['device']} needs {failure['asked']} bytes beside {failure['used']} in use, "
        f"{failure['limit']} are there"
    )


def _row(
    quantity: Quantity, place: str, predicted: float, values: list[int], limit: float, noise: int, what: str
) -> Row:
    """A row over samples; `what` names it in a finding."""
    found = float(median(values))
    low, high = (float(value) for value in np.quantile(np.asarray(values, dtype=np.float64), (0.05, 0.95)))
    finding = ""
    if abs(found - predicted) > max(noise, limit * predicted):
        share = f"{found / predicted:.3g} times as long as" if predicted else f"{found:.0f} ns longer than"
        finding = f"{what} is {share} predicted ({found / 1e6:.4g} ms, {predicted / 1e6:.4g} ms predicted)"
    return Row(quantity, place, predicted, found, low, high, finding)


def _period(found: Samples, limits: Thresholds) -> Iterator[Row]:
    predicted = float(found.document["predicted"]["period"])
    without, filled = found.periods(with_fill=False), found.periods(with_fill=True)
    yield _row(Quantity.PERIOD, "without fill", predicted, without, limits.period, limits.noise, "the period")
    if not filled:
        return
    slower = median(filled) / median(without) - 1
    finding = ""
    if slower > limits.slowdown:
        finding = f"the main job is slowed down by {100 * slower:.2f} % (at most {100 * limits.slowdown:g} %)"
    yield Row(Quantity.SLOWDOWN, "by fill work", 0.0, slower, None, None, finding)
    share = predicted / median(filled)
    if not any(device["visits"] for device in found.devices):
        return
    finding = ""
    if share < limits.fill:
        finding = f"fill work runs at {100 * share:.1f} % of the planned throughput (at least {100 * limits.fill:g} %)"
    yield Row(Quantity.FILL, "throughput", 1.0, share, None, None, finding)


def _bubbles(found: Samples, limits: Thresholds) -> Iterator[Row]:
    for number, device in enumerate(found.devices):
        for index, bubble in enumerate(device["bubbles"]):
            lengths = found.bubble(number, bubble["before"])
            if lengths:
                place = f"{device['name']} bubble {index}"
                predicted = float(bubble["length"])
                yield _row(Quantity.BUBBLE, place, predicted, lengths, limits.bubble, limits.noise, place)


def _actions(found: Samples, limits: Thresholds) -> Iterator[Row]:
    for number, device in enumerate(found.devices):
        for place, (text, start, end) in enumerate(device["actions"]):
            name = f"{device['name']} {text}"
            values = found.action(number, place)
            yield _row(Quantity.ACTION, name, float(end - start), values, limits.work, limits.noise, f"action {name}")


def _operators(found: Samples, limits: Thresholds) -> Iterator[Row]:
    """All runs of an operator of a job on a device together."""
    values: dict[tuple[str, int], list[tuple[int, int]]] = {}
    for visited in found.visits():
        planned = found.devices[visited.device]["visits"][visited.visit]["operators"]
        for (job, index, start, end, _), (began, ended) in zip(planned, visited.spans, strict=True):
            values.setdefault((job, index), []).append((end - start, ended - began))
    for (job, index), pairs in sorted(values.items()):
        name = f"{job} operator {index}"
        predicted = median(planned for planned, _ in pairs)  # they differ by rounding, and by the speed of the class
        durations = [measured for _, measured in pairs]
        yield _row(Quantity.OPERATOR, name, float(predicted), durations, limits.work, limits.noise, name)


def switch_samples(found: Samples) -> dict[str, tuple[float, list[int]]]:
    """(predicted, measured) of `enter`, `between` (another slot) and `same` (the next operator of the same slot).

    `leave` shows only where the main job waits for it: where the fill work overran, and no message came later.
    """
    values: dict[str, tuple[float, list[int]]] = {}
    for visited in found.visits():
        planned = found.devices[visited.device]["visits"][visited.visit]["operators"]
        _keep(values, "enter", planned[0][2], visited.spans[0][0] - visited.before)
        steps = zip(planned, planned[1:], visited.spans, visited.spans[1:], strict=False)
        for one, other, (_, ended), (began, _) in steps:
            name = "same" if one[4] == other[4] else "between"
            _keep(values, name, other[2] - one[3], began - ended)
    return values


def _keep(values: dict[str, tuple[float, list[int]]], name: str, predicted: int, measured: int) -> None:
    known = values.get(name, (0.0, []))
    count = len(known[1])
    values[name] = ((known[0] * count + predicted) / (count + 1), [*known[1], measured])


def _switches(found: Samples, limits: Thresholds) -> Iterator[Row]:
    words = {"enter": "switch enter", "between": "switch between", "same": "the gap between two operators of a slot"}
    for name, (predicted, measured) in sorted(switch_samples(found).items()):
        yield _row(Quantity.SWITCH, name, predicted, measured, limits.switch, limits.noise, words[name])


def _memory(found: Samples) -> Iterator[Row]:
    for device, measured in zip(found.devices, found.measured, strict=True):
        for pool, known in (("main", device["main_peak"]), ("fill", device["fill_peak"])):
            high = measured[f"{pool}_high"]
            if pool == "fill" and not found.which(with_fill=True):
                continue
            finding = "" if high <= known else f"{device['name']} {pool} memory reaches {high} bytes, {known} predicted"
            yield Row(Quantity.MEMORY, f"{device['name']} {pool}", float(known), float(high), None, None, finding)


def overruns(found: Samples) -> list[bool]:
    """For each visit that counts: whether its operators and the leaving went on past what the bubble lasts without fill work."""
    late = []
    for visited in found.visits():
        visit = found.devices[visited.device]["visits"][visited.visit]
        lengths = found.bubble(visited.device, visit["before"])
        if lengths:
            used = visited.spans[-1][1] - visited.before + visit["leave"]
            late.append(used > median(lengths))
    return late
