"""The main job's slowdown: its DAG timed again with the fill work of a plan in it, as stated and under jitter.

Model. In every bubble the device runs its fill work as soon as the action before the bubble has ended, and the action after
the bubble waits for it; in the bubble around the iteration boundary that wait may go on past the barrier. A main
iteration begins when all devices of all pipelines have ended the one before. The i-th pipeline consists of the i-th device
of each class, in the order in which the plan lists its patterns; the slowest pipeline sets the pace.

Jitter. Each action and each fill operator takes its duration x max(0, 1 + jitter x N), N standard normal, all independent, rounded
to a tick; lags, messages and switches stay as they are, and pipelines share the actions' durations. The same durations are timed
with and without fill work.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction
from itertools import accumulate

import numpy as np

from pipefill_opt.errors import InputError
from pipefill_opt.fill.delays import DelayedMain, delayed_main
from pipefill_opt.fill.packing import PackedOccurrence, pack_plan
from pipefill_opt.fill.plan import FillPlan
from pipefill_opt.fill.problem import DeviceClass, FillProblem
from pipefill_opt.schedule.messages import is_message
from pipefill_opt.schedule.schedule import Int64
from pipefill_opt.timeline.compute import timeline
from pipefill_opt.units import scaled_ticks
from pipefill_opt.workload.weights import is_block, pair_members


@dataclass(frozen=True, slots=True)
class Slowdown:
    """Relative lengthening of the main job's iterations. `stated`: exact, at the stated durations (0 for a valid plan).

    Under jitter, over `iterations` of them: `mean` of the whole run, `p95` and `worst` of single iterations.
    """

    stated: Fraction
    jitter: Fraction
    mean: float
    p95: float
    worst: float
    seed: int
    iterations: int


def retime(
    problem: FillProblem, plan: FillPlan, *, jitter: Fraction = Fraction(1, 20), seed: int = 0, iterations: int = 200
) -> Slowdown:
    """Time the main job again with the plan's fill work in it. A plan that runs once is run again and again here.

    The plan must be valid, or at least sound in structure: one that takes too long for its bubbles shows what that costs.
    Raises InputError where the instance names no main job, and for a plan of several phases.
    """
    if problem.main is None:
        raise InputError("expected an instance with main: {file: ...}", value=problem.name, where="main")
    if any(len(pattern.phases) != 1 for pattern in plan.patterns):
        raise InputError("expected a plan of one phase", where="patterns")
    main = delayed_main(timeline(problem.main))
    pipelines = _pipelines(problem, plan, main)
    turn = problem.iterations or plan.iterations or 1
    without, filled = _run(main, pipelines, max(2, turn), 0.0, seed)
    stated = Fraction(int(filled.sum()), int(without.sum())) - 1
    without, filled = _run(main, pipelines, iterations, float(jitter), seed)
    longer = filled / np.maximum(without, 1) - 1
    return Slowdown(
        stated=stated,
        jitter=jitter,
        mean=float(filled.sum() / max(1, int(without.sum())) - 1),
        p95=float(np.quantile(longer, 0.95)),
        worst=float(longer.max()),
        seed=seed,
        iterations=iterations,
    )


@dataclass(frozen=True, slots=True, eq=False)
class _Fill:
    """Fill work of one pipeline in one main iteration: v visits. place: int64[v] in the vector of delays; switch: int64[v] ticks.

    operators: int64 ticks, those of all visits one after the other; first: int64[v], where those of each visit begin.
    """

    place: Int64
    switch: Int64
    operators: Int64
    first: Int64

    @classmethod
    def of(cls, visits: Sequence[tuple[int, int, Int64]]) -> _Fill:
        """From (place, switch, ticks of the operators) of each visit."""
        counts = [len(ticks) for _, _, ticks in visits]
        return cls(
            place=np.array([place for place, _, _ in visits], dtype=np.int64),
            switch=np.array([switch for _, switch, _ in visits], dtype=np.int64),
            operators=np.concatenate([np.zeros(0, dtype=np.int64), *(ticks for _, _, ticks in visits)]),
            first=np.append(0, np.cumsum(counts, dtype=np.int64))[:-1].astype(np.int64),
        )

    def delays(self, size: int, jitter: float, draws: np.random.Generator) -> Int64:
        """int64[size]: ticks of fill work in each bubble."""
        result = np.zeros(size, dtype=np.int64)
        if len(self.place):
            work = np.add.reduceat(_jittered(self.operators, jitter, draws), self.first)
            np.add.at(result, self.place, self.switch + work)
        return result


def _run(
    main: DelayedMain, pipelines: Sequence[Sequence[_Fill]], iterations: int, jitter: float, seed: int
) -> tuple[Int64, Int64]:
    """int64[iterations] each: lengths of the main iterations without and with fill work, same durations of actions."""
    action_draws, fill_draws = np.random.default_rng(seed).spawn(2)
    runs = iterations * (1 + len(pipelines))
    inner = len(main.inner_edge)
    idle = np.zeros(main.delays, dtype=np.int64)
    without, filled = np.zeros(iterations, dtype=np.int64), np.zeros(iterations, dtype=np.int64)
    ready = [main.ready] * len(pipelines)
    for number in range(iterations):
        duration = _jittered_actions(main, jitter, action_draws)
        without[number], _ = main.iteration(duration, idle[:inner], idle[inner:], runs=runs)
        ends = []
        for pipeline, since in zip(pipelines, ready, strict=True):
            delay = pipeline[number % len(pipeline)].delays(main.delays, jitter, fill_draws)
            gate = np.where(delay[inner:] > 0, np.maximum(0, since + delay[inner:]), 0)
            ends.append(main.iteration(duration, delay[:inner], gate, runs=runs))
        filled[number] = max((length for length, _ in ends), default=without[number])
        ready = [end + length - filled[number] for length, end in ends]
    return without, filled


def _jittered(ticks: Int64, jitter: float, draws: np.random.Generator) -> Int64:
    if jitter == 0:
        return ticks
    factors = np.maximum(0.0, 1 + jitter * draws.standard_normal(len(ticks)))
    return np.rint(ticks * factors).astype(np.int64)


def _jittered_actions(main: DelayedMain, jitter: float, draws: np.random.Generator) -> Int64:
    """int64[n]; both actions of a block take the same, SEND and RECV what they always take."""
    duration = _jittered(main.duration, jitter, draws)
    message = is_message(main.main.schedule)
    duration[message] = main.duration[message]
    if jitter and is_block(main.main):
        schedule = main.main.schedule
        second = np.flatnonzero(pair_members(schedule) & ~schedule.paired)
        duration[second] = duration[second - 1]
    return duration


def _pipelines(problem: FillProblem, plan: FillPlan, main: DelayedMain) -> list[list[_Fill]]:
    """For each different pipeline, the fill work of the H main iterations."""
    classes = [device for device in problem.devices if device.main_device is not None]
    rows = [_patterns_by_rank(plan, device) for device in classes]
    borders = sorted({until for row in rows for until, _ in row})
    chosen = dict.fromkeys(
        tuple(next(pattern for until, pattern in row if until >= border) for row in rows) for border in borders
    )
    packed = pack_plan(problem, plan)
    turn = problem.iterations or plan.iterations or 1
    pipelines = []
    for patterns in chosen:
        visits: list[list[tuple[int, int, Int64]]] = [[] for _ in range(turn)]
        for device, pattern in zip(classes, patterns, strict=True):
            assert device.main_device is not None
            for occurrence in packed[pattern, 0]:
                start = device.bubbles[occurrence.bubble].start
                place = main.delay_of.get((device.main_device, start))
                if place is not None:
                    late = start > 0 and place >= len(main.inner_edge)  # it holds up the next iteration
                    ticks = _operator_ticks(device, occurrence)
                    visits[(occurrence.iteration + late) % turn].append((place, occurrence.switch, ticks))
        pipelines.append([_Fill.of(entries) for entries in visits])
    return pipelines


def _patterns_by_rank(plan: FillPlan, device: DeviceClass) -> list[tuple[int, int]]:
    """(devices up to and with this pattern, pattern) of a class."""
    own = [index for index, pattern in enumerate(plan.patterns) if pattern.device == device.name]
    return list(zip(accumulate(plan.patterns[index].multiplicity for index in own), own, strict=True))


def _operator_ticks(device: DeviceClass, occurrence: PackedOccurrence) -> Int64:
    """Ticks of each operator of a visited bubble, in order."""
    parts = []
    for segment in occurrence.segments:
        chain = occurrence.states[segment.slot].configuration.operators
        ticks = np.array([scaled_ticks(operator.duration, device.speed) for operator in chain], dtype=np.int64)
        parts.append(ticks[(segment.first + np.arange(segment.count)) % len(chain)])
    return np.concatenate(parts)
