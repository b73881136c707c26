"""How much of a model each stage of a pipe has: equal shares, or whole layers. Exact: the parts add up to the whole."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from pipefill_opt.errors import ScheduleError

Amounts = Mapping[str, int]
"""Ticks and bytes by name."""


@dataclass(frozen=True, slots=True)
class Extra:
    """What the first and the last stage of a pipe have besides, with every name."""

    first: Amounts
    last: Amounts


@dataclass(frozen=True, slots=True)
class Weights:
    """Amounts of one unit (a device's share, or a layer), and those besides."""

    unit: Amounts
    extra: Extra

    def shared(self, stages: int, devices: int) -> list[dict[str, int]]:
        """Amounts by stage where each unit is the share of a device: it is cut into stages / devices parts, which differ by 1 at most."""
        parts = stages // devices
        found = []
        for stage in range(stages):
            part = stage // devices
            found.append({name: x * (part + 1) // parts - x * part // parts for name, x in self.unit.items()})
        return self._with_extra(found)

    def layered(self, layers: Sequence[int]) -> list[dict[str, int]]:
        """Amounts by stage, of the layers that each has."""
        return self._with_extra([{name: x * count for name, x in self.unit.items()} for count in layers])

    def time(self, stage: int, stages: int, layers: int) -> int:
        """Ticks of a stage with so many layers for one micro-batch, forward and backward."""
        total = layers * _round_trip(self.unit)
        total += _round_trip(self.extra.first) if stage == 0 else 0
        return total + (_round_trip(self.extra.last) if stage == stages - 1 else 0)

    def _with_extra(self, stages: list[dict[str, int]]) -> list[dict[str, int]]:
        for stage, extra in ((stages[0], self.extra.first), (stages[-1], self.extra.last)):
            for name, amount in extra.items():
                stage[name] += amount
        return stages


def even(layers: int, stages: int) -> tuple[int, ...]:
    """As equal as can be; the first stages have one more. Raises ScheduleError, code `size`, with fewer layers than stages."""
    _at_least_one(layers, stages)
    return tuple(layers // stages + (stage < layers % stages) for stage in range(stages))


def balanced(layers: int, devices: Sequence[int], weights: Weights) -> tuple[int, ...]:
    """Layers by stage with which the slowest device takes as little time as can be, at least one on each stage.

    devices: of each stage. All layers are equal, so that it is best to give each next one to the device that then takes least.
    Raises ScheduleError, code `size`, with fewer layers than stages.
    """
    stages = len(devices)
    _at_least_one(layers, stages)
    counts = [1] * stages
    load = dict.fromkeys(devices, 0)
    for stage, device in enumerate(devices):
        load[device] += weights.time(stage, stages, 1)
    for _ in range(layers - stages):
        stage = min(range(stages), key=lambda s: (load[devices[s]], counts[s], s))
        counts[stage] += 1
        load[devices[stage]] += _round_trip(weights.unit)
    return tuple(counts)


def _at_least_one(layers: int, stages: int) -> None:
    if layers < stages:
        raise ScheduleError(
            f"expected at least {stages} layers, one for each stage", code="size", value=layers, where="layers"
        )


def _round_trip(amounts: Amounts) -> int:
    return amounts["F"] + amounts["I"] + amounts["W"]
