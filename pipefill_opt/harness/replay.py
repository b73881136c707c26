"""`replay`: run a main job with its fill plan on a device, without and with the fill work in turn, and keep every start and end."""

from __future__ import annotations

import threading
from collections.abc import Callable, Sequence
from dataclasses import asdict, dataclass, field
from datetime import UTC, datetime
from enum import StrEnum
from fractions import Fraction
from typing import Any, Final

from pipefill_opt.fill.hash import instance_hash
from pipefill_opt.fill.plan import FillPlan
from pipefill_opt.fill.problem import FillProblem
from pipefill_opt.harness.build import Backend
from pipefill_opt.harness.inject import Injection, inject
from pipefill_opt.harness.program import Iterations, Scenario, durations, request, scenario
from pipefill_opt.harness.run import run, run_together

Document = dict[str, Any]
FORMAT: Final = 1
TUNE_REPEATS: Final = 15
COPY_BYTES: Final = 1 << 20
PRODUCT_SIDE: Final = 64


class WorkKind(StrEnum):
    """What the watched devices do for their actions and operators."""

    TILES = "tiles"  # small products in fast memory: duration met best
    GEMM = "gemm"  # products of matrices in memory
    COPY = "copy"  # copies within the device's memory
    SLEEP = "sleep"  # nothing: does not depend on what else runs on the machine


@dataclass(frozen=True, slots=True)
class ReplayOptions:
    """scale: times on the device in those of the main job. work: of actions and operators. tolerance: of calibrated durations.

    iterations: at least; more where the plan has so many main iterations that some would not count. claim: take the pools as memory of
    the device. play_switches: let switches take what the plan says, by sleep; else what they take.
    apart: a process for each watched device, each on the GPU of its number.
    """

    scale: Fraction = Fraction(1)
    iterations: Iterations = field(default_factory=Iterations)
    work: WorkKind = WorkKind.TILES
    tolerance: float = 0.01
    claim: bool = False
    play_switches: bool = False
    apart: bool = False


def replay(
    problem: FillProblem,
    plan: FillPlan,
    backend: Backend,
    options: ReplayOptions,
    *,
    watched: Sequence[str] = (),
    injections: Sequence[Injection] = (),
    stop: threading.Event | None = None,
    tell: Callable[[int, int, str], None] | None = None,
) -> Document:
    """The RESULT document (docs/harness.md): what was predicted, what was measured, on what, when.

    injections: errors to put into the run, to see whether `compare` finds them. Raises InputError, BuildError, DeviceError,
    InterruptedRunError.
    """
    found = scenario(problem, plan, watched, scale=options.scale)
    iterations = options.iterations.covering(found.turns)
    if tell is not None:
        tell(0, 2, "calibrating the work to its durations")
    tuned = _tuned(durations(found), backend, options, stop)
    works = {entry["target"]: entry["work"] for entry in tuned}
    program = request(found, iterations, works, claim=options.claim, play_switches=options.play_switches)
    for injection in injections:
        program = inject(found, program, injection)
    if tell is not None:
        tell(1, 2, f"{len(program['iterations'])} iterations")
    results = _run(found, program, backend, options, stop)
    return {
        "format": FORMAT,
        "kind": "replay",
        "date": datetime.now(UTC).date().isoformat(),
        "instance": problem.name,
        "instance_hash": instance_hash(problem),
        "backend": backend.value,
        "device": results[0]["device"],
        "device_after": results[0]["device_after"],
        "clock": results[0]["clock"],
        "scale": str(options.scale),
        "work": options.work.value,
        "switches_played": options.play_switches,
        "iterations": asdict(iterations),
        "with_fill": program["iterations"],
        "injected": [str(injection) for injection in injections],
        "tuned": [{key: entry[key] for key in ("target", "work", "error", "within")} for entry in tuned],
        "guard": {"fraction": str(problem.guard.fraction), "margin": problem.guard.margin},
        "predicted": predicted(found),
        "measured": _on_one_clock(results),
        "failure": next((result["replay"]["failure"] for result in results if result["replay"]["failure"]), None),
    }


def _on_one_clock(results: Sequence[Document]) -> list[Document]:
    """What all processes measured, by the clock of the first one's device: each knows how far its own is from the host's."""
    first = results[0]["clock"]["host_offset_ns"]
    measured = []
    for result in results:
        shift = first - result["clock"]["host_offset_ns"]
        for entry in result["replay"]["devices"]:
            moved = {
                key: [[[start + shift, end + shift] for start, end in spans] for spans in entry[key]]
                for key in ("actions", "fills")
            }
            measured.append(entry | moved)
    return measured


def _tuned(
    targets: Sequence[int], backend: Backend, options: ReplayOptions, stop: threading.Event | None
) -> list[Document]:
    """Work for each duration."""
    works: dict[WorkKind, Document] = {
        WorkKind.TILES: {"kind": "tiles"},
        WorkKind.GEMM: {"kind": "gemm", "m": PRODUCT_SIDE, "n": PRODUCT_SIDE, "k": PRODUCT_SIDE},
        WorkKind.COPY: {"kind": "copy", "bytes": COPY_BYTES, "direction": "device"},
    }
    if options.work is WorkKind.SLEEP or not targets:
        return []
    asked = {
        "mode": "tune",
        "repeats": TUNE_REPEATS,
        "tolerance": options.tolerance,
        "targets": [{"ns": target, "work": works[options.work]} for target in targets],
    }
    entries: list[Document] = run(asked, backend, stop=stop)["tune"]["works"]
    return entries


def _run(
    found: Scenario, program: Document, backend: Backend, options: ReplayOptions, stop: threading.Event | None
) -> list[Document]:
    if not options.apart:
        return [run(program, backend, stop=stop)]
    watched = [device.name for device in found.devices]
    played = [device["name"] for device in program["devices"] if not device["real"]]
    parts = [[name, *(played if index == 0 else [])] for index, name in enumerate(watched)]
    requests = [
        {**program, "run": part, "device": index if backend is Backend.CUDA else 0} for index, part in enumerate(parts)
    ]
    return run_together(requests, backend, stop=stop)


def predicted(found: Scenario) -> Document:
    """What the model says, in ns on the device."""
    scaled = found.scaled
    return {
        "period": scaled(found.period),
        "turns": found.turns,
        "devices": [
            {
                "name": device.name,
                "main_peak": device.main_peak,
                "fill_peak": device.fill_peak,
                "actions": [[text, scaled(start), scaled(start + ticks)] for text, start, ticks in device.actions],
                "bubbles": [
                    {"start": scaled(start), "length": scaled(length), "before": before}
                    for start, length, before in device.bubbles
                ],
                "visits": [
                    {
                        "iteration": visit.iteration,
                        "before": visit.before,
                        "length": scaled(visit.length),
                        "enter": scaled(visit.enter),
                        "leave": scaled(visit.leave),
                        "used": scaled(visit.used),
                        "operators": [
                            [
                                f"{o.job}/{o.configuration}",
                                o.index,
                                scaled(o.start),
                                scaled(o.start + o.duration),
                                o.slot,
                            ]
                            for o in visit.operators
                        ],
                    }
                    for visit in device.visits
                ],
            }
            for device in found.devices
        ],
    }
