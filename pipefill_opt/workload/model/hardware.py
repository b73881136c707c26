"""Hardware: one device, and the links within and between its nodes. Data: models/hardware."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from fractions import Fraction


@dataclass(frozen=True, slots=True)
class Link:
    """bandwidth: bytes per second of one device in one direction. latency: ticks of a message."""

    bandwidth: Fraction
    latency: int


@dataclass(frozen=True, slots=True)
class Hardware:
    """A device. memory: bytes. peak: FLOPs per second, dense, by type (`fp32`, `tf32`, `fp16`, `bf16`, `fp8`), where it has the type.

    memory_bandwidth: bytes per second. within, between: the links of a device inside its node, and to other nodes. node: devices of
    a node. host: to and from the host's memory. context: bytes that a process takes before any work. provenance: of peaks, bandwidths
    and memory, `seen`, `derived`, `unverified` or `measured`.
    """

    name: str
    memory: int
    peak: Mapping[str, Fraction]
    memory_bandwidth: Fraction
    within: Link
    between: Link
    host: Link
    node: int
    context: int
    sources: tuple[str, ...]
    note: str = ""
    provenance: str = "unverified"
