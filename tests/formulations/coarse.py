"""Problems in small whole numbers: GLPK computes in binary floats, and a row of small numbers leaves it no doubt.

Times are rounded to a tenth of a millisecond and called ticks, bytes to a megabyte and called bytes; limits stay as tight as they were.
"""

from __future__ import annotations

from dataclasses import replace
from fractions import Fraction

from pipefill_opt.fill.problem import DeviceClass, FillProblem, Job, Operator

TICKS, BYTES = 100_000, 1_000_000


def coarse(problem: FillProblem) -> FillProblem:
    """The rounded problem, another one than `problem`."""
    switch = problem.switch
    between = switch.between
    return replace(
        problem,
        period=ticks(problem.period),
        devices=tuple(_device(device) for device in problem.devices),
        guard=replace(problem.guard, margin=ticks(problem.guard.margin)),
        switch=replace(
            switch,
            enter=ticks(switch.enter),
            leave=ticks(switch.leave),
            between=ticks(between)
            if isinstance(between, int)
            else {a: {b: ticks(cost) for b, cost in row.items()} for a, row in between.items()},
            h2d=_rate(switch.h2d),
            d2h=_rate(switch.d2h),
        ),
        jobs=tuple(_job(job) for job in problem.jobs),
    )


def ticks(time: int) -> int:
    """Rounded."""
    return round(time / TICKS)


def size(number: int) -> int:
    """Rounded."""
    return round(number / BYTES)


def _rate(rate: Fraction | None) -> Fraction | None:
    """So that a transfer takes as many of the new ticks as before, but for rounding."""
    return None if rate is None else rate * TICKS / BYTES


def _device(device: DeviceClass) -> DeviceClass:
    bubbles = tuple(
        replace(b, start=ticks(b.start), length=max(1, ticks(b.length)), free=size(b.free)) for b in device.bubbles
    )
    return replace(device, resident_free=size(device.resident_free), bubbles=bubbles)


def _job(job: Job) -> Job:
    configurations = tuple(
        replace(c, resident=size(c.resident), operators=tuple(_operator(o) for o in c.operators))
        for c in job.configurations
    )
    return replace(job, configurations=configurations)


def _operator(operator: Operator) -> Operator:
    flops = Fraction(round(operator.flops / 10**9))
    value = None if operator.value is None else Fraction(round(operator.value * 10), 10)
    rounded = (max(1, ticks(operator.duration)), size(operator.memory), size(operator.carry))
    return Operator(operator.name, *rounded, flops, value)
