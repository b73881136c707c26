"""Networks: an ordered list of layers, with the sizes that costs and memory follow from. Data: models/networks."""

from __future__ import annotations

from dataclasses import dataclass

from pipefill_opt.errors import InputError
from pipefill_opt.workload.model.layers import Linear, Operator, Rows


@dataclass(frozen=True, slots=True)
class Layer:
    """A unit that a stage has whole. kind: `embedding`, `transformer`, `moe`, `conv`, `block` or `head`.

    It passes on `rows` x `width` numbers of each sample: what a stage that ends behind it sends, and what the next layer is
    recomputed from. width: 0 behind the loss.
    """

    name: str
    kind: str
    operators: tuple[Operator, ...]
    rows: Rows
    width: int

    @property
    def parameters(self) -> int:
        """Trainable parameters of the layer, those of all experts included."""
        return sum(operator.parameters for operator in self.operators)

    @property
    def expert_parameters(self) -> int:
        """Those of experts, which expert parallelism divides."""
        return sum(o.parameters for o in self.operators if isinstance(o, Linear) and o.experts > 1)


@dataclass(frozen=True, slots=True)
class Network:
    """A model. kind: `decoder`, `encoder`, `vision` or `diffusion`. sequence: default tokens of a sample, 0 where sizes are fixed.

    published: parameters as its source states them, and `provenance`: `seen`, `derived` or `unverified`. sources: papers, model cards.
    """

    name: str
    kind: str
    layers: tuple[Layer, ...]
    sequence: int
    published: int
    provenance: str
    sources: tuple[str, ...]
    note: str = ""

    @property
    def parameters(self) -> int:
        """Trainable parameters, tied ones once."""
        return sum(layer.parameters for layer in self.layers)

    def tokens(self, stated: int | None) -> int:
        """Tokens of a sample: as stated, else the network's default. Raises InputError where it works on tokens and has none."""
        count = self.sequence if stated is None else stated
        if not count and any(layer.rows.tokens for layer in self.layers):
            raise InputError(f"missing key 'sequence', for which {self.name} has no default")
        return count
