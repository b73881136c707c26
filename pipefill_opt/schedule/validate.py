"""`validate`: every action exactly once, on the device that holds its stage. Cycles are found elsewhere (`precedence`).

One error names the first device in trouble and up to three things wrong there, so that an order shifted by one reads as that.
"""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from pipefill_opt.errors import ScheduleError
from pipefill_opt.schedule.actions import COMPUTE, NO_MICROBATCH, Action, Kind
from pipefill_opt.schedule.census import Census, Task, take_census
from pipefill_opt.schedule.lowered import check_messages
from pipefill_opt.schedule.messages import is_message
from pipefill_opt.schedule.problems import SHOWN, Problem, place, problems_at
from pipefill_opt.schedule.schedule import Bool, Int64, Schedule


def validate(schedule: Schedule) -> None:
    """Check pipes, placement and actions. Each (stage, micro-batch, part) of a pipe needs F and either B or I and W; only F
    where the schedule has no backward at all. All stages of a pipe see the same micro-batches and parts. A lowered order has all
    messages between devices, each SEND behind what it sends and each RECV ahead of what needs it.

    Raises ScheduleError, code `unknown`, `misplaced`, `doubled` or `missing`, with rank, position and action of the first problem.
    """
    _check_stages(schedule)
    for check in (_unknown, _misplaced, _doubled_or_missing, check_messages):
        problems = list(check(schedule))
        if problems:
            raise _error(problems)


def _error(problems: list[Problem]) -> ScheduleError:
    rank = min(problem.rank for problem in problems)
    first, *others = (problem for problem in problems if problem.rank == rank)
    texts = [first.text, *map(str, others[: SHOWN - 1])]
    if len(others) >= SHOWN:
        texts.append("and more")
    return ScheduleError(
        "; ".join(texts),
        code=first.code,
        value=first.action,
        where=f"rank {rank}" if first.position is None else f"rank {rank}, position {first.position}",
        rank=rank,
        position=first.position,
    )


def _check_stages(schedule: Schedule) -> None:
    """There is some work; pipes share out the stages, each once; each stage lies on a device."""
    if not schedule.size:
        raise ScheduleError("expected at least one action", code="missing")
    for stage, device in enumerate(schedule.placement):
        if not 0 <= device < schedule.devices:
            raise ScheduleError(
                f"expected a device from 0 to {schedule.devices - 1} for stage {stage}",
                code="unknown",
                value=device,
                where=f"placement[{stage}]",
            )
    seen: set[int] = set()
    for number, pipe in enumerate(schedule.pipes):
        if not pipe:
            raise ScheduleError("expected at least one stage", code="missing", where=f"pipes[{number}]")
        for stage in pipe:
            where = f"pipes[{number}]"
            if not 0 <= stage < schedule.stages:
                raise ScheduleError(
                    f"expected stages 0 to {schedule.stages - 1}", code="unknown", value=stage, where=where
                )
            if stage in seen:
                raise ScheduleError("expected each stage once in all pipes", code="doubled", value=stage, where=where)
            seen.add(stage)
    if len(seen) < schedule.stages:
        absent = min(set(range(schedule.stages)) - seen)
        raise ScheduleError(f"expected stage {absent} in one of the pipes", code="missing", where="pipes")


def _unknown(schedule: Schedule) -> Iterator[Problem]:
    """Kinds, stages and indices that mean nothing here."""
    compute, bare = (np.isin(schedule.kind, [int(kind) for kind in kinds]) for kinds in (COMPUTE, NO_MICROBATCH))
    compute |= is_message(schedule)
    yield from problems_at(schedule, ~(compute | bare), "unknown", lambda _: "expected a kind of action")
    step = schedule.kind == Kind.STEP
    homeless = ~step & ((schedule.stage < 0) | (schedule.stage >= schedule.stages))
    expected = f"stage without a device, expected stages 0 to {schedule.stages - 1}"
    yield from problems_at(schedule, homeless, "unknown", lambda _: expected)
    indexed = (schedule.microbatch >= 0) | (schedule.part >= 0)
    yield from problems_at(
        schedule, (bare & indexed) | (step & (schedule.stage >= 0)), "unknown", lambda _: "expected no index"
    )
    unindexed = compute & ((schedule.microbatch < 0) | (schedule.part < -1))
    yield from problems_at(schedule, unindexed, "unknown", lambda _: "expected a micro-batch")


def _misplaced(schedule: Schedule) -> Iterator[Problem]:
    """An action on another device than its stage, or an overlapped pair that is none."""
    home = np.array((*schedule.placement, -1), dtype=np.int32)[schedule.stage]
    device = schedule.device()
    elsewhere = (home != device) & (schedule.kind != Kind.STEP)
    yield from problems_at(
        schedule, elsewhere, "misplaced", lambda i: f"misplaced, stage {schedule.stage[i]} lies on rank {home[i]}"
    )
    backward_next = np.zeros(schedule.size, dtype=np.bool_)
    backward = ((schedule.kind == Kind.B) | (schedule.kind == Kind.I)) & ~schedule.paired
    backward_next[:-1] = backward[1:] & (device[1:] == device[:-1])
    no_pair = schedule.paired & ~(backward_next & (schedule.kind == Kind.F))
    yield from problems_at(
        schedule, no_pair, "misplaced", lambda _: "expected an overlapped pair, F and the B or I right after it"
    )


