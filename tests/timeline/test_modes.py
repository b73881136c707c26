"""`link` and `blocking`: random jobs against the independent event simulation, and small ones by hand."""

from __future__ import annotations

from dataclasses import replace
from random import Random

import pytest

from pipefill_opt import kernels
from pipefill_opt.errors import ScheduleError
from pipefill_opt.schedule.actions import parse_action
from pipefill_opt.schedule.families import build_family
from pipefill_opt.schedule.messages import is_message, with_messages, without_messages
from pipefill_opt.schedule.schedule import same_order
from pipefill_opt.timeline.compute import timeline
from pipefill_opt.timeline.graph import to_networkx
from pipefill_opt.timeline.timeline import Timeline
from pipefill_opt.timeline.times import settle
from pipefill_opt.workload.costs import Communication, MainJob, Mode
from tests.timeline.event_simulation import Simulation
from tests.timeline.jobs import rows_job
from tests.timeline.random_jobs import random_job
from tests.timeline.test_random import check_bubbles, check_memory, check_slack, check_times

SEEDS = range(1000, 1320)
BATCH = 40


def random_mode(seed: int) -> MainJob:
    """Half of the jobs in each mode; messages may take no time, and links may be the bottleneck."""
    main, random = random_job(seed), Random(seed)
    if seed % 2:
        return replace(main, communication=Communication(random.choice([0, 1, 2, 5]), Mode.BLOCKING))
    occupancy = random.choice([0, 1, 2, 4, 7])
    return replace(main, communication=Communication(occupancy + random.choice([0, 0, 1, 3]), Mode.LINK, occupancy))


@pytest.mark.parametrize("batch", range(0, len(SEEDS), BATCH))
def test_modes_equal_simulation(batch: int, monkeypatch: pytest.MonkeyPatch) -> None:
    if batch % (4 * BATCH) == 0:
        monkeypatch.setattr(kernels, "INTERPRETED", -1)
    for seed in SEEDS[batch : batch + BATCH]:
        main = random_mode(seed)
        simulation = Simulation(main)
        if simulation.stuck:
            assert main.durations.overlap_length is not None
            with pytest.raises(ScheduleError, match="deadlock"):
                timeline(main)
            continue
        result = timeline(main)
        check_times(result, simulation)
        check_memory(result, simulation)
        check_bubbles(result, simulation)
        check_slack(result, simulation, seed)


def test_random_modes_cover_what_they_should() -> None:
    queued, messages, causes = 0, 0, 0
    for seed in SEEDS:
        main = random_mode(seed)
        if Simulation(main).stuck:
            continue
        times = settle(main)
        queued += bool(times.queued.any())
        messages += times.main.schedule.size > main.schedule.size
        causes += any(bubble.cause.edge == "link" for row in timeline(main).bubbles for bubble in row)
    assert min(queued, messages, causes) >= 25


def forward_only(stages: int, microbatches: int, forward: int, communication: Communication) -> Timeline:
    rows = [" ".join(f"{stage}F{m}" for m in range(microbatches)) for stage in range(stages)]
    return timeline(replace(rows_job(*rows, F=forward), communication=communication))


def link(latency: int, occupancy: int) -> Communication:
    return Communication(latency + occupancy, Mode.LINK, occupancy)


@pytest.mark.parametrize("occupancy", [0, 1, 4, 5, 6, 13])
@pytest.mark.parametrize("latency", [0, 3])
def test_a_chain_goes_at_the_pace_of_its_slowest_part(latency: int, occupancy: int) -> None:
    """m micro-batches through p stages of F ticks and p - 1 links: once through, and m - 1 times the slower of stage and link."""
    for stages in (2, 3, 5):
        for microbatches in (1, 2, 6):
            once = stages * 5 + (stages - 1) * (latency + occupancy)
            found = forward_only(stages, microbatches, 5, link(latency, occupancy))
            assert found.makespan == once + (microbatches - 1) * max(5, occupancy)


def test_latency_delays_without_keeping_the_link() -> None:
    base = forward_only(3, 4, 5, link(0, 7)).makespan
    assert forward_only(3, 4, 5, link(100, 7)).makespan == base + 2 * 100
    assert (
        forward_only(3, 4, 5, link(0, 107)).makespan == base + 2 * 100 + 3 * 100
    )  # two links, three more messages behind


def test_contention_is_what_link_adds_to_lag() -> None:
    """Never earlier than with the same lag; the same where no message has to queue, and never another way."""
    seen = 0
    for seed in range(0, 200, 2):
        main = replace(random_mode(seed))
        if Simulation(main).stuck:
            continue
        lag = replace(main, communication=Communication(main.communication.lag))
        queues, free = timeline(main), timeline(lag)
        assert (queues.start >= free.start).all()
        if not settle(main).queued.any():
            assert (queues.start == free.start).all()
            seen += 1
    assert seen >= 20


def test_two_stages_that_share_a_link() -> None:
    """Two pipes from device 0 to 1: 0F0 and 2F0 end at 1 and 2, and the second message waits for the first."""
    rows = ("0F0 2F0", "1F0 3F0")
    main = rows_job(*rows, placement=[0, 1, 0, 1], pipes=[[0, 1], [2, 3]])
    result = timeline(replace(main, communication=link(1, 5)))
    assert result.start.tolist() == [0, 1, 7, 12]
    assert result.bubbles[1][-1].cause.edge == "link"
    assert result.bubbles[1][-1].cause.action == 1
    apart = rows_job("0F0", "1F0", "2F0", "3F0", pipes=[[0, 1], [2, 3]])
    assert timeline(replace(apart, communication=link(1, 5))).start.tolist() == [0, 7, 0, 7]


