"""Ring and tree formulas, worked out by hand."""

from __future__ import annotations

from fractions import Fraction

import pytest

from pipefill_opt.workload.model.catalog import read_hardware
from pipefill_opt.workload.model.collectives import Collective, Group, collective_ticks, group, message_ticks, slowed
from pipefill_opt.workload.model.hardware import Link

GB = Fraction(10**9)  # bytes per second: a byte a tick
LINKS = {False: Link(10 * GB, 100), True: Link(GB, 1000)}
INSIDE, OUTSIDE = Group(4, 4), Group(4, 1)


def test_a_ring_passes_all_but_one_part() -> None:
    """4 ranks, 4000 bytes: three steps of 1000 bytes at 10 bytes a tick, each with its latency; an all-reduce twice that."""
    for kind in (Collective.ALL_GATHER, Collective.REDUCE_SCATTER):
        assert collective_ticks(kind, 4000, INSIDE, LINKS) == 3 * (100 + 100)
    assert collective_ticks(Collective.ALL_REDUCE, 4_000_000, INSIDE, LINKS) == 6 * (100_000 + 100)


def test_a_tree_is_faster_for_small_messages_among_many() -> None:
    """64 ranks: a ring needs 126 latencies, a tree up and down twice 6 levels."""
    many = Group(64, 64)
    assert collective_ticks(Collective.ALL_REDUCE, 10, many, LINKS) == 2 * 1 + 12 * 100
    ring = 2 * (Fraction(63, 64) * 10**9 / 10 + 63 * 100)
    assert collective_ticks(Collective.ALL_REDUCE, 10**9, many, LINKS) == ring


def test_ranks_of_a_node_share_its_links_to_others() -> None:
    alone = collective_ticks(Collective.ALL_GATHER, 10**9, Group(8, 1), LINKS)
    shared = collective_ticks(Collective.ALL_GATHER, 10**9, Group(8, 4), LINKS)
    assert alone == Fraction(7, 8) * 10**9 + 7 * 1000
    assert shared == Fraction(7, 8) * 10**9 / 4 + 7 * 1000
    many = collective_ticks(Collective.ALL_GATHER, 10**9, Group(40, 20), LINKS)
    assert many == Fraction(39, 40) * 10**9 / 10 + 39 * 1000, "inside the node they are no faster"


def test_all_to_all_sends_inside_and_outside_at_once() -> None:
    assert collective_ticks(Collective.ALL_TO_ALL, 4000, INSIDE, LINKS) == 300 + 300
    assert collective_ticks(Collective.ALL_TO_ALL, 4000, OUTSIDE, LINKS) == 3000 + 3000
    assert collective_ticks(Collective.ALL_TO_ALL, 4000, Group(4, 2), LINKS) == 2000 + 2000


@pytest.mark.parametrize("kind", Collective)
def test_nothing_to_do(kind: Collective) -> None:
    assert collective_ticks(kind, 4000, Group(1, 1), LINKS) == 0
    assert collective_ticks(kind, 0, INSIDE, LINKS) == 0


def test_groups_by_stride() -> None:
    assert group(8, 1, 8) == Group(8, 8)
    assert group(16, 1, 8) == Group(16, 8)
    assert group(4, 8, 8) == Group(4, 1)
    assert group(8, 4, 8) == Group(8, 2)
    assert group(2, 2, 8) == Group(2, 2)
    assert group(8, 4, 8).crosses
    assert not group(2, 2, 8).crosses


def test_messages_and_shares_of_bandwidths() -> None:
    assert message_ticks(1000, False, LINKS) == 100 + 100
    assert message_ticks(1000, True, LINKS) == 1000 + 1000
    hardware = read_hardware("a100-80gb")
    links = slowed(hardware, Fraction(1, 2), Fraction(1, 4))
    assert links[False].bandwidth == 150 * GB
    assert links[True].bandwidth == Fraction(25, 4) * GB
    assert links[True].latency == hardware.between.latency
