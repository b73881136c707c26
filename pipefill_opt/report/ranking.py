"""Schedule families ranked for one job: as text, JSON and CSV."""

from __future__ import annotations

import json
from collections.abc import Sequence
from itertools import pairwise
from typing import Any

from pipefill_opt.report.tables import Cell, csv_text, exact_number, percent, text_table
from pipefill_opt.timeline.rank import Entry, Figures
from pipefill_opt.timeline.timeline import KINDS
from pipefill_opt.units import format_bytes, format_time
from pipefill_opt.workload.rank_file import RankSpec

MOST_PEAKS = 8
"""Devices whose peaks the text shows one by one."""
CSV_HEADER = (
    "place", "family", "chunks", "recompute", "split", "layers", "fits", "period", "bubble_ratio", *KINDS, "peak_bytes",
    "lacking_bytes", "tightest_device", "uneven", "refusal",
)  # fmt: skip


def label(entry: Entry) -> str:
    """`interleaved-1f1b v=2, recompute, even 9-8-8-7`: what tells a candidate from the others."""
    c = entry.candidate
    parts = [_family(entry), *(["recompute"] if c.recompute else [])]
    if c.split is not None:
        name = [c.split] if isinstance(c.split, str) else []
        layers = entry.layers if isinstance(c.split, str) else c.split
        parts.append(" ".join([*name, *([layers_text(layers)] if layers is not None else [])]))
    return ", ".join(parts)


def _family(entry: Entry) -> str:
    chunks = entry.candidate.chunks
    return entry.candidate.family + (f" v={chunks}" if chunks is not None else "")


def layers_text(layers: tuple[int, ...]) -> str:
    """Layers by stage: `9-8-8-7`."""
    return "-".join(map(str, layers))


def ranking_text(spec: RankSpec, entries: Sequence[Entry]) -> str:
    """Three tables for people: what fits, by period; what does not for want of memory; families that do not hold here."""
    fitting = [entry for entry in entries if entry.fits]
    lines = [
        f"{spec.devices} devices, {spec.microbatches} micro-batches: {len(fitting)} of {len(entries)} candidates fit"
        + ("" if spec.memory is None else f" into {format_bytes(spec.memory['capacity'] - spec.memory['reserve'])}"),
    ]
    lacking = [entry for entry in entries if entry.figures is not None and not entry.fits]
    refused = [entry for entry in entries if entry.figures is None]
    if fitting:
        lines += ["", *_table(spec, fitting)]
    if any(first.place == second.place for first, second in pairwise(fitting)):
        lines.append(
            "equal periods share a place (=)"
            + ("" if spec.memory is None else "; of these, the lower peak comes first")
        )
    if lacking:
        lines += ["", "not enough memory:", *_table(spec, lacking)]
    if refused:
        reasons = dict.fromkeys(f"  {_family(entry)}: {entry.refusal}" for entry in refused)
        lines += ["", "do not hold for this size:", *reasons]
    uneven = [label(entry) for entry in entries if entry.uneven]
    if uneven:
        lines += ["", f"shares that whole ticks do not divide, stages differ by 1 ns: {', '.join(uneven)}"]
    return "\n".join(lines) + "\n"


def _table(spec: RankSpec, entries: Sequence[Entry]) -> list[str]:
    places = [entry.place for entry in entries]
    header = ["place", "schedule", "period", "bubbles", *KINDS]
    memory = spec.memory is not None
    header += ["peak by device, GiB", "lacks" if not entries[0].fits else "spare"] if memory else []
    rows = []
    for entry in entries:
        f = entry.figures
        assert f is not None
        place = "-" if entry.place is None else f"{entry.place}{'=' if places.count(entry.place) > 1 else ''}"
        row = [place, label(entry), format_time(f.period), percent(f.ratio), *(percent(r, 1) for r in f.ratios)]
        if memory:
            row += [_peaks(f), f"{format_bytes(abs(f.lacking))} on {f.tightest}"]
        rows.append(row)
    width = max(len(row[1]) for row in (header, *rows))
    padded = [[row[0], row[1].ljust(width), *row[2:]] for row in (header, *rows)]
    return text_table(padded[0], padded[1:], indent="  ")


def _peaks(figures: Figures) -> str:
    peaks = [f"{size / 2**30:.3g}" for size in figures.peak or ()]
    if len(peaks) <= MOST_PEAKS:
        return " ".join(peaks)
    return f"{min(figures.peak or (0,)) / 2**30:.3g} to {max(figures.peak or (0,)) / 2**30:.3g}"


def ranking_document(spec: RankSpec, entries: Sequence[Entry]) -> dict[str, Any]:
    """devices, microbatches, and candidates in order: place, family, chunks, recompute, split, layers (by stage), fits, refusal.

    Those that hold also have period, makespan and work (mean of a device) in ticks, exact text; bubble_ratio (a number and exact), by_kind;
    peak_bytes by device, lacking_bytes (below 0: spare) on tightest_device; uneven; and main, the MAIN document.
    """
    return {
        "devices": spec.devices,
        "microbatches": spec.microbatches,
        "candidates": [_entry_document(entry) for entry in entries],
    }


def _entry_document(entry: Entry) -> dict[str, Any]:
    c, f = entry.candidate, entry.figures
    document: dict[str, Any] = {
        "place": entry.place,
        "family": c.family,
        "chunks": c.chunks,
        "recompute": c.recompute,
        "split": c.split,
        "layers": entry.layers,
        "fits": entry.fits,
        "refusal": entry.refusal or None,
    }
    if f is None:
        return document
    return document | {
        "period": exact_number(f.period),
        "makespan": exact_number(f.makespan),
        "work": exact_number(f.work),
        "bubble_ratio": float(f.ratio),
        "bubble_ratio_exact": exact_number(f.ratio),
        "by_kind": {kind: float(ratio) for kind, ratio in zip(KINDS, f.ratios, strict=True)},
        "peak_bytes": f.peak,
        "lacking_bytes": f.lacking if f.peak is not None else None,
        "tightest_device": f.tightest if f.peak is not None else None,
        "uneven": entry.uneven,
        "main": f.main,
    }


def ranking_json(spec: RankSpec, entries: Sequence[Entry]) -> str:
    """`ranking_document` as JSON text."""
    return json.dumps(ranking_document(spec, entries), indent=1, default=str) + "\n"


def ranking_csv(entries: Sequence[Entry]) -> str:
    """One row a candidate, in order; ticks, bytes, shares as decimals; peaks by device with spaces between."""
    return csv_text(CSV_HEADER, [_row(entry) for entry in entries])


def _row(entry: Entry) -> list[Cell]:
    c, f = entry.candidate, entry.figures
    split = None if c.split is None else c.split if isinstance(c.split, str) else "stated"
    head: list[Cell] = [entry.place, c.family, c.chunks, str(c.recompute).lower(), split]
    head += [None if entry.layers is None else layers_text(entry.layers), str(entry.fits).lower()]
    if f is None:
        return [*head, *[None] * (len(CSV_HEADER) - len(head) - 1), entry.refusal]
    memory: list[Cell] = [None, None, None]
    if f.peak is not None:
        memory = [" ".join(map(str, f.peak)), f.lacking, f.tightest]
    shares = [f"{float(ratio):.6f}" for ratio in (f.ratio, *f.ratios)]
    return [*head, f.period, *shares, *memory, str(entry.uneven).lower(), None]
