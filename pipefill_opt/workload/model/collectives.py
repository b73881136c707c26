"""How long collectives and messages take: ring and tree formulas on links within and between nodes. Exact fractions of ticks.

Source of the formulas: Thakur, Rabenseifner, Gropp 2005, Optimization of Collective Communication Operations in MPICH, section 4.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from enum import StrEnum
from fractions import Fraction
from typing import Final

from pipefill_opt.workload.model.hardware import Hardware, Link

SECOND: Final = 10**9


class Collective(StrEnum):
    """What a group of devices does together."""

    ALL_REDUCE = "all-reduce"
    ALL_GATHER = "all-gather"
    REDUCE_SCATTER = "reduce-scatter"
    ALL_TO_ALL = "all-to-all"


@dataclass(frozen=True, slots=True)
class Group:
    """`ranks` devices, of which `inside` share a node (all of them, where the group lies within one)."""

    ranks: int
    inside: int

    @property
    def crosses(self) -> bool:
        """Whether the group lies on several nodes."""
        return self.inside < self.ranks


def group(ranks: int, stride: int, node: int) -> Group:
    """Every `stride`-th device, `ranks` of them, on nodes of `node` devices each."""
    return Group(ranks, min(ranks, max(1, node // stride)))


def slowed(hardware: Hardware, within: Fraction, between: Fraction) -> Mapping[bool, Link]:
    """The links as work sees them, by whether a group crosses nodes: these shares of their bandwidths."""
    return {
        False: Link(hardware.within.bandwidth * within, hardware.within.latency),
        True: Link(hardware.between.bandwidth * between, hardware.between.latency),
    }


def collective_ticks(kind: Collective, size: int, members: Group, links: Mapping[bool, Link]) -> Fraction:
    """Ticks for a message of `size` bytes in all: what each rank has at the end (all-gather, all-reduce) or the beginning (others).

    A ring passes (n-1)/n of it in n-1 steps, an all-reduce twice that, or along a tree where that is faster.
    """
    if members.ranks == 1 or size == 0:
        return Fraction(0)
    if kind is Collective.ALL_TO_ALL:
        return _all_to_all(size, members, links)
    link = _ring_link(members, links)
    steps = members.ranks - 1
    once = Fraction(steps, members.ranks) * size * SECOND / link.bandwidth + steps * link.latency
    if kind is not Collective.ALL_REDUCE:
        return once
    return min(2 * once, _tree(size, members, link))


def message_ticks(size: int, crosses: bool, links: Mapping[bool, Link]) -> Fraction:
    """Ticks from the send of `size` bytes to their arrival at one other device."""
    link = links[crosses]
    return size * SECOND / link.bandwidth + link.latency


def _ring_link(members: Group, links: Mapping[bool, Link]) -> Link:
    """What limits a ring: inside a node its links; between nodes those of all its ranks on a node, which share the work."""
    if not members.crosses:
        return links[False]
    together = min(links[True].bandwidth * members.inside, links[False].bandwidth)
    return Link(together, links[True].latency)


def _tree(size: int, members: Group, link: Link) -> Fraction:
    """Up and down a pipelined binary tree: everything passes twice, each of the 2 log2(n) levels adds a latency."""
    levels = (members.ranks - 1).bit_length()
    return 2 * size * SECOND / link.bandwidth + 2 * levels * link.latency


def _all_to_all(size: int, members: Group, links: Mapping[bool, Link]) -> Fraction:
    """Each rank keeps 1/n, sends the rest inside and outside of its node at the same time."""
    near, far = members.inside - 1, members.ranks - members.inside
    inside = Fraction(near, members.ranks) * size * SECOND / links[False].bandwidth + near * links[False].latency
    outside = Fraction(far, members.ranks) * size * SECOND / links[True].bandwidth + far * links[True].latency
    return max(inside, outside)
