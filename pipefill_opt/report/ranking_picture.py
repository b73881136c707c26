"""Draw a ranking as SVG or PNG: GPU time of an iteration by what it goes into, and memory peaks against what there is."""

from __future__ import annotations

import io
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from pipefill_opt.report.ranking import label
from pipefill_opt.timeline.rank import Entry
from pipefill_opt.timeline.timeline import KINDS
from pipefill_opt.units import format_time
from pipefill_opt.workload.rank_file import RankSpec

if TYPE_CHECKING:
    from matplotlib.axes import Axes

COLOURS = {"work": "#6A9FD8", "fill-drain": "#D9D9D9", "fwd-bwd": "#F2C14E", "sync": "#7A7A7A", "inner": "#CC3311"}
FITS, LACKS = "#C9D3DE", "#EE7733"
MOST_BARS = 60
"""Candidates that are drawn, the first ones of the ranking."""
WIDTH_INCHES = 11.0
BAR_INCHES = 0.26
PLOT_INCHES = 6.0
LABEL_INCHES = 2.6


def draw_ranking(spec: RankSpec, entries: Sequence[Entry], form: str) -> bytes:
    """The picture as `svg` or `png`: a bar for each candidate whose family holds, in the order of the ranking."""
    import matplotlib as mpl
    from matplotlib.backends.backend_agg import FigureCanvasAgg
    from matplotlib.figure import Figure

    shown = [entry for entry in entries if entry.figures is not None][:MOST_BARS]
    settings: dict[Any, Any] = {"svg.hashsalt": "pipefill", "svg.fonttype": "path", "font.size": 9}
    with mpl.rc_context(settings):
        height = BAR_INCHES * max(1, len(shown)) + 1.3
        figure = Figure(figsize=(WIDTH_INCHES, height), dpi=150)
        FigureCanvasAgg(figure)
        bottom, tall = 0.5 / height, 1 - 1.3 / height
        width = PLOT_INCHES if spec.memory is not None else WIDTH_INCHES - LABEL_INCHES - 0.3
        axes = figure.add_axes((LABEL_INCHES / WIDTH_INCHES, bottom, width / WIDTH_INCHES, tall))
        _time_bars(axes, shown)
        if spec.memory is not None:
            left = (LABEL_INCHES + PLOT_INCHES + 0.3) / WIDTH_INCHES
            room = spec.memory["capacity"] - spec.memory["reserve"]
            _memory_bars(figure.add_axes((left, bottom, 0.97 - left, tall)), shown, room)
        title = f"{spec.devices} devices, {spec.microbatches} micro-batches: one iteration of a device, on average"
        figure.text(0.01, 1 - 0.22 / height, title, fontsize=11, va="center")
        figure.legend(
            loc="upper left", ncols=8, frameon=False, fontsize=8.5, bbox_to_anchor=(0.005, 1 - 0.36 / height),
            borderaxespad=0, columnspacing=1.4, handlelength=1.6,
        )  # fmt: skip
        stream = io.BytesIO()
        figure.savefig(stream, format=form, metadata={"Date": None} if form == "svg" else {"Software": None})
    return stream.getvalue()


def _time_bars(axes: Axes, shown: Sequence[Entry]) -> None:
    longest = max((float(entry.figures.period) for entry in shown if entry.figures), default=1.0) or 1.0
    name, factor = next(
        (unit for unit in (("s", 1e9), ("ms", 1e6), ("us", 1e3)) if longest >= 2 * unit[1]), ("ns", 1.0)
    )
    for kind in ("work", *KINDS):
        left, widths = [], []
        for entry in shown:
            f = entry.figures
            assert f is not None
            parts = [float(f.work), *(float(ratio * f.period) for ratio in f.ratios)]
            place = ("work", *KINDS).index(kind)
            left.append(sum(parts[:place]) / factor)
            widths.append(parts[place] / factor)
        if any(widths):
            axes.barh(range(len(shown)), widths, left=left, height=0.72, color=COLOURS[kind], label=kind)
    for row, entry in enumerate(shown):
        assert entry.figures is not None
        text = f" {format_time(entry.figures.period)}" + ("" if entry.fits else ", does not fit")
        axes.text(float(entry.figures.period) / factor, row, text, va="center", fontsize=7.5)
    _rows(axes, [label(entry) for entry in shown])
    axes.set_xlim(0, longest / factor * 1.22)
    axes.set_xlabel(f"period, {name}")


def _memory_bars(axes: Axes, shown: Sequence[Entry], room: int) -> None:
    """The highest peak of a device as a bar, the lowest as a line across it."""
    unit = 2**30
    for name, colour, fits in (
        ("highest peak (line: lowest)", FITS, True),
        ("highest peak, past the limit", LACKS, False),
    ):
        rows = [row for row, entry in enumerate(shown) if entry.fits is fits]
        peaks = [f.peak or (0,) for row in rows if (f := shown[row].figures) is not None]
        highest = [max(peak) / unit for peak in peaks]
        if rows:
            axes.barh(rows, highest, height=0.72, color=colour, label=name)
        for row, peak in zip(rows, peaks, strict=True):
            axes.plot([min(peak) / unit] * 2, [row - 0.36, row + 0.36], color="#444444", linewidth=1.2)
    axes.axvline(room / unit, color="#444444", linewidth=1.0, linestyle="--", label="memory: limit")
    _rows(axes, [""] * len(shown))
    axes.set_xlabel("peak memory of a device, GiB")


def _rows(axes: Axes, names: Sequence[str]) -> None:
    axes.set_yticks(range(len(names)), names)
    axes.set_ylim(len(names) - 0.4, -0.6)
    axes.tick_params(axis="y", length=0)
    for side in ("top", "right", "left"):
        axes.spines[side].set_visible(False)
