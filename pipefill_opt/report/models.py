"""Networks and hardware that come along: as text, JSON and CSV."""

from __future__ import annotations

import json
from collections.abc import Sequence

from pipefill_opt.report.tables import csv_text, text_table
from pipefill_opt.units import format_bytes
from pipefill_opt.workload.model.hardware import Hardware
from pipefill_opt.workload.model.network import Network

CSV_HEADER = ("name", "kind", "layers", "sequence", "parameters", "published", "provenance")


def models_text(networks: Sequence[Network], hardware: Sequence[Hardware]) -> str:
    """Two tables for people."""
    rows = [
        [
            n.name,
            n.kind,
            str(len(n.layers)),
            str(n.sequence or "-"),
            f"{n.parameters:,}",
            f"{n.published:,}",
            n.provenance,
        ]
        for n in networks
    ]
    devices = [
        [
            h.name,
            format_bytes(h.memory),
            f"{float(h.peak['fp16']) / 1e12:.4g} TFLOP/s",
            f"{float(h.memory_bandwidth) / 1e9:.4g} GB/s",
            f"{float(h.within.bandwidth) / 1e9:.4g} GB/s",
            f"{float(h.between.bandwidth) / 1e9:.4g} GB/s",
            h.provenance,
        ]
        for h in hardware
    ]
    lines = [*text_table(["network", *CSV_HEADER[1:]], rows), ""]
    lines += text_table(
        ["hardware", "memory", "fp16 peak", "memory bandwidth", "link in node", "link between", "provenance"], devices
    )
    return "\n".join(lines) + "\n"


def models_json(networks: Sequence[Network], hardware: Sequence[Hardware]) -> str:
    """networks[]: name, kind, layers, sequence, parameters, published, provenance, sources, note; hardware[]: name, memory, node, peak
    and bandwidths (numbers), provenance, sources, note.
    """
    document = {
        "networks": [
            {**dict(zip(CSV_HEADER, _row(n), strict=True)), "sources": n.sources, "note": n.note} for n in networks
        ],
        "hardware": [
            {
                "name": h.name,
                "memory": h.memory,
                "node": h.node,
                "peak": {kind: float(rate) for kind, rate in h.peak.items()},
                "memory_bandwidth": float(h.memory_bandwidth),
                "within": float(h.within.bandwidth),
                "between": float(h.between.bandwidth),
                "host": float(h.host.bandwidth),
                "provenance": h.provenance,
                "sources": h.sources,
                "note": h.note,
            }
            for h in hardware
        ],
    }
    return json.dumps(document, indent=1) + "\n"


def models_csv(networks: Sequence[Network]) -> str:
    """One line a network."""
    return csv_text(CSV_HEADER, [_row(network) for network in networks])


def _row(n: Network) -> tuple[str | int, ...]:
    return n.name, n.kind, len(n.layers), n.sequence, n.parameters, n.published, n.provenance