def _doubled_or_missing(schedule: Schedule) -> Iterator[Problem]:
    """Every task done exactly once for every micro-batch and part, and nothing past their end."""
    census = take_census(schedule)
    stage = census.group // len(Task)
    microbatch, part = (values[census.index].astype(np.int64) for values in (schedule.microbatch, schedule.part))
    microbatches, parts = census.microbatches[stage], census.parts[stage]
    outside = (microbatch >= microbatches) | (part >= parts) & (part >= 0) | (part < 0) & (parts > 0)
    index, group = census.index[~outside], census.group[~outside]
    code = (microbatch * np.maximum(parts, 1) + np.maximum(part, 0))[~outside]
    again = np.zeros(len(index), dtype=np.bool_)
    again[1:] = (group[1:] == group[:-1]) & (code[1:] == code[:-1])

    yield from _missing(schedule, census, group[~again], code[~again])
    yield from _outside(schedule, census, census.index[outside])
    yield from _doubled(schedule, index, again)


def _missing(schedule: Schedule, census: Census, group: Int64, code: Int64) -> Iterator[Problem]:
    """Tasks that no action does, on the first device that lacks some. `group` and `code` are sorted, each pair once."""
    backward = bool(np.isin(schedule.kind, (Kind.B, Kind.I, Kind.W)).any())
    needed = (Task.FORWARD, Task.INPUT_GRADIENT, Task.WEIGHT_GRADIENT) if backward else (Task.FORWARD,)
    count = np.bincount(group, minlength=len(Task) * schedule.stages).reshape(schedule.stages, len(Task))
    wanted = np.maximum(census.microbatches, 1) * np.maximum(census.parts, 1)
    short = np.flatnonzero((count[:, needed] < wanted[:, None]).any(axis=1)).tolist()
    rank = min((schedule.placement[stage] for stage in short), default=-1)
    for stage in (stage for stage in short if schedule.placement[stage] == rank):
        absent: dict[Task, list[int]] = {task: [] for task in Task}
        for task in needed:
            begin, end = np.searchsorted(group, (len(Task) * stage + task, len(Task) * stage + task + 1))
            absent[task] = _first_absent(code[begin:end], int(wanted[stage]))
        k = int(census.parts[stage])
        for kind, missing in _kinds(absent, whole=bool((schedule.kind == Kind.B).any())):
            action = Action(kind, stage, missing // max(k, 1), missing % k if k else -1)
            yield Problem("missing", rank, None, str(action), "missing, expected in this row")


def _first_absent(codes: Int64, wanted: int) -> list[int]:
    """The first few numbers below `wanted` that are not among the distinct `codes`."""
    present = set(codes.tolist())
    window = range(min(wanted, len(present) + SHOWN + 1))
    return [code for code in window if code not in present]


def _kinds(absent: dict[Task, list[int]], *, whole: bool) -> Iterator[tuple[Kind, int]]:
    """Missing tasks as the kinds that would do them; one full backward does both gradients where the schedule has such."""
    inputs, weights = set(absent[Task.INPUT_GRADIENT]), set(absent[Task.WEIGHT_GRADIENT])
    both = inputs & weights if whole else set()
    for kind, codes in (
        (Kind.F, absent[Task.FORWARD]),
        (Kind.B, both),
        (Kind.I, inputs - both),
        (Kind.W, weights - both),
    ):
        yield from ((kind, code) for code in sorted(codes)[: SHOWN + 1])


def _outside(schedule: Schedule, census: Census, index: Int64) -> Iterator[Problem]:
    """Micro-batches and parts that the other rows do not have."""
    bad = np.zeros(schedule.size, dtype=np.bool_)
    bad[index] = True

    def text(index: int) -> str:
        stage = schedule.stage[index]
        last_microbatch, parts = int(census.microbatches[stage]) - 1, int(census.parts[stage])
        if schedule.microbatch[index] > last_microbatch:
            return f"past the last micro-batch, which is {last_microbatch} in the other rows"
        return (
            f"expected parts 0 to {parts - 1} as in the other rows"
            if parts
            else "expected no part, as in the other rows"
        )

    yield from problems_at(schedule, bad, "unknown", text)


def _doubled(schedule: Schedule, index: Int64, again: Bool) -> Iterator[Problem]:
    """Tasks done twice: `again` marks the entries whose task is that of the entry before. Also a second REDUCE or STEP."""
    first = np.full(schedule.size, -1, dtype=np.int64)
    second = np.flatnonzero(again)
    first[index[second]] = index[second - 1]
    for kind, owner in ((Kind.REDUCE, schedule.stage), (Kind.STEP, schedule.device())):
        own = np.flatnonzero(schedule.kind == kind)
        own = own[np.argsort(owner[own], kind="stable")]
        same = np.flatnonzero(owner[own][1:] == owner[own][:-1])
        first[own[same + 1]] = own[same]

    def text(index: int) -> str:
        earlier = int(first[index])
        return f"doubled, {schedule.action(earlier)} at position {place(schedule, earlier)[1]} does the same"

    yield from problems_at(schedule, first >= 0, "doubled", text)