def test_ties_go_to_the_smaller_receiving_stage() -> None:
    """Both forwards end at 0: the message to stage 1 goes first, though 2F0 stands first in the row."""
    rows = ("2F0 0F0", "1F0 3F0")
    main = rows_job(*rows, placement=[0, 1, 0, 1], pipes=[[0, 1], [2, 3]], F=(0, 2, 0, 2))
    assert timeline(replace(main, communication=link(0, 5))).start.tolist() == [0, 0, 5, 10]


def test_ties_go_to_the_smaller_micro_batch() -> None:
    rows = ("0F1 0F0", "1F0 1F1")
    assert timeline(replace(rows_job(*rows, F=(0, 2)), communication=link(0, 5))).start.tolist() == [0, 0, 5, 10]


def test_both_directions_are_links_of_their_own() -> None:
    main = rows_job("0F0 0F1 0B0 0B1", "1F0 1B0 1F1 1B1", F=2, B=2)
    assert timeline(replace(main, communication=link(0, 2))).start.tolist() == [0, 2, 10, 14, 4, 6, 8, 10]


def test_the_graph_has_the_makespan_in_all_modes() -> None:
    import networkx

    for seed in range(1000, 1060):
        main = random_mode(seed)
        if not Simulation(main).stuck:
            length = networkx.dag_longest_path_length(to_networkx(main), default_weight=0)
            assert length == timeline(main).makespan


def test_blocking_by_hand() -> None:
    """Each message takes 3 ticks of both; the receive may start with the send, and is no bubble."""
    main = rows_job("0F0 0B0", "1F0 1B0", F=2, B=4)
    result = timeline(replace(main, communication=Communication(3, Mode.BLOCKING)))
    rows = [[str(action) for action in result.main.schedule.row(device)] for device in range(2)]
    assert rows == [["0F0", "0SEND_F0", "0RECV_B0", "0B0"], ["1RECV_F0", "1F0", "1B0", "1SEND_B0"]]
    assert result.start.tolist() == [0, 2, 11, 14, 2, 5, 7, 11]
    assert result.busy.tolist() == [12, 12]
    assert result.makespan == 18
    (wait,) = result.bubbles[0]
    assert (wait.start, wait.length, wait.kind, wait.cause.edge, wait.cause.action) == (5, 6, "fwd-bwd", "data", 7)


def test_blocking_without_length_is_lag_without_lag() -> None:
    for seed in range(1001, 1101, 2):
        main = replace(random_job(seed), communication=Communication(0, Mode.BLOCKING))
        if Simulation(main).stuck:
            continue
        free = timeline(replace(main, communication=Communication(0)))
        found = timeline(main)
        kept = ~is_message(found.main.schedule)
        assert found.start[kept].tolist() == free.start.tolist()


EARLY = ("0F0 0SEND_F0 0F1 0SEND_F1 0RECV_B0 0B0 0RECV_B1 0B1", "1RECV_F0 1RECV_F1 1F0 1B0 1SEND_B0 1F1 1B1 1SEND_B1")
LATE = ("0F0 0SEND_F0 0F1 0SEND_F1 0RECV_B0 0B0 0RECV_B1 0B1", "1RECV_F0 1F0 1B0 1SEND_B0 1RECV_F1 1F1 1B1 1SEND_B1")


@pytest.mark.parametrize("mode", [Mode.LAG, Mode.LINK])
def test_messages_in_an_order_count_in_blocking_mode_only(mode: Mode) -> None:
    plain = rows_job("0F0 0F1 0B0 0B1", "1F0 1B0 1F1 1B1", F=4, B=5)
    for rows in (EARLY, LATE):
        main = rows_job(*rows, F=4, B=5)
        communication = Communication(3, mode, 2 if mode is Mode.LINK else 0)
        found, free = (timeline(replace(job, communication=communication)) for job in (main, plain))
        assert same_order(found.main.schedule, plain.schedule)
        assert found.start.tolist() == free.start.tolist()


def test_an_early_receive_keeps_the_device_waiting() -> None:
    """Device 1 asks for F1 before it runs F0, which is there: it waits for the SEND of F1, at 7."""
    early, late = (
        timeline(replace(rows_job(*rows, F=4, B=5), communication=Communication(1, Mode.BLOCKING)))
        for rows in (EARLY, LATE)
    )
    warm_up = [
        [(b.start, b.length, b.kind) for b in result.bubbles[1] if b.phase == "warm-up" and b.start < 20]
        for result in (early, late)
    ]
    assert warm_up == [[(5, 4, "inner")], []]
    assert early.makespan > late.makespan


def test_putting_messages_in_and_taking_them_out() -> None:
    for name, options in (("1f1b", {}), ("zbv", {}), ("dualpipev", {}), ("interleaved-1f1b", {"chunks": 2})):
        order = build_family(name, 4, 8, **options)
        for block in (False, True):
            lowered = with_messages(order, block=block)
            assert with_messages(lowered) is lowered
            texts = [str(lowered.action(i)) for i in range(lowered.size)]
            crossing = sum(a != b for a, b in zip(order.placement, order.placement[1:], strict=False))
            assert len(texts) - order.size == 2 * 2 * 8 * crossing
            bare = without_messages(lowered)
            assert [str(bare.action(i)) for i in range(bare.size)] == [str(order.action(i)) for i in range(order.size)]
            assert bare.row_start.tolist() == order.row_start.tolist()
            if block:
                assert same_order(bare, order)
    assert parse_action("3SEND_F7.2")
