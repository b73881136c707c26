"""Draw a roofline view as SVG or PNG: FLOP rate over intensity."""

from __future__ import annotations

import io
from typing import Any

from pipefill_opt.workload.model.roofline import Bound
from pipefill_opt.workload.model.roofline_view import Row, View

COLOURS = {Bound.COMPUTE: "#1F3F77", Bound.MEMORY: "#EE7733", Bound.OVERHEAD: "#BB5566"}
SIZES = 10.0, 150.0
"""Area of a mark of no time, and what the longest one has more."""


def draw_roofline(view: View, form: str) -> bytes:
    """The picture as `svg` or `png`: a mark for each kernel with FLOPs, its area by the time of all equal ones, under the two roofs."""
    import matplotlib as mpl
    from matplotlib.backends.backend_agg import FigureCanvasAgg
    from matplotlib.figure import Figure

    settings: dict[Any, Any] = {"svg.hashsalt": "pipefill", "svg.fonttype": "path", "font.size": 9}
    rows = [row for row in view.rows if row.intensity is not None and row.ticks]
    with mpl.rc_context(settings):
        figure = Figure(figsize=(8, 5), dpi=150)
        FigureCanvasAgg(figure)
        axes = figure.add_subplot()
        longest = max((float(row.count * row.ticks) for row in rows), default=1.0)
        for bound, colour in COLOURS.items():
            own = [row for row in rows if row.bound is bound]
            areas = [SIZES[0] + SIZES[1] * float(row.count * row.ticks) / longest for row in own]
            axes.scatter(
                [_intensity(row) for row in own],
                [row.flops / float(row.ticks) / 1e3 for row in own],
                areas,
                color=colour,
                alpha=0.7,
                label=f"bound by {bound}",
            )
        edge, rate = float(view.ridge), float(view.rate) / 1e12
        places = [min([edge / 100, *map(_intensity, rows)]), edge, max([edge * 10, *map(_intensity, rows)])]
        axes.plot(places, [rate * places[0] / edge, rate, rate], color="#7A7A7A", linewidth=1, label="roofs reached")
        axes.set_xscale("log")
        axes.set_yscale("log")
        axes.set_xlabel("FLOPs for a byte")
        axes.set_ylabel("TFLOP/s")
        axes.set_title(f"{view.network} on {view.hardware}, one micro-batch", loc="left", fontsize=11)
        axes.legend(frameon=False, loc="lower right")
        figure.tight_layout()
        stream = io.BytesIO()
        figure.savefig(stream, format=form, metadata={"Date": None} if form == "svg" else {"Software": None})
    return stream.getvalue()


def _intensity(row: Row) -> float:
    return row.flops / row.bytes
