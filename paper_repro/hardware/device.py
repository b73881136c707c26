"""The model against the device of this machine: `python -m paper_repro.hardware.device -o DIR [--backend auto|host|cuda]`.

Calibrates it, replays the demo's main job without and with its fill plan, and compares: prediction of other shapes within 5 %, the period
within 2 %, bubbles within 5 % in the median. Then takes the guard that the run suggests, plans again, replays again: at least 80 % of the
planned fill value at a slowdown under 2 %. On a GPU a missed line is an error; on the host, where other programs share the cores, the lines
are reported only. Everything that was measured goes into DIR.
"""

from __future__ import annotations

import argparse
import json
import os
import subprocess
import sys
from collections.abc import Sequence
from pathlib import Path
from statistics import median
from typing import Any

from pipefill_opt.files import data_folder, write_text
from pipefill_opt.harness.build import Backend
from pipefill_opt.harness.compare import Quantity, compare
from pipefill_opt.harness.guard import Guarded, recalibrate
from pipefill_opt.report.tables import text_table

INSTANCE = "freeride/3.6b-m4-demo.yaml"
PLAN = "freeride/plans/3.6b-m4-demo.json"
ALLOWED = 0.02
REPLAY = {
    Backend.CUDA: ("--scale", "0.1", "--rounds", "10", "--play-switches", "--claim"),
    Backend.HOST: ("--scale", "0.05", "--rounds", "3", "--play-switches"),
}


def main(arguments: Sequence[str] | None = None) -> int:
    """Run all, print the lines, keep everything; 1 if a line is missed on a GPU."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("-o", "--output", type=Path, required=True, help="folder for what is measured")
    parser.add_argument("--backend", choices=("auto", "host", "cuda"), default="auto")
    parser.add_argument("--quick", action="store_true", help="fewer sizes and repeats")
    options = parser.parse_args(arguments)
    folder: Path = options.output
    folder.mkdir(parents=True, exist_ok=True)
    commands: list[str] = []

    def run(*words: str, code: int = 0) -> None:
        commands.append("pipefill " + " ".join(words))
        print(f"$ {commands[-1]}", file=sys.stderr, flush=True)
        done = subprocess.run(
            [sys.executable, "-m", "pipefill_opt.cli", *words], check=False, stdout=subprocess.DEVNULL
        )
        if done.returncode not in (0, code):
            raise SystemExit(f"{commands[-1]}: exit code {done.returncode}")

    hardware, result = folder / "hardware.json", folder / "result.json"
    quick = ["--quick"] if options.quick else []
    run("calibrate", "--backend", options.backend, *quick, "-o", str(hardware))
    measured = json.loads(hardware.read_text(encoding="utf-8"))["measured"]
    backend = Backend(measured["backend"])
    suite = data_folder("instances")
    run("replay", str(suite / INSTANCE), str(suite / PLAN), "-o", str(result), "--backend", backend, *REPLAY[backend])
    page, trace = ("--html", str(folder / "compare.html")), ("--trace", str(folder / "trace.json"))
    run("compare", str(result), "--recalibrate", "--slowdown", str(ALLOWED), *page, *trace, code=4)
    document = json.loads(result.read_text(encoding="utf-8"))

    guarded, plan, again = folder / "guarded.yaml", folder / "guarded-plan.json", folder / "guarded-result.json"
    write_text(guarded, guarded_instance(suite / INSTANCE, folder, recalibrate(document, slowdown=ALLOWED)))
    run("solve", str(guarded), "--time-limit", "20", "-o", str(plan))
    run("replay", str(guarded), str(plan), "-o", str(again), "--backend", backend, *REPLAY[backend])
    run("compare", str(again), code=4)
    filled = json.loads(again.read_text(encoding="utf-8"))
    lines = targets(document, measured["prediction_error"], filled)
    rows = [(name, f"{100 * value:.2f} %", limit, "yes" if holds else "no") for name, value, limit, holds in lines]
    head = (
        f"{document['device']['name']}, {document['device'].get('driver', '')}, {document['date']}, {backend} backend"
    )
    shown = [command.replace(str(suite), "instances").replace(str(folder), "DIR") for command in commands]
    text = "\n".join([head, *text_table(("line", "measured", "target", "holds"), rows), "", *shown]) + "\n"
    print(text, end="")
    write_text(folder / "summary.txt", text)
    missed = [name for name, _, _, holds in lines if not holds]
    return 1 if missed and backend is Backend.CUDA else 0


def guarded_instance(instance: Path, folder: Path, guard: Guarded) -> str:
    """The instance with the guard that a run suggests, for `folder`."""
    main = os.path.relpath(instance.parent, folder)
    text = instance.read_text(encoding="utf-8").replace("main: {file: ", f"main: {{file: {main}/", 1)
    return f"{text}\nguard: {{fraction: {float(guard.fraction):g}, margin: {guard.margin}ns}}\n"


def targets(
    document: dict[str, Any], prediction: float | None, filled: dict[str, Any]
) -> list[tuple[str, float, str, bool]]:
    """(line, measured share, target, whether it holds). document: the run that was compared; filled: that with the guard."""
    found, guarded = compare(document), compare(filled)
    if found.failure or guarded.failure:
        raise SystemExit(found.failure or guarded.failure)
    period = abs(next(row.error or 0.0 for row in found.rows if row.quantity is Quantity.PERIOD))
    bubbles = found.median_error(Quantity.BUBBLE) or 0.0
    slowdown = next(row.measured for row in guarded.rows if row.quantity is Quantity.SLOWDOWN)
    fill = next((row.measured for row in guarded.rows if row.quantity is Quantity.FILL), 0.0)
    works = median(entry["error"] for entry in document["tuned"])
    return [
        ("products of other shapes, median error", prediction or 0.0, "at most 5 %", prediction is not None and prediction <= 0.05),
        ("calibrated work, median error", works, "at most 1 %", works <= 0.01),
        ("period", period, "within 2 %", period <= 0.02),
        ("bubbles, median error", bubbles, "within 5 %", bubbles <= 0.05),
        ("with the guard: fill value done of the planned", fill, "at least 80 %", fill >= 0.8),
        ("with the guard: slowdown of the main job", slowdown, "under 2 %", slowdown < 0.02),
    ]  # fmt: skip


if __name__ == "__main__":
    sys.exit(main())
