"""What an analytic model made of a job by name, and what its timeline comes to: throughput and utilisation."""

from __future__ import annotations

import json
from fractions import Fraction

from pipefill_opt.report.tables import percent
from pipefill_opt.timeline.timeline import Timeline
from pipefill_opt.units import format_bytes, format_time
from pipefill_opt.workload.costs import Derived

SECOND = 10**9


def utilisation(derived: Derived, gpus: int, period: Fraction) -> tuple[Fraction, Fraction]:
    """Model FLOPs per second of a device, and their share of its peak (recomputation not counted)."""
    rate = derived.flops * SECOND / (period * gpus)
    return rate, rate / derived.peak


def derived_json(timeline: Timeline) -> str:
    """A JSON object, `null` where nothing was derived: model, hardware, coefficients, gpus, replicas (of each device), samples, sequence,
    flops (of an iteration, as text: exact), samples_per_second, tflops_per_gpu, utilisation, layers (of each stage), and main: the same
    job as a MAIN document with numbers.
    """
    derived = timeline.main.derived
    if derived is None:
        return "null"
    gpus = derived.replicas * timeline.main.schedule.devices
    period = timeline.ticks(timeline.period)
    rate, share = utilisation(derived, gpus, period)
    entry = {
        "model": derived.model,
        "hardware": derived.hardware,
        "coefficients": derived.coefficients,
        "gpus": gpus,
        "replicas": derived.replicas,
        "samples": derived.samples,
        "sequence": derived.sequence,
        "flops": str(derived.flops),
        "samples_per_second": float(derived.samples * SECOND / period),
        "tflops_per_gpu": float(rate) / 1e12,
        "utilisation": float(share),
        "layers": list(derived.layers),
        "main": derived.document,
    }
    return json.dumps(entry, default=str, separators=(",", ":"))


def derived_lines(timeline: Timeline) -> list[str]:
    """Lines for people; none where nothing was derived."""
    main, derived = timeline.main, timeline.main.derived
    if derived is None:
        return []
    gpus = derived.replicas * main.schedule.devices
    period = timeline.ticks(timeline.period)
    rate, share = utilisation(derived, gpus, period)
    throughput = float(derived.samples * SECOND / period)
    lines = [
        f"{derived.model} on {gpus} x {derived.hardware} (coefficients: {derived.coefficients}): {throughput:.4g} samples/s, "
        f"{float(rate) / 1e12:.4g} TFLOP/s per GPU, {percent(share)} of the peak",
        f"layers by stage, embedding and head included: {', '.join(map(str, derived.layers))}",
    ]
    durations = main.durations.by_stage
    longest = ", ".join(f"{kind.name} {format_time(max(ticks))}" for kind, ticks in durations.items())
    lines.append(f"longest stage: {longest}; lag {format_time(main.communication.lag)}")
    if main.memory is not None:
        largest = max(range(len(main.memory.activation)), key=main.memory.activation.__getitem__)
        lines.append(
            f"memory: static {format_bytes(max(main.memory.static))} at most, a micro-batch "
            f"{format_bytes(main.memory.activation[largest])} on stage {largest}"
        )
    return lines
