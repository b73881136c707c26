"""Prediction against measurement as one self-contained HTML page: verdict, picture of one iteration, table."""

from __future__ import annotations

from html import escape
from typing import Any, Final

from pipefill_opt.harness.compare import Comparison
from pipefill_opt.harness.guard import Guarded
from pipefill_opt.harness.samples import samples
from pipefill_opt.report.comparison import error_texts, guard_lines, head_line, row_texts
from pipefill_opt.units import format_time

WIDTH: Final = 1000
ROW: Final = 22
COLORS: Final = {"main": "#4a7bb5", "fill": "#e0a030"}
STYLE: Final = (
    "body{font:14px system-ui,sans-serif;margin:2em auto;max-width:1100px;color:#222}"
    "table{border-collapse:collapse}td,th{padding:2px 10px;text-align:right;border-bottom:1px solid #ddd}"
    "td:first-child,th:first-child{text-align:left}tr.off td{background:#fde8e4}.ok{color:#1b7a3a}.bad{color:#b3261e}"
)


def comparison_page(document: dict[str, Any], found: Comparison, guard: Guarded | None = None) -> str:
    """The whole page."""
    title = escape(head_line(document))
    verdict = '<p class="ok">as predicted</p>' if found.holds else '<p class="bad">not as predicted</p>'
    findings = "".join(f"<li>{escape(finding)}</li>" for finding in found.findings)
    rows = "".join(
        f"<tr{' class=off' if row.finding else ''}>{''.join(f'<td>{escape(cell)}</td>' for cell in row_texts(row))}</tr>"
        for row in found.rows
    )
    head = "".join(f"<th>{name}</th>" for name in ("quantity", "predicted", "measured", "p5", "p95", "error"))
    parts = [
        f"<h1>Predicted and measured</h1><p>{title}</p>{verdict}<ul>{findings}</ul>",
        "" if document["failure"] else _picture(document),
        "".join(f"<p>median error of {escape(text)}</p>" for text in error_texts(found)),
        f"<p>overruns: {found.overruns} of {found.visits} visits</p>" if found.rows else "",
        f"<pre>{escape(chr(10).join(guard_lines(guard)))}</pre>" if guard is not None else "",
        f"<table><tr>{head}</tr>{rows}</table>" if rows else "",
    ]
    return (
        f'<!doctype html><html lang="en"><head><meta charset="utf-8"><title>{title}</title><style>{STYLE}</style></head>'
        f"<body>{''.join(parts)}</body></html>\n"
    )


def _picture(document: dict[str, Any]) -> str:
    """One iteration with fill work (without, where there is none): predicted above measured, for each watched device."""
    found = samples(document)
    chosen = found.which(with_fill=True) or found.which(with_fill=False)
    if not chosen:
        return ""
    i = chosen[len(chosen) // 2]
    begin = found.ends[i - 1]
    flags = document["with_fill"]
    turn = sum(flags[:i]) % document["predicted"]["turns"] if flags[i] else None
    length = max(document["predicted"]["period"], found.ends[i] - begin)
    boxes, y = [], 0
    for device, measured in zip(found.devices, found.measured, strict=True):
        visits = [visit for visit in device["visits"] if visit["iteration"] == turn]
        starts = {bubble["before"]: bubble["start"] for bubble in device["bubbles"]}
        planned = [
            (f"{o[0]} {o[1]}", starts[v["before"]] + o[2], starts[v["before"]] + o[3])
            for v in visits
            for o in v["operators"]
        ]
        texts = [text for text, _, _ in device["actions"]]
        actions = [(text, s - begin, e - begin) for text, (s, e) in zip(texts, measured["actions"][i], strict=True)]
        fills = [
            (text, s - begin, e - begin) for (text, _, _), (s, e) in zip(planned, measured["fills"][i], strict=True)
        ]
        for label, main, fill in (("predicted", device["actions"], planned), ("measured", actions, fills)):
            boxes.append(f'<text x="0" y="{y + 15}" font-size="12">{escape(device["name"])} {label}</text>')
            for kind, entries in (("main", main), ("fill", fill)):
                boxes += [_box(text, start, end, y, length, kind) for text, start, end in entries]
            y += ROW + 4
    return (
        f'<svg width="{WIDTH + 160}" height="{y + 20}" role="img" aria-label="one iteration">{"".join(boxes)}'
        f'<text x="160" y="{y + 12}" font-size="11">0</text>'
        f'<text x="{WIDTH + 100}" y="{y + 12}" font-size="11">{format_time(length)}</text></svg>'
    )


def _box(text: str, start: int, end: int, y: int, length: int, kind: str) -> str:
    x, width = 160 + WIDTH * start / length, max(0.5, WIDTH * (end - start) / length)
    return (
        f'<rect x="{x:.2f}" y="{y}" width="{width:.2f}" height="{ROW}" fill="{COLORS[kind]}" stroke="#fff" stroke-width="0.3">'
        f"<title>{escape(text)}: {format_time(end - start)}</title></rect>"
    )
