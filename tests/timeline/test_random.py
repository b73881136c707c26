"""Random orders, lags, unequal stages, slices, R and pairs: the timeline against the independent event simulation."""

from __future__ import annotations

from random import Random

import pytest

from pipefill_opt import kernels
from pipefill_opt.errors import ScheduleError
from pipefill_opt.schedule.actions import Action
from pipefill_opt.schedule.precedence import precedence
from pipefill_opt.timeline.compute import timeline
from pipefill_opt.timeline.memory import usage
from pipefill_opt.timeline.timeline import Timeline
from pipefill_opt.workload.costs import MainJob
from tests.timeline.event_simulation import Simulation
from tests.timeline.random_jobs import random_job, shuffled_job

SEEDS = range(600)
BATCH = 50


def positions(main: MainJob) -> list[tuple[int, Action]]:
    return [(int(device), main.schedule.action(i)) for i, device in enumerate(main.schedule.device())]


def check_times(result: Timeline, simulation: Simulation) -> None:
    keys = positions(result.main)
    assert result.start.tolist() == [simulation.start[key] for key in keys]
    assert result.end.tolist() == [simulation.end[key] for key in keys]
    assert result.makespan == result.period == simulation.period
    rows = range(result.main.schedule.devices)
    assert result.busy.tolist() == [sum(simulation.busy(device)) for device in rows]
    spans = [0]
    for device in rows:
        starts = [start for (owner, _), start in simulation.start.items() if owner == device]
        ends = [end for (owner, _), end in simulation.end.items() if owner == device]
        spans += [max(ends) - min(starts)] if starts else []
    assert result.span == max(spans)


def check_memory(result: Timeline, simulation: Simulation) -> None:
    assert result.peak is not None
    for device in range(result.main.schedule.devices):
        times, sizes = (column.tolist() for column in usage(result, device))
        assert times[0] == 0
        assert times == sorted(set(times))
        levels = simulation.usage(device)
        assert [sizes[sum(time <= tick for time in times) - 1] for tick in range(simulation.period)] == levels
        if levels:
            assert result.peak[device] == max(levels)


def check_bubbles(result: Timeline, simulation: Simulation) -> None:
    schedule = result.main.schedule
    for device in range(schedule.devices):
        expected = simulation.bubbles(device)
        found = result.bubbles[device]
        assert len(found) == len(expected)
        for bubble, interval in zip(found, expected, strict=True):
            cause, after = bubble.cause, bubble.next_action
            assert (bubble.start, bubble.length) == (interval.start, interval.length)
            assert (bubble.kind, bubble.phase, bubble.free) == (interval.kind, interval.phase, interval.free)
            action = None if cause.action is None else schedule.action(cause.action)
            assert (cause.edge, action, cause.device) == interval.cause
            assert (None if after is None else schedule.action(after)) == interval.next


def check_slack(result: Timeline, simulation: Simulation, seed: int) -> None:
    """A delay of the slack leaves the makespan as it is, one tick more does not, each link sending in the same order."""
    main, queues = simulation.main, simulation.sent
    keys = positions(result.main)
    for index in Random(seed).sample(range(len(keys)), min(3, len(keys))):
        if index and result.main.durations.overlap_length is not None and result.main.schedule.paired[index - 1]:
            continue  # the B of a block has no life of its own
        slack = int(result.slack[index])
        assert slack >= 0
        assert Simulation(main, {keys[index]: slack}, queues).period == result.makespan
        assert Simulation(main, {keys[index]: slack + 1}, queues).period == result.makespan + 1


@pytest.mark.parametrize("batch", range(0, len(SEEDS), BATCH))
def test_timeline_equals_simulation(batch: int, monkeypatch: pytest.MonkeyPatch) -> None:
    if batch % (4 * BATCH) == 0:  # every fourth batch runs compiled
        monkeypatch.setattr(kernels, "INTERPRETED", -1)
    for seed in SEEDS[batch : batch + BATCH]:
        main = random_job(seed)
        simulation = Simulation(main)
        if simulation.stuck:  # only a block can stop an order that was made to run
            assert main.durations.overlap_length is not None
            with pytest.raises(ScheduleError, match="deadlock"):
                timeline(main)
            continue
        result = timeline(main)
        check_times(result, simulation)
        check_memory(result, simulation)
        check_bubbles(result, simulation)
        check_slack(result, simulation, seed)


def test_random_jobs_cover_what_they_should() -> None:
    kinds, edges, phases, wrapped, empty, blocks, slices, stuck = set(), set(), set(), 0, 0, 0, 0, 0
    for seed in SEEDS:
        main = random_job(seed)
        if Simulation(main).stuck:
            stuck += 1
            continue
        result = timeline(main)
        blocks += bool(main.durations.overlap_length is not None and main.schedule.paired.any())
        slices += bool((main.schedule.part > 0).any())
        for bubble in (bubble for row in result.bubbles for bubble in row):
            kinds.add(bubble.kind)
            edges.add(bubble.cause.edge)
            phases.add(bubble.phase)
            wrapped += bubble.start + bubble.length > result.period
            empty += bubble.next_action is None
    assert kinds == {"fill-drain", "fwd-bwd", "sync", "inner"}
    assert edges == {"data", "order", "barrier"}
    assert phases == {"warm-up", "steady", "cool-down"}
    assert min(wrapped, empty, blocks, slices) >= 20
    assert stuck >= 5


def test_deadlocks_are_found_and_shown() -> None:
    found = 0
    for seed in range(400):
        main = shuffled_job(seed)
        simulation = Simulation(main)
        block = main.durations.overlap_length is not None
        if not simulation.stuck:
            check_times(timeline(main), simulation)
            continue
        found += 1
        with pytest.raises(ScheduleError) as caught:
            precedence(main.schedule, block=block, global_norm=main.global_norm)
        assert caught.value.code == "deadlock"
        check_cycle(simulation, caught.value)
    assert found >= 100


def check_cycle(simulation: Simulation, error: ScheduleError) -> None:
    """Each action of the cycle waits for the one before it, by data or because it stands behind it in a row."""
    texts: dict[str, list[tuple[int, int]]] = {}
    for device, row in enumerate(simulation.rows):
        for position, entry in enumerate(row):
            text = str(entry[0]) if len(entry) == 1 else f"({entry[0]};{entry[1]})OVERLAP_F_B"
            texts.setdefault(text, []).append((device, position))
    cycle = error.cycle
    for earlier, later in zip(cycle[-1:] + cycle[:-1], cycle, strict=True):
        assert any(
            (device == other and spot < position)
            or any(str(wait.action) in earlier for wait in simulation.waits(device, position))
            for device, position in texts[later]
            for other, spot in texts[earlier]
        ), (earlier, later, cycle)
    assert 0 < len(cycle) <= 2 * len(simulation.rows)
