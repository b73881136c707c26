"""Which jobs fit on no device at all: a proof from one operator at a time, without any search."""

from __future__ import annotations

from pipefill_opt.fill.problem import Configuration, DeviceClass, FillBubble, FillProblem, Guard, Job, Operator
from pipefill_opt.units import format_bytes, format_time, scaled_ticks, transfer_ticks


def usable_ticks(guard: Guard, bubble: FillBubble) -> int:
    """max(0, floor(fraction x length) - margin)."""
    return max(0, bubble.length * guard.fraction.numerator // guard.fraction.denominator - guard.margin)


def misfits(problem: FillProblem) -> tuple[str, ...]:
    """One line for each job that cannot run on any class in any configuration, with the first reason met."""
    lines = []
    for job in problem.jobs:
        reasons = [
            misfit(problem, device, job, configuration)
            for device in problem.devices
            if device.name in job.devices
            for configuration in job.configurations
        ]
        if all(reasons):
            lines.append(f"job {job.name!r} fits nowhere and stays unused: {reasons[0]}")
    return tuple(lines)


def misfit(problem: FillProblem, device: DeviceClass, job: Job, configuration: Configuration) -> str:
    """Why not even one pass (repeat) or one operator (else) of the chain can run here, or an empty text.

    Every stop of a kept job leaves its resident bytes on the device; a swapped one is moved in and out. Only what no
    plan can avoid is counted, so a text is a proof.
    """
    name = f"on {device.name} in {configuration.name}"
    if job.keep and configuration.resident > device.resident_free:
        return f"{name} it keeps {format_bytes(configuration.resident)}, {format_bytes(device.resident_free)} stay free"
    if not device.bubbles:
        return f"{device.name} has no bubble"
    needed = configuration.operators if problem.repeat else configuration.operators[:1]
    for operator in dict.fromkeys(needed):
        if not any(_runs(problem, device, bubble, job, configuration, operator) for bubble in device.bubbles):
            duration = format_time(scaled_ticks(operator.duration, device.speed))
            memory = format_bytes(configuration.resident + operator.memory)
            return f"{name} operator {operator.name} ({duration}, {memory}) fits no bubble with its switches"
    return ""


def _runs(
    problem: FillProblem,
    device: DeviceClass,
    bubble: FillBubble,
    job: Job,
    configuration: Configuration,
    operator: Operator,
) -> bool:
    ticks = problem.switch.enter + scaled_ticks(operator.duration, device.speed) + problem.switch.leave
    if not job.keep:
        assert problem.switch.h2d is not None
        assert problem.switch.d2h is not None
        ticks += transfer_ticks(configuration.resident, problem.switch.h2d)
        ticks += transfer_ticks(configuration.resident, problem.switch.d2h)
    return ticks <= usable_ticks(problem.guard, bubble) and configuration.resident + operator.memory <= bubble.free
