"""Read NETWORK files: templates and operators become layers. Every refusal names file, path, value and what was expected."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import MISSING, fields
from typing import Any

from pipefill_opt.errors import InputError
from pipefill_opt.workload.main_costs import value_at
from pipefill_opt.workload.model import layers as ops
from pipefill_opt.workload.model.layers import Operator, Rows, Split
from pipefill_opt.workload.model.network import Layer, Network
from pipefill_opt.workload.model.templates import TEMPLATES

Document = Mapping[str, Any]

OPERATORS: Mapping[str, type[Any]] = {
    "linear": ops.Linear,
    "attention": ops.Attention,
    "norm": ops.Norm,
    "activation": ops.Activation,
    "dropout": ops.Dropout,
    "elementwise": ops.Elementwise,
    "conv": ops.Conv,
    "pool": ops.Pool,
    "lookup": ops.Lookup,
    "loss": ops.Loss,
}
MOST_LAYERS = 10_000
ROWS = re.compile(r"^(?:([1-9][0-9]{0,8})\*)?sequence(?:\+([0-9]{1,12}))?$")


def network_from_document(document: Document, *, file: str = "") -> Network:
    """A network from a document that fits its schema. Raises InputError."""
    found: list[Layer] = []
    for index, entry in enumerate(document["layers"]):
        try:
            found += [value_at(f"layers[{index}]", read_layer, entry)] * entry.get("count", 1)
            if len(found) > MOST_LAYERS:
                raise InputError(f"expected at most {MOST_LAYERS} layers", value=len(found), where="layers")
        except InputError as error:
            raise error.located(file=file) from None
    return Network(
        name=document["name"],
        kind=document["kind"],
        layers=tuple(found),
        sequence=document.get("sequence", 0),
        published=document["published"]["parameters"],
        provenance=document["published"]["provenance"],
        sources=tuple(document["sources"]),
        note=document.get("note", ""),
    )


def read_layer(entry: Document) -> Layer:
    """One layer of a template or of operators. Raises InputError."""
    rows = value_at("rows", read_rows, entry.get("rows", "sequence"))
    if "template" not in entry:
        for key in ("kind", "operators", "width"):
            if key not in entry:
                raise InputError(f"missing key {key!r}, which a layer without template needs")
        operators: list[Operator] = []
        for index, operator in enumerate(entry["operators"]):
            operators += [value_at(f"operators[{index}]", read_operator, operator, rows)] * operator.get("repeat", 1)
        return Layer(entry["name"], entry["kind"], tuple(operators), rows, entry["width"])
    template = entry["template"]
    kind = {"decoder": "moe" if "experts" in entry else "transformer"}.get(template, template)
    width = 0 if template == "head" else entry.get("hidden", 0)
    return Layer(entry["name"], entry.get("kind", kind), TEMPLATES[template](entry, rows), rows, width)


def read_operator(entry: Document, rows: Rows) -> Operator:
    """One operator; `rows` where it states none. Raises InputError."""
    kind = OPERATORS[entry["op"]]
    known = {field.name: field for field in fields(kind)}
    values: dict[str, Any] = {"name": entry["op"]}
    for key, value in entry.items():
        if key in ("op", "repeat"):
            continue
        if key not in known:
            raise InputError(f"expected no such key for {entry['op']}: it has {', '.join(known)}", value=key)
        values[key] = value
    for key in ("rows", "keys"):
        if key in known:
            values[key] = value_at(key, read_rows, entry[key]) if key in entry else values.get("rows", rows)
    if kind is ops.Attention:
        values.setdefault("kv_heads", values.get("heads"))
    if kind is ops.Linear and "split" in values:
        values["split"] = value_at("split", _split, values["split"])
    for key, field in known.items():
        if key not in values and field.default is MISSING:
            raise InputError(f"missing key {key!r}, which {entry['op']} needs")
    operator: Operator = kind(**values)
    _check_divides(operator)
    return operator


def _check_divides(operator: Operator) -> None:
    """Groups divide channels, heads of keys and values divide those of queries."""
    if isinstance(operator, ops.Attention) and operator.heads % operator.kv_heads:
        raise InputError(f"expected a divisor of the {operator.heads} heads", value=operator.kv_heads, where="kv_heads")
    if isinstance(operator, ops.Conv) and (operator.inputs % operator.groups or operator.outputs % operator.groups):
        expected = f"expected a divisor of {operator.inputs} inputs and {operator.outputs} outputs"
        raise InputError(expected, value=operator.groups, where="groups")


def read_rows(value: int | str) -> Rows:
    """Rows of `sequence`, `2*sequence`, `sequence+512` or a number. Raises InputError."""
    if isinstance(value, int):
        if value < 1:
            raise InputError("expected rows from 1 on", value=value)
        return Rows(0, value)
    match = ROWS.match(value)
    if not match:
        raise InputError("expected rows, such as sequence, 2*sequence, sequence+512, or a number", value=value)
    return Rows(int(match[1] or 1), int(match[2] or 0))


def _split(value: object) -> Split:
    if value not in tuple(Split):
        raise InputError("expected none, column or row", value=value)
    return Split(str(value))
