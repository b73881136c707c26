"""Commands on the main job: `bubbles`, `export`."""

from __future__ import annotations

import argparse
import sys
from typing import Any

from pipefill_opt.cli.imports import write_result
from pipefill_opt.cli.layers import warn_of_memory
from pipefill_opt.cli.options import add_common, output_path, picture_path


def register(commands: Any) -> None:
    """Add the commands of this module to the parser."""
    bubbles = commands.add_parser("bubbles", help="times, bubbles, memory and causes of a main job")
    bubbles.add_argument("main", metavar="MAIN", help="MAIN file (YAML or JSON; `pipefill schema main`)")
    bubbles.add_argument("--gantt", type=picture_path, metavar="FILE", help="also draw it, .svg or .png")
    bubbles.add_argument("--trace", type=output_path, metavar="FILE", help="also write it for Perfetto (JSON)")
    add_common(bubbles, ("text", "json", "csv"))
    bubbles.set_defaults(run=run_bubbles)

    exporter = commands.add_parser("export", help="write a MAIN file in another format")
    exporter.add_argument(
        "kind",
        choices=("torch-csv", "perfetto"),
        help="torch.distributed.pipelining's order; or times, bubbles, messages and memory as a Chrome JSON trace",
    )
    exporter.add_argument("main", metavar="MAIN")
    exporter.add_argument("-o", "--output", type=output_path, metavar="FILE", help="default: stdout")
    add_common(exporter)
    exporter.set_defaults(run=run_export)


def run_bubbles(arguments: argparse.Namespace) -> int:
    """`pipefill bubbles MAIN`."""
    from pipefill_opt.report import bubbles
    from pipefill_opt.timeline.compute import timeline
    from pipefill_opt.workload.main_file import read_main

    main = read_main(arguments.main)
    result = timeline(main)
    if main.derived is not None:
        warn_of_memory(main, arguments.main)
    render = {"text": bubbles.bubbles_text, "json": bubbles.bubbles_json, "csv": bubbles.bubbles_csv}
    text = render[arguments.format](result)
    if arguments.gantt:
        from pipefill_opt.files import write_bytes
        from pipefill_opt.report.gantt import draw
        from pipefill_opt.report.picture import main_picture

        write_bytes(arguments.gantt, draw(main_picture(result), arguments.gantt.suffix[1:].lower()))
    if arguments.trace:
        from pipefill_opt.files import write_text
        from pipefill_opt.traces.perfetto import main_trace

        write_text(arguments.trace, main_trace(result))
    sys.stdout.write(text)
    return 0


def run_export(arguments: argparse.Namespace) -> int:
    """`pipefill export torch-csv|perfetto MAIN`."""
    from pipefill_opt.workload.main_file import read_main

    main = read_main(arguments.main)
    if arguments.kind == "torch-csv":
        from pipefill_opt.schedule.torch_csv import write_torch_csv

        text = write_torch_csv(main.schedule)
    else:
        from pipefill_opt.timeline.compute import timeline
        from pipefill_opt.traces.perfetto import main_trace

        text = main_trace(timeline(main))
    write_result(arguments, text)
    return 0
