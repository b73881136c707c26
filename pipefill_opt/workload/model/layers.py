"""What a layer computes, as the operators whose weights, work and saved tensors are known in closed form.

An operator works on *rows*: positions (tokens, pixels) of one sample. Every size is a whole number; nothing is rounded.

| operator | weights | work, forward | kept for the backward |
|---|---|---|---|
| Linear | inputs x outputs (+ outputs), times experts | 2 x rows x inputs x outputs FLOPs | its input, unless another operator keeps it |
| Attention | `table` | 2 x rows x keys x heads x (qk_width + v_width) FLOPs | queries, keys, values; stored scores, or statistics |
| Norm | scale, shift | elementwise | its input |
| Activation | none | elementwise | its input (of two widths where gated); relu: its output, which the next operator keeps |
| Dropout | none | elementwise | its mask, one byte an element |
| Elementwise | `parameters` | elementwise, reads `reads` tensors | `saved` tensors |
| Conv | kernel^2 x inputs / groups x outputs (+ outputs) | 2 x that x output pixels FLOPs | its input |
| Pool | none | elementwise | its input, unless it takes the mean of all of it |
| Lookup | entries x width | reads rows of the table | nothing |
| Loss | none | elementwise | the logits, in 32 bits |
"""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum


class Split(StrEnum):
    """How tensor parallelism divides a weight matrix: not at all, its outputs, or its inputs."""

    NONE = "none"
    COLUMN = "column"
    ROW = "row"


@dataclass(frozen=True, slots=True)
class Rows:
    """Positions of one sample that an operator works on: `tokens` times the sequence length, and `fixed` more."""

    tokens: int = 1
    fixed: int = 0

    def at(self, sequence: int) -> int:
        """Rows of one sample of `sequence` tokens."""
        return self.tokens * sequence + self.fixed


@dataclass(frozen=True, slots=True)
class Linear:
    """A matrix product. `experts` copies of the weights, of which each row meets one. tied: the weights are another operator's.

    keeps: the input is kept for the backward by this operator (False where another one of the same input does).
    """

    name: str
    rows: Rows
    inputs: int
    outputs: int
    bias: bool = False
    split: Split = Split.NONE
    experts: int = 1
    tied: bool = False
    keeps: bool = True

    @property
    def parameters(self) -> int:
        """Weights and biases."""
        return self.experts * ((0 if self.tied else self.inputs * self.outputs) + (self.outputs if self.bias else 0))


@dataclass(frozen=True, slots=True)
class Attention:
    """Scores, softmax, and the weighted sum. keys: positions that each row may attend to (all of them, causal or not).

    windowed: they are those of the row's own window, so that in all there are as many keys as rows, not `keys`. dropout: on the
    softmax. table: parameters of a position bias. inner: tensor parallelism divides the heads.
    """

    name: str
    rows: Rows
    keys: Rows
    heads: int
    kv_heads: int
    qk_width: int
    v_width: int
    causal: bool = False
    dropout: bool = False
    windowed: bool = False
    table: int = 0
    inner: bool = True

    @property
    def parameters(self) -> int:
        """Those of the position bias."""
        return self.table

    @property
    def sources(self) -> Rows:
        """Positions that have a key and a value."""
        return self.rows if self.windowed else self.keys


@dataclass(frozen=True, slots=True)
class Norm:
    """A normalisation over `width` (layer, RMS, batch, group), with a learned scale and shift or without."""

    name: str
    rows: Rows
    width: int
    scale: bool = True
    shift: bool = True
    inner: bool = False

    @property
    def parameters(self) -> int:
        """Scale and shift."""
        return self.width * (self.scale + self.shift)


@dataclass(frozen=True, slots=True)
class Activation:
    """A nonlinearity of `width` outputs; gated: of two inputs each. function: `relu`, `gelu`, `silu`, ...

    inner: tensor parallelism divides the width.
    """

    name: str
    rows: Rows
    width: int
    function: str = "gelu"
    gated: bool = False
    inner: bool = True

    @property
    def parameters(self) -> int:
        """None."""
        return 0


@dataclass(frozen=True, slots=True)
class Dropout:
    """Random zeros."""

    name: str
    rows: Rows
    width: int
    inner: bool = False

    @property
    def parameters(self) -> int:
        """None."""
        return 0


@dataclass(frozen=True, slots=True)
class Elementwise:
    """Sums, products and the like: reads `reads` tensors of rows x width and writes one. `saved` of them are kept for the backward."""

    name: str
    rows: Rows
    width: int
    reads: int = 2
    saved: int = 0
    parameters: int = 0
    inner: bool = False


@dataclass(frozen=True, slots=True)
class Conv:
    """A square convolution with `same` padding on a square image of `size` pixels a side: output side = ceil(size / stride)."""

    name: str
    inputs: int
    outputs: int
    kernel: int
    size: int
    stride: int = 1
    groups: int = 1
    bias: bool = False

    @property
    def parameters(self) -> int:
        """Weights and biases."""
        return self.outputs * (self.kernel**2 * self.inputs // self.groups + self.bias)

    @property
    def input_rows(self) -> int:
        """Input pixels of one sample."""
        return self.size**2

    @property
    def output_rows(self) -> int:
        """Output pixels of one sample."""
        return (-(-self.size // self.stride)) ** 2


@dataclass(frozen=True, slots=True)
class Pool:
    """Maximum or mean over squares of an image of `size` pixels a side; with stride = size over all of it."""

    name: str
    width: int
    size: int
    stride: int

    @property
    def parameters(self) -> int:
        """None."""
        return 0


@dataclass(frozen=True, slots=True)
class Lookup:
    """A table of vectors, one of which each row picks. split: tensor parallelism divides the entries."""

    name: str
    rows: Rows
    entries: int
    width: int
    split: bool = False

    @property
    def parameters(self) -> int:
        """The table."""
        return self.entries * self.width


@dataclass(frozen=True, slots=True)
class Loss:
    """Cross-entropy over `width` logits a row; tensor parallelism divides the width."""

    name: str
    rows: Rows
    width: int

    @property
    def parameters(self) -> int:
        """None."""
        return 0


Operator = Linear | Attention | Norm | Activation | Dropout | Elementwise | Conv | Pool | Lookup | Loss
