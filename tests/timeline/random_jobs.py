"""Random main jobs: any placement, one or two pipes, slices, R, REDUCE, STEP, pairs, unequal durations with zeros, lags, memory."""

from __future__ import annotations

from dataclasses import replace
from random import Random

from pipefill_opt.schedule.actions import Action, Kind, Pair
from pipefill_opt.schedule.schedule import Schedule
from pipefill_opt.workload.costs import Communication, Durations, MainJob, Memory
from tests.timeline.event_simulation import inputs

Rows = list[list[Action | Pair]]


def random_job(seed: int) -> MainJob:
    """A valid order that can run, unless pairs as blocks get in its way."""
    random = Random(seed)
    devices, stages = random.randint(1, 4), random.randint(1, 5)
    placement = [random.randrange(devices) for _ in range(stages)]
    order = random.sample(range(stages), stages)
    cut = random.randint(1, stages - 1) if stages > 1 and random.random() < 0.3 else stages
    pipes = [pipe for pipe in (order[:cut], order[cut:]) if pipe]
    trained = random.random() < 0.9
    actions = [action for pipe in pipes for action in _pipe_actions(random, pipe, trained)]
    if random.random() < 0.3:
        actions += [Action(Kind.REDUCE, stage) for stage in range(stages) if random.random() < 0.7]
    rows = _paired(random, _random_order(random, actions, placement, pipes, devices))
    if random.random() < 0.3:
        for row in rows:
            row.append(Action(Kind.STEP, -1))
    schedule = Schedule.from_rows(rows, placement, pipes=pipes)
    return MainJob(
        schedule=schedule,
        durations=_durations(random, schedule),
        communication=Communication(random.choice([0, 0, 1, 3])),
        memory=_memory(random, devices, stages),
        global_norm=random.random() < 0.5,
    )


def shuffled_job(seed: int) -> MainJob:
    """As `random_job`, with two entries of a row exchanged a few times, so that it may or may not run."""
    random = Random(seed)
    main = random_job(seed)
    rows = [list(main.schedule.row(device)) for device in range(main.schedule.devices)]
    for _ in range(random.randint(1, 3)):
        row = random.choice(rows)
        if len(row) > 1:
            i, j = random.sample(range(len(row)), 2)
            row[i], row[j] = row[j], row[i]
    schedule = Schedule.from_rows(rows, main.schedule.placement, pipes=main.schedule.pipes)
    return replace(main, schedule=schedule)


def _pipe_actions(random: Random, pipe: list[int], trained: bool) -> list[Action]:
    parts = random.choice([[-1], [-1], [-1], [0, 1], [0, 1, 2]])
    microbatches = random.randint(1, 4)
    found = []
    for stage in pipe:
        for microbatch in range(microbatches):
            split, again = random.random() < 0.5, random.random() < 0.2
            for part in parts:
                kinds = [Kind.F]
                if trained:
                    kinds += [Kind.I, Kind.W] if split else [Kind.B]
                    kinds += [Kind.R] if again else []
                found += [Action(kind, stage, microbatch, part) for kind in kinds]
    return found


def _random_order(
    random: Random, actions: list[Action], placement: list[int], pipes: list[list[int]], devices: int
) -> Rows:
    """A random topological order of the data edges, dealt out to the rows."""
    where = {action: placement[action.stage] for action in actions}
    schedule = Schedule.from_rows([actions], placement, pipes=pipes)
    needs = {action: set(inputs(schedule, where, action)) for action in actions}
    rows: Rows = [[] for _ in range(devices)]
    done: set[Action] = set()
    eager = random.random() < 0.5
    while len(done) < len(actions):
        ready = [action for action in actions if action not in done and needs[action] <= done]
        action = ready[0] if eager and random.random() < 0.5 else random.choice(ready)
        done.add(action)
        rows[where[action]].append(action)
    return rows


def _paired(random: Random, rows: Rows) -> Rows:
    if random.random() < 0.5:
        return rows
    paired: Rows = []
    for row in rows:
        result: list[Action | Pair] = []
        for action in row:
            before = result[-1] if result else None
            fits = isinstance(before, Action) and before.kind is Kind.F and isinstance(action, Action)
            if fits and action.kind in (Kind.B, Kind.I) and random.random() < 0.7:  # type: ignore[union-attr]
                assert isinstance(before, Action)
                assert isinstance(action, Action)
                result[-1] = Pair(before, action)
            else:
                result.append(action)
        paired.append(result)
    return paired


def _durations(random: Random, schedule: Schedule) -> Durations:
    low = random.choice([0, 1])
    kinds = (Kind.F, Kind.B, Kind.I, Kind.W, Kind.R, Kind.REDUCE)
    single = random.sample(range(schedule.size), schedule.size // 5)
    singles = [schedule.action(index) for index in single]
    return Durations(
        by_stage={kind: tuple(random.randint(low, 5) for _ in range(schedule.stages)) for kind in kinds},
        step=tuple(random.randint(0, 3) for _ in range(schedule.devices)) if random.random() < 0.7 else (),
        actions={action: random.randint(low, 7) for action in singles if action.kind is not Kind.STEP},
        overlap_length=random.randint(1, 6) if random.random() < 0.5 else None,
    )


def _memory(random: Random, devices: int, stages: int) -> Memory:
    activation = tuple(random.randint(0, 9) for _ in range(stages))
    return Memory(
        capacity=tuple(random.randint(0, 90) for _ in range(devices)),
        reserve=tuple(random.randint(0, 5) for _ in range(devices)),
        static=tuple(random.randint(0, 20) for _ in range(devices)),
        activation=activation,
        freed_by_input=tuple(random.randint(0, size) for size in activation),
        checkpoint=tuple(random.randint(0, 4) for _ in range(stages)),
        workspace=tuple(random.choice([0, 0, 3]) for _ in range(stages)),
    )
