"""Draw a `Picture` as SVG or PNG. The only importer of matplotlib; no pyplot, no state, the same bytes for the same data."""

from __future__ import annotations

import io
import logging
from typing import TYPE_CHECKING, Any

import numpy as np

from pipefill_opt.report.picture import Curve, Layer, Picture, Steps, at
from pipefill_opt.schedule.schedule import Int64
from pipefill_opt.units import format_bytes

if TYPE_CHECKING:
    from matplotlib.axes import Axes

MAIN_COLOURS = {
    "F": "#6A9FD8",
    "B": "#1F3F77",
    "I": "#3D6CB5",
    "W": "#B5D4F1",
    "R": "#8C7FB8",
    "REDUCE": "#7A7A7A",
    "STEP": "#4A4A4A",
    "main work": "#6A9FD8",
}
"""Main work is cold: blues that also differ in lightness. Fill work is warm."""
FILL_COLOURS = ("#EE7733", "#F2C14E", "#CC3311", "#66A61E", "#F4A6B7", "#8F5A12", "#AA3377", "#B8B83A")
SWITCH_COLOUR = "#222222"
MAIN_MEMORY, FILL_MEMORY = "#C9D3DE", "#F3B184"
HATCHES = ("", "////", "\\\\\\\\", "xxxx")
DARK = {"#1F3F77", "#3D6CB5", "#CC3311", "#8F5A12", "#AA3377", "#4A4A4A", "#7A7A7A"}

WIDTH_INCHES = 13.0
PLOT_INCHES = 10.6
LEFT = 0.085
HATCHED_BOXES = 600
"""More bubbles than this are grey instead of hatched: hatching is slow."""
VECTOR_BOXES = 8_000
"""More boxes than this are drawn as an image, inside an SVG too."""
LETTER_INCHES = 0.062


