"""The three kinds of layer that language models share, as operators: embedding, decoder (or encoder) block, head with loss."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from pipefill_opt.errors import InputError
from pipefill_opt.workload.model.layers import (
    Activation,
    Attention,
    Dropout,
    Elementwise,
    Linear,
    Lookup,
    Loss,
    Norm,
    Operator,
    Rows,
    Split,
)

Sizes = Mapping[str, Any]


def embedding(sizes: Sizes, rows: Rows) -> tuple[Operator, ...]:
    """Tokens, learned positions and token types (where there are any), a norm and dropout where stated."""
    hidden = _needed(sizes, "hidden")
    operators: list[Operator] = [Lookup("tokens", rows, _needed(sizes, "vocabulary"), hidden, split=True)]
    operators += [Lookup(name, rows, sizes[name], hidden) for name in ("positions", "types") if sizes.get(name, 0)]
    if len(operators) > 1:
        operators.append(Elementwise("sum", rows, hidden, reads=len(operators)))
    if sizes.get("normed", False):
        operators.append(_norm("norm", sizes, rows, hidden))
    return (*operators, *_dropout(sizes, rows, hidden))


def decoder(sizes: Sizes, rows: Rows) -> tuple[Operator, ...]:
    """Attention (multi-head, grouped or latent) and an MLP (plain, gated, or experts), each behind a norm and with a residual sum."""
    hidden = _needed(sizes, "hidden")
    return (
        _norm("attention norm", sizes, rows, hidden),
        *(_latent(sizes, rows, hidden) if "kv_rank" in sizes else _attention(sizes, rows, hidden)),
        *_dropout(sizes, rows, hidden),
        Elementwise("residual", rows, hidden),
        _norm("MLP norm", sizes, rows, hidden),
        *(_experts(sizes, rows, hidden) if "experts" in sizes else _mlp(sizes, rows, hidden)),
        *_dropout(sizes, rows, hidden),
        Elementwise("residual", rows, hidden),
    )


def head(sizes: Sizes, rows: Rows) -> tuple[Operator, ...]:
    """The last norm, the logits, the loss."""
    hidden, vocabulary = _needed(sizes, "hidden"), _needed(sizes, "vocabulary")
    norm = [_norm("norm", sizes, rows, hidden)] if sizes.get("normed", True) else []
    logits = Linear("logits", rows, hidden, vocabulary, split=Split.COLUMN, tied=sizes.get("tied", False))
    return (*norm, logits, Loss("loss", rows, vocabulary))


TEMPLATES = {"embedding": embedding, "decoder": decoder, "head": head}


def _needed(sizes: Sizes, key: str) -> int:
    if key not in sizes:
        raise InputError(f"missing key {key!r}, which its template needs")
    size: int = sizes[key]
    return size


def _norm(name: str, sizes: Sizes, rows: Rows, width: int) -> Norm:
    return Norm(name, rows, width, shift=sizes.get("norm", "layer") == "layer")


def _dropout(sizes: Sizes, rows: Rows, width: int) -> Iterator[Operator]:
    if sizes.get("dropout", False):
        yield Dropout("dropout", rows, width)


def _attention(sizes: Sizes, rows: Rows, hidden: int) -> Iterator[Operator]:
    heads = _needed(sizes, "heads")
    if "head_width" not in sizes and hidden % heads:
        raise InputError(f"expected a divisor of the width {hidden}, or head_width", value=heads, where="heads")
    width, bias = sizes.get("head_width", hidden // heads), sizes.get("bias", True)
    kv_heads = sizes.get("kv_heads", heads)
    if heads % kv_heads:
        raise InputError(f"expected a divisor of the {heads} heads", value=kv_heads, where="kv_heads")
    yield Linear("QKV", rows, hidden, (heads + 2 * kv_heads) * width, bias=bias, split=Split.COLUMN)
    yield _scores(sizes, rows, kv_heads, width, width)
    yield Linear("projection", rows, heads * width, hidden, bias=bias, split=Split.ROW)


def _latent(sizes: Sizes, rows: Rows, hidden: int) -> Iterator[Operator]:
    """Multi-head latent attention (DeepSeek-V2, arXiv 2405.04434): queries, and keys and values, through low ranks."""
    heads, width, rope = (_needed(sizes, key) for key in ("heads", "head_width", "rope_width"))
    q_rank, kv_rank = _needed(sizes, "q_rank"), _needed(sizes, "kv_rank")
    yield Linear("Q down", rows, hidden, q_rank)
    yield _norm("Q norm", sizes, rows, q_rank)
    yield Linear("Q up", rows, q_rank, heads * (width + rope), split=Split.COLUMN)
    yield Linear("KV down", rows, hidden, kv_rank + rope, keeps=False)
    yield _norm("KV norm", sizes, rows, kv_rank)
    yield Linear("KV up", rows, kv_rank, heads * 2 * width, split=Split.COLUMN)
    yield _scores(sizes, rows, heads, width + rope, width)
    yield Linear("projection", rows, heads * width, hidden, split=Split.ROW)


def _scores(sizes: Sizes, rows: Rows, kv_heads: int, qk_width: int, v_width: int) -> Attention:
    return Attention(
        "attention", rows, rows, sizes["heads"], kv_heads, qk_width, v_width,
        causal=sizes.get("causal", True), dropout=sizes.get("dropout", False),
    )  # fmt: skip


def _mlp(
    sizes: Sizes,
    rows: Rows,
    hidden: int,
    *,
    ffn: int | None = None,
    experts: int = 1,
    prefix: str = "",
    keeps: bool = True,
) -> Iterator[Operator]:
    inner = ffn or sizes.get("ffn", 4 * hidden)
    gated, bias, function = sizes.get("gated", False), sizes.get("bias", True), sizes.get("activation", "gelu")
    fused = inner * (2 if gated else 1)
    yield Linear(f"{prefix}MLP up", rows, hidden, fused, bias=bias, split=Split.COLUMN, experts=experts, keeps=keeps)
    yield Activation(f"{prefix}{function}", rows, inner, function=function, gated=gated)
    yield Linear(f"{prefix}MLP down", rows, inner, hidden, bias=bias, split=Split.ROW, experts=experts)


def _experts(sizes: Sizes, rows: Rows, hidden: int) -> Iterator[Operator]:
    """A router, `active` of the experts for each token, the shared ones for all, and the weighted sum."""
    experts, active = _needed(sizes, "experts"), _needed(sizes, "active")
    if active > experts:
        raise InputError(f"expected at most the {experts} experts", value=active, where="active")
    chosen = Rows(active * rows.tokens, active * rows.fixed)
    yield Linear("router", rows, hidden, experts, bias=sizes.get("router_bias", False))
    yield from _mlp(sizes, chosen, hidden, experts=experts, prefix="expert ")
    if "shared_ffn" in sizes:
        yield from _mlp(sizes, rows, hidden, ffn=sizes["shared_ffn"], prefix="shared ", keeps=False)
    yield Elementwise("combine", chosen, hidden, reads=2, saved=1)
