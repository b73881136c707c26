"""Which operators of a job are bound by compute, memory, overhead or network: each piece of work of each different layer, with its time."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass
from fractions import Fraction

from pipefill_opt.workload.model.durations import KEPT, Clock
from pipefill_opt.workload.model.kernels import Kernel, Piece, Unit
from pipefill_opt.workload.model.network import Layer, Network
from pipefill_opt.workload.model.operators import layer_work
from pipefill_opt.workload.model.parallel import Recompute
from pipefill_opt.workload.model.roofline import Bound


@dataclass(frozen=True, slots=True)
class Row:
    """One piece of one layer, for one micro-batch on one device. count: equal layers of the network. part: `forward`, `recompute`,
    `input gradient` or `weight gradient`. ticks: exact, of one layer. flops and bytes of a transfer: 0 and its message.
    """

    layer: str
    count: int
    part: str
    name: str
    unit: str
    flops: int
    bytes: int
    ticks: Fraction
    bound: Bound

    @property
    def intensity(self) -> Fraction | None:
        """FLOPs for a byte."""
        return Fraction(self.flops, self.bytes) if self.bytes and self.flops else None


@dataclass(frozen=True, slots=True)
class View:
    """rows: in order of layers, parts and work. rate: FLOPs per second of the largest matrix products; ridge: FLOPs for a byte from which
    on they, and not memory, are the limit.
    """

    network: str
    hardware: str
    rate: Fraction
    ridge: Fraction
    rows: tuple[Row, ...]

    def by_bound(self) -> Mapping[Bound, Fraction]:
        """Ticks of all layers for one micro-batch by what decides them; without pipeline parallelism."""
        found = dict.fromkeys(Bound, Fraction(0))
        for row in self.rows:
            found[row.bound] += row.count * row.ticks
        return found


def view(network: Network, clock: Clock) -> View:
    """Of all layers, equal ones once."""
    counts = Counter(network.layers)
    rows = [row for layer, count in counts.items() for row in _rows(layer, count, clock)]
    machine = clock.machine
    reach = machine.coefficients.reach[Unit.MATMUL].share * machine.coefficients.best_of(machine.hardware.name)
    rate = machine.peak(Unit.MATMUL) * reach
    return View(network.name, machine.hardware.name, rate, rate / machine.bandwidth, tuple(rows))


def _rows(layer: Layer, count: int, clock: Clock) -> list[Row]:
    work = layer_work(layer, clock.training)
    again: tuple[Piece, ...] = ()
    if clock.training.recompute is Recompute.SELECTIVE:
        again = work.again
    elif clock.training.recompute is Recompute.FULL and layer.kind not in KEPT:
        again = work.forward
    parts = {
        "forward": work.forward,
        "recompute": again,
        "input gradient": work.input_gradient,
        "weight gradient": work.weight_gradient,
    }
    return [_row(layer.name, count, part, piece, clock) for part, pieces in parts.items() for piece in pieces]


def _row(layer: str, count: int, part: str, piece: Piece, clock: Clock) -> Row:
    ticks = clock.piece(piece)
    if isinstance(piece, Kernel):
        bound = clock.machine.timing(piece).bound
        return Row(layer, count, part, piece.name, piece.unit.value, piece.flops, piece.bytes, ticks, bound)
    return Row(layer, count, part, piece.name, piece.kind.value, 0, piece.bytes, ticks, Bound.NETWORK)
