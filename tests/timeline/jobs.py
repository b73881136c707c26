"""Small main jobs for tests."""

from __future__ import annotations

from dataclasses import replace

from pipefill_opt.schedule.actions import Kind, parse_action
from pipefill_opt.schedule.schedule import Schedule
from pipefill_opt.workload.costs import Boundary, Communication, Durations, MainJob, Memory

DEFAULT = {"F": 1, "B": 2, "I": 1, "W": 1, "R": 1}


def rows_job(
    *rows: str,
    placement: list[int] | None = None,
    pipes: list[list[int]] | None = None,
    lag: int = 0,
    memory: Memory | None = None,
    step: tuple[int, ...] = (),
    overlap: int | None = None,
    global_norm: bool = False,
    **ticks: int | tuple[int, ...],
) -> MainJob:
    """A job from rows of text (stage s on device s by default); ticks by kind, one number or one for each stage."""
    parsed = [[parse_action(text) for text in row.split()] for row in rows]
    schedule = Schedule.from_rows(parsed, placement if placement is not None else range(len(rows)), pipes=pipes)
    times = {
        Kind[name]: value if isinstance(value, tuple) else (value,) * schedule.stages
        for name, value in (DEFAULT | ticks).items()
    }
    return MainJob(schedule, Durations(times, step, {}, overlap), Communication(lag), memory, global_norm=global_norm)


def memory_of(devices: int, stages: int, **sizes: int | tuple[int, ...]) -> Memory:
    """A memory model, 0 where nothing is said, with a capacity of 100."""
    counts = dict.fromkeys(("capacity", "reserve", "static"), devices)
    counts |= dict.fromkeys(("activation", "freed_by_input", "checkpoint", "workspace"), stages)
    stated: dict[str, int | tuple[int, ...]] = {"capacity": 100, **sizes}
    columns = {name: stated.get(name, 0) for name in counts}
    return Memory(**{n: v if isinstance(v, tuple) else (v,) * counts[n] for n, v in columns.items()})


def half_tick_job() -> MainJob:
    """Two pipes that cross each other on two devices, without a barrier. T = (2 + 1 + 1 + 1 + 2 lags) / 2 = 7/2."""
    rows = ("0F0 3F0", "2F0 1F0")
    job = rows_job(*rows, placement=[0, 1, 1, 0], pipes=[[0, 1], [2, 3]], lag=1, F=(2, 1, 1, 1))
    return replace(job, boundary=Boundary.FLOW)