def draw(picture: Picture, form: str) -> bytes:
    """The picture as `svg` or `png`."""
    logging.getLogger("matplotlib").setLevel(logging.ERROR)  # no talk of its cache folder
    import matplotlib as mpl
    from matplotlib.backends.backend_agg import FigureCanvasAgg
    from matplotlib.figure import Figure

    settings: dict[Any, Any] = {
        "svg.hashsalt": "pipefill",
        "svg.fonttype": "path",
        "hatch.linewidth": 0.4,
        "font.size": 9,
    }
    with mpl.rc_context(settings):
        entries = _legend_rows(picture)
        top = 0.42 + 0.22 * entries
        height = _row_inches(picture) * len(picture.rows) + top + 0.55
        figure = Figure(figsize=(WIDTH_INCHES, height), dpi=150)
        FigureCanvasAgg(figure)
        axes = figure.add_axes((LEFT, 0.55 / height, PLOT_INCHES / WIDTH_INCHES, 1 - (top + 0.55) / height))
        _frame(axes, picture)
        big = sum(len(layer.row) for layer in picture.layers.values()) > VECTOR_BOXES
        colours = _colours(picture)
        handles = [_boxes(axes, picture, picture.layers[name], colours[name], rasterized=big) for name in colours]
        handles += _curves(axes, picture, rasterized=big)
        figure.text(LEFT, 1 - 0.22 / height, picture.title, fontsize=11, va="center")
        columns = -(-len(handles) // entries)
        by_column = [handle for column in range(columns) for handle in handles[column::columns]]
        figure.legend(
            handles=by_column, loc="upper left", ncols=columns, frameon=False, fontsize=8.5,
            bbox_to_anchor=(LEFT - 0.005, 1 - 0.38 / height), borderaxespad=0, columnspacing=1.4, handlelength=1.6,
        )  # fmt: skip
        stream = io.BytesIO()
        figure.savefig(stream, format=form, metadata={"Date": None} if form == "svg" else {"Software": None})
    return stream.getvalue()


def _legend_rows(picture: Picture) -> int:
    """Rows that the legend needs, by the length of its words."""
    words = [*picture.layers, *(["memory: main", "memory: fill", "memory: limit"] if any(picture.curves) else [])]
    return max(1, -(-int(sum(0.65 + 0.07 * len(word) for word in words) * 100) // int(100 * PLOT_INCHES)))


def _row_inches(picture: Picture) -> float:
    full = 1.15 if any(picture.curves) else 0.7
    return max(0.3 * full, min(full, 22 / max(1, len(picture.rows))))


def _frame(axes: Axes, picture: Picture) -> None:
    axes.set_xlim(0, picture.width)
    axes.set_ylim(len(picture.rows), 0)
    axes.set_yticks([row + 0.33 for row in range(len(picture.rows))], picture.rows)
    axes.tick_params(axis="y", length=0)
    ticks = picture.width / picture.scale
    name, unit = next((unit for unit in (("s", 1e9), ("ms", 1e6), ("us", 1e3)) if ticks >= 2 * unit[1]), ("ns", 1.0))
    factor = unit * picture.scale
    axes.xaxis.set_major_formatter(lambda value, _: f"{value / factor:g}")
    axes.xaxis.set_major_locator(_ticks(picture.width, factor))
    axes.set_xlabel(f"time, {name}")
    for row in range(1, len(picture.rows)):
        axes.axhline(row, color="#DDDDDD", linewidth=0.6, zorder=0)
    for iteration in range(1, picture.iterations):
        axes.axvline(iteration * picture.period, color="black", linewidth=0.8, linestyle=":", zorder=6)
    for side in ("top", "right", "left"):
        axes.spines[side].set_visible(False)


def _ticks(width: int, factor: float) -> Any:
    from matplotlib.ticker import MultipleLocator

    rough = width / factor / 9
    power = 10.0 ** np.floor(np.log10(rough))
    step = next(step for step in (1, 2, 5, 10) if step * power >= rough)
    return MultipleLocator(step * power * factor)


def _colours(picture: Picture) -> dict[str, tuple[str, str]]:
    """(colour, hatch) of every layer, in the order of the legend: main work, bubbles, switches, jobs."""
    styles = {name: (MAIN_COLOURS[name], "") for name in MAIN_COLOURS if name in picture.layers}
    many = len(picture.layers["bubble"].row) > HATCHED_BOXES if "bubble" in picture.layers else False
    styles["bubble"] = ("#EFEFEF", "") if many else ("white", "//////")
    styles["switch"] = (SWITCH_COLOUR, "")
    count = len(FILL_COLOURS)
    jobs = [name for name, layer in picture.layers.items() if layer.role == "fill"]
    for index, name in enumerate(jobs):
        styles[name] = (FILL_COLOURS[index % count], HATCHES[index // count % len(HATCHES)])
    return {name: style for name, style in styles.items() if name in picture.layers}


def _boxes(axes: Axes, picture: Picture, layer: Layer, style: tuple[str, str], *, rasterized: bool) -> Any:
    """Draw one layer; its legend entry."""
    from matplotlib.collections import PolyCollection
    from matplotlib.patches import Patch

    colour, hatch = style
    row, half, left, right = (np.array(values) for values in (layer.row, layer.half, layer.start, layer.end))
    low, high = _band(picture)
    middle = (low + high) / 2
    top = row + np.where(half == 2, middle, low)
    bottom = row + np.where(half == 1, middle, high)
    corners: Any = np.stack([left, top, right, top, right, bottom, left, bottom], axis=1).reshape(-1, 4, 2)
    edge = {"bubble": "#BBBBBB", "switch": SWITCH_COLOUR}.get(layer.role, "white")
    line = {"bubble": 0.0, "switch": 0.3}.get(layer.role, 0.5 if len(row) < 2_000 else 0.0)
    order = {"bubble": 1, "main": 2, "switch": 3, "fill": 4}[layer.role]
    axes.add_collection(
        PolyCollection(
            corners, facecolors=colour, edgecolors=edge, linewidths=line, hatch=hatch or None,
            zorder=order, rasterized=rasterized,
        ),
        autolim=False,
    )  # fmt: skip
    if not rasterized:
        _labels(axes, picture, layer, colour)
    return Patch(facecolor=colour, edgecolor=edge if layer.role == "bubble" else colour, hatch=hatch, label=layer.name)


def _band(picture: Picture) -> tuple[float, float]:
    """Top and bottom of the boxes inside a row of height 1; memory lies below."""
    return (0.06, 0.56) if any(picture.curves) else (0.08, 0.92)


def _labels(axes: Axes, picture: Picture, layer: Layer, colour: str) -> None:
    low, high = _band(picture)
    if _row_inches(picture) * (high - low) < 0.14:
        return
    inches = PLOT_INCHES / picture.width
    for row, start, end, half, text in zip(layer.row, layer.start, layer.end, layer.half, layer.text, strict=True):
        if not text or (end - start) * inches < LETTER_INCHES * (len(text) + 0.6):
            continue
        place = {0: (low + high) / 2, 1: low + (high - low) / 4, 2: high - (high - low) / 4}[half]
        ink = "white" if colour in DARK else "black"
        axes.text((start + end) / 2, row + place, text, ha="center", va="center", fontsize=7, color=ink, zorder=5)


def _curves(axes: Axes, picture: Picture, *, rasterized: bool) -> list[Any]:
    """Memory below each row: main work, fill work on top, the limit; the scale is the row's largest limit or use."""
    from matplotlib.lines import Line2D
    from matplotlib.patches import Patch

    if not any(picture.curves):
        return []
    fill = main = False
    for row, curve in enumerate(picture.curves):
        if curve is None:
            continue
        times, used, total, limit = _sampled(curve, picture.width)
        scale = max(1, int(limit.max()), int(total.max()))
        base, height = row + 0.96, 0.34
        levels = [base - height * values / scale for values in (used, total, limit)]
        for low, high, colour in ((base, levels[0], MAIN_MEMORY), (levels[0], levels[1], FILL_MEMORY)):
            axes.fill_between(
                times, low, high, step="post", linewidth=0.0, color=colour, zorder=2, rasterized=rasterized
            )
        axes.step(
            times,
            levels[2],
            where="post",
            color="#444444",
            linewidth=0.8,
            linestyle="--",
            zorder=3,
            rasterized=rasterized,
        )
        main, fill = main or bool(used.any()), fill or bool((total > used).any())
        if _row_inches(picture) >= 0.5:
            axes.text(
                1.004, base - height, format_bytes(int(limit.max())), fontsize=7.5, va="center", clip_on=False,
                transform=axes.get_yaxis_transform(),
            )  # fmt: skip
    entries: list[Any] = [Patch(facecolor=MAIN_MEMORY, label="memory: main")] if main else []
    entries += [Patch(facecolor=FILL_MEMORY, label="memory: fill")] if fill else []
    return [*entries, Line2D([], [], color="#444444", linewidth=0.8, linestyle="--", label="memory: limit")]


def _sampled(curve: Curve, width: int) -> tuple[Int64, Int64, Int64, Int64]:
    """Common times from 0 to width, and at each the main bytes, main + fill bytes, and the limit."""
    steps: list[Steps] = [curve.main, curve.limit, *([curve.fill] if curve.fill is not None else [])]
    times = np.unique(np.concatenate([np.array([0, width]), *(step[0] for step in steps)]))
    times = times[(times >= 0) & (times <= width)]
    used = at(curve.main, times)
    total = used + at(curve.fill, times) if curve.fill is not None else used
    return times, used, total, at(curve.limit, times)
